package kernel

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// resolve sets into, which is zero, to the call with options that have passed the
// check. It sets what is used and no more, since small calls feel a copy of it all.
func (c *views) resolve(into *engine.Call, o *Options) {
	into.Out, into.Q, into.K, into.V = *c.out, *c.q, *c.k, *c.v
	scores := c.scores()
	into.Mask.Resolve((*mask.Mask)(&o.Mask), &scores)
	into.Scale = o.Scale
	into.QueryStart, into.KeyStart = o.QueryStart, o.KeyStart
	if o.Score != nil {
		into.ScoreMod = scoreFunc(o.Score)
	}
	into.Softcap, into.ALiBi, into.Sinks = o.Softcap, o.ALiBi, o.Sinks
	if bias := o.Bias.view(); bias.IsSet() {
		into.Bias, _ = bias.Broadcast(biasArg, &scores)
	}
	if o.Dropout.Rate != 0 {
		into.Dropout = engine.Dropout(o.Dropout)
	}
	if o.LSE.view().IsSet() {
		into.LSE = view.Tensor(o.LSE)
	}
	if scores.Keys > 0 { // otherwise they are empty
		if o.Weights.view().IsSet() {
			into.Weights = view.Tensor(o.Weights)
		}
		if o.Scores.view().IsSet() {
			into.Scores, into.Stage = view.Tensor(o.Scores), engine.ScoreStage(o.ScoreStage)
		}
	}
}
