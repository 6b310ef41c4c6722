package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
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
// A sum that is NaN is 0x7FC00000. An error is a [*kernel.ArgumentError] or a
// [*kernel.TierError], and leaves out untouched.
func AddRows(out, x Matrix, rows []int32) error {
	t, err := selectTier("")
	if err != nil {
		return err
	}
	if f := checkAddRows(&out, &x, rows); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	if x.cols == 0 || len(rows) == 0 {
		return nil
	}
	if view.Races {
		x.announce(view.Read)
		out.announce(view.Write)
	}
	for i, row := range rows {
		n := min(max(int(row), 0), out.rows-1) // rows may have changed since they were checked
		to := out.f32[n*out.rowStride:][:x.cols]
		t.Elementwise().Add(to, to, x.f32[i*x.rowStride:][:x.cols])
	}
	return nil
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
		return overlap("out", "x")
	}
	for i, row := range rows {
		if row < 0 || int(row) >= out.rows {
			return &check.Failure{Arg: fmt.Sprintf("rows[%d]", i), Got: fmt.Sprint(row), Want: fmt.Sprintf("a row of out, 0 to %d", out.rows-1)}
		}
	}
	return nil
}
