package main

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
)

// chunks emits the rest of a function that works on left columns of a panel in
// chunks of up to widest vectors; see chunk.go.
func (g *neon) chunks(widest int, left a64.GP, chunk func(vectors int, name string)) {
	name := func(vectors int) string { return fmt.Sprintf("chunk%d", vectors) }
	g.Comment("The widest chunk of columns that is left.")
	g.Label("columns")
	for v := widest; v > 0; v-- {
		g.Op("CMP", v*neonLanes, left)
		g.Jump("BGE", name(v))
	}
	g.Ret()
	for v := widest; v > 0; v-- {
		g.Scope(func() { chunk(v, name(v)) })
		g.Op("SUB", v*neonLanes, left, left)
		g.Jump("B", "columns")
	}
}
