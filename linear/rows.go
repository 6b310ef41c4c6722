package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Rows writes rows of the weights to out, as float32:
//
//	out [len(rows), K]  float32, overwritten; its rows are contiguous
//	rows                outputs of the layer, from 0 to N-1
//
// That is the look-up of embeddings, from the memory of a layer that shares its weights with
// them. A NaN is 0x7FC00000.
//
// exec says how the call is computed; the zero Exec is the default. An error is a
// [*kernel.Error], and leaves out untouched. In the steady state a call allocates
// nothing.
func (l *Linear) Rows(out Matrix, rows []int32, exec kernel.Exec) error {
	t, err := elementwise.Begin("linear.Linear.Rows", &exec, l.checkRows(&out, rows))
	if err != nil || l.k == 0 {
		return err
	}
	work := float64(len(rows)) * float64(l.k) * lookupFMAs / float64(t.ThreadFMAs)
	lookups.Run(&lookup{l, out, rows}, len(rows), work, 0, exec.Threads, exec.ParallelFor)
	return nil
}

// lookupFMAs is how many FMAs of a product take as long as an element of a row, on Zen 3: each lies in another
// cache line.
const lookupFMAs = 150

// A lookup is one call of Rows.
type lookup struct {
	linear *Linear
	out    Matrix
	rows   []int32
}

var lookups = parallel.Loop[lookup, struct{}]{Scratch: &parallel.NoScratch, Do: (*lookup).task}

// task writes the rows lo to hi-1 of out.
func (j *lookup) task(_ *struct{}, lo, hi int) {
	l := j.linear
	for i := lo; i < hi; i++ {
		n := min(max(int(j.rows[i]), 0), l.n-1) // rows may have changed since they were checked
		l.row(j.out.f32[i*j.out.rowStride:][:l.k], n)
	}
}

// checkRows reports the first argument of Rows that does not fit.
func (l *Linear) checkRows(out *Matrix, rows []int32) *check.Failure {
	if f := out.check("out"); f != nil {
		return f
	}
	switch {
	case out.dtype != view.Float32:
		return out.failure("out", "float32")
	case out.rows != len(rows) || out.cols != l.k:
		return out.failure("out", "[%d %d], a row for each of rows and the inputs of the layer", len(rows), l.k)
	}
	if f := out.checkOutput("out"); f != nil {
		return f
	}
	for i, row := range rows {
		if row < 0 || int(row) >= l.n {
			return &check.Failure{Where: fmt.Sprintf("rows[%d]", i), Got: fmt.Sprint(row), Want: fmt.Sprintf("an output of the layer, 0 to %d", l.n-1)}
		}
	}
	return nil
}

// row writes the weights of an output: a lane of its panel.
func (l *Linear) row(dst []float32, n int) {
	p, lane := n/ukernel.PanelLanes, n%ukernel.PanelLanes
	lanes, at := l.panelWidth(p), l.panelStart(p)+lane
	switch {
	case l.format != 0:
		whole, blocks := l.k&^(ukernel.BlockSteps-1), l.panelBlocks(p)
		quantized.Widen(l.packed, dst, 1, blocks, lane, lanes, whole)
		if l.hasTail() {
			var tail [ukernel.BlockSteps]float32
			quantized.Widen(l.packed, tail[:], 1, blocks[whole/len(tail)*l.packed.BlockBytes(lanes):], lane, lanes, len(tail))
			copy(dst[whole:], tail[:])
		}
	case l.dtype == view.Float32:
		for k := range dst {
			dst[k] = l.f32[at+k*lanes]
		}
	default:
		tier.Reference().Convert().Widen[l.dtype](dst, 1, view.BytesOf(l.u16[at:]), lanes*l.dtype.Size(), l.k, 1)
	}
	for k, x := range dst {
		dst[k] = scalar.Canonical(x)
	}
}
