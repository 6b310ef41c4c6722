package numeric

import (
	"fmt"
	"slices"

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
//	dst   = src/scale, rounded to an integer, ties to even, and limited to ±127
//
// where both quotients are rounded to float32. If the scale is 0, as for zeros, dst is 0.
// The bits are the same on every CPU.
//
// The default tier computes it. If ATTN_TIER names a tier that cannot run, the error is a
// [*kernel.TierError], and nothing is written.
//
// dst is as long as src, and group divides that length. scales has one element per group
// and shares no memory with src. All numbers in src are finite. Otherwise the error is a
// [*kernel.ArgumentError], and nothing is written.
func QuantizeInt8(dst []int8, scales, src []float32, group int) error {
	t, unavailable := tier.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	if err := checkQuantize(t, dst, scales, src, group); err != nil {
		return err
	}
	if view.Races {
		view.Announce(view.Read, src)
		view.Announce(view.Write, dst)
		view.Announce(view.Write, scales)
	}
	for g := 0; g < len(scales); {
		n := min(len(scales)-g, max(1, rows.MaxConvert/group))
		t.Convert().QuantizeInt8(dst[g*group:], group, scales[g:], 1, src[g*group:], group, group, n, group)
		g += n
	}
	return nil
}

func checkQuantize(t *tier.Tier, dst []int8, scales, src []float32, group int) error {
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
	return checkFinite(t, src)
}

// checkFinite reports the first number of src that is not finite.
func checkFinite(t *tier.Tier, src []float32) error {
	if view.Races {
		view.Announce(view.Read, src)
	}
	for from := 0; from < len(src); from += rows.MaxConvert {
		part := src[from:min(from+rows.MaxConvert, len(src))]
		if t.Convert().Finite(part) {
			continue
		}
		i := slices.IndexFunc(part, func(x float32) bool { return x-x != 0 })
		return &kernel.ArgumentError{Arg: "src", Got: fmt.Sprintf("%v as element %d", part[i], from+i), Want: "finite numbers"}
	}
	return nil
}
