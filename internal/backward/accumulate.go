package backward

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/view"
)

// A gradient that accumulates is old + g, rounded once, where g is what a call gives that does not.
// A row of dQ is complete in the memory of its segment. The sums of dK, dV and shared biases grow
// block by block, and dK is scaled at the end: they need memory beside the outputs.

// sums are where dK, dV and the gradients of biases grow: the outputs themselves, or memory of the
// job.
type sums struct {
	dK, dV view.Tensor
	dBias  view.Tensor // with strides of 0 where it broadcasts

	memory [3][]float32
	usages [3]parallel.Usage
}

// The indices of the memory of sums.
const (
	sumK = iota
	sumV
	sumBias
)

// forget drops the caller's memory.
func (s *sums) forget() { s.dK, s.dV, s.dBias = view.Tensor{}, view.Tensor{}, view.Tensor{} }

// beginSums finds memory for the sums of dK and dV.
func (j *Job) beginSums() {
	j.sums.dK, j.sums.dV = j.keySums(sumK, &j.Call.DK), j.keySums(sumV, &j.Call.DV)
}

// keySums returns where x grows, which is dK or dV. KV heads that come one after the other share
// the memory of one.
func (j *Job) keySums(i int, x *view.Tensor) view.Tensor {
	if !j.Call.Accumulate || !x.IsSet() {
		return *x
	}
	if shape := x.Shape(); j.headsFollow() {
		return view.Floats(j.fitSums(i, shape[2]*shape[3]), shape, [3]int{0, 0, shape[3]})
	}
	batch, n := x.AllRows()
	shape := [4]int{batch, x.Dim(1), n, x.Dim(3)}
	return view.Floats(j.fitSums(i, batch*shape[1]*n*shape[3]), shape, view.Contiguous(shape)).RaggedAs(x)
}

// headsFollow reports whether a KV head is complete before the next one begins.
func (j *Job) headsFollow() bool {
	return j.turns.isAlone && (j.plan.headsPerTask == 1 || j.plan.segmentsPerTask >= j.plan.segments)
}

func (j *Job) fitSums(i, n int) []float32 {
	parallel.Fit(&j.memory, &j.sums.usages[i], &j.sums.memory[i], n, rows.Aligned)
	return j.sums.memory[i][:n]
}

// addSums adds n complete rows of sums, from key lo of KV head kv on, to the rows of out.
func (j *Job) addSums(out, sums *view.Tensor, kv, lo, n int) {
	if !j.Call.Accumulate {
		return
	}
	b, h := j.batchAndHead(kv)
	for key := lo; key < lo+n; key++ {
		j.putRow(out.Row(b, h, key), sums.Row(b, h, key))
	}
}

// putRows is moveRows to rows of an output. If the call accumulates, they are added to, but for
// those that hold a NaN: these are computed again.
func (s *segment) putRows(j *Job, to, from matrix, n, d int, scale float32) (nan uint64) {
	if !j.Call.Accumulate {
		return s.moveRows(j, to, from, n, d, scale)
	}
	nan = s.moveRows(j, from, from, n, d, scale)
	for i := range n {
		if nan>>i&1 == 0 {
			j.putRow(to.data[i*to.ld:][:d], from.data[i*from.ld:][:d])
		}
	}
	return nan
}

// putRow writes a row of a gradient, or adds it.
func (j *Job) putRow(dst, src []float32) {
	if j.Call.Accumulate {
		j.tier.Elementwise().Add(dst, dst, src)
		return
	}
	copy(dst, src)
}
