package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Project applies the layer to every row of a tensor, in as few calls of [Linear.Apply]
// as the strides allow. The bits and the errors are those of Apply.
//
//	x   [B, H, L, K]  float32, not paged
//	out [B, H, L, N]  float32, not paged, overwritten; ragged if x is, with the same
//	                  lengths; no element of x lies between its first and its last element
//
// The tokens [B, L, K] of a model are kernel.BLHD(x, b, l, 1, k). If N = heads·D, the
// outputs are kernel.BLHD(out, b, l, 1, n) here and kernel.BLHD(out, b, l, heads, d) for
// attention.
func (l *Linear) Project(out, x kernel.Tensor, opts Options) error {
	if f := l.checkProject((*view.Tensor)(&out), (*view.Tensor)(&x)); f != nil {
		return (*kernel.Error)(f.In("linear.Linear.Project"))
	}
	to, from := (*view.Tensor)(&out).Joined(), (*view.Tensor)(&x).Joined()
	outer, middle, rows := rowsOfBoth(&to, &from)
	for i := range outer.n {
		for j := range middle.n {
			in, res := from.F32(), to.F32()
			if rows.n > 0 {
				in, res = in[i*outer.x+j*middle.x:], res[i*outer.out+j*middle.out:]
			}
			err := l.Apply(StridedMatrix(res, rows.n, l.n, rows.out, 1), StridedMatrix(in, rows.n, l.k, rows.x, 1), opts)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A rowDim is a dimension along which two tensors have rows: the number of rows and
// their distances in both.
type rowDim struct{ n, out, x int }

// rowsOfBoth returns three dimensions that reach all rows of two tensors with the same
// rows. The last one has as many rows as lie at equal distances in both.
func rowsOfBoth(out, x *view.Tensor) (outer, middle, rows rowDim) {
	var dims [3]rowDim
	for i := range dims {
		dims[i] = rowDim{x.Dim(i), out.Stride(i), x.Stride(i)}
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

// checkProject reports the first argument of Project that does not fit.
func (l *Linear) checkProject(out, x *view.Tensor) *check.Failure {
	if f := x.CheckFloats("x"); f != nil {
		return f
	}
	if x.Dim(3) != l.k {
		return &check.Failure{Where: "x", Got: x.Describe(), Want: fmt.Sprintf("rows of %d, the inputs of the layer", l.k)}
	}
	if f := cmp.Or(out.CheckLike("out", x, "x", l.n), out.CheckDistinct("out")); f != nil {
		return f
	}
	if out.Memory().OverlapsTensor(x) {
		return view.Overlap("out", "x")
	}
	return nil
}
