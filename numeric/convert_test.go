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

// Numbers that have 8 bits keep them, unless they are infinite, and a NaN becomes the canonical
// one.
func TestEightBitsStay(t *testing.T) {
	for i := range 1 << 8 {
		f, g := kernel.F8E4M3(i), kernel.F8E5M2(i)
		if x := f.Float32(); numeric.ToF8E4M3(x) != f && (x == x || numeric.ToF8E4M3(x) != 0x7f) {
			t.Errorf("F8E4M3 %#02x is %v and then %#02x", i, x, numeric.ToF8E4M3(x))
		}
		want := g
		switch x := g.Float32(); {
		case x != x:
			want = 0x7e
		case x-x != 0:
			want--
		}
		if x := g.Float32(); numeric.ToF8E5M2(x) != want {
			t.Errorf("F8E5M2 %#02x is %v and then %#02x, want %#02x", i, x, numeric.ToF8E5M2(x), want)
		}
	}
}

// Limits that the documentation of the types of 8 bits names.
func TestNarrowLimits8(t *testing.T) {
	for _, c := range []struct {
		x    float32
		e4m3 kernel.F8E4M3
		e5m2 kernel.F8E5M2
	}{
		{1, 0x38, 0x3c},
		{-2.5, 0xc2, 0xc1},
		{448, 0x7e, 0x5f},
		{-449, 0xfe, 0xdf},
		{57344, 0x7e, 0x7b},
		{65536, 0x7e, 0x7b},
		{-testutil.Inf, 0xfe, 0xfb},
		{math.MaxFloat32, 0x7e, 0x7b},
		{0x1p-6, 0x08, 0x24},
		{0x1p-9, 0x01, 0x18},
		{0x1p-10, 0x00, 0x14}, // ties go to even
		{math.Nextafter32(0x1p-10, 1), 0x01, 0x14},
		{0x1p-14, 0x00, 0x04},
		{0x1p-16, 0x00, 0x01},
		{0x1p-17, 0x00, 0x00},
		{1 + 0x1p-4, 0x38, 0x3c},
		{1 + 3*0x1p-4, 0x3a, 0x3d},
		{1 + 3*0x1p-3, 0x3b, 0x3e},
		{float32(math.Copysign(0, -1)), 0x80, 0x80},
		{testutil.NaN, 0x7f, 0x7e},
		{-testutil.NaN, 0x7f, 0x7e},
	} {
		if f, g := numeric.ToF8E4M3(c.x), numeric.ToF8E5M2(c.x); f != c.e4m3 || g != c.e5m2 {
			t.Errorf("%v is F8E4M3 %#02x, F8E5M2 %#02x, want %#02x, %#02x", c.x, f, g, c.e4m3, c.e5m2)
		}
	}
}
