// Package neon generates the micro-kernels of NEON with the builder a64. They follow the
// algorithms of package amd64; see the README of gen for the reason why they are not the
// same code. Package emit below it has what they share.
package neon

import (
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/neon/skinny"
	"github.com/attn-go/attn/gen/spec"
)

// tiles have at least 12 accumulators, and 24 if the query tile is wide enough: the newest
// cores have 4 FMA units of latency 4. A step takes rows·vectors FMAs, and less than rows +
// vectors loads, since one load brings several numbers of A and an FMA takes its number
// from any lane.
var tiles = []spec.TileShape{{Vectors: 1, Rows: 16}, {Vectors: 2, Rows: 12}, {Vectors: 3, Rows: 8}}

// weightTile is the register tile of WeightGemm: 24 accumulators, and two registers for the
// numbers of A.
var weightTile = spec.TileShape{Vectors: 12, Rows: 2}

// neon emits the kernels of tiles and of rows.
type neon struct {
	*emit.Gen
	constants constants
}

// kernels emits all kernels.
type kernels struct {
	*neon
	spec.SkinnyEmitter
}

// NEON generates the functions of NEON.
func NEON(c spec.Contracts) (spec.Output, error) {
	g := emit.New(c)
	n := &neon{g, constants{g.Data("lanesNEON"), map[string]int{}}}
	spec.EmitAll(kernels{n, skinny.New(g)}, tiles, weightTile)
	if err := n.laneKernels(); err != nil {
		return spec.Output{}, err
	}
	return g.Output()
}
