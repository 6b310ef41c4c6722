// Package fallback is no API of this project. It holds the micro-kernels in plain Go, without
// assembly and dependencies, the same for every architecture, as the tables that package
// internal/ukernel specifies. They run where a tier has no assembly of a kernel, and they are the
// definition that the assembly must equal bit for bit.
//
// For tests there is also attention in float64, see [Oracle].
package fallback

import (
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// The tables of package ukernel, each with all of its kernels in Go, which are called as the
// fields. They are functions so that a program links the kernels of the tables alone that it asks
// for.

// Lanes returns the kernels for query tiles of any width.
func Lanes() ukernel.LaneKernels {
	return ukernel.LaneKernels{
		MaskSpan: maskSpan, MaskBool: maskBool, Softcap: softcap, ALiBi: alibi, Bias: bias,
		Softmax: softmax, SoftmaxBF16: softmaxBF16, Dropout: dropout, MergeStats: mergeStats,
		Pack: pack, Unpack: unpack, Round: roundLanes, ScaleRows: scaleRows, HeadScores: headScores,
	}
}

// Skinny returns the kernels for few query rows. There are none for narrow types: without them
// keys and values are widened before the call.
func Skinny() ukernel.SkinnyKernels {
	return ukernel.SkinnyKernels{
		QK: skinnyQK, PV: skinnyPV, Softmax: softmax, Merge: skinnyMerge, Unpack: skinnyUnpack,
		HeadValues: headValues, Additive: additive,
	}
}

// Convert returns the conversions between element types.
func Convert() ukernel.Converters {
	return ukernel.Converters{
		Widen: [ukernel.Elements]ukernel.WidenRows{
			ukernel.Float16: widenWords(scalar.F16), ukernel.BFloat16: widenWords(scalar.BF16),
			ukernel.Float8E4M3: widenBytes(scalar.F8E4M3), ukernel.Float8E5M2: widenBytes(scalar.F8E5M2),
		},
		Narrow: [ukernel.Elements]ukernel.NarrowRows{
			ukernel.Float16: narrowWords(scalar.ToF16), ukernel.BFloat16: narrowWords(scalar.ToBF16),
			ukernel.Float8E4M3: narrowBytes(scalar.ToF8E4M3), ukernel.Float8E5M2: narrowBytes(scalar.ToF8E5M2),
		},
		WidenInt8: widenInt8, QuantizeInt8: quantizeInt8, WidenInt4: widenInt4, UnpackInt4: unpackInt4, QuantizeInt4: quantizeInt4,
		PairColumns: pairColumns, PairRows: pairRows, RoundBF16: roundBF16, WidenPairs: widenPairs, NarrowPairs: narrowPairs, PackHalves: packRows[uint16],
		Flush: flush, Gather: gather, Finite: finite,
	}
}

// Weights returns the kernels of linear layers.
func Weights() ukernel.WeightKernels {
	return ukernel.WeightKernels{
		Gemm: weightGemm, GemmF16: weightGemmHalves(scalar.F16), GemmBF16: weightGemmHalves(scalar.BF16), Blocks: blockKernels(),
		GemmPairs: weightGemmPairs,
		Quantize:  quantizeRow, AddBias: addBias, Pack: packRows[float32],
	}
}

// Elementwise returns the functions over slices.
func Elementwise() ukernel.Elementwise {
	return ukernel.Elementwise{
		Exp2: unary(scalar.Exp2), Tanh: unary(scalar.Tanh), Add: add, Mul: mul, Scale: scale, AddRows: addRows, Hadamard: hadamard, AdamW: adamW,
		AdditiveBackward: additiveBackward, AddWeighted: addWeighted, Rotate: rotate, RotatePairs: rotatePairs,
	}
}

// Norms returns the norms of rows.
func Norms() ukernel.Norms {
	return ukernel.Norms{RMSNorm: rmsNorm, LayerNorm: layerNorm, Means: means}
}

// Unit returns steps between products, and no products: without a unit for tiles others compute the
// same ones. It has no RoundHalves, which products by tiles alone take.
func Unit() ukernel.Unit {
	return ukernel.Unit{Maxima: maxima, SoftmaxPairs: softmaxPairs, Factors: factors, PackPairs: packRows[uint32]}
}

// Activations returns the activations of feed-forward layers.
func Activations() ukernel.Activations {
	return ukernel.Activations{
		SiLU: unary(scalar.SiLU), GELU: unary(scalar.GELU), GELUTanh: unary(scalar.GELUTanh),
		SwiGLU: gated(scalar.SiLU), GeGLU: gated(scalar.GELU), GeGLUTanh: gated(scalar.GELUTanh),
		SiLUBackward: backward(scalar.SiLU, siluSlope), GELUBackward: backward(scalar.GELU, geluSlope), GELUTanhBackward: backward(scalar.GELUTanh, geluTanhSlope),
		TanhBackward: tanhBackward, SigmoidBackward: sigmoidBackward,
		GRU: gru, GRUBackward: gruBackward,
	}
}

// Gradients returns the kernels of the backward pass of attention, for query tiles of any width.
func Gradients() ukernel.Gradients {
	return ukernel.Gradients{
		BackwardWeights: backwardWeights, BackwardScores: backwardScores, BackwardSoftcap: backwardSoftcap,
	}
}
