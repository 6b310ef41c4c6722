// Package spec is what the generators of all instruction sets agree on: the names,
// signatures and doc comments of the micro-kernels, their order, and the numbers of the
// numeric contract.
package spec

import "fmt"

// A Function is a function in assembly, usually a micro-kernel.
type Function struct {
	Table     Table  // where package ukernel has a field for it
	Name      string // without the suffix of the ISA
	Signature string // that of the field
	Doc       string // the doc comment after the name
}

// The functions that are the same for all types of operands.
var (
	AddBias = Function{WeightTable, "AddBias", "(c []float32, ldc, m int, bias []float32)",
		"adds bias to m rows of c, len(bias) lanes wide, and turns every NaN into 0x7fc00000."}
	WeightPack = Function{WeightTable, "WeightPack", "(dst []float32, ld int, src []float32, lds, n, d int)",
		"transposes n rows of d weights into lanes of a packed panel. n is a multiple of 16, and d at least 8."}
	WeightPackHalves = Function{WeightTable, "WeightPackHalves", "(dst []uint16, ld int, src []uint16, lds, n, d int)",
		"is WeightPack for weights of 16 bits."}
	Additive = Function{FunctionTable, "Additive", "(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32)",
		"computes the additive scores, sums of weights·tanh(q + k), of n rows of q and m rows of k. len(weights) is a multiple of 16."}
	AdditiveBackward = Function{FunctionTable, "AdditiveBackward", "(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32)",
		"adds what n keys contribute to the gradients of the additive scores of a query, len(q) hidden units, given those of the scores x."}
	AddWeighted = Function{FunctionTable, "AddWeighted", "(dst []float32, ldd int, src []float32, lds, n int, weights []float32)",
		"adds n rows of src, len(weights) elements each, to those of dst, each element times its weight."}
	AdamW = Function{FunctionTable, "AdamW", "(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32)",
		"is a step of the optimizer AdamW: it changes len(w) weights, and the means m and v of their gradients g and of the squares."}
	Softcap = Function{LaneTable, "Softcap", "(s []float32, ld, n int, limit, inv float32, max []float32)",
		"limits n rows of scores, len(max) lanes wide, to limit·tanh(s·inv), in place, and raises max to the results."}
	MaskSpan = Function{LaneTable, "MaskSpan", "(s []float32, ld, j0, n int, lo, hi []int32, max []float32)",
		"replaces scores outside the spans of their lanes, [lo, hi), by -Inf, for n rows from number j0 on, and raises max to the results."}
	ALiBi = Function{LaneTable, "ALiBi", "(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32)",
		"subtracts from the scores of n keys, from number j0 on, their distances to the lanes' positions times the lanes' slopes, and raises max to the results."}
	Bias = Function{LaneTable, "Bias", "(s []float32, ld, n int, src []float32, off []int, max []float32)",
		"adds biases times log2 e to the scores of n keys, or selects -Inf where the bias is -Inf, and raises max to the results. The rows of biases start at off in src."}
	MaskBool = Function{LaneTable, "MaskBool", "(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32)",
		"replaces scores by -Inf where keep equals hidden, for n keys, and raises max to the results. The rows of keep start at off."}
	Softmax = Function{LaneTable, "Softmax", "(s []float32, ld, n int, max, sum []float32)",
		"turns n rows of scores, len(max) lanes wide, into weights exp2(s - max), in place, and writes their sums."}
	Dropout = Function{LaneTable, "Dropout", "(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32)",
		"multiplies the weights of n keys, from number j0 on, by scale, or by 0 where a word of Philox4x32-10 with these round keys is below threshold."}
	MergeStats = Function{LaneTable, "MergeStats", "(max, sum, blockMax, blockSum, alpha, beta []float32)",
		"merges the statistics of a block into the running ones and writes the factors for the output."}
	Pack = Function{LaneTable, "Pack", "(dst []float32, ld int, src []float32, off []int, n, d int, scale float32)",
		"transposes rows of src, which start at off, into a packed panel of len(off) lanes, and scales them."}
	Unpack = Function{LaneTable, "Unpack", "(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64",
		"normalises the output of a tile of len(off) lanes, o·(1/sum) + 0, and transposes it into rows of dst that start at off. It returns the set of lanes that hold a NaN."}
	HeadScores = Function{LaneTable, "HeadScores", "(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32)",
		"computes m rows of scores, len(max) lanes wide: the products of the packed panel q and rows of k, which start at off for every lane. It sets max to the largest. d is a multiple of 8, at most 64."}
	HeadValues = Function{LaneTable, "HeadValues", "(dst []float32, off []int, v []float32, offv []int, ldv int, p []float32, ldp, n, m, dv int, sum []float32) uint64",
		"computes n rows of dst, which start at off: the products of the weights p with m rows of v, which start at offv for every lane, normalised, o·(1/sum) + 0. It returns the set of lanes that hold a NaN."}
	SkinnySoftmax = Function{SkinnyTable, "SkinnySoftmax", "(s []float32, ld, n int, max, sum []float32)",
		"is the softmax for 4 lanes, len(max). Afterwards the elements after these lanes may hold anything, except after those of the last row."}
	SkinnyMerge = Function{SkinnyTable, "SkinnyMerge", "(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32)",
		"merges n rows of part into those of o: fma(part, beta, o·alpha)."}
	SkinnyUnpack = Function{SkinnyTable, "SkinnyUnpack", "(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64",
		"normalises n rows of o, o·(1/sum) + 0, and writes them to rows of dst that start at off. It returns the set of rows that hold a NaN."}
	Exp2 = Function{FunctionTable, "Exp2", "(dst, src []float32)",
		"computes dst = 2^src for len(dst) elements. dst may be src."}
	Tanh = Function{FunctionTable, "Tanh", "(dst, src []float32)",
		"computes dst = tanh(src) for len(dst) elements. dst may be src."}
	Read = Function{noTable, "Read", "(p []float32)", "reads all of p but the remainder of less than 1024 bytes, to measure the bandwidth of caches and memory."}
	Peak = Function{noTable, "Peak", "(n int)", "executes n times 24 independent FMAs of full vectors, to measure the FMA peak of a core."}
)

// An Epilogue says what happens to the accumulators of a product.
type Epilogue int

const (
	Store      Epilogue = iota // they go to C; the chains may start from C
	StoreMax                   // they go to C and update the running maximum of every lane
	StoreMerge                 // they are merged into C: fma(acc, beta, C·alpha)
)

// A TileShape is a register tile of a product: rows of A times vectors of B.
type TileShape struct {
	Vectors, Rows int
	Prefetch      bool // of A, for query tiles that are alone with their keys
}

// Gemm is the product for query tiles of a number of vectors of an ISA.
func Gemm(vectors, lanes int, e Epilogue, isa string) Function {
	const args = "(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k"
	switch e {
	case StoreMax:
		return Function{tileTable(lanes), fmt.Sprintf("GemmMax%d", vectors), args + ", seg int, max []float32)",
			fmt.Sprintf("is Gemm%d%s without load and raises max to the results.", vectors, isa)}
	case StoreMerge:
		return Function{tileTable(lanes), fmt.Sprintf("GemmMerge%d", vectors), args + " int, alpha, beta []float32)",
			fmt.Sprintf("is Gemm%d%s of a single segment, merged into c: fma(result, beta, c·alpha).", vectors, isa)}
	}
	return Function{tileTable(lanes), fmt.Sprintf("Gemm%d", vectors), args + ", seg int, load bool)",
		fmt.Sprintf("is the matrix product for query tiles of %d lanes: m rows of c are the products of rows of a and the k rows of b, in segments of seg rows, or c plus these.", lanes)}
}

// WeightGemm is the product with a packed panel of weights of a type.
func WeightGemm(b Element) Function {
	return Function{WeightTable, "WeightGemm" + b.suffix(), "(c []float32, ldc int, a []float32, rs, cs int, b []" + b.goType() + ", ldb, m, k int, load bool, next []byte)",
		fmt.Sprintf("is Gemm for a whole packed panel of weights, 48 lanes%s, in segments of %d rows. It may prefetch next.", b.of(), InputSegment)}
}

// SkinnyQK is the product of K of a type with few queries.
func SkinnyQK(k Element) Function {
	t := "[]" + k.goType()
	return Function{SkinnyTable, "SkinnyQK" + k.suffix(), "(s []float32, k " + t + ", ldk int, " + k.scales() + "q []float32, n, m, d int, max []float32, next " + t + ", far int)",
		fmt.Sprintf("computes m rows of scores, len(max) lanes wide, of which n are in use: the products of rows of k%s and the packed panel q, in segments of %d columns. It raises max to the results and prefetches rows from next on.", k.of(), ColumnSegment)}
}

// SkinnyPV is the product of few rows of weights with V of a type.
func SkinnyPV(v Element) Function {
	t := "[]" + v.goType()
	return Function{SkinnyTable, "SkinnyPV" + v.suffix(), "(o []float32, ldo int, v " + t + ", ldv int, " + v.scales() + "p []float32, ldp, n, m, dv int, load bool, next " + t + ", far int)",
		"computes n rows of o, the products of the weights p and m rows of v" + v.of() + ", from +0 or from o, and prefetches rows from next on."}
}

// Pause is not of an ISA but of an architecture: a loop that waits for another thread
// calls it between two checks.
var Pause = Function{noTable, "Pause", "()",
	"waits a moment, some tens of cycles, and leaves the core to the thread that shares it."}
