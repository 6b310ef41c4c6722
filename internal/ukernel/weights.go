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

	// GemmPairs is Products.GemmEvenOdd for the PanelLanes lanes of a whole panel, with a B of k/2
	// rows of pairs, which is widened in registers: a word has the bfloat16 of an even step in its
	// low half, and the next step's in its high half. k is even, and ldb counts words.
	GemmPairs func(c []float32, ldc int, a []float32, rs, cs int, b []uint32, ldb, m, k int, load bool, next []byte)

	// Blocks are the kernels for quantized weights, by their format.
	Blocks [PackedFormats]BlockKernels

	// GemmUnpacked is Gemm with a B of PanelLanes lanes that BlockKernels.Unpack has written. k is
	// a multiple of BlockSteps and not 0. ISAs without it widen weights, and so does package
	// fallback.
	GemmUnpacked func(c []float32, ldc int, a []float32, rs, cs int, b []uint32, m, k int, load bool, next []byte)

	// Quantize quantizes len(src) numbers of a row, a multiple of BlockSteps, in blocks of
	// BlockSteps. With the largest magnitude a of a block
	//
	//	d    = a·(1/127); 0 if a < 2^-100, and the NaN 0x7fc00000 if the block has a NaN or an infinity
	//	q[i] = src[i]·(127/a), rounded to an integer, ties to even; 0 if d is 0 or NaN
	//
	// where 1/127 is a float32 and every operation is rounded. dst gets RowWords words a block:
	// byte i of word g < 8 is q[8i+g], an int8. After them come the bits of d, the bits of
	// d·float(q[0]+...+q[31]), -(q[0]+...+q[31]) as an int32, and the negative sums of q[0] to
	// q[15] and of q[16] to q[31] as two int16.
	Quantize func(dst []uint32, src []float32)

	// AddBias is the epilogue of m rows of a product:
	//
	//	dst[i·ldd+lane] = c[i·ldc+lane] + bias[lane], lane < len(bias)
	//
	// and the NaN 0x7fc00000, to the bit, where that is a NaN. len(bias) is a
	// multiple of PanelStep. dst may be c, with ldd = ldc.
	AddBias func(dst []float32, ldd int, c []float32, ldc, m int, bias []float32)

	// Pack transposes n rows of d weights into lanes of a panel. Their bits do not change:
	//
	//	dst[x·ld+lane] = src[lane·lds+x], lane < n, x < d
	//
	// n is a multiple of PanelStep, and d at least PackSteps.
	Pack func(dst []float32, ld int, src []float32, lds, n, d int)
}

// BlockKernels are the kernels for packed panels of quantized weights, in blocks as package
// quantized defines them. k is a multiple of the format's HeadSteps.
type BlockKernels struct {
	// Gemm is WeightKernels.Gemm with a B of blocks. k is not 0. Formats that are unpacked have
	// none. ISAs without Unpack have none of a grouped format, and so does package fallback.
	Gemm func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool)

	// GemmInt8 multiplies m quantized rows x, see WeightKernels.Quantize, which lie ldx words apart
	// and have no code -128, with a B of blocks of some lanes, a multiple of PanelStep up to
	// PanelLanes. For each row, lane and block, in ascending order of the blocks,
	//
	//	acc = fma(float(q[0]·(w[0]-o) + ... + q[31]·(w[31]-o)), d·dw, acc)
	//	acc = fma(m, s, acc)                    if the format has minima
	//
	// where dw, m, o and w are the scale, the minimum, the offset and the numbers of the lane, and
	// s the second number after the codes of x. The sum of integers is exact, the product d·dw is
	// rounded. In formats with bfloat16 scales the sum of products has no offset: a second fma adds
	// -o times the sum of q, times d·dw. In a grouped format each group of 16 inputs has integers,
	// u for the scale and t for the minimum, and a block adds
	//
	//	acc = fma(float(sum over groups of u·(sum of q·(w-o))), d·dw, acc)
	//	acc = fma(float(-sum over groups of t·(sum of q)), d·m, acc)     if the format has minima
	//
	// With scales of float32, e[0] and e[1] by halves, and S[0] and S[1] as the sums over them of
	// q·(w-o), it adds
	//
	//	acc = fma(fma(float(S[0]), e[0], fma(float(S[1]), e[1], +0)), d, acc)
	//
	// acc begins with c if load is set, else with +0, and c gets the last one. k is not 0.
	GemmInt8 func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool)

	// Widen converts k rows of a B of any number of lanes, a multiple of PanelStep, to float32
	// without gaps.
	Widen func(dst []float32, b []byte, lanes, k int)

	// Unpack writes the blocks of a grouped format in UnpackedRows rows of lanes words each,
	// with the products of the scales and integers of both groups of 16 steps:
	//
	//	d0, m0        float32: a weight of the first group is d0·q - m0, rounded once
	//	d1·2^-16, m1  the same of the second group
	//	q             8 rows: byte i of word g is the number of step 8i+g
	//
	// A NaN has any sign. It belongs to WeightKernels.GemmUnpacked.
	Unpack func(dst []uint32, b []byte, lanes, k int)
}

// UnpackedRows is how many rows of words BlockKernels.Unpack makes of a block.
const UnpackedRows = 12

// PackSteps is the least number of inputs that WeightKernels.Pack and Converters.PackHalves take.
const PackSteps = 8

// The width of a packed panel of weights. 48 lanes are 3, 6 or 12 vectors. With 8
// or 2 rows of x that makes as many accumulators as hide the latency of an FMA. The
// last panel of a layer is as narrow as it can be, in steps of PanelStep.
const (
	PanelLanes = 48
	PanelStep  = 16
)

// RowWords is the number of words of 32 bits of a block of a quantized row.
const RowWords = 12

// BlockSteps is the number of inputs in a block of quantized weights.
const BlockSteps = contract.WeightBlock
