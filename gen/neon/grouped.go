package neon

import "github.com/attn-go/attn/gen/spec"

// WeightWidenGrouped emits nothing: grouped formats run in Go.
func (g *neon) WeightWidenGrouped(spec.BlockFormat) {}

// WeightGemmInt8Grouped emits nothing, see WeightWidenGrouped.
func (g *neon) WeightGemmInt8Grouped(spec.BlockFormat) {}
