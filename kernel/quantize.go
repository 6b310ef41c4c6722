package kernel

import (
	"fmt"
	"math"
)

// QuantizeInt8 makes int8 elements and scales for [Tensor.Scaled] from float32: of
// src, group elements that follow one another share a scale. With the largest
// magnitude m among them,
//
//	scale = m/127
//	dst   = src/scale, rounded to an integer, ties to even, and limited to ±127
//
// where quotients are rounded to float32. Where the scale is 0, as of zeros, dst is
// 0. The bits are the same on every CPU.
//
// dst is as long as src, group divides that, and scales has one element for each
// group and shares no memory with src. A number in src that is NaN or infinite
// is an error like any of these, and nothing is written then.
func QuantizeInt8(dst []int8, scales, src []float32, group int) error {
	if err := checkQuantize(dst, scales, src, group); err != nil {
		return err
	}
	for g := range scales {
		scales[g] = quantize(dst[g*group:(g+1)*group], src[g*group:(g+1)*group])
	}
	return nil
}

// quantize does one group and returns its scale.
func quantize(dst []int8, src []float32) float32 {
	largest := uint32(0) // as bits, which are in order
	for _, x := range src {
		largest = max(largest, math.Float32bits(x)&^(1<<31))
	}
	scale := math.Float32frombits(largest) / 127
	if scale == 0 {
		clear(dst)
		return 0
	}
	dst = dst[:len(src)]
	for i, x := range src {
		y := x / scale
		if y > 127 { // where the scale has few bits, being subnormal
			y = 127
		} else if y < -127 {
			y = -127
		}
		// The sum is rounded to an integer, which is what its last bits hold.
		dst[i] = int8(math.Float32bits(y + 0x1.8p23))
	}
	return scale
}

func checkQuantize(dst []int8, scales, src []float32, group int) error {
	switch {
	case group < 1:
		return &ArgumentError{"group", fmt.Sprint(group), "at least 1"}
	case len(src)%group != 0:
		return &ArgumentError{"src", fmt.Sprintf("%d elements", len(src)), fmt.Sprintf("a multiple of the group, %d", group)}
	case len(dst) != len(src):
		return &ArgumentError{"dst", fmt.Sprintf("%d elements", len(dst)), fmt.Sprintf("as many as src has: %d", len(src))}
	case len(scales) != len(src)/group:
		return &ArgumentError{"scales", fmt.Sprintf("%d elements", len(scales)), fmt.Sprintf("one for each group: %d", len(src)/group)}
	}
	if memoryOf(scales).overlaps(memoryOf(src)) {
		return &ArgumentError{"scales", "memory that overlaps src", "memory of their own"}
	}
	const infinity = 0x7f800000
	for i, x := range src {
		if math.Float32bits(x)&infinity == infinity {
			return &ArgumentError{"src", fmt.Sprintf("%v as element %d", x, i), "finite numbers"}
		}
	}
	return nil
}
