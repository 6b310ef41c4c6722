package ukernel

import "github.com/attn-go/attn/fallback"

// WeightKernels are the products with packed panels of a linear layer's weights.
// A panel has PanelLanes columns of Wᵀ.
type WeightKernels struct {
	// Gemm is TileKernels.Gemm for the PanelLanes lanes of a whole panel, in segments of
	// InputSegment steps.
	Gemm func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, next []byte)

	// GemmF16 and GemmBF16 are Gemm with a B that is widened to float32 in registers.
	GemmF16, GemmBF16 func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte)

	// GemmQ8_0, GemmQ4_0 and GemmQ4_1 are Gemm with a B of quantized weights, in blocks as
	// package fallback defines them. k is a multiple of BlockSteps, and not 0.
	GemmQ8_0, GemmQ4_0, GemmQ4_1 func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool)

	// WidenQ8_0, WidenQ4_0 and WidenQ4_1 convert k rows of such a B of any number of lanes,
	// a multiple of PanelStep, to float32 without gaps. k is a multiple of BlockSteps.
	WidenQ8_0, WidenQ4_0, WidenQ4_1 func(dst []float32, b []byte, lanes, k int)

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
const BlockSteps = fallback.BlockSteps

// Functions are functions of the contract over slices. dst may be src.
type Functions struct {
	// Exp2 and Tanh compute dst[x] = f(src[x]), x < len(dst).
	Exp2, Tanh func(dst, src []float32)

	// Additive computes the additive scores of n queries and m keys, i < n and j < m:
	//
	//	acc[x mod 16] = fma chain over x = 0..len(weights)-1 ascending, acc = fma(weights[x], tanh(q[i·ldq+x] + k[j·ldk+x]), acc)
	//	s[j·ld+i]     = their sum: acc[r] += acc[r+8] for r < 8, then acc[r+4] for r < 4, acc[r+2], acc[r+1]
	//
	// from +0. len(weights) is a multiple of 16. next is a prefetch hint as in
	// SkinnyKernels.
	Additive func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32)

	// AdditiveBackward adds what n keys contribute to the gradients of the additive scores of a
	// query, given those of the scores x, for e < len(q), any number, and j < n ascending:
	//
	//	t = tanh(q[e] + k[j·ldk+e]), u = (1 - t)·(1 + t)
	//	dw[e]       = fma(x[j], t, dw[e])
	//	dq[e]       = fma(x[j], u, dq[e])
	//	dk[j·ldd+e] = dk[j·ldd+e] + x[j]·u
	AdditiveBackward func(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32)

	// AddWeighted adds weighted rows, for j < n and e < len(weights), any number. The product is
	// rounded, and a NaN becomes 0x7FC00000:
	//
	//	dst[j·ldd+e] = dst[j·ldd+e] + src[j·lds+e]·weights[e]
	AddWeighted func(dst []float32, ldd int, src []float32, lds, n int, weights []float32)

	// AdamW is a step of the optimizer, for e < len(w), any number. Each operation is rounded:
	//
	//	m[e] = m[e] + gain1·(g[e] - m[e])
	//	v[e] = beta2·v[e] + (gain2·g[e])·g[e]
	//	w[e] = w[e]·keep - rate·(m[e]/(sqrt(v[e])/root + epsilon))
	AdamW func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32)
}
