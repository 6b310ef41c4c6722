// Package amd64 generates the micro-kernels of AVX2 and AVX-512 with avo. Every algorithm is
// written once, for both. Package emit below it has what they share.
package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/amd64/skinny"
	"github.com/attn-go/attn/gen/spec"
)

// AVX2 generates the functions of AVX2.
func AVX2() (spec.Output, error) { return buildISA(emit.AVX2{}) }

// AVX512 generates the functions of AVX-512.
func AVX512() (spec.Output, error) { return buildISA(emit.AVX512{}) }

// buildISA generates the functions of one ISA. It returns nothing unless all of them compile
// and pass the lint.
func buildISA(i emit.ISA) (spec.Output, error) {
	g := gen{emit.New(i)}
	spec.EmitAll(kernels{&g, skinny.New(g.Gen)}, i.Tiles(), i.WeightTile())
	return g.Output()
}

// A gen emits the kernels of tiles and of rows.
type gen struct{ *emit.Gen }

// kernels emits all kernels.
type kernels struct {
	*gen
	spec.SkinnyEmitter
}
