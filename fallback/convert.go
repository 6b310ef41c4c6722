package fallback

import "github.com/attn-go/attn/internal/scalar"

// widenF16 converts n rows of d binary16: dst[r·ldd+x] = src[r·lds+x].
func widenF16(dst []float32, ldd int, src []uint16, lds, n, d int) {
	convert(dst, ldd, src, lds, n, d, scalar.F16)
}

// widenBF16 converts n rows of d bfloat16: dst[r·ldd+x] = src[r·lds+x].
func widenBF16(dst []float32, ldd int, src []uint16, lds, n, d int) {
	convert(dst, ldd, src, lds, n, d, scalar.BF16)
}

// narrowF16 rounds n rows of d numbers to binary16, see [scalar.ToF16]:
// dst[r·ldd+x] = src[r·lds+x].
func narrowF16(dst []uint16, ldd int, src []float32, lds, n, d int) {
	convert(dst, ldd, src, lds, n, d, scalar.ToF16)
}

// narrowBF16 rounds n rows of d numbers to bfloat16, see [scalar.ToBF16]:
// dst[r·ldd+x] = src[r·lds+x].
func narrowBF16(dst []uint16, ldd int, src []float32, lds, n, d int) {
	convert(dst, ldd, src, lds, n, d, scalar.ToBF16)
}

func convert[D, S any](dst []D, ldd int, src []S, lds, n, d int, f func(S) D) {
	for r := range n {
		to := window(dst, r*ldd, d)
		for x, y := range window(src, r*lds, d) {
			to[x] = f(y)
		}
	}
}

// widenInt8 converts n rows of d scaled integers. In a row, group neighbours share a
// scale: dst[r·ldd+x] = float32(src[r·lds+x])·scales[r·lsc+x/group].
func widenInt8(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int) {
	for r := range n {
		to, from := window(dst, r*ldd, d), window(src, r*lds, d)
		for g, at := 0, 0; at < d; g, at = g+1, at+group {
			scale := scales[r*lsc+g]
			for x := at; x < min(at+group, d); x++ {
				to[x] = float32(float32(from[x]) * scale)
			}
		}
	}
}
