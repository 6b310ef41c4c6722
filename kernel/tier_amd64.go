//go:build amd64 && !purego

package kernel

import (
	"strings"

	"github.com/attn-go/attn/asm"
	"github.com/klauspost/cpuid/v2"
)

// archTiers lists the assembly tiers of amd64, best first. Both include a
// panel of 8 lanes, so that few queries do not pay for 16.
func archTiers() []tier {
	return []tier{
		{
			name:  "avx512",
			lacks: lacking(cpuid.AVX512F, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX2, cpuid.FMA3, cpuid.F16C),
			panels: []panelKernels{
				narrow512(8, asm.Tile1AVX2, asm.TileMax1AVX2, asm.TileFold1AVX2),
				avx512(16, asm.Tile1AVX512, asm.TileMax1AVX512, asm.TileFold1AVX512),
				avx512(32, asm.Tile2AVX512, asm.TileMax2AVX512, asm.TileFold2AVX512),
				avx512(48, asm.Tile3AVX512, asm.TileMax3AVX512, asm.TileFold3AVX512),
				avx512(64, asm.Tile4AVX512, asm.TileMax4AVX512, asm.TileFold4AVX512),
			},
			main:        mainAVX512,
			fewRows:     44,
			fullRows:    16,
			threadFMAs:  2 << 20,
			linearSteps: 384,
		},
		{
			name:  "avx2",
			lacks: lacking(cpuid.AVX2, cpuid.FMA3, cpuid.F16C),
			panels: []panelKernels{
				avx2(8, asm.Tile1AVX2, asm.TileMax1AVX2, asm.TileFold1AVX2),
				avx2(16, asm.Tile2AVX2, asm.TileMax2AVX2, asm.TileFold2AVX2),
				avx2(24, asm.Tile3AVX2, asm.TileMax3AVX2, asm.TileFold3AVX2),
			},
			main:        func() int { return 16 },
			fewRows:     12,
			fullRows:    8,
			threadFMAs:  2 << 20,
			linearSteps: 128,
		},
	}
}

// mainAVX512 is 32 lanes on Zen 5 and later, where S of a block then stays in L1
// and an 8×2 tile was measured, in C, to beat a 6×4 one by 1-4%. Elsewhere it is
// 64, which has the fewest loads: Emerald Rapids and Zen 4 prefer that. Compare
// them with BenchmarkWidth.
func mainAVX512() int {
	if cpuid.CPU.IsVendor(cpuid.AMD) && cpuid.CPU.Family >= 0x1A {
		return 32
	}
	return 64
}

func avx512(lanes int, tile tileFunc, tileMax tileMaxFunc, tileFold tileFoldFunc) panelKernels {
	return panelKernels{
		lanes: lanes, tile: tile, tileMax: tileMax, tileFold: tileFold,
		softcap: asm.SoftcapAVX512,
		mask:    asm.MaskAVX512, alibi: asm.AlibiAVX512,
		hide: asm.HideAVX512, bias: asm.BiasAVX512,
		softmax: asm.SoftmaxAVX512, dropout: asm.DropoutAVX512, fold: asm.FoldAVX512,
		pack: asm.PackAVX512, unpack: asm.UnpackAVX512,
		fewKernels: fewKernels{
			fewScores: asm.FewScoresAVX512, fewValues: asm.FewValuesAVX512,
			fewScoresF16: asm.FewScoresF16AVX512, fewValuesF16: asm.FewValuesF16AVX512,
			fewScoresBF16: asm.FewScoresBF16AVX512, fewValuesBF16: asm.FewValuesBF16AVX512,
			fewScoresInt8: asm.FewScoresInt8AVX512, fewValuesInt8: asm.FewValuesInt8AVX512,
			fewSoftmax: asm.FewSoftmaxAVX512, fewFold: asm.FewFoldAVX512, fewUnpack: asm.FewUnpackAVX512,
		},
		converters: converters{
			widenF16: asm.WidenF16AVX512, widenBF16: asm.WidenBF16AVX512, widenInt8: asm.WidenInt8AVX512,
			narrowF16: asm.NarrowF16AVX512, narrowBF16: asm.NarrowBF16AVX512,
		},
		stripKernels: stripKernels{
			strip: asm.StripAVX512, stripF16: asm.StripF16AVX512, stripBF16: asm.StripBF16AVX512, settle: asm.SettleAVX512,
		},
		functions: functions{exp2: asm.Exp2AVX512, tanh: asm.TanhAVX512, additive: asm.AdditiveAVX512},
	}
}

func avx2(lanes int, tile tileFunc, tileMax tileMaxFunc, tileFold tileFoldFunc) panelKernels {
	return panelKernels{
		lanes: lanes, tile: tile, tileMax: tileMax, tileFold: tileFold,
		softcap: asm.SoftcapAVX2,
		mask:    asm.MaskAVX2, alibi: asm.AlibiAVX2,
		hide: asm.HideAVX2, bias: asm.BiasAVX2,
		softmax: asm.SoftmaxAVX2, dropout: asm.DropoutAVX2, fold: asm.FoldAVX2,
		pack: asm.PackAVX2, unpack: asm.UnpackAVX2,
		fewKernels: fewKernels{
			fewScores: asm.FewScoresAVX2, fewValues: asm.FewValuesAVX2,
			fewScoresF16: asm.FewScoresF16AVX2, fewValuesF16: asm.FewValuesF16AVX2,
			fewScoresBF16: asm.FewScoresBF16AVX2, fewValuesBF16: asm.FewValuesBF16AVX2,
			fewScoresInt8: asm.FewScoresInt8AVX2, fewValuesInt8: asm.FewValuesInt8AVX2,
			fewSoftmax: asm.FewSoftmaxAVX2, fewFold: asm.FewFoldAVX2, fewUnpack: asm.FewUnpackAVX2,
		},
		converters: converters{
			widenF16: asm.WidenF16AVX2, widenBF16: asm.WidenBF16AVX2, widenInt8: asm.WidenInt8AVX2,
			narrowF16: asm.NarrowF16AVX2, narrowBF16: asm.NarrowBF16AVX2,
		},
		stripKernels: stripKernels{
			strip: asm.StripAVX2, stripF16: asm.StripF16AVX2, stripBF16: asm.StripBF16AVX2, settle: asm.SettleAVX2,
		},
		functions: functions{exp2: asm.Exp2AVX2, tanh: asm.TanhAVX2, additive: asm.AdditiveAVX2},
	}
}

// narrow512 is a panel of AVX2's width for AVX-512: where keys are in the lanes
// they fill all.
func narrow512(lanes int, tile tileFunc, tileMax tileMaxFunc, tileFold tileFoldFunc) panelKernels {
	p := avx2(lanes, tile, tileMax, tileFold)
	p.fewKernels = avx512(lanes, tile, tileMax, tileFold).fewKernels
	return p
}

// lacking returns a function that names those of the features that this CPU,
// or its operating system, lacks.
func lacking(features ...cpuid.FeatureID) func() string {
	var missing []string
	for _, f := range features {
		if !cpuid.CPU.Supports(f) {
			missing = append(missing, f.String())
		}
	}
	reason := ""
	if missing != nil {
		reason = "the CPU lacks " + strings.Join(missing, ", ")
	}
	return func() string { return reason }
}
