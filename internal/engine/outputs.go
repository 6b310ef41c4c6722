package engine

import "github.com/attn-go/attn/internal/mask"

// Weights and scores are further outputs. Both compute the scores once more, now
// that the maximum and the sum of all blocks are known. Weights of a tile with a single block are
// written when that is computed.

// holdsWeights tells whether the current block, after its softmax, has the weights of all keys that
// the tile's rows see.
func (t *tile) holdsWeights() bool {
	j := t.job
	return j.Weights.IsSet() && !t.weighed && !t.started && j.Sinks == nil && !j.Partial.isSet() && t.block.keys.Len() > 0 && t.block.keys == t.visible
}

// storeOnlyWeights writes the weights of the current block, which are all.
func (t *tile) storeOnlyWeights() {
	for lane := range t.n {
		clear(t.rowOf(&t.job.Weights, lane))
	}
	t.storeWeights()
	t.markNaNs()
	t.weighed = true
}

// writeWeights writes the weights of the tile's rows.
func (t *tile) writeWeights() {
	weights := &t.job.Weights
	for lane := range t.n {
		clear(t.rowOf(weights, lane))
	}
	if t.started {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			t.writeBlockWeights(lo)
		}
	}
	t.markNaNs()
}

// markNaNs makes the weights of rows whose sum is NaN all NaN.
func (t *tile) markNaNs() {
	for lane := range t.n {
		if s := t.sum[lane]; s != s {
			fill(t.rowOf(&t.job.Weights, lane), canonicalNaN)
		}
	}
}

func (t *tile) writeBlockWeights(lo int) {
	if !t.scoreAgain(lo) {
		return
	}
	t.exponentiate(t.block.keys.Len(), t.max, t.blockSum)
	if t.job.Dropout.Rate != 0 {
		t.drop(t.block.scores)
	}
	t.storeWeights()
}

// storeWeights writes the weights of the current block.
func (t *tile) storeWeights() {
	lanes, keys := t.kern.Lanes, t.block.keys
	off := t.offsetsAt(&t.job.Weights, keys.Lo-t.phase)
	t.kern.Unpack(t.job.Weights.F32(), off, t.block.scores, lanes, t.n, keys.Len(), t.sum)
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
		fill(t.rowOf(&j.Scores, lane), negInf)
	}
	if j.Stage == ScoresMasked {
		for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo += BlockKeys {
			if t.scoreAgain(lo) {
				t.storeScores()
			}
		}
	} else {
		b := t.head.batch
		keys := mask.Span{Lo: t.phase, Hi: t.phase + j.Mask.Length(b, j.K.Length(b))}
		for lo := blockStart(keys.Lo); lo < keys.Hi; lo += BlockKeys {
			t.scoreUnmasked(lo, keys.And(mask.Span{Lo: lo, Hi: lo + BlockKeys}))
			t.storeScores()
		}
	}
	for lane := range t.n {
		canonize(t.rowOf(&j.Scores, lane))
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
	if t.job.Stage == ScoresCapped {
		for _, f := range t.job.mods.list[:t.job.mods.capped] {
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
	off := t.offsetsAt(&t.job.Scores, keys.Lo-t.phase)
	t.kern.Unpack(t.job.Scores.F32(), off, scores, lanes, t.n, keys.Len(), ones[:lanes])
}
