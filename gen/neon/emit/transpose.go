package emit

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// Transpose4 transposes the 4×4 matrix in v. t is scratch.
func (g *Gen) Transpose4(v, t []a64.Vec) { g.Transpose(spec.Float32, v, t) }

// Transpose transposes 4×4 matrices of elements: v has one matrix of float32, or two of 16 bits
// side by side, or four of bytes. t is scratch.
func (g *Gen) Transpose(e spec.Element, v, t []a64.Vec) {
	g.Commentf("Transpose 4×4 matrices.")
	lanes := []func(a64.Vec) a64.Arr{a64.Vec.B16, a64.Vec.H8, a64.Vec.S4, a64.Vec.D2}[e.Shift():]
	trn := func(lanes func(a64.Vec) a64.Arr, x, y, first, second a64.Vec) {
		g.Op("VTRN1", lanes(y), lanes(x), lanes(first))
		g.Op("VTRN2", lanes(y), lanes(x), lanes(second))
	}
	for i := 0; i < 4; i += 2 {
		trn(lanes[0], v[i], v[i+1], t[i], t[i+1])
	}
	for i := range 2 {
		trn(lanes[1], t[i], t[i+2], v[i], v[i+2])
	}
}
