package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/ukernel"
)

// blockKernels returns the kernels of every format of quantized weights.
func blockKernels() (k [ukernel.BlockFormats]ukernel.BlockKernels) {
	for i := range k {
		f := quantized.Of(ukernel.BlockFormat(i))
		k[i] = ukernel.BlockKernels{
			GemmInt8: func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
				gemmInt8(f, c, ldc, x, ldx, b, lanes, m, k, load)
			},
			Widen: func(dst []float32, b []byte, lanes, k int) { f.Widen(dst, lanes, b, 0, lanes, k) },
		}
		if !f.Grouped {
			k[i].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
				blockGemm(f, c, ldc, a, rs, cs, b, m, k, load)
			}
		}
	}
	return k
}

// blockGemm widens one segment of some lanes at a time, for all rows of a.
func blockGemm(f *quantized.Format, c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	if m == 0 {
		return
	}
	var wide [contract.InputSegment * lanes]float32
	for x := 0; x < k; x += contract.InputSegment {
		n := min(contract.InputSegment, k-x)
		for lane := 0; lane < ukernel.PanelLanes; lane += lanes {
			f.Widen(wide[:], lanes, b[x/contract.WeightBlock*f.Bytes(ukernel.PanelLanes):], lane, ukernel.PanelLanes, n)
			gemm(c[lane:], ldc, a[x*cs:], rs, cs, wide[:], lanes, m, n, contract.InputSegment, load || x > 0)
		}
	}
}
