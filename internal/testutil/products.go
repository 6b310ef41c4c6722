package testutil

import (
	"github.com/attn-go/attn/internal/scalar"
)

// Gemm is ukernel.Products.Gemm for tiles of w lanes, straight from its definition.
func Gemm(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
	for i := range m {
		for lane := range w {
			sum := c[i*ldc+lane]
			for lo := 0; ; lo += seg {
				hi := lo + min(seg, k-lo)
				var acc float32
				for x := lo; x < hi; x++ {
					acc = scalar.FMA(a[i*rs+x*cs], b[x*ldb+lane], acc)
				}
				if lo > 0 || load {
					sum += acc
				} else {
					sum = acc
				}
				if hi == k {
					break
				}
			}
			c[i*ldc+lane] = sum
		}
	}
}

// GemmEvenOdd is Products.GemmEvenOdd for tiles of w lanes, straight from its definition.
func GemmEvenOdd(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
	for i := range m {
		for lane := range w {
			sum := c[i*ldc+lane]
			for x := 0; x == 0 || x < k; x += 32 { // contract.BF16Segment
				var chains [2]float32
				for y := x; y < min(x+32, k); y++ {
					chains[y%2] = scalar.FMA(a[i*rs+y*cs], b[y*ldb+lane], chains[y%2])
				}
				if both := chains[0] + chains[1]; x == 0 && !load {
					sum = both
				} else {
					sum += both
				}
			}
			c[i*ldc+lane] = sum
		}
	}
}

// GemmTiles is Unit.GemmTiles, straight from its definition. It allocates nothing.
func GemmTiles(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
	var row, column [32]float32 // contract.BF16Segment
	for x := 0; x == 0 || x < k; x += len(row) {
		n := min(len(row), k-x)
		for lane := range lanes {
			for y := range n {
				column[y] = scalar.BF16(uint16(b[(x+y)/2*lanes+lane] >> (y % 2 * 16)))
			}
			for i := range m {
				for y := range n {
					row[y] = scalar.BF16(a[i*lda+x+y])
				}
				GemmEvenOdd(1, c[i*ldc+lane:], 0, row[:], 0, 1, column[:], 1, 1, n, load || x > 0)
			}
		}
	}
}

// GemmHalves is Unit.GemmHalves, straight from its definition. It allocates nothing.
func GemmHalves(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
	const seg = 32 // contract.BF16Segment
	for x := 0; x < k; x += seg {
		for i := range m {
			for lane := range lanes {
				var sum [1]float32
				for half := range 2 {
					var pairs [seg / 2]uint32
					for y := range pairs {
						pairs[y] = b[(x+half*len(pairs)+y)*lanes+lane]
					}
					GemmTiles(sum[:], 1, a[i*lda+x:], 0, pairs[:], 1, 1, seg, half > 0)
				}
				if y := &c[i*ldc+lane]; load || x > 0 {
					*y += sum[0]
				} else {
					*y = sum[0]
				}
			}
		}
	}
}

// WidePairs returns rows of pairs of bfloat16, which lie ld words apart, as twice as many rows of
// float32.
func WidePairs(b []uint32, ld int) []float32 {
	wide := make([]float32, 2*(len(b)+ld))
	for i, w := range b {
		at := i/ld*2*ld + i%ld
		wide[at], wide[at+ld] = scalar.BF16(uint16(w)), scalar.BF16(uint16(w>>16))
	}
	return wide
}

// GemmMax is Products.GemmMax for tiles of w lanes, straight from its definition.
func GemmMax(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
	Gemm(w, c, ldc, a, rs, cs, b, ldb, m, k, seg, false)
	for i := range m {
		for lane := range w {
			max[lane] = scalar.Larger(c[i*ldc+lane], max[lane])
		}
	}
}

// GemmMerge is Products.GemmMerge for tiles of w lanes, straight from its definition.
func GemmMerge(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	acc := make([]float32, m*w)
	Gemm(w, acc, w, a, rs, cs, b, ldb, m, k, max(k, 1), false)
	for i := range m {
		for lane := range w {
			p := &c[i*ldc+lane]
			*p = scalar.FMA(acc[i*w+lane], beta[lane], float32(*p*alpha[lane]))
		}
	}
}
