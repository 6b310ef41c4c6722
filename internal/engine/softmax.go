package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/ukernel"
)

// softmax turns the scores of the current block into weights and merges its
// statistics.
func (t *tile) softmax() {
	n := t.block.keys.Len()
	if n == 0 {
		return
	}
	max, sum := t.max, t.sum
	if t.started {
		max, sum = t.blockMax, t.blockSum
	}
	t.exponentiate(n, max, sum)
	if t.job.Call.Dropout.Rate != 0 {
		t.drop(t.block.keys, t.block.scores)
	}
	if t.started {
		t.kern.MergeStats(t.max, t.sum, t.blockMax, t.blockSum, t.alpha, t.beta)
	}
}

// exponentiate turns n rows of scores into weights. Of a skinny tile with at most 4 rows,
// only the first 4 lanes are computed; the rest of the weights and sums is garbage.
func (t *tile) exponentiate(n int, max, sum []float32) {
	if t.skinny && t.n <= ukernel.SkinnyLanes {
		t.job.tier.Skinny().Softmax(t.block.scores, t.kern.Lanes, n, max[:ukernel.SkinnyLanes], sum[:ukernel.SkinnyLanes])
		return
	}
	t.kern.Softmax(t.block.scores, t.kern.Lanes, n, max, sum)
}

// drop drops weights of keys, or their gradients.
func (t *tile) drop(keys mask.Span, weights []float32) {
	j, lanes := t.job, t.kern.Lanes
	heads, positions := t.scratch.dropHeads[:lanes], t.scratch.dropPositions[:lanes]
	start := position.Of(j.Call.QueryStart, t.head.batch)
	t.eachLane(func(lane, head, query int) {
		heads[lane] = uint32(head)
		positions[lane] = uint32(start + query)
	})
	t.kern.Dropout(weights, lanes, t.start+keys.Lo, keys.Len(), j.derived.philox[:],
		j.Call.Dropout.Sequence(t.head.batch), heads, positions, j.Call.Dropout.Threshold(), j.Call.Dropout.Factor())
}
