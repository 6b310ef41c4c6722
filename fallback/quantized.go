package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/ukernel"
)

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
			quantized.Widen(f, wide[:], lanes, b[x/contract.WeightBlock*f.BlockBytes(ukernel.PanelLanes):], lane, ukernel.PanelLanes, n)
			gemm(c[lane:], ldc, a[x*cs:], rs, cs, wide[:], lanes, m, n, contract.InputSegment, load || x > 0)
		}
	}
}
