package engine

import (
	"math/bits"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// finish writes the results of the tile's rows.
func (t *tile) finish() {
	j := t.job
	if !t.started { // no key at all
		copy(t.max, negInfs[:])
		clear(t.sum)
		clear(t.o[:t.kern.Lanes*j.dv()])
	}
	if j.Call.Partial.isSet() {
		t.finishPartial()
		return
	}
	if j.Call.Sinks != nil {
		t.mergeSinks()
	}
	if j.derived.otherOutputs && !t.exact { // the first tile of the row has written them
		t.finishOutputs()
	}
	t.finishNaNs(t.unpack())
}

// finishNaNs finishes the rows of a set, which hold a NaN. Bits from n on mean nothing.
func (t *tile) finishNaNs(nan uint64) {
	for nan &= 1<<t.n - 1; nan != 0; nan &= nan - 1 {
		t.finishNaN(bits.TrailingZeros64(nan))
	}
}

// mergeSinks merges the heads' sinks, each a last block without values.
func (t *tile) mergeSinks() {
	lanes, dv := t.kern.Lanes, t.job.dv()
	t.eachLane(func(lane, head, _ int) { t.blockMax[lane] = log2Units(t.job.Call.Sinks[head]) })
	t.kern.MergeStats(t.max, t.sum, t.blockMax, ones[:lanes], t.alpha, t.beta)
	if t.skinny {
		zeros := t.scratch.partial[:dv]
		clear(zeros)
		t.mergeRows(zeros, 0)
		return
	}
	for e, n := 0, 0; e < dv; e += n { // k = 0: o = +0·beta + o·alpha
		n = ukernel.ColumnsPerCall(dv-e, lanes)
		t.kern.GemmMerge(t.o[e*lanes:], lanes, nil, 1, 1, nil, lanes, n, 0, t.alpha, t.beta)
	}
}

// finishOutputs writes what is wanted beside Out.
func (t *tile) finishOutputs() {
	if t.job.Call.LSE.IsSet() {
		for lane := range t.n {
			t.rowOf(&t.job.Call.LSE, lane)[0] = lse(t.max[lane], t.sum[lane])
		}
	}
	if t.job.Call.Weights.IsSet() && !t.weightsWritten {
		t.writeWeights()
	}
	if t.job.Call.Scores.IsSet() {
		t.writeScores()
	}
}

// lse returns the contract's LSE of a maximum and a sum.
func lse(max, sum float32) float32 {
	switch {
	case sum == 0:
		return negInf
	case sum != sum:
		return canonicalNaN
	}
	return float32((max+scalar.Log2(sum))*ln2) + 0
}
