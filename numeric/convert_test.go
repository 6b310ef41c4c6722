package numeric_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Numbers that have 16 bits keep them, and a NaN becomes the canonical one. (Package
// fallback tests how others are rounded, by the definition of the formats.)
func TestSixteenBitsStay(t *testing.T) {
	for i := range 1 << 16 {
		f, b := kernel.F16(i), kernel.BF16(i)
		if x := f.Float32(); numeric.ToF16(x) != f && (x == x || numeric.ToF16(x) != 0x7e00) {
			t.Errorf("F16 %#04x is %v and then %#04x", i, x, numeric.ToF16(x))
		}
		if x := b.Float32(); numeric.ToBF16(x) != b && (x == x || numeric.ToBF16(x) != 0x7fc0) {
			t.Errorf("BF16 %#04x is %v and then %#04x", i, x, numeric.ToBF16(x))
		}
	}
}

// Limits that the documentation names.
func TestNarrowLimits(t *testing.T) {
	for _, c := range []struct {
		x    float32
		f16  kernel.F16
		bf16 kernel.BF16
	}{
		{1, 0x3c00, 0x3f80},
		{-2.5, 0xc100, 0xc020},
		{65504, 0x7bff, 0x4780},
		{math.Nextafter32(65520, 0), 0x7bff, 0x4780},
		{65520, 0x7c00, 0x4780},
		{-65520, 0xfc00, 0xc780},
		{0x1p-14, 0x0400, 0x3880},
		{0x1p-24, 0x0001, 0x3380},
		{0x1p-25, 0x0000, 0x3300},
		{math.Nextafter32(0x1p-25, 1), 0x0001, 0x3300},
		{0x1p-133, 0x0000, 0x0001},
		{math.MaxFloat32, 0x7c00, 0x7f80},
		{0x1.fep127, 0x7c00, 0x7f7f}, // the largest BF16
		{0x1.ffp127, 0x7c00, 0x7f80}, // and half a unit more
		{math.Nextafter32(0x1.ffp127, 0), 0x7c00, 0x7f7f},
		{1 + 0x1p-11, 0x3c00, 0x3f80}, // ties go to even
		{1 + 0x1p-10 + 0x1p-11, 0x3c02, 0x3f80},
		{1 + 0x1p-8, 0x3c04, 0x3f80},
		{1 + 0x1p-7 + 0x1p-8, 0x3c0c, 0x3f82},
		{float32(math.Copysign(0, -1)), 0x8000, 0x8000},
		{-testutil.Inf, 0xfc00, 0xff80},
		{testutil.NaN, 0x7e00, 0x7fc0},
		{-testutil.NaN, 0x7e00, 0x7fc0},
	} {
		if f, b := numeric.ToF16(c.x), numeric.ToBF16(c.x); f != c.f16 || b != c.bf16 {
			t.Error(fmt.Sprintf("%v (%08x) is F16 %#04x, BF16 %#04x,", c.x, math.Float32bits(c.x), f, b),
				fmt.Sprintf("want %#04x, %#04x", c.f16, c.bf16))
		}
	}
}
