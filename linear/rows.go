package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
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

// lookupFMAs is how many FMAs of a product take as long as an element of a row, on Zen 3: each lies
// in another cache line.
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
			quantized.Widen(l.packed, tail[:], 1, blocks[l.packed.PanelBytes(lanes, whole):], lane, lanes, len(tail))
			copy(dst[whole:], tail[:])
		}
	case l.rounds:
		for k := range dst {
			dst[k] = scalar.BF16(uint16(l.pairs[at+k/2*lanes] >> (k % 2 * 16)))
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

// AddRows adds each row of x to a row of out, which is the gradient of a look-up of embeddings:
//
//	out[rows[i]] = out[rows[i]] + x[i], for i = 0, 1, 2, ...
//
//	out  [N, K]           float32, with contiguous rows; it shares no memory with x
//	x    [len(rows), K]   float32, with contiguous rows
//	rows                  rows of out, from 0 to N-1, in any order and any number of times
//
// A sum that is NaN is 0x7FC00000. exec says how the call is computed; the zero Exec is
// the default. An error is a [*kernel.Error], and leaves out untouched. In the steady
// state a call allocates nothing.
func AddRows(out, x Matrix, rows []int32, exec kernel.Exec) error {
	t, err := elementwise.Begin("linear.AddRows", &exec, checkAddRows(&out, &x, rows))
	if err != nil || x.cols == 0 || len(rows) == 0 {
		return err
	}
	if view.Races {
		x.announce(view.Read)
		out.announce(view.Write)
	}
	work := float64(len(rows)) * float64(x.cols) * additionFMAs / float64(t.ThreadFMAs)
	additions.Run(&addition{t, out, x, rows}, ints.CeilDiv(x.cols, additionCols), work, 0, exec.Threads, exec.ParallelFor)
	return nil
}

const (
	// additionCols columns are the least that a goroutine adds. Rows may repeat, so that goroutines
	// share the columns and not the rows: each takes all rows, in their order.
	additionCols = 64

	additionFMAs = 10 // FMAs of a product that take as long as an element, on Zen 3
)

// An addition is one call of AddRows.
type addition struct {
	tier   *tier.Tier
	out, x Matrix
	rows   []int32
}

var additions = parallel.Loop[addition, struct{}]{Scratch: &parallel.NoScratch, Do: (*addition).task}

// task adds the columns of the parts lo to hi-1.
func (j *addition) task(_ *struct{}, lo, hi int) {
	first := lo * additionCols
	cols := min(hi*additionCols, j.x.cols) - first
	for i, row := range j.rows {
		n := min(max(int(row), 0), j.out.rows-1) // rows may have changed since they were checked
		to := j.out.f32[n*j.out.rowStride+first:][:cols]
		j.tier.Elementwise().Add(to, to, j.x.f32[i*j.x.rowStride+first:][:cols])
	}
}

// checkAddRows reports the first argument of AddRows that does not fit.
func checkAddRows(out, x *Matrix, rows []int32) *check.Failure {
	names := [...]string{"out", "x"}
	for i, m := range [...]*Matrix{out, x} {
		if f := m.checkFloats(names[i]); f != nil {
			return f
		}
		if m.cols > 1 && m.colStride != 1 {
			return m.failure(names[i], "contiguous rows")
		}
	}
	if x.rows != len(rows) || x.cols != out.cols {
		return x.failure("x", "[%d %d], a row for each of rows and the columns of out", len(rows), out.cols)
	}
	if f := out.checkDistinct("out"); f != nil {
		return f
	}
	if out.memory().Overlaps(x.memory()) {
		return view.Overlap("out", "x")
	}
	for i, row := range rows {
		if row < 0 || int(row) >= out.rows {
			return &check.Failure{Where: fmt.Sprintf("rows[%d]", i), Got: fmt.Sprint(row), Want: fmt.Sprintf("a row of out, 0 to %d", out.rows-1)}
		}
	}
	return nil
}
