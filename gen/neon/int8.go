package neon

import "github.com/attn-go/attn/gen/spec"

func (g *neon) WeightGemmInt8(q spec.BlockFormat) {}
func (g *neon) WeightQuantize()                   {}
