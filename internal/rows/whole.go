package rows

import (
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// roundedFloats are widened and rounded at a time.
const roundedFloats = 2 << 10

// WidenWhole writes a tensor of len(dst) elements, at most MaxConvert and at least one, neither
// paged nor ragged, to dst as float32, and makes it a view of that. A tensor without gaps keeps
// its strides and takes one call of a kernel. Another one takes as few as its heads or its rows. If
// rounds is true, numbers become factors of products in bfloat16, some at a time while they are in
// L1.
func WidenWhole(t *tier.Tier, dst []float32, x *view.Tensor, rounds bool) {
	d, was := x.Dim(3), x.DType()
	rounds = rounds && was.Size() > 1
	switch isDense := x.IsDense(len(dst)); {
	case isDense && !was.IsScaled():
		size := len(dst)
		if rounds {
			size = roundedFloats
		}
		for from := (source{scales: one}); from.at < len(dst); from.at += size {
			part := dst[from.at:min(from.at+size, len(dst))]
			from.widen(t, part, x, 1, len(part))
			if rounds {
				FactorsBF16(t, part, was)
			}
		}
	case isDense && x.HasScalesInOrder():
		from := source{stride: d, scales: x.Scales().F32(), scaleStride: x.Scales().Dim(3), group: x.Group()}
		from.widen(t, dst, x, len(dst)/d, d)
	default:
		*x = widenGaps(t, dst, x, rounds)
		return
	}
	x.Become(dst)
}

// widenGaps is WidenWhole for a tensor with gaps, or with scales in another order, head by head, or
// row by row if there are fewer.
func widenGaps(t *tier.Tier, dst []float32, x *view.Tensor, rounds bool) view.Tensor {
	shape, strides, scales := x.Shape(), x.Strides(), x.Scales()
	outer, inner := 1, 2
	if shape[1] > shape[2] {
		outer, inner = 2, 1
	}
	n, d := shape[inner], shape[3]
	from := source{stride: strides[inner], scales: one, group: d}
	if scales != nil {
		from.scaleStride, from.group = scales.Stride(inner), x.Group()
	}
	var at [3]int
	to := dst
	for at[0] = range shape[0] {
		for at[outer] = range shape[outer] {
			from.at = x.At(at[0], at[1], at[2])
			if scales != nil {
				from.scales = scales.F32()[scales.At(at[0], at[1], at[2]):]
			}
			from.widen(t, to, x, n, d)
			if rounds {
				FactorsBF16(t, to[:n*d], x.DType())
			}
			to = to[n*d:]
		}
	}
	strides[0], strides[outer], strides[inner] = shape[1]*shape[2]*d, n*d, d
	return view.Floats(dst, shape, strides)
}

// WidenPairs is WidenWhole for a tensor that IsPairs. It makes factors of products in bfloat16: in
// a row the even ones come before the odd ones.
func WidenPairs(t *tier.Tier, dst []float32, x *view.Tensor) view.Tensor {
	d := x.Dim(3)
	n := len(dst) / d
	t.Convert().WidenPairs(dst, dst[d/2:], d, view.As[uint32](x.Bytes()), d/2, n, d/2)
	FactorsBF16(t, dst, view.BFloat16)
	return x.WithFloats(dst)
}

// Room returns a view of data for what StoreWhole writes to x, with the strides of x if that has no
// gaps.
func Room(data []float32, x *view.Tensor) view.Tensor {
	if x.IsDense(len(data)) {
		return x.WithFloats(data)
	}
	return view.Floats(data, x.Shape(), view.Contiguous(x.Shape()))
}

// StoreWhole writes from, a view that Room has returned, to x.
func StoreWhole(t *tier.Tier, x, from *view.Tensor) {
	if x.IsDense(len(from.F32())) {
		Store(t, x, 0, from.F32())
		return
	}
	shape := x.Shape()
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range shape[2] {
				Store(t, x, x.At(b, h, l), from.Row(b, h, l))
			}
		}
	}
}
