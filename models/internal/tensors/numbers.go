package tensors

import (
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// Numbers are the numbers of tensors, one after the other: float32, or 16 bits as they lie in the
// file. The latter are widened where they are used, which is exact, so that results have the bits
// of float32.
type Numbers struct {
	Type kernel.DType // Float32, Float16 or BFloat16
	f32  []float32
	f16  []kernel.F16
	bf16 []kernel.BF16
}

// dtypes are the types of numbers that are kept as they are. Others become float32.
var dtypes = map[gguf.Type]kernel.DType{gguf.F32: kernel.Float32, gguf.F16: kernel.Float16, gguf.BF16: kernel.BFloat16}

// reset forgets the numbers, and keeps the memory.
func (x *Numbers) reset(t kernel.DType) {
	x.Type, x.f32, x.f16, x.bf16 = t, x.f32[:0], x.f16[:0], x.bf16[:0]
}

// grow makes room for n more numbers, and for no others.
func (x *Numbers) grow(n int) {
	switch x.Type {
	case kernel.Float16:
		x.f16 = grown(x.f16, n)
	case kernel.BFloat16:
		x.bf16 = grown(x.bf16, n)
	default:
		x.f32 = grown(x.f32, n)
	}
}

func grown[E any](x []E, n int) []E {
	if cap(x)-len(x) >= n {
		return x
	}
	return append(make([]E, 0, len(x)+n), x...)
}

// add appends numbers as files have them, of the type of x, or any type if x has float32.
func (x *Numbers) add(raw []byte, t gguf.Type) error {
	switch x.Type {
	case kernel.Float16:
		x.f16 = littleendian.Append(x.f16, raw)
		return nil
	case kernel.BFloat16:
		x.bf16 = littleendian.Append(x.bf16, raw)
		return nil
	}
	elements, bytes := t.Block()
	n, more := len(x.f32), len(raw)/bytes*elements
	x.f32 = slices.Grow(x.f32, more)[:n+more]
	return t.Widen(x.f32[n:], raw)
}

// view makes x the numbers of raw as they lie there, and returns false if this machine cannot use
// them so.
func (x *Numbers) view(raw []byte) (ok bool) {
	switch x.Type {
	case kernel.Float16:
		x.f16, ok = littleendian.View[kernel.F16](raw)
	case kernel.BFloat16:
		x.bf16, ok = littleendian.View[kernel.BF16](raw)
	default:
		x.f32, ok = littleendian.View[float32](raw)
	}
	return ok
}

// Matrix returns them as n rows of k numbers.
func (x *Numbers) Matrix(n, k int) linear.Matrix {
	switch x.Type {
	case kernel.Float16:
		return linear.DenseMatrix(x.f16, n, k)
	case kernel.BFloat16:
		return linear.DenseMatrix(x.bf16, n, k)
	}
	return linear.DenseMatrix(x.f32, n, k)
}

// Rows writes rows of so many ids, one after the other, as float32.
func (x *Numbers) Rows(out []float32, ids []int32, _ kernel.Exec) error {
	for k := len(out) / max(1, len(ids)); len(ids) > 0; out, ids = out[k:], ids[1:] {
		at, row := int(ids[0])*k, out[:k]
		switch x.Type {
		case kernel.Float16:
			for j, y := range x.f16[at:][:k] {
				row[j] = y.Float32()
			}
		case kernel.BFloat16:
			for j, y := range x.bf16[at:][:k] {
				row[j] = y.Float32()
			}
		default:
			copy(row, x.f32[at:])
		}
	}
	return nil
}

// PermuteColumns is the function for all numbers.
func (x *Numbers) PermuteColumns(order []int) {
	PermuteColumns(x.f32, order)
	PermuteColumns(x.f16, order)
	PermuteColumns(x.bf16, order)
}

// permuteRows puts rows of k numbers in an order: row i becomes what order[i] was.
func (x *Numbers) permuteRows(k int, order []int) {
	permuteRows(x.f32, k, order)
	permuteRows(x.f16, k, order)
	permuteRows(x.bf16, k, order)
}

// PermuteColumns puts rows as long as order in its order: column i becomes what order[i]
// was. Without an order nothing changes.
func PermuteColumns[E any](x []E, order []int) {
	row := make([]E, len(order))
	for ; order != nil && len(x) >= len(order); x = x[len(order):] { // x is empty after an error
		copy(row, x)
		for i, from := range order {
			x[i] = row[from]
		}
	}
}

func permuteRows[E any](x []E, k int, order []int) {
	if order == nil || len(x) < k*len(order) {
		return
	}
	old := slices.Clone(x)
	for i, from := range order {
		copy(x[i*k:][:k], old[from*k:])
	}
}
