package engine

import "github.com/attn-go/attn/internal/mask"

// Weights and scores are further outputs. The weights need the maximum and the sum of all blocks:
//
//   - If a tile has one block, its weights are written when that is computed.
//   - A full tile keeps the scores of its blocks in the rows of Weights: a row has room for the
//     scores of one lane.
//   - Other tiles compute their scores once more. So does every tile for Scores.

// softmaxForWeights is softmax in a call that wants the weights.
func (t *tile) softmaxForWeights() {
	only := t.isOnlyBlock()
	if !only && t.keepsScores() {
		t.keepScores()
	}
	t.softmax()
	if only {
		t.storeOnlyBlock()
	}
}

// isOnlyBlock tells whether the current block has all keys that the tile's rows see, and nothing is
// merged with it.
func (t *tile) isOnlyBlock() bool {
	j, keys := t.job, t.block.keys
	return t.whole && !t.started && j.Call.Sinks == nil && !j.Call.Partial.isSet() && keys.Len() > 0 && keys == t.visible
}

// storeOnlyBlock writes the weights of the tile's rows, which are those of the current block.
func (t *tile) storeOnlyBlock() {
	keys := t.block.keys
	t.clearWeights(0, keys.Lo-t.phase)
	t.storeWeights()
	t.clearWeights(keys.Hi-t.phase, t.job.Call.Weights.Dim(3))
	t.markNaNs()
	t.weightsWritten = true
}

// keepsScores tells whether the rows of Weights hold the tile's scores until it is finished.
func (t *tile) keepsScores() bool { return t.whole && t.n == t.kern.Lanes }

// keepScores copies the scores of the current block to the rows of the weights, part by part as
// they lie in memory: the first row takes the first keys' scores of all lanes.
func (t *tile) keepScores() {
	n := t.block.keys.Len()
	if n == 0 {
		return
	}
	for lane := range t.n {
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
	t.block.scores = t.scratch.scores[:n*t.kern.Lanes]
	for lane := range t.n {
		copy(t.block.scores[lane*n:][:n], t.blockWeights(lane))
	}
	return true
}

// blockWeights returns the weights of the current block that belong to a lane.
func (t *tile) blockWeights(lane int) []float32 {
	keys := t.block.keys
	return t.rowOf(&t.job.Call.Weights, lane)[keys.Lo-t.phase:][:keys.Len()]
}

// writeWeights writes the weights of the tile's rows: zeros for keys of no block.
func (t *tile) writeWeights() {
	done, keeps := 0, t.keepsScores() // so many keys are done
	if t.started {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			if keeps && t.keptScores(lo) || !keeps && t.scoreAgain(lo) {
				keys := t.block.keys
				t.clearWeights(done, keys.Lo-t.phase)
				t.writeBlockWeights()
				done = keys.Hi - t.phase
			}
		}
	}
	t.clearWeights(done, t.job.Call.Weights.Dim(3))
	t.markNaNs()
}

// markNaNs makes the weights of rows whose sum is NaN all NaN.
func (t *tile) markNaNs() {
	for lane := range t.n {
		if s := t.sum[lane]; s != s {
			fill(t.rowOf(&t.job.Call.Weights, lane), canonicalNaN)
		}
	}
}

// clearWeights clears the weights of keys lo to hi-1.
func (t *tile) clearWeights(lo, hi int) {
	if lo == hi {
		return
	}
	for lane := range t.n {
		clear(t.rowOf(&t.job.Call.Weights, lane)[lo:hi])
	}
}

// writeBlockWeights writes the weights of the current block, whose scores are computed.
func (t *tile) writeBlockWeights() {
	t.exponentiate(t.block.keys.Len(), t.max, t.blockSum)
	if t.job.Call.Dropout.Rate != 0 {
		t.drop(t.block.keys, t.block.scores)
	}
	t.storeWeights()
}

// storeWeights writes the weights of the current block.
func (t *tile) storeWeights() {
	lanes, keys := t.kern.Lanes, t.block.keys
	off := t.offsetsAt(&t.job.Call.Weights, keys.Lo-t.phase)
	t.kern.Unpack(t.job.Call.Weights.F32(), off, t.block.scores, lanes, t.n, keys.Len(), t.sum)
}

// scoreAgain computes the scores of the block from key lo on. It returns false if no
// key of it is visible.
func (t *tile) scoreAgain(lo int) bool {
	n := t.enterBlock(lo)
	if n == 0 {
		return false
	}
	t.block.scores = t.scratch.scores[:n*t.kern.Lanes]
	t.prepare()
	t.score()
	return true
}

// writeScores writes the scores of the tile's rows at the stage that is wanted.
func (t *tile) writeScores() {
	j := t.job
	for lane := range t.n {
		fill(t.rowOf(&j.Call.Scores, lane), negInf)
	}
	if j.Call.Stage == ScoresMasked {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			if t.scoreAgain(lo) {
				t.storeScores()
			}
		}
	} else {
		b := t.head.batch
		keys := mask.Span{Lo: t.phase, Hi: t.phase + j.Call.Mask.Length(b, j.Call.K.Length(b))}
		for lo := blockStart(keys.Lo); lo < keys.Hi; lo += BlockKeys {
			t.scoreUnmasked(lo, keys.And(mask.Span{Lo: lo, Hi: lo + BlockKeys}))
			t.storeScores()
		}
	}
	for lane := range t.n {
		canonize(t.rowOf(&j.Call.Scores, lane))
	}
}

// scoreUnmasked computes the scores of keys of the block from lo on, visible or not,
// up to a stage before the mask.
func (t *tile) scoreUnmasked(lo int, keys mask.Span) {
	if !t.packed {
		t.pack()
	}
	t.block.lo, t.block.keys, t.block.scores = lo, keys, t.scratch.scores[:keys.Len()*t.kern.Lanes]
	t.products(keys, nil)
	if t.job.Call.Stage == ScoresCapped {
		for _, f := range t.job.derived.mods.list[:t.job.derived.mods.capped] {
			f(t, keys, t.ignored())
		}
	}
}

// storeScores writes the scores of the current block, in natural units.
func (t *tile) storeScores() {
	lanes, keys, scores := t.kern.Lanes, t.block.keys, t.block.scores
	for i := range scores {
		scores[i] *= ln2
	}
	off := t.offsetsAt(&t.job.Call.Scores, keys.Lo-t.phase)
	t.kern.Unpack(t.job.Call.Scores.F32(), off, scores, lanes, t.n, keys.Len(), ones[:lanes])
}
