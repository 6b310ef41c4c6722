package main

import "fmt"

// An emitter emits the functions of one ISA into a file.
type emitter interface {
	tile(s tileShape, e epilogue)
	strip(s tileShape, b element)
	settle()
	additive()
	softcap()
	mask()
	alibi()
	bias()
	hideBools()
	softmax()
	dropout()
	fold()
	pack()
	unpack()
	fewScores(k element)
	fewValues(v element)
	fewSoftmax()
	fewFold()
	fewUnpack()
	widenF16()
	widenBF16()
	widenInt8()
	narrowF16()
	narrowBF16()
	exp2Each()
	tanhEach()
	peak()
	read()
}

// emitAll emits the functions that every ISA has, in the order of the file. strip
// is the tile for whole strips of weights.
func emitAll(e emitter, tiles []tileShape, strip tileShape) {
	for _, s := range tiles {
		e.tile(s, store)
		e.tile(s, storeMax)
		e.tile(s, storeFold)
	}
	for _, b := range []element{float32s, f16s, bf16s} {
		e.strip(strip, b)
	}
	e.settle()
	e.additive()
	e.softcap()
	e.mask()
	e.alibi()
	e.bias()
	e.hideBools()
	e.softmax()
	e.dropout()
	e.fold()
	e.pack()
	e.unpack()
	for _, b := range []element{float32s, f16s, bf16s, int8s} {
		e.fewScores(b)
		e.fewValues(b)
	}
	e.fewSoftmax()
	e.fewFold()
	e.fewUnpack()
	e.widenF16()
	e.widenBF16()
	e.widenInt8()
	e.narrowF16()
	e.narrowBF16()
	e.exp2Each()
	e.tanhEach()
	e.peak()
	e.read()
}

// A function is what all ISAs agree on: the table of package ukernel that has a
// field for it, the name without their suffix, the signature, which is that of the
// field, and the doc comment after the name.
type function struct {
	table                table
	name, signature, doc string
}

var (
	addBiasFunction = function{weightTable, "AddBias", "(c []float32, ldc, m int, bias []float32)",
		"adds bias to m rows of c, len(bias) lanes wide, and turns every NaN into 0x7fc00000."}
	additiveFunction = function{functionTable, "Additive", "(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32)",
		"computes the additive scores, sums of weights·tanh(q + k), of n rows of q and m rows of k. len(weights) is a multiple of 16."}
	softcapFunction = function{laneTable, "Softcap", "(s []float32, ld, n int, limit, inv float32, max []float32)",
		"limits n rows of scores, len(max) lanes wide, to limit·tanh(s·inv), in place, and raises max to the results."}
	maskSpanFunction = function{laneTable, "MaskSpan", "(s []float32, ld, j0, n int, lo, hi []int32, max []float32)",
		"replaces scores outside the spans of their lanes, [lo, hi), by -Inf, for n rows from number j0 on, and raises max to the results."}
	alibiFunction = function{laneTable, "ALiBi", "(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32)",
		"subtracts from the scores of n keys, from number j0 on, their distances to the lanes' positions times the lanes' slopes, and raises max to the results."}
	biasFunction = function{laneTable, "Bias", "(s []float32, ld, n int, src []float32, off []int, max []float32)",
		"adds biases times log2 e to the scores of n keys, or selects -Inf where the bias is -Inf, and raises max to the results. The rows of biases start at off in src."}
	maskBoolFunction = function{laneTable, "MaskBool", "(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32)",
		"replaces scores by -Inf where keep equals hidden, for n keys, and raises max to the results. The rows of keep start at off."}
	softmaxFunction = function{laneTable, "Softmax", "(s []float32, ld, n int, max, sum []float32)",
		"turns n rows of scores, len(max) lanes wide, into weights exp2(s - max), in place, and writes their sums."}
	dropoutFunction = function{laneTable, "Dropout", "(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32)",
		"multiplies the weights of n keys, from number j0 on, by scale, or by 0 where a word of Philox4x32-10 with these round keys is below threshold."}
	mergeStatsFunction = function{laneTable, "MergeStats", "(max, sum, blockMax, blockSum, alpha, beta []float32)",
		"merges the statistics of a block into the running ones and writes the factors for the output."}
	packFunction = function{laneTable, "Pack", "(dst []float32, ld int, src []float32, off []int, n, d int, scale float32)",
		"transposes rows of src, which start at off, into a packed panel of len(off) lanes, and scales them."}
	unpackFunction = function{laneTable, "Unpack", "(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64",
		"normalises the output of a tile of len(off) lanes, o·(1/sum) + 0, and transposes it into rows of dst that start at off. It returns the set of lanes that hold a NaN."}
	skinnySoftmaxFunction = function{skinnyTable, "SkinnySoftmax", "(s []float32, ld, n int, max, sum []float32)",
		"is the softmax for 4 lanes, len(max). Afterwards the elements after these lanes may hold anything, except after those of the last row."}
	skinnyMergeFunction = function{skinnyTable, "SkinnyMerge", "(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32)",
		"merges n rows of part into those of o: fma(part, beta, o·alpha)."}
	skinnyUnpackFunction = function{skinnyTable, "SkinnyUnpack", "(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64",
		"normalises n rows of o, o·(1/sum) + 0, and writes them to rows of dst that start at off. It returns the set of rows that hold a NaN."}
	widenF16Function = function{convertTable, "WidenF16", "(dst []float32, ldd int, src []uint16, lds, n, d int)",
		"converts n rows of d binary16."}
	widenBF16Function = function{convertTable, "WidenBF16", "(dst []float32, ldd int, src []uint16, lds, n, d int)",
		"converts n rows of d bfloat16."}
	widenInt8Function = function{convertTable, "WidenInt8", "(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int)",
		"converts n rows of d integers and scales them. In a row, group neighbours share a scale."}
	narrowF16Function = function{convertTable, "NarrowF16", "(dst []uint16, ldd int, src []float32, lds, n, d int)",
		"rounds n rows of d numbers to binary16, every NaN to 0x7e00."}
	narrowBF16Function = function{convertTable, "NarrowBF16", "(dst []uint16, ldd int, src []float32, lds, n, d int)",
		"rounds n rows of d numbers to bfloat16, every NaN to 0x7fc0."}
	exp2Function = function{functionTable, "Exp2", "(dst, src []float32)",
		"computes dst = 2^src for len(dst) elements. dst may be src."}
	tanhFunction = function{functionTable, "Tanh", "(dst, src []float32)",
		"computes dst = tanh(src) for len(dst) elements. dst may be src."}
	readFunction = function{noTable, "Read", "(p []float32)", "reads all of p but the remainder of less than 1024 bytes, to measure the bandwidth of caches and memory."}
	peakFunction = function{noTable, "Peak", "(n int)", "executes n times 24 independent FMAs of full vectors, to measure the FMA peak of a core."}
)

// An epilogue says what becomes of the accumulators of a tile.
type epilogue int

const (
	store     epilogue = iota // to C; the chain may start from what C holds
	storeMax                  // to C, and the running maximum of every lane
	storeFold                 // folded into C: fma(acc, beta, C·alpha)
)

// An element is a type of the numbers of an operand: B of strips, K and V of few
// rows.
type element int

const (
	float32s element = iota
	f16s             // binary16
	bf16s            // bfloat16
	int8s            // integers, with scales
)

// suffix is what names the type in a function's name.
func (b element) suffix() string { return [...]string{"", "F16", "BF16", "Int8"}[b] }

// goType is the type of a number in Go.
func (b element) goType() string { return [...]string{"float32", "uint16", "uint16", "int8"}[b] }

// shift is log2 of the bytes of a number.
func (b element) shift() int { return [...]int{2, 1, 1, 0}[b] }

// of is how a doc comment names the type, scales the parameters for those of a matrix.
func (b element) of() string {
	return [...]string{"", " of binary16", " of bfloat16", " of scaled integers"}[b]
}

func (b element) scales() string {
	if b == int8s {
		return "scales []float32, lsc, group int, "
	}
	return ""
}

// skinnyQKFunction and skinnyPVFunction are the products of few rows with K and V
// of a type.
func skinnyQKFunction(k element) function {
	t := "[]" + k.goType()
	return function{skinnyTable, "SkinnyQK" + k.suffix(), "(s []float32, k " + t + ", ldk int, " + k.scales() + "q []float32, n, m, d int, max []float32, next " + t + ", far int)",
		"computes m rows of scores, len(max) lanes wide, of which n are in use: the products of rows of k" + k.of() + " and the packed panel q. It raises max to the results and prefetches rows from next on."}
}

func skinnyPVFunction(v element) function {
	t := "[]" + v.goType()
	return function{skinnyTable, "SkinnyPV" + v.suffix(), "(o []float32, ldo int, v " + t + ", ldv int, " + v.scales() + "p []float32, ldp, n, m, dv int, load bool, next " + t + ", far int)",
		"computes n rows of o, the products of the weights p and m rows of v" + v.of() + ", from +0 or from what o holds, and prefetches rows from next on."}
}

// weightGemmFunction is the product by a strip of weights.
func weightGemmFunction(b element) function {
	return function{weightTable, "WeightGemm" + b.suffix(), "(c []float32, ldc int, a []float32, rs, cs int, b []" + b.goType() + ", ldb, m, k int, load bool)",
		"is Gemm for a whole packed panel of weights, 48 lanes" + b.of() + "."}
}

// gemmFunction is the tile for panels of a number of vectors of an ISA.
func gemmFunction(vectors, lanes int, e epilogue, isa string) function {
	const args = "(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, "
	switch e {
	case storeMax:
		return function{tileTable(lanes), fmt.Sprintf("GemmMax%d", vectors), args + "max []float32)",
			fmt.Sprintf("is Gemm%d%s from +0 and raises max to the results.", vectors, isa)}
	case storeFold:
		return function{tileTable(lanes), fmt.Sprintf("GemmMerge%d", vectors), args + "alpha, beta []float32)",
			fmt.Sprintf("is Gemm%d%s from +0, merged into c: fma(result, beta, c·alpha).", vectors, isa)}
	}
	return function{tileTable(lanes), fmt.Sprintf("Gemm%d", vectors), args + "load bool)",
		fmt.Sprintf("is the matrix product for query tiles of %d lanes: m rows of c are the products of rows of a and the k rows of b, from +0 or from what c holds.", lanes)}
}
