package kernel

import (
	"math"

	"github.com/attn-go/attn/fallback"
)

// A problem is what one call computes.
type problem struct {
	out, q, k, v Tensor
	mask         Mask
	masked       bool    // there is a mask
	perRow       bool    // queries of a batch row see different keys
	group        int     // query heads per key head
	scale        float32 // log2Scale

	queryStart, keyStart []int

	additive []float32 // weights of additive scores, in the unit of exp2, or nil

	// What happens to scores on their way to the softmax.
	steps  steps
	hook   func(*ScoreTile)
	cap    float32
	alibi  []float32
	bias   Tensor
	biased bool // there is a bias

	sinks   []float32
	dropout Dropout
	philox  [2 * fallback.PhiloxRounds]uint32 // keys of the generator's rounds

	// What else is wanted, and whether anything is.
	extras               bool
	lse, weights, scores Tensor
	stage                ScoreStage

	// window is what the call looks at of the keys, as numbers of a panel:
	// everything but for partials.
	window span
	state  partialState // of partials
}

// set makes p, which is zero, the problem of a call with valid arguments. It sets
// field by field, and no more than is used, since small calls feel a copy of it
// all.
func (p *problem) set(out, q, k, v *Tensor, o *Options) {
	p.out, p.q, p.k, p.v = *out, *q, *k, *v
	if o.Mask.isSet() {
		p.mask, p.masked, p.perRow = o.Mask, true, o.Mask.perRow()
	}
	p.group = q.shape[1] / k.shape[1]
	p.scale = log2Scale(o.Scale, q.shape[3])
	p.queryStart, p.keyStart = o.QueryStart, o.KeyStart
	p.window = everything
	p.setSteps(o)
	p.hook, p.cap, p.alibi = o.Score, o.Softcap, o.ALiBi
	if o.Bias.isSet() {
		p.bias, p.biased = o.Bias, true
	}
	p.sinks = o.Sinks
	if o.Dropout.Rate != 0 {
		p.dropout, p.philox = o.Dropout, fallback.PhiloxKeys(o.Dropout.Seed)
	}
	if o.LSE.isSet() || o.Weights.isSet() || o.Scores.isSet() {
		p.extras = true
		p.lse, p.stage = o.LSE, o.ScoreStage
		if k.shape[2] > 0 { // else they are empty
			p.weights, p.scores = o.Weights, o.Scores
		}
	}
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
