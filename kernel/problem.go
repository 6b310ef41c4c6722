package kernel

import (
	"math"

	"github.com/attn-go/attn/fallback"
)

// A problem is what one call computes.
type problem struct {
	out, q, k, v Tensor
	mask         Mask
	perRow       bool    // queries of a batch row see different keys
	group        int     // query heads per key head
	scale        float32 // log2Scale

	queryStart, keyStart []int

	// What happens to scores on their way to the softmax.
	steps steps
	hook  func(*ScoreTile)
	cap   float32
	alibi []float32
	bias  Tensor

	sinks   []float32
	dropout Dropout
	philox  [2 * fallback.PhiloxRounds]uint32 // keys of the generator's rounds

	// What else is wanted.
	lse, weights, scores Tensor
	stage                ScoreStage

	// window is what the call looks at of the keys, as numbers of a panel:
	// everything but for partials.
	window span
	state  partialState // of partials
}

func newProblem(out, q, k, v *Tensor, o *Options) problem {
	p := problem{
		out: *out, q: *q, k: *k, v: *v,
		mask: o.Mask, perRow: o.Mask.perRow(),
		group: q.shape[1] / k.shape[1],
		scale: log2Scale(o.Scale, q.shape[3]),

		queryStart: o.QueryStart, keyStart: o.KeyStart,
		steps: stepsOf(o), hook: o.Score, cap: o.Softcap, alibi: o.ALiBi, bias: o.Bias,
		sinks: o.Sinks, dropout: o.Dropout,
		lse: o.LSE, weights: o.Weights, scores: o.Scores, stage: o.ScoreStage,
		window: everything,
	}
	if o.Dropout.Rate != 0 {
		p.philox = fallback.PhiloxKeys(o.Dropout.Seed)
	}
	return p
}

// log2Scale is the contract's c: the scale in the units of exp2.
func log2Scale(scale float32, d int) float32 {
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(d)))
	}
	return log2Units(scale)
}

// log2Units is x·log2 e, rounded once.
func log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }
