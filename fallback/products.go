package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// Products returns the matrix products for query tiles of w lanes, any number.
func Products(w int) ukernel.Products {
	if w == lanes {
		return ukernel.Products{Gemm: gemm, GemmMax: gemmMax, GemmMerge: gemmMerge, GemmEvenOdd: gemmEvenOdd}
	}
	return ukernel.Products{
		Gemm: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			eachPart(w, m, b, func(at int, b []float32) {
				gemm(c[at:], ldc, a, rs, cs, b, ldb, m, k, seg, load)
			}, func(lane int, b []float32) {
				for i := range m {
					p := &c[i*ldc+lane]
					*p = sumOfLane(*p, a, i*rs, cs, b, ldb, k, seg, load)
				}
			})
		},
		GemmMax: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
			eachPart(w, m, b, func(at int, b []float32) {
				gemmMax(c[at:], ldc, a, rs, cs, b, ldb, m, k, seg, max[at:])
			}, func(lane int, b []float32) {
				for i := range m {
					s := sumOfLane(0, a, i*rs, cs, b, ldb, k, seg, false)
					c[i*ldc+lane], max[lane] = s, scalar.Larger(s, max[lane])
				}
			})
		},
		GemmEvenOdd: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			eachPart(w, m, b, func(at int, b []float32) {
				gemmEvenOdd(c[at:], ldc, a, rs, cs, b, ldb, m, k, load)
			}, func(lane int, b []float32) {
				for i := range m {
					p := &c[i*ldc+lane]
					*p = evenOddOfLane(*p, a, i*rs, cs, b, ldb, k, load)
				}
			})
		},
		GemmMerge: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
			eachPart(w, m, b, func(at int, b []float32) {
				gemmMerge(c[at:], ldc, a, rs, cs, b, ldb, m, k, alpha[at:], beta[at:])
			}, func(lane int, b []float32) {
				for i := range m {
					p := &c[i*ldc+lane]
					s := sumOfLane(0, a, i*rs, cs, b, ldb, k, k+1, false)
					*p = scalar.FMA(s, beta[lane], float32(*p*alpha[lane]))
				}
			})
		},
	}
}

// eachPart cuts w lanes into parts of the width that gemm takes, and single lanes. b begins at the
// first lane of each; it may be empty if a product has no steps.
func eachPart(w, m int, b []float32, part, single func(at int, b []float32)) {
	if m == 0 {
		return
	}
	at := 0
	for ; at+lanes <= w; at += lanes {
		part(at, b[min(at, len(b)):])
	}
	for ; at < w; at++ {
		single(at, b[min(at, len(b)):])
	}
}

// sumOfLane returns one number of a product in segments, see gemm; c is the first summand if load
// is true.
func sumOfLane(c float32, a []float32, a0, cs int, b []float32, ldb, k, seg int, load bool) float32 {
	for x := 0; ; x += seg {
		var acc float32
		n := min(seg, k-x)
		for y := x; y < x+n; y++ {
			acc = scalar.FMA(a[a0+y*cs], b[y*ldb], acc)
		}
		if x > 0 || load {
			c += acc
		} else {
			c = acc
		}
		if x+n == k {
			return c
		}
	}
}

// evenOddOfLane returns one number of a product in bfloat16, see evenOdd.
func evenOddOfLane(c float32, a []float32, a0, cs int, b []float32, ldb, k int, load bool) float32 {
	for x := 0; ; x += contract.BF16Segment {
		var sums [2]float32
		n := min(contract.BF16Segment, k-x)
		for y := x; y < x+n; y++ {
			sums[y%2] = scalar.FMA(a[a0+y*cs], b[y*ldb], sums[y%2])
		}
		sum := sums[0] + sums[1]
		if x > 0 || load {
			sum += c
		}
		if c = sum; x+n == k {
			return c
		}
	}
}
