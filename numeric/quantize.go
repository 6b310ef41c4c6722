package numeric

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// QuantizeInt8 makes int8 elements and scales for [kernel.Tensor.Scaled] from float32.
// Each group of neighbouring elements of src has one scale. With m the largest magnitude
// of the group,
//
//	scale = m/127
//	dst   = src/scale, rounded to an integer, ties to even, and limited to ±127
//
// where both quotients are rounded to float32. If the scale is 0, as for zeros, dst is 0.
// The bits are the same on every CPU.
//
// dst is as long as src, and group divides that length. scales has one element per group
// and shares no memory with src. All numbers in src are finite. Otherwise the error is a
// [*kernel.ArgumentError], and nothing is written.
func QuantizeInt8(dst []int8, scales, src []float32, group int) error {
	if err := checkQuantize(dst, scales, src, group); err != nil {
		return err
	}
	for g := range scales {
		scales[g] = quantize(dst[g*group:(g+1)*group], src[g*group:(g+1)*group])
	}
	return nil
}

// quantize converts one group and returns its scale.
func quantize(dst []int8, src []float32) float32 {
	largest := uint32(0) // as bits, which are ordered like magnitudes
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
		if y > 127 { // possible if the scale is subnormal and so has few bits
			y = 127
		} else if y < -127 {
			y = -127
		}
		// Adding 1.5·2^23 rounds to an integer, which the low bits of the sum hold.
		dst[i] = int8(math.Float32bits(y + 0x1.8p23))
	}
	return scale
}

func checkQuantize(dst []int8, scales, src []float32, group int) error {
	switch {
	case group < 1:
		return &kernel.ArgumentError{Arg: "group", Got: fmt.Sprint(group), Want: "at least 1"}
	case len(src)%group != 0:
		return &kernel.ArgumentError{Arg: "src", Got: fmt.Sprintf("%d elements", len(src)), Want: fmt.Sprintf("a multiple of the group, %d", group)}
	case len(dst) != len(src):
		return &kernel.ArgumentError{Arg: "dst", Got: fmt.Sprintf("%d elements", len(dst)), Want: fmt.Sprintf("as many as src has: %d", len(src))}
	case len(scales) != len(src)/group:
		return &kernel.ArgumentError{Arg: "scales", Got: fmt.Sprintf("%d elements", len(scales)), Want: fmt.Sprintf("one for each group: %d", len(src)/group)}
	}
	switch to := view.MemoryOf(scales); {
	case to.Overlaps(view.MemoryOf(src)):
		return &kernel.ArgumentError{Arg: "scales", Got: "memory that overlaps src", Want: "memory of their own"}
	case to.Overlaps(view.MemoryOf(dst)): // the program has converted a slice by unsafe
		return &kernel.ArgumentError{Arg: "scales", Got: "memory that overlaps dst", Want: "memory of their own"}
	case view.MemoryOf(dst).Overlaps(view.MemoryOf(src)):
		return &kernel.ArgumentError{Arg: "dst", Got: "memory that overlaps src", Want: "memory of its own"}
	}
	const infinity = 0x7f800000
	for i, x := range src {
		if math.Float32bits(x)&infinity == infinity {
			return &kernel.ArgumentError{Arg: "src", Got: fmt.Sprintf("%v as element %d", x, i), Want: "finite numbers"}
		}
	}
	return nil
}
