package kernel

import "github.com/attn-go/attn/fallback"

// genericTier is plain Go: it runs everywhere and defines what the others must
// equal.
func genericTier() tier {
	return tier{
		name:  "generic",
		lacks: func() string { return "" },
		panels: []panelKernels{{
			lanes:    fallback.Lanes,
			tile:     fallback.Tile,
			tileMax:  fallback.TileMax,
			tileFold: fallback.TileFold,
			softcap:  fallback.Softcap,
			mask:     fallback.Mask,
			alibi:    fallback.Alibi,
			bias:     fallback.Bias,
			hide:     fallback.Hide,
			softmax:  fallback.Softmax,
			dropout:  fallback.Dropout,
			fold:     fallback.Fold,
			pack:     fallback.Pack,
			unpack:   fallback.Unpack,
			fewKernels: fewKernels{
				fewScores:  fallback.FewScores,
				fewValues:  fallback.FewValues,
				fewSoftmax: fallback.Softmax,
				fewFold:    fallback.FewFold,
				fewUnpack:  fallback.FewUnpack,
			},
			converters: converters{
				widenF16:   fallback.WidenF16,
				widenBF16:  fallback.WidenBF16,
				widenInt8:  fallback.WidenInt8,
				narrowF16:  fallback.NarrowF16,
				narrowBF16: fallback.NarrowBF16,
			},
			stripKernels: stripKernels{
				strip:     fallback.Strip,
				stripF16:  fallback.StripF16,
				stripBF16: fallback.StripBF16,
				settle:    fallback.Settle,
			},
			functions: functions{exp2: fallback.Exp2Slice, tanh: fallback.TanhSlice, additive: fallback.Additive},
		}},
		main:        func() int { return fallback.Lanes },
		fewRows:     16,
		threadFMAs:  1 << 15,
		linearSteps: 128,
	}
}
