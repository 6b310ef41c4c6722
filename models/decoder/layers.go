package decoder

import (
	engine "github.com/attn-go/attn/models/internal/network"
)

// layer makes a layer of the engine of the weights of a block.
func (n *network) layer(i int, b block) engine.Layer {
	c := &n.config
	a := &engine.Attention{
		Heads: c.Heads, KVHeads: c.KVHeads, Size: c.HeadSize, QKV: b.qkv, Out: b.output, QueryNorm: c.norm(b.queryNorm), KeyNorm: c.norm(b.keyNorm),
		Window: c.window(i), BothWays: c.Bidirectional, Scale: c.ScoreScale, Softcap: c.ScoreSoftcap,
	}
	if a.Window > 0 {
		a.Rope = 1
	}
	l := engine.Layer{
		Mix: a, Mixed: engine.Norms{Before: c.norm(b.attnNorm), After: c.norm(b.postAttn)},
		Feed: n.feed(&b.gated), Fed: engine.Norms{Before: c.norm(b.ffnNorm), After: c.norm(b.postFFN)},
	}
	if b.experts != nil {
		e := &engine.Experts{Router: b.router, Used: c.ExpertsUsed, Shares: c.ExpertShares}
		for _, x := range b.experts {
			e.All = append(e.All, *n.feed(&x))
		}
		l.Feed = e
	}
	return l
}

func (n *network) feed(x *gated) *engine.Gated {
	return &engine.Gated{GateUp: x.gateUp, Down: x.down, Activation: n.gate}
}

// norm returns the norm of some weights, or nil without them.
func (c *Config) norm(weight []float32) *engine.Norm {
	if weight == nil {
		return nil
	}
	return &engine.Norm{Weight: weight, Epsilon: c.Epsilon}
}
