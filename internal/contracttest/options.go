package contracttest

import "github.com/attn-go/attn/kernel"

// BackwardOptions returns the options of the gradients of a call with these, without what has none.
func BackwardOptions(o kernel.Options) *kernel.BackwardOptions {
	o.Score, o.DynamicInt12, o.BFloat16 = nil, false, false
	return &kernel.BackwardOptions{Exec: o.Exec, Scoring: o.Scoring}
}

// PartialOptions returns the options of a call of a part of the keys, without sinks and outputs.
func PartialOptions(o kernel.Options) *kernel.PartialOptions {
	o.Sinks = nil
	return &kernel.PartialOptions{Exec: o.Exec, Scoring: o.Scoring}
}

// NewPartials is kernel.NewPartials, for dimensions that fit.
func NewPartials(blocks, batch, heads, queries, headSize int) *kernel.Partials {
	p, err := kernel.NewPartials(blocks, batch, heads, queries, headSize)
	if err != nil {
		panic(err)
	}
	return p
}
