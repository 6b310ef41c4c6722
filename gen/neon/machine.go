package neon

import "github.com/attn-go/attn/gen/a64"

// The methods of loop.Machine that a64 does not have.

func (g *neon) AlignLoop() { g.Align(32) }

func (g *neon) Goto(label string) { g.Jump("B", label) }

func (g *neon) JumpIfZero(r a64.GP, label string) { g.Jump("CBZ", label, r) }

func (g *neon) JumpIfVectors(r a64.GP, n int, label string) {
	g.Op("CMP", n*vecLanes, r)
	g.Jump("BGE", label)
}

func (g *neon) CountDown(r a64.GP, n int, label string) {
	g.Op("SUBS", n, r, r)
	g.Jump("BNE", label)
}

func (g *neon) Subtract(n int, r a64.GP) { g.Op("SUB", n, r, r) }

func (g *neon) Advance(bytes int, pointers ...a64.GP) {
	for _, p := range pointers {
		g.Op("ADD", bytes, p, p)
	}
}

func (g *neon) Return() { g.Ret() }

func (g *neon) Lanes() int { return vecLanes }

func (g *neon) LoadVec(p a64.GP, i int, x a64.Vec)  { g.load(a64.At(p, i*vecBytes), x) }
func (g *neon) StoreVec(x a64.Vec, p a64.GP, i int) { g.store(x, a64.At(p, i*vecBytes)) }
