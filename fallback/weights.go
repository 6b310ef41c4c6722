package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// weightGemm is gemm for the lanes of a whole packed panel of weights, in segments of
// contract.InputSegment steps. The last argument is what kernels may prefetch.
func weightGemm(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, _ []byte) {
	if m == 0 {
		return
	}
	for lane := 0; lane < ukernel.PanelLanes; lane += lanes {
		gemm(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], ldb, m, k, contract.InputSegment, load)
	}
}

// weightGemmF16 is weightGemm with binary16 numbers in b.
func weightGemmF16(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
	gemmWidened(c, ldc, a, rs, cs, b, ldb, m, k, load, scalar.F16)
}

// weightGemmBF16 is weightGemm with bfloat16 numbers in b.
func weightGemmBF16(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
	gemmWidened(c, ldc, a, rs, cs, b, ldb, m, k, load, scalar.BF16)
}

// gemmWidened is weightGemm on widened weights. It widens one segment of some lanes at a
// time, for all rows of a.
func gemmWidened(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, widen func(uint16) float32) {
	if m == 0 {
		return
	}
	var wide [contract.InputSegment * lanes]float32
	for x := 0; ; x += contract.InputSegment {
		n := min(contract.InputSegment, k-x)
		for lane := 0; lane < ukernel.PanelLanes; lane += lanes {
			for r := range n {
				for i, h := range window(b, (x+r)*ldb+lane, lanes) {
					wide[r*lanes+i] = widen(h)
				}
			}
			gemm(c[lane:], ldc, a[min(x*cs, len(a)):], rs, cs, wide[:], lanes, m, n, contract.InputSegment, load || x > 0)
		}
		if x+n == k {
			return
		}
	}
}

// addBias adds bias to the first m rows of c, len(bias) wide, and replaces every NaN by
// that with the bits 0x7fc00000.
func addBias(c []float32, ldc, m int, bias []float32) {
	for i := range m {
		for x := range window(c, i*ldc, len(bias)) {
			c[i*ldc+x] = scalar.Canonical(c[i*ldc+x] + bias[x])
		}
	}
}

// weightPack transposes n rows of d weights into lanes of a packed panel:
// dst[x·ld+lane] = src[lane·lds+x].
func weightPack(dst []float32, ld int, src []float32, lds, n, d int) {
	packRows(dst, ld, src, lds, n, d)
}

// weightPackHalves is weightPack for weights of 16 bits.
func weightPackHalves(dst []uint16, ld int, src []uint16, lds, n, d int) {
	packRows(dst, ld, src, lds, n, d)
}

// packRows takes four rows at a time, then the rest one by one.
func packRows[E any](dst []E, ld int, src []E, lds, n, d int) {
	lane := 0
	row := func(i int) []E { return window(src, (lane+i)*lds, d) }
	for ; lane+4 <= n; lane += 4 {
		a, b, c, e := row(0), row(1), row(2), row(3)
		for x := range d {
			to := dst[x*ld+lane:][:4]
			to[0], to[1], to[2], to[3] = a[x], b[x], c[x], e[x]
		}
	}
	for ; lane < n; lane++ {
		for x, w := range row(0) {
			dst[x*ld+lane] = w
		}
	}
}
