package rows

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// Subnormal numbers become +0 where they are packed or stored in a cache: on some CPUs an FMA of one takes 100
// times as long as others. A binary16 is none as a float32.

// leastNormal is the least float32 that is not subnormal.
var leastNormal = math.Float32frombits(contract.LeastNormal)

// Flush copies n rows of d numbers, lds apart, to rows ldd apart. Those that are subnormal become +0. dst may
// be src.
func Flush(t *tier.Tier, dst []float32, ldd int, src []float32, lds, n, d int) {
	flush := t.Convert().Flush
	for r := 0; r < n; {
		m := min(n-r, max(1, MaxConvert/max(d, 1)))
		flush(dst[r*ldd:], ldd, src[r*lds:], lds, m, d, leastNormal)
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

// FlushBF16 makes the subnormal bfloat16 of x +0, four at a time.
func FlushBF16(x []uint16) {
	const exponents, ones = 0x7f807f807f807f80, 0x0001000100010001
	b := view.BytesOf(x)
	for ; len(b) >= 8; b = b[8:] {
		four := binary.NativeEndian.Uint64(b)
		// The sum has the upper bit of each number whose exponent is not 0.
		normal := (four&exponents + exponents) >> 15 & ones
		if normal != ones {
			binary.NativeEndian.PutUint64(b, four&(normal*0xffff))
		}
	}
	for x = x[len(x)-len(b)/2:]; len(x) > 0; x = x[1:] {
		if x[0]&0x7f80 == 0 {
			x[0] = 0
		}
	}
}
