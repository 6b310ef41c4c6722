package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/mask"
)

// softmax turns the scores of the current block into weights and merges its
// statistics.
func (t *tile) softmax() {
	b, n := &t.block, t.block.keys.Len()
	if n == 0 {
		return
	}
	if !t.started {
		t.exponentiate(t.max, t.sum)
		return
	}
	t.exponentiate(b.max, b.sum)
	t.kern.MergeStats(t.max, t.sum, b.max, b.sum, b.alpha, b.beta)
}

// exponentiate turns the scores of the current block into weights, given their maxima,
// drops some and sets sum.
func (t *tile) exponentiate(max, sum []float32) {
	t.strategy.softmax(t, t.block.keys.Len(), max, sum)
	if t.job.Call.Dropout.Rate != 0 {
		t.Drop(t.block.keys, t.block.scores)
	}
}

// Drop drops weights of keys, or their gradients.
func (t *tile) Drop(keys mask.Span, weights []float32) {
	j, lanes := t.job, t.Lanes
	heads, positions := t.scratch.dropHeads[:lanes], t.scratch.dropPositions[:lanes]
	start := t.queryStart()
	t.EachLane(func(lane, head, query int) {
		heads[lane] = uint32(head)
		positions[lane] = uint32(start + query)
	})
	t.eachRun(keys, func(part mask.Span, at int) {
		t.kern.Dropout(weights[(part.Lo-keys.Lo)*lanes:], lanes, at, part.Len(), j.derived.philox[:],
			j.Call.Dropout.Sequence(t.Head.Batch), heads, positions, j.Call.Dropout.Threshold(), j.Call.Dropout.Factor())
	})
}

// BlockKeys is the number of keys in a block of the numeric contract. Keys are cut
// at absolute positions, and blocks are merged in order.
const BlockKeys = contract.KeyBlock

var ln2 = math.Float32frombits(contract.Ln2)
