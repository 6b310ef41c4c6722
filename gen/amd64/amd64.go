// Package amd64 generates the micro-kernels of AVX2 and AVX-512 with avo. Every algorithm is
// written once, for both. Package emit below it has what they share.
package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/amd64/skinny"
	"github.com/attn-go/attn/gen/spec"
)

// Generator returns the function that generates the kernels of an ISA. It returns nothing but
// an error unless all of them compile and pass the lint.
func Generator(i emit.ISA) func(spec.Contracts) (spec.Output, error) {
	return func(c spec.Contracts) (spec.Output, error) {
		g := emit.New(i, c)
		k := &gen{Gen: g, vnni: g.EVEX()}
		spec.EmitAll(kernels{k, skinny.New(g)}, i.Tiles(), i.WeightTile())
		if err := k.laneKernels(); err != nil {
			return spec.Output{}, err
		}
		return g.Output()
	}
}

// A gen emits the kernels of tiles and of rows.
type gen struct {
	*emit.Gen
	vnni bool // products of quantized rows have VPDPBUSD
}

// kernels emits all kernels.
type kernels struct {
	*gen
	skinny.Emitter
}
