package ukernel

import "github.com/attn-go/attn/fallback"

// genericTier is plain Go. It runs everywhere and defines the results that the
// other tiers must equal.
func genericTier() Tier {
	return Tier{
		Name:    "generic",
		Lacks:   func() string { return "" },
		Kernels: genericKernels,
	}
}

var genericKernels = Kernels{
	Tiles: []TileKernels{{
		Lanes:     fallback.Lanes,
		Gemm:      fallback.Gemm,
		GemmMax:   fallback.GemmMax,
		GemmMerge: fallback.GemmMerge,
		LaneKernels: &LaneKernels{
			MaskSpan:   fallback.MaskSpan,
			MaskBool:   fallback.MaskBool,
			Softcap:    fallback.Softcap,
			ALiBi:      fallback.ALiBi,
			Bias:       fallback.Bias,
			Softmax:    fallback.Softmax,
			Dropout:    fallback.Dropout,
			MergeStats: fallback.MergeStats,
			Pack:       fallback.Pack,
			Unpack:     fallback.Unpack,
			HeadScores: fallback.HeadScores,
			HeadValues: fallback.HeadValues,

			BackwardWeights: fallback.BackwardWeights,
			BackwardScores:  fallback.BackwardScores,
			BackwardSoftcap: fallback.BackwardSoftcap,
		},
	}},
	Skinny: SkinnyKernels{
		QK:      fallback.SkinnyQK,
		PV:      fallback.SkinnyPV,
		Softmax: fallback.Softmax,
		Merge:   fallback.SkinnyMerge,
		Unpack:  fallback.SkinnyUnpack,
	},
	Convert: genericConverters,
	Weights: WeightKernels{
		Gemm:      fallback.WeightGemm,
		GemmF16:   fallback.WeightGemmF16,
		GemmBF16:  fallback.WeightGemmBF16,
		GemmQ8_0:  fallback.WeightGemmQ8_0,
		GemmQ4_0:  fallback.WeightGemmQ4_0,
		GemmQ4_1:  fallback.WeightGemmQ4_1,
		WidenQ8_0: fallback.WidenQ8_0,
		WidenQ4_0: fallback.WidenQ4_0,
		WidenQ4_1: fallback.WidenQ4_1,
		AddBias:   fallback.AddBias,

		Pack:       fallback.WeightPack,
		PackHalves: fallback.WeightPackHalves,
	},
	Norms:       genericNorms,
	Functions:   Functions{Exp2: fallback.Exp2Slice, Tanh: fallback.TanhSlice, Additive: fallback.Additive, AdditiveBackward: fallback.AdditiveBackward, AddWeighted: fallback.AddWeighted, AdamW: fallback.AdamW},
	Activations: genericActivations,
}
