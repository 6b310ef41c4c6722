// Package spec is what the generators of all instruction sets agree on: the micro-kernels of
// package ukernel that they emit, their order, and the numbers of the numeric contract.
package spec

import "fmt"

// The functions that are the same for all types of operands.
var (
	AddBias          = kernel(WeightTable, "AddBias")
	WeightQuantize   = kernel(WeightTable, "Quantize")
	GemmUnpacked     = kernel(WeightTable, "GemmUnpacked")
	GemmTiles        = kernel(UnitTable, "GemmTiles")
	GemmHalves       = kernel(UnitTable, "GemmHalves")
	Maxima           = kernel(UnitTable, "Maxima")
	SoftmaxPairs     = kernel(UnitTable, "SoftmaxPairs")
	PackPairs        = kernel(UnitTable, "PackPairs")
	Factors          = kernel(UnitTable, "Factors")
	RoundHalves      = kernel(UnitTable, "RoundHalves")
	ScoreHalves      = kernel(UnitTable, "ScoreHalves")
	WeightPack       = kernel(WeightTable, "Pack")
	WeightPackHalves = kernel(ConvertTable, "PackHalves")
	Additive         = kernel(SkinnyTable, "Additive")
	SkinnySoftmax    = kernel(SkinnyTable, "Softmax")
	SkinnyMerge      = kernel(SkinnyTable, "Merge")
	SkinnyUnpack     = kernel(SkinnyTable, "Unpack")
	QKCodes          = kernel(SkinnyTable, "QKCodes")
	QKCodes4         = kernel(SkinnyTable, "QKCodes4")
	Pairs            = kernel(SkinnyTable, "Pairs")
	GroupPairs       = kernel(SkinnyTable, "GroupPairs")
	PVCodes          = kernel(SkinnyTable, "PVCodes")
	PVCodes4         = kernel(SkinnyTable, "PVCodes4")
	HalvesE4M3       = kernel(SkinnyTable, "HalvesE4M3")
	HalvesE5M2       = kernel(SkinnyTable, "HalvesE5M2")
	QKEvenOdd        = kernel(SkinnyTable, "QKEvenOdd")
	PVEvenOdd        = kernel(SkinnyTable, "PVEvenOdd")
	Round            = kernel(LaneTable, "Round")
	CodeScores       = kernel(LaneTable, "CodeScores")
	CodeValues       = kernel(LaneTable, "CodeValues")
	CodeMerge        = kernel(LaneTable, "CodeMerge")
	ScaleRows        = kernel(LaneTable, "ScaleRows")
	HeadValues       = kernel(SkinnyTable, "HeadValues")
	Softcap          = kernel(LaneTable, "Softcap")
	MaskSpan         = kernel(LaneTable, "MaskSpan")
	ALiBi            = kernel(LaneTable, "ALiBi")
	Bias             = kernel(LaneTable, "Bias")
	MaskBool         = kernel(LaneTable, "MaskBool")
	Softmax          = kernel(LaneTable, "Softmax")
	SoftmaxBF16      = kernel(LaneTable, "SoftmaxBF16")
	Dropout          = kernel(LaneTable, "Dropout")
	MergeStats       = kernel(LaneTable, "MergeStats")
	Pack             = kernel(LaneTable, "Pack")
	Unpack           = kernel(LaneTable, "Unpack")
	HeadScores       = kernel(LaneTable, "HeadScores")
	Exp2             = kernel(ElementwiseTable, "Exp2")
	Tanh             = kernel(ElementwiseTable, "Tanh")
	Add              = kernel(ElementwiseTable, "Add")
	Mul              = kernel(ElementwiseTable, "Mul")
	Scale            = kernel(ElementwiseTable, "Scale")
	AddRows          = kernel(ElementwiseTable, "AddRows")
	Hadamard         = kernel(ElementwiseTable, "Hadamard")
	AdamW            = kernel(ElementwiseTable, "AdamW")
	RMSNorm          = kernel(NormTable, "RMSNorm")
	LayerNorm        = kernel(NormTable, "LayerNorm")
	Means            = kernel(NormTable, "Means")
	BackwardWeights  = kernel(GradientTable, "BackwardWeights")
	BackwardScores   = kernel(GradientTable, "BackwardScores")
	BackwardSoftcap  = kernel(GradientTable, "BackwardSoftcap")
	AdditiveBackward = kernel(ElementwiseTable, "AdditiveBackward")
	AddWeighted      = kernel(ElementwiseTable, "AddWeighted")
	Rotate           = kernel(ElementwiseTable, "Rotate")
	RotatePairs      = kernel(ElementwiseTable, "RotatePairs")
	SiLU             = kernel(ActivationTable, "SiLU")
	GELU             = kernel(ActivationTable, "GELU")
	GELUTanh         = kernel(ActivationTable, "GELUTanh")
	SwiGLU           = kernel(ActivationTable, "SwiGLU")
	GeGLU            = kernel(ActivationTable, "GeGLU")
	GeGLUTanh        = kernel(ActivationTable, "GeGLUTanh")
	SiLUBackward     = kernel(ActivationTable, "SiLUBackward")
	GELUBackward     = kernel(ActivationTable, "GELUBackward")
	GELUTanhBackward = kernel(ActivationTable, "GELUTanhBackward")
	TanhBackward     = kernel(ActivationTable, "TanhBackward")
	SigmoidBackward  = kernel(ActivationTable, "SigmoidBackward")
	GRU              = kernel(ActivationTable, "GRU")
	GRUBackward      = kernel(ActivationTable, "GRUBackward")
	WidenInt8        = kernel(ConvertTable, "WidenInt8")
	QuantizeInt8     = kernel(ConvertTable, "QuantizeInt8")
	WidenInt4        = kernel(ConvertTable, "WidenInt4")
	UnpackInt4       = kernel(ConvertTable, "UnpackInt4")
	QuantizeInt4     = kernel(ConvertTable, "QuantizeInt4")
	PairColumns      = kernel(ConvertTable, "PairColumns")
	PairRows         = kernel(ConvertTable, "PairRows")
	Flush            = kernel(ConvertTable, "Flush")
	Gather           = kernel(ConvertTable, "Gather")
	Finite           = kernel(ConvertTable, "Finite")
	RoundBF16        = kernel(ConvertTable, "RoundBF16")
	WidenPairs       = kernel(ConvertTable, "WidenPairs")
	NarrowPairs      = kernel(ConvertTable, "NarrowPairs")
	Largest          = kernel(RowTable, "Largest")
	RowSums          = kernel(RowTable, "Sums")
	RowDots          = kernel(RowTable, "Dots")
	DotsWith         = kernel(RowTable, "DotsWith")
	AddScaled        = kernel(RowTable, "AddScaled")
	Powers           = kernel(RowTable, "Powers")
	Quotients        = kernel(RowTable, "Quotients")
	SoftmaxGradients = kernel(RowTable, "SoftmaxGradients")
	Squares          = kernel(RowTable, "Squares")
	NormTerms        = kernel(RowTable, "NormTerms")
	NormGradients    = kernel(RowTable, "NormGradients")
	Read             = kernel(MachineTable, "Read")
	Peak             = kernel(MachineTable, "Peak")
	TileInt8         = kernel(MachineTable, "TileInt8")
	TileBF16         = kernel(MachineTable, "TileBF16")

	VectorLanes = kernel(MachineTable, "VectorLanes")

	// Pause is not of an ISA but of an architecture.
	Pause = kernel(MachineTable, "Pause")
)

// OfVector returns f as a function of an ISA with vectors of so many lanes, if its table tells them
// apart, see ukernel.Override.
func (f Function) OfVector(lanes int) Function {
	if f.Lanes == 0 && (f.Table == LaneTable || f.Table == GradientTable || f.Table == MachineTable) {
		return f.lanes(lanes)
	}
	return f
}

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
	Prefetch      bool // of A: for query tiles that are alone with their keys, or with a packed panel the next rows
}

// Gemm is the product for query tiles of a number of vectors of an ISA.
func Gemm(vectors, lanes int, e Epilogue) Function {
	f := kernel(ProductTable, [...]string{"Gemm", "GemmMax", "GemmMerge"}[e]).lanes(lanes)
	f.Name += fmt.Sprint(vectors)
	f.Note = fmt.Sprintf("The query tile has %d lanes.", lanes)
	return f
}

// GemmEvenOdd is the product in bfloat16 for query tiles of a number of vectors of an ISA.
func GemmEvenOdd(vectors, lanes int) Function {
	f := kernel(ProductTable, "GemmEvenOdd").lanes(lanes)
	f.Name += fmt.Sprint(vectors)
	f.Note = fmt.Sprintf("The query tile has %d lanes.", lanes)
	return f
}

// WeightGemm is the product with a packed panel of weights of a type.
func WeightGemm(b Element) Function { return kernel(WeightTable, "Gemm"+b.Suffix()) }

// SkinnyQK is the product of K of a type with few queries.
func SkinnyQK(k Element) Function { return kernel(SkinnyTable, "QK"+k.Suffix()) }

// SkinnyQKRows is SkinnyQK with rows that lie anywhere.
func SkinnyQKRows(k Element) Function { return kernel(SkinnyTable, "QKRows"+k.Suffix()) }

// SkinnyPV is the product of few rows of weights with V of a type.
func SkinnyPV(v Element) Function { return kernel(SkinnyTable, "PV"+v.Suffix()) }

// SkinnyPVRows is SkinnyPV with rows that lie anywhere.
func SkinnyPVRows(v Element) Function { return kernel(SkinnyTable, "PVRows"+v.Suffix()) }
