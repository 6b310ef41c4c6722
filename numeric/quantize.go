package numeric

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// QuantizeInt8 makes int8 elements and scales for [kernel.Tensor.Scaled] from float32.
// Each group of neighbouring elements of src has one scale. With m the largest magnitude
// of the group,
//
//	scale = m/127
//	dst   = src/scale, rounded to an integer, ties to even
//
// where both quotients are rounded to float32. Scales below 2^-126 are 0, and so is dst
// then. The largest float32 counts as the one before it, whose scale times 127 is finite:
// so all that finite numbers become is finite. The bits are the same on every CPU.
//
// exec says how the call is computed; the zero Exec is the default. If it or ATTN_TIER names a tier
// that cannot run, the error is a [*kernel.Error], and nothing is written.
//
// dst is as long as src, and group divides that length. scales has one element per group
// and shares no memory with src. All numbers in src are finite. Otherwise the error is a
// [*kernel.Error], and nothing is written.
func QuantizeInt8(dst []int8, scales, src []float32, group int, exec kernel.Exec) error {
	return quantize(view.BytesOf(dst), 1, scales, src, group, &exec, &quantizeInt8)
}

// QuantizeInt4 makes int4 elements and scales for [kernel.Tensor.Scaled] from float32, as
// [QuantizeInt8] makes int8. Each group of neighbouring elements of src has one scale. With m the
// number of largest magnitude in the group, the positive one if there are two,
//
//	scale   = m/-8 + (+0)
//	element = src/scale, rounded to an integer, ties to even, and limited to -8 to 7
//
// where each operation is rounded to float32. Scales below 2^-126 are 0, and so are the
// elements then. So m is exact, and a number of the other sign that is as large becomes 7/8
// of it, as in ggml's Q4_0. The bits are the same on every CPU.
//
// dst has half as many elements as src, each of which holds two, group is even and divides the
// length of src, and the rest is as in QuantizeInt8.
func QuantizeInt4(dst []kernel.Int4x2, scales, src []float32, group int, exec kernel.Exec) error {
	return quantize(view.BytesOf(dst), 2, scales, src, group, &exec, &quantizeInt4)
}

// The rows are groups.
var (
	quantizeInt8 = elementwise.Function{Name: "numeric.QuantizeInt8", Outputs: 1, ElementFMAs: quantizeFMAs, Do: func(c *elementwise.Call) {
		group := len(c.Slices[1]) / c.Rows
		c.Tier.Convert().QuantizeInt8(view.As[int8](c.Bytes), group, c.Slices[0], 1, c.Slices[1], group, group, c.Rows, group)
	}}
	quantizeInt4 = elementwise.Function{Name: "numeric.QuantizeInt4", Outputs: 1, ElementFMAs: quantizeFMAs, Do: func(c *elementwise.Call) {
		group := len(c.Slices[1]) / c.Rows
		c.Tier.Convert().QuantizeInt4(c.Bytes, group/2, c.Slices[0], 1, c.Slices[1], group, group, c.Rows, group)
	}}
)

// quantize quantizes to elements of which per share a byte of dst.
func quantize(dst []byte, per int, scales, src []float32, group int, exec *kernel.Exec, function *elementwise.Function) error {
	t, err := elementwise.Begin(function.Name, exec, checkQuantize(dst, per, scales, src, group))
	if err != nil {
		return err
	}
	if f := checkFinite(t, src); f != nil {
		return (*kernel.Error)(f.In(function.Name))
	}
	function.RunOn(t, exec, &elementwise.Call{Rows: len(scales), Slices: [6][]float32{scales, src}, Bytes: dst})
	return nil
}

func checkQuantize(dst []byte, per int, scales, src []float32, group int) *check.Failure {
	switch {
	case group < 1:
		return &check.Failure{Where: "group", Got: fmt.Sprint(group), Want: "at least 1"}
	case group%per != 0:
		return &check.Failure{Where: "group", Got: fmt.Sprint(group), Want: fmt.Sprintf("a multiple of %d", per)}
	case len(src)%group != 0:
		return &check.Failure{Where: "src", Got: fmt.Sprintf("%d elements", len(src)), Want: fmt.Sprintf("a multiple of the group, %d", group)}
	case per == 1 && len(dst) != len(src):
		return &check.Failure{Where: "dst", Got: fmt.Sprintf("%d elements", len(dst)), Want: fmt.Sprintf("as many as src has: %d", len(src))}
	case len(dst) != len(src)/per:
		return &check.Failure{Where: "dst", Got: fmt.Sprintf("%d elements", len(dst)), Want: fmt.Sprintf("%d, one for each %d of src", len(src)/per, per)}
	case len(scales) != len(src)/group:
		return &check.Failure{Where: "scales", Got: fmt.Sprintf("%d elements", len(scales)), Want: fmt.Sprintf("one for each group: %d", len(src)/group)}
	}
	// A program may have converted a slice by unsafe.
	return view.CheckApart(2, []string{"scales", "dst", "src"}, view.MemoryOf(scales), view.MemoryOf(dst), view.MemoryOf(src))
}

// checkFinite reports the first number of src that is not finite.
func checkFinite(t *tier.Tier, src []float32) *check.Failure {
	if view.Races {
		view.Announce(view.Read, src)
	}
	if rows.AreFinite(t, src, len(src), 1, len(src)) {
		return nil
	}
	i := slices.IndexFunc(src, func(x float32) bool { return x-x != 0 })
	return &check.Failure{Where: "src", Got: fmt.Sprintf("%v as element %d", src[i], i), Want: "finite numbers"}
}

// The sizes of blocks that Hadamard takes, powers of two. A block of the largest one takes
// less than 100 µs.
const (
	leastHadamard = 16
	mostHadamard  = 1 << 15
)

// Hadamard multiplies each block of n elements of x by the normalised Hadamard matrix,
// whose elements are ±1/√n: an orthogonal transform, and its own inverse up to rounding.
// The scalar product of two vectors stays, and no element is much larger than the others
// any more, so that [QuantizeInt4] and [QuantizeInt8] lose less: QuaRot,
// https://arxiv.org/abs/2404.00456.
//
// x has a multiple of n elements, and n is a power of two from 16 to 32768, such as the size of a
// head or a factor of it; else the error is a [*kernel.Error]. A block with an element that is no
// finite number is NaN or infinite all over. exec, and errors about tiers, are as for [Exp2Slice].
// An error leaves x untouched.
func Hadamard(x []float32, n int, exec kernel.Exec) error {
	if n < leastHadamard || n > mostHadamard || n&(n-1) != 0 {
		return &kernel.Error{Where: "numeric.Hadamard: n", Got: fmt.Sprint(n), Want: fmt.Sprintf("a power of two from %d to %d", leastHadamard, mostHadamard)}
	}
	return hadamard.Run(&exec, &elementwise.Call{Size: n, Slices: [6][]float32{x}})
}

var hadamard = elementwise.Function{Name: "numeric.Hadamard", Args: []string{"x"}, Size: "n", Outputs: 1, ElementFMAs: sumFMAs, Do: func(c *elementwise.Call) {
	n := len(c.Slices[0]) / c.Rows
	c.Tier.Elementwise().Hadamard(c.Slices[0], n, float32(1/math.Sqrt(float64(n))))
}}
