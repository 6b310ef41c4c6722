package kernel

import (
	"cmp"
	"fmt"
	"slices"
)

// Project applies the layer to every row of a tensor, in as few calls of Apply as the
// rows' distances allow, with the same bits:
//
//	x   [B, H, L, K]  float32
//	out [B, H, L, N]  float32, is overwritten; from its first element to its last it
//	                  shares no memory with x
//
// The tokens [B, L, K] of a model are BLHD(data, b, l, 1, k), and what the heads of
// attention work on, [B, H, L, D] with N = H·D, is the same memory as [B, 1, L, N].
func (l *Linear) Project(out, x Tensor, opts LinearOptions) error {
	if err := l.checkProject(&out, &x); err != nil {
		return err
	}
	outer, middle, rows := rowsOfBoth(&out.grid, &x.grid)
	for i := range outer.n {
		for j := range middle.n {
			from, to := x.f32, out.f32
			if rows.n > 0 {
				from, to = from[i*outer.x+j*middle.x:], to[i*outer.out+j*middle.out:]
			}
			err := l.Apply(StridedMatrix(to, rows.n, l.n, rows.out, 1), StridedMatrix(from, rows.n, l.k, rows.x, 1), opts)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A rowDim is a dimension along which two tensors have rows: their number, and their
// distances in both.
type rowDim struct{ n, out, x int }

// rowsOfBoth returns dimensions for all rows of two tensors of the same shape, the last
// with as many rows as lie at equal distances in both.
func rowsOfBoth(out, x *grid) (outer, middle, rows rowDim) {
	var dims [3]rowDim
	for i := range dims {
		dims[i] = rowDim{x.shape[i], out.stride[i], x.stride[i]}
		switch dims[i].n {
		case 0:
			return rowDim{n: 1}, rowDim{n: 1}, rowDim{}
		case 1: // the strides do not matter
			dims[i] = rowDim{n: 1}
		}
	}
	slices.SortFunc(dims[:], func(a, b rowDim) int { // single ones first, then by distance
		return cmp.Or(cmp.Compare(min(a.n, 2), min(b.n, 2)), cmp.Compare(b.out, a.out))
	})
	outer, middle, rows = dims[0], dims[1], dims[2]
	for middle.n > 1 && middle.x == rows.n*rows.x && middle.out == rows.n*rows.out {
		rows.n *= middle.n
		outer, middle = rowDim{n: 1}, outer
	}
	return outer, middle, rows
}

// checkProject reports a tensor that does not fit.
func (l *Linear) checkProject(out, x *Tensor) error {
	names := [...]string{"x", "out"}
	for i, t := range [...]*Tensor{x, out} {
		if err := t.check(names[i]); err != nil {
			return err
		}
		if t.dtype != Float32 {
			return &ArgumentError{names[i], t.describe(), "float32"}
		}
	}
	if x.shape[3] != l.k {
		return &ArgumentError{"x", x.describe(), fmt.Sprintf("rows of %d, the inputs of the layer", l.k)}
	}
	if want := [4]int{x.shape[0], x.shape[1], x.shape[2], l.n}; out.shape != want {
		return &ArgumentError{"out", out.describe(), fmt.Sprintf("shape %v, x's with the outputs of the layer", want)}
	}
	return out.CheckOutput("out", x)
}
