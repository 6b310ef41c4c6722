//go:build arm64 && !purego

package kernel

import "github.com/attn-go/attn/asm"

// archTiers lists the assembly tiers of arm64, best first. NEON is part of
// ARMv8.0, and Go's own runtime uses it unasked. cpuid is not asked either: it
// knows of NEON on Linux, macOS and FreeBSD alone, and elsewhere, as on Windows,
// the tier would never run.
func archTiers() []tier {
	return []tier{{
		name:  "neon",
		lacks: func() string { return "" },
		panels: []panelKernels{
			neon(4, asm.Tile1NEON, asm.TileMax1NEON, asm.TileFold1NEON),
			neon(8, asm.Tile2NEON, asm.TileMax2NEON, asm.TileFold2NEON),
			neon(12, asm.Tile3NEON, asm.TileMax3NEON, asm.TileFold3NEON),
		},
		main:        func() int { return 12 },
		fewRows:     8,
		threadFMAs:  1 << 19,
		linearSteps: 128,
		halfRows:    2, // llvm-mca: FCVTL halves the speed on Neoverse N1, V1 and V2
	}}
}

func neon(lanes int, tile tileFunc, tileMax tileMaxFunc, tileFold tileFoldFunc) panelKernels {
	return panelKernels{
		lanes: lanes, tile: tile, tileMax: tileMax, tileFold: tileFold,
		softcap: asm.SoftcapNEON,
		mask:    asm.MaskNEON, alibi: asm.AlibiNEON,
		hide: asm.HideNEON, bias: asm.BiasNEON,
		softmax: asm.SoftmaxNEON, dropout: asm.DropoutNEON, fold: asm.FoldNEON,
		pack: asm.PackNEON, unpack: asm.UnpackNEON,
		fewKernels: fewKernels{
			fewScores: asm.FewScoresNEON, fewScoresF16: asm.FewScoresF16NEON, fewScoresBF16: asm.FewScoresBF16NEON, fewScoresInt8: asm.FewScoresInt8NEON,
			fewValues: asm.FewValuesNEON, fewValuesF16: asm.FewValuesF16NEON, fewValuesBF16: asm.FewValuesBF16NEON, fewValuesInt8: asm.FewValuesInt8NEON,
			fewSoftmax: asm.FewSoftmaxNEON, fewFold: asm.FewFoldNEON, fewUnpack: asm.FewUnpackNEON,
		},
		converters: converters{
			widenF16: asm.WidenF16NEON, widenBF16: asm.WidenBF16NEON, widenInt8: asm.WidenInt8NEON,
			narrowF16: asm.NarrowF16NEON, narrowBF16: asm.NarrowBF16NEON,
		},
		stripKernels: stripKernels{
			strip: asm.StripNEON, stripF16: asm.StripF16NEON, stripBF16: asm.StripBF16NEON, settle: asm.SettleNEON,
		},
		functions: functions{exp2: asm.Exp2NEON, tanh: asm.TanhNEON, additive: asm.AdditiveNEON},
	}
}
