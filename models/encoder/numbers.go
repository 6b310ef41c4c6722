package encoder

import (
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// numbers are those of tensors, one after the other, of the type that dtype says. Those of 16 bits are widened where they are used,
// which is exact, so that results have the bits that they have with float32.
type numbers struct {
	dtype kernel.DType
	f32   []float32
	f16   []kernel.F16
	bf16  []kernel.BF16
}

// reset forgets the numbers, and keeps the memory.
func (x *numbers) reset(dtype kernel.DType) {
	x.dtype, x.f32, x.f16, x.bf16 = dtype, x.f32[:0], x.f16[:0], x.bf16[:0]
}

// grow makes room for n more numbers, and for no others.
func (x *numbers) grow(n int) {
	switch x.dtype {
	case kernel.Float16:
		x.f16 = grownBy(x.f16, n)
	case kernel.BFloat16:
		x.bf16 = grownBy(x.bf16, n)
	default:
		x.f32 = grownBy(x.f32, n)
	}
}

func grownBy[E any](x []E, n int) []E {
	if cap(x)-len(x) >= n {
		return x
	}
	return append(make([]E, 0, len(x)+n), x...)
}

// add appends little-endian numbers of a type: that of x, or any if x has float32.
func (x *numbers) add(raw []byte, dtype kernel.DType) {
	switch x.dtype {
	case kernel.Float16:
		x.f16 = littleendian.Append(x.f16, raw)
	case kernel.BFloat16:
		x.bf16 = littleendian.Append(x.bf16, raw)
	default:
		n, more := len(x.f32), len(raw)/littleendian.Size(dtype)
		x.f32 = slices.Grow(x.f32, more)[:n+more]
		littleendian.Widen(x.f32[n:], raw, dtype)
	}
}

// matrix returns n rows of k numbers, from a row on.
func (x *numbers) matrix(first, n, k int) linear.Matrix {
	switch x.dtype {
	case kernel.Float16:
		return linear.DenseMatrix(x.f16[first*k:], n, k)
	case kernel.BFloat16:
		return linear.DenseMatrix(x.bf16[first*k:], n, k)
	}
	return linear.DenseMatrix(x.f32[first*k:], n, k)
}

// row writes row i of as many numbers as out has.
func (x *numbers) row(out []float32, i int) {
	at := i * len(out)
	switch x.dtype {
	case kernel.Float16:
		for j, y := range x.f16[at:][:len(out)] {
			out[j] = y.Float32()
		}
	case kernel.BFloat16:
		for j, y := range x.bf16[at:][:len(out)] {
			out[j] = y.Float32()
		}
	default:
		copy(out, x.f32[at:])
	}
}

// Rows is that of a network.Table.
func (x *numbers) Rows(out []float32, ids []int32, _ kernel.Exec) error {
	w := len(out) / len(ids)
	for i, id := range ids {
		x.row(out[i*w:][:w], int(id))
	}
	return nil
}

// commonType returns the type of all, or float32 if they differ.
func commonType(all ...kernel.DType) kernel.DType {
	if slices.ContainsFunc(all, func(d kernel.DType) bool { return d != all[0] }) {
		return kernel.Float32
	}
	return all[0]
}
