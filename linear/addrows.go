package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

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
	// additionCols columns are the least that a goroutine adds. Rows may repeat, so that goroutines share the columns and
	// not the rows: each takes all rows, in their order.
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
