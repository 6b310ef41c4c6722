package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
)

// Weights and scores are further outputs. The weights need the maximum and the sum of all
// blocks:
//
//   - If a tile has one block, its weights are written when that is computed.
//   - A full tile keeps the scores of its blocks in the rows of Weights: a row has room for the
//     scores of one lane.
//   - Other tiles compute their scores once more. So does every tile for Scores.

// A weightsState says where the weights of a tile come from when it is finished.
type weightsState uint8

const (
	weightsLater    weightsState = iota // scores that are computed once more
	weightsOfScores                     // so, unless the first block is the only one
	weightsKept                         // scores that the rows of Weights hold, unless that is so
	weightsWritten                      // they are there
)

// firstWeights returns the state of a tile that computes all of its blocks itself.
func (t *tile) firstWeights() weightsState {
	if t.N == t.Lanes {
		return weightsKept
	}
	return weightsOfScores
}

// softmaxForWeights is softmax in a call that wants the weights.
func (t *tile) softmaxForWeights() {
	only := t.isOnlyBlock()
	if !only && t.weights == weightsKept {
		t.keepScores()
	}
	t.softmax()
	if only {
		t.storeOnlyBlock()
	}
}

// isOnlyBlock tells whether the current block has all keys that the tile's rows see, and
// nothing is merged with it.
func (t *tile) isOnlyBlock() bool {
	j, keys := t.job, t.block.keys
	return t.weights != weightsLater && !t.started && j.Call.Sinks == nil && !j.Call.Partial.isSet() && keys.Len() > 0 && keys == t.visible
}

// storeOnlyBlock writes the weights of the tile's rows, which the current block has.
func (t *tile) storeOnlyBlock() {
	keys := t.block.keys
	t.clearWeights(0, t.Key(keys.Lo))
	t.storeWeights()
	t.clearWeights(t.Key(keys.Hi), t.job.Call.Weights.Dim(3))
	t.markNaNs()
	t.weights = weightsWritten
}

// keepScores copies the scores of the current block to the rows of the weights, part by
// part as they lie in memory: the first row takes the first keys' scores of all lanes.
func (t *tile) keepScores() {
	n := t.block.keys.Len()
	if n == 0 {
		return
	}
	for lane := range t.N {
		copy(t.blockWeights(lane), t.block.scores[lane*n:][:n])
	}
}

// keptScores makes the block from key lo on the current block again, with the scores that
// keepScores has kept. It returns false if no key of it is visible.
func (t *tile) keptScores(lo int) bool {
	n := t.enterBlock(lo)
	if n == 0 {
		return false
	}
	t.block.scores = t.scratch.scores[:n*t.Lanes]
	for lane := range t.N {
		copy(t.block.scores[lane*n:][:n], t.blockWeights(lane))
	}
	return true
}

// blockWeights returns the weights of the current block that belong to a lane.
func (t *tile) blockWeights(lane int) []float32 {
	keys := t.block.keys
	return t.Row(&t.job.Call.Weights, lane)[t.Key(keys.Lo):][:keys.Len()]
}

// finishOutputs writes what is wanted beside Out.
func (t *tile) finishOutputs() {
	c := &t.job.Call
	if c.LSE.IsSet() {
		for lane := range t.N {
			t.Row(&c.LSE, lane)[0] = scalar.LSE(t.max[lane], t.sum[lane])
		}
	}
	if c.Weights.IsSet() && t.weights != weightsWritten {
		t.writeWeights()
	}
	if c.Scores.IsSet() {
		t.writeScores()
	}
}

// writeWeights writes the weights of the tile's rows: zeros for keys of no block.
func (t *tile) writeWeights() {
	done, again := 0, t.scoreAgain // so many keys are done
	if t.weights == weightsKept {
		again = t.keptScores
	}
	if t.started {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			if again(lo) {
				keys := t.block.keys
				t.clearWeights(done, t.Key(keys.Lo))
				t.exponentiate(t.max, t.block.sum)
				t.storeWeights()
				done = t.Key(keys.Hi)
			}
		}
	}
	t.clearWeights(done, t.job.Call.Weights.Dim(3))
	t.markNaNs()
}

// markNaNs makes the weights of rows whose sum is NaN all NaN.
func (t *tile) markNaNs() {
	for lane := range t.N {
		if s := t.sum[lane]; s != s {
			rows.Fill(t.Row(&t.job.Call.Weights, lane), scalar.NaN)
		}
	}
}

// clearWeights clears the weights of keys lo to hi-1.
func (t *tile) clearWeights(lo, hi int) {
	if lo == hi {
		return
	}
	for lane := range t.N {
		clear(t.Row(&t.job.Call.Weights, lane)[lo:hi])
	}
}

// storeWeights writes the weights of the current block.
func (t *tile) storeWeights() {
	off := t.offsets(&t.job.Call.Weights, t.Key(t.block.keys.Lo))
	t.kern.Unpack(t.job.Call.Weights.F32(), off, t.block.scores, t.Lanes, t.N, t.block.keys.Len(), t.sum)
}

// writeScores writes the scores of the tile's rows at the stage that is wanted.
func (t *tile) writeScores() {
	j := t.job
	for lane := range t.N {
		rows.Fill(t.Row(&j.Call.Scores, lane), scalar.NegInf)
	}
	if j.Call.Stage == ScoresMasked {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			if t.scoreAgain(lo) {
				t.storeScores()
			}
		}
	} else {
		keys := mask.Span{Lo: t.phase, Hi: t.phase + t.existing()}
		for lo := blockStart(keys.Lo); lo < keys.Hi; lo += BlockKeys {
			t.scoreUnmasked(lo, keys.And(mask.Span{Lo: lo, Hi: lo + BlockKeys}))
			t.storeScores()
		}
	}
	for lane := range t.N {
		rows.Canonize(t.Row(&j.Call.Scores, lane))
	}
}

// scoreUnmasked computes the scores of keys of the block from lo on, visible or not,
// up to a stage before the mask.
func (t *tile) scoreUnmasked(lo int, keys mask.Span) {
	t.pack()
	t.block.lo, t.block.keys, t.block.scores = lo, keys, t.scratch.scores[:keys.Len()*t.Lanes]
	t.strategy.scores(t, keys, nil)
	if t.job.Call.Stage == ScoresCapped {
		for _, f := range t.job.derived.mods.list[:t.job.derived.mods.capped] {
			f(t, keys, t.ignored())
		}
	}
}

// storeScores writes the scores of the current block, in natural units.
func (t *tile) storeScores() {
	keys, scores := t.block.keys, t.block.scores
	for i := range scores {
		scores[i] *= ln2
	}
	off := t.offsets(&t.job.Call.Scores, t.Key(keys.Lo))
	t.kern.Unpack(t.job.Call.Scores.F32(), off, scores, t.Lanes, t.N, keys.Len(), ones[:t.Lanes])
}
