package ukernel

import "github.com/attn-go/attn/contract"

// WeightKernels are the products with packed panels of a linear layer's weights.
// A panel has PanelLanes columns of Wᵀ.
type WeightKernels struct {
	// Gemm is TileKernels.Gemm for the PanelLanes lanes of a whole panel, in segments of
	// InputSegment steps.
	Gemm func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, next []byte)

	// GemmF16 and GemmBF16 are Gemm with a B that is widened to float32 in registers.
	GemmF16, GemmBF16 func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte)

	// Blocks are the kernels for quantized weights, by their format.
	Blocks [BlockFormats]BlockKernels

	// AddBias is the epilogue of m rows of a product, in place:
	//
	//	c[i·ldc+lane] = c[i·ldc+lane] + bias[lane], lane < len(bias)
	//
	// and the NaN 0x7fc00000, to the bit, where that is a NaN. len(bias) is a
	// multiple of PanelStep.
	AddBias func(c []float32, ldc, m int, bias []float32)

	// Pack and PackHalves transpose n rows of d weights into lanes of a panel. Their bits do
	// not change:
	//
	//	dst[x·ld+lane] = src[lane·lds+x], lane < n, x < d
	//
	// n is a multiple of PanelStep, and d at least PackSteps.
	Pack       func(dst []float32, ld int, src []float32, lds, n, d int)
	PackHalves func(dst []uint16, ld int, src []uint16, lds, n, d int)
}

// BlockKernels are the kernels for packed panels of quantized weights, in blocks as package
// quantized defines them. k is a multiple of BlockSteps.
type BlockKernels struct {
	// Gemm is WeightKernels.Gemm with a B of blocks. k is not 0.
	Gemm func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool)

	// Widen converts k rows of a B of any number of lanes, a multiple of PanelStep, to float32
	// without gaps.
	Widen func(dst []float32, b []byte, lanes, k int)
}

// PackSteps is the least number of inputs that Pack and PackHalves take.
const PackSteps = 8

// The width of a packed panel of weights. 48 lanes are 3, 6 or 12 vectors. With 8
// or 2 rows of x that makes as many accumulators as hide the latency of an FMA. The
// last panel of a layer is as narrow as it can be, in steps of PanelStep.
const (
	PanelLanes = 48
	PanelStep  = 16
)

// BlockSteps is the number of inputs in a block of quantized weights.
const BlockSteps = contract.WeightBlock
