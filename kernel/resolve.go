package kernel

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// resolve sets into, which is zero, to the call, which has passed the check. It sets what is
// used and no more, since small calls feel a copy of it all.
func (c *call) resolve(into *engine.Call) {
	into.Out, into.Q, into.K, into.V = *c.out, *c.q, *c.k, *c.v
	for s := c.used &^ execOptions; s != 0; s = s.rest() {
		c.resolveOption(s.first(), into)
	}
}

// resolveOption sets the field of into that an option has, which is none of Exec.
func (c *call) resolveOption(x option, into *engine.Call) {
	o := c.opts
	switch x {
	case optionScale:
		into.Scale = o.Scale
	case optionQuantized:
		into.Quantized = true
	case optionSoftcap:
		into.Softcap = o.Softcap
	case optionDropoutRate:
		into.Dropout.Rate = o.Dropout.Rate
	case optionDropoutSeed:
		into.Dropout.Seed = o.Dropout.Seed
	case optionDropoutSequences:
		into.Dropout.Sequences = o.Dropout.Sequences
	case optionQueryStart:
		into.QueryStart = o.QueryStart
	case optionKeyStart:
		into.KeyStart = o.KeyStart
	case optionMask:
		into.Mask.Resolve((*mask.Mask)(&o.Mask), &c.scores)
	case optionALiBi:
		into.ALiBi = o.ALiBi
	case optionSinks:
		into.Sinks = o.Sinks
	case optionBias:
		into.Bias = c.resolvedBias()
	case optionScore:
		into.ScoreMod = scoreFunc(o.Score)
	case optionLSE:
		into.LSE = view.Tensor(o.LSE)
	case optionWeights:
		if c.scores.Keys > 0 { // otherwise they are empty
			into.Weights = view.Tensor(o.Weights)
		}
	case optionScores:
		if c.scores.Keys > 0 {
			into.Scores = view.Tensor(o.Scores)
		}
	case optionScoreStage:
		into.Stage = engine.ScoreStage(o.ScoreStage)
	}
}

// resolvedBias returns the bias with strides of 0 where it broadcasts.
func (c *call) resolvedBias() view.Tensor {
	t, _ := c.opts.Bias.view().Broadcast(options[optionBias].arg, &c.scores)
	return t
}
