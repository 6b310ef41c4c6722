package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// weightGemm is WeightKernels.Gemm.
func weightGemm(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, _ []byte) {
	if m == 0 {
		return
	}
	for lane := 0; lane < ukernel.PanelLanes; lane += lanes {
		gemm(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], ldb, m, k, contract.InputSegment, load)
	}
}

// weightGemmHalves returns WeightKernels.GemmF16 or GemmBF16, given how a number is widened: one
// segment of some lanes at a time, for all rows of a.
func weightGemmHalves(widen func(uint16) float32) func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
	return func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
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
}

// weightGemmPairs is WeightKernels.GemmPairs: one segment at a time is widened for all rows of a.
func weightGemmPairs(c []float32, ldc int, a []float32, rs, cs int, b []uint32, ldb, m, k int, load bool, _ []byte) {
	if m == 0 {
		return
	}
	const n = ukernel.PanelLanes
	var wide [contract.BF16Segment * n]float32
	for x := 0; ; x += contract.BF16Segment {
		steps := min(contract.BF16Segment, k-x)
		widenPairs(wide[:], wide[n:], 2*n, b[min(x/2*ldb, len(b)):], ldb, steps/2, n)
		for lane := 0; lane < n; lane += lanes {
			gemmEvenOdd(c[lane:], ldc, a[min(x*cs, len(a)):], rs, cs, wide[lane:], n, m, steps, load || x > 0)
		}
		if x+steps == k {
			return
		}
	}
}

// addBias is WeightKernels.AddBias.
func addBias(dst []float32, ldd int, c []float32, ldc, m int, bias []float32) {
	for i := range m {
		to := window(dst, i*ldd, len(bias))
		for lane, x := range window(c, i*ldc, len(bias)) {
			to[lane] = scalar.Canonical(x + bias[lane])
		}
	}
}

// packRows is WeightKernels.Pack, of numbers of any size. It takes four rows at a time, then the
// rest one by one.
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

// blockKernels returns the kernels of every format of packed panels.
func blockKernels() (kernels [ukernel.PackedFormats]ukernel.BlockKernels) {
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		k := &kernels[f]
		k.GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			gemmInt8(f, c, ldc, x, ldx, b, lanes, m, k, load)
		}
		k.Widen = func(dst []float32, b []byte, lanes, k int) { quantized.Widen(f, dst, lanes, b, 0, lanes, k) }
		if !f.Grouped() {
			k.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
				blockGemm(f, c, ldc, a, rs, cs, b, m, k, load)
			}
		}
	}
	return kernels
}

// blockGemm widens one segment of some lanes at a time, for all rows of a.
func blockGemm(f ukernel.PackedFormat, c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	if m == 0 {
		return
	}
	var wide [contract.InputSegment * lanes]float32
	for x := 0; x < k; x += contract.InputSegment {
		n := min(contract.InputSegment, k-x)
		for lane := 0; lane < ukernel.PanelLanes; lane += lanes {
			quantized.Widen(f, wide[:], lanes, b[f.PanelBytes(ukernel.PanelLanes, x):], lane, ukernel.PanelLanes, n)
			gemm(c[lane:], ldc, a[x*cs:], rs, cs, wide[:], lanes, m, n, contract.InputSegment, load || x > 0)
		}
	}
}
