package rows

import (
	"encoding/binary"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// Subnormal numbers become +0 where they are packed or stored in a cache: on some CPUs an
// FMA of one takes 100 times as long as others. A binary16 is none as a float32.

// Flush copies n rows of d numbers, lds apart, to rows ldd apart. Those that are subnormal
// become +0. dst may be src.
func Flush(t *tier.Tier, dst []float32, ldd int, src []float32, lds, n, d int) {
	FlushBelow(t, dst, ldd, src, lds, n, d, scalar.LeastNormal)
}

// FlushBelow is Flush for numbers whose magnitude is below least.
func FlushBelow(t *tier.Tier, dst []float32, ldd int, src []float32, lds, n, d int, least float32) {
	flush := t.Convert().Flush
	for r := 0; r < n; {
		m := min(n-r, max(1, MaxConvert/max(d, 1)))
		flush(dst[r*ldd:], ldd, src[r*lds:], lds, m, d, least)
		r += m
	}
}

// FlushAll is Flush in place, of numbers without gaps.
func FlushAll(t *tier.Tier, x []float32) {
	for len(x) > 0 {
		n := min(len(x), MaxConvert)
		Flush(t, x, n, x, n, 1, n)
		x = x[n:]
	}
}

// AreFinite tells whether n rows of d numbers, ld apart, are finite.
func AreFinite(t *tier.Tier, x []float32, ld, n, d int) bool {
	if ld == d {
		n, d = 1, n*d
	}
	for r := range n {
		for row := x[r*ld:][:d]; len(row) > 0; {
			part := row[:min(len(row), MaxConvert)]
			if !t.Convert().Finite(part) {
				return false
			}
			row = row[len(part):]
		}
	}
	return true
}

// RoundBF16 is Converters.RoundBF16 for any number of elements.
func RoundBF16(t *tier.Tier, dst, src []float32) {
	for len(src) > 0 {
		n := min(len(src), MaxConvert)
		t.Convert().RoundBF16(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
}

// FlushBF16 makes the subnormal bfloat16 of x +0.
func FlushBF16(x []uint16) { flushHalves(x, 0x7f80) }

// FlushF16 makes the binary16 of x that are -0 +0, as others of their magnitude are.
func FlushF16(x []uint16) { flushHalves(x, 0x7fff) }

// flushHalves makes numbers 0 that have none of the bits of mask, which end at bit 14. It looks
// at 32 at once.
func flushHalves(x []uint16, mask uint16) {
	const each, ones = 0x0001000100010001, 0x8000800080008000
	masks := uint64(mask) * each
	// A sum has the upper bit of each of four numbers that have a bit of the mask.
	four := func(b []byte) uint64 { return binary.NativeEndian.Uint64(b)&masks + masks }
	for b := view.BytesOf(x); len(b) >= 64; b, x = b[64:], x[32:] {
		p := (*[64]byte)(b)
		low := four(p[:8]) & four(p[8:16]) & four(p[16:24]) & four(p[24:32])
		high := four(p[32:40]) & four(p[40:48]) & four(p[48:56]) & four(p[56:])
		if low&high&ones != ones {
			flushEach(x[:32], mask)
		}
	}
	flushEach(x, mask)
}

func flushEach(x []uint16, mask uint16) {
	for i, h := range x {
		if h&mask == 0 {
			x[i] = 0
		}
	}
}
