package contracttest

import "github.com/attn-go/attn/kernel"

// BackwardOptions returns the options of the gradients of a call with these.
func BackwardOptions(o kernel.Options) kernel.BackwardOptions {
	return kernel.BackwardOptions{
		Exec: o.Exec, Scale: o.Scale, Mask: o.Mask, QueryStart: o.QueryStart, KeyStart: o.KeyStart, Softcap: o.Softcap,
		ALiBi: o.ALiBi, Bias: o.Bias, Sinks: o.Sinks, Dropout: o.Dropout,
	}
}

// PartialOptions returns the options of a call of a part of the keys, without sinks and outputs.
func PartialOptions(o kernel.Options) kernel.PartialOptions {
	return kernel.PartialOptions{
		Exec: o.Exec, Scale: o.Scale, Quantized: o.Quantized, Mask: o.Mask, QueryStart: o.QueryStart, KeyStart: o.KeyStart,
		Softcap: o.Softcap, ALiBi: o.ALiBi, Bias: o.Bias, Dropout: o.Dropout, Score: o.Score,
	}
}

// NewPartials is kernel.NewPartials, for dimensions that fit.
func NewPartials(blocks, batch, heads, queries, headSize int) *kernel.Partials {
	p, err := kernel.NewPartials(blocks, batch, heads, queries, headSize)
	if err != nil {
		panic(err)
	}
	return p
}
