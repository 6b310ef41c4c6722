package emit

import "github.com/attn-go/attn/gen/a64"

// The methods of loop.Machine that a64 does not have.

func (g *Gen) AlignLoop() { g.Align(32) }

func (g *Gen) Goto(label string) { g.Jump("B", label) }

func (g *Gen) JumpIfZero(r a64.GP, label string) { g.Jump("CBZ", label, r) }

func (g *Gen) JumpIfVectors(r a64.GP, n int, label string) {
	g.Op("CMP", n*VecLanes, r)
	g.Jump("BGE", label)
}

func (g *Gen) CountDown(r a64.GP, n int, label string) {
	g.Op("SUBS", n, r, r)
	g.Jump("BNE", label)
}

func (g *Gen) Subtract(n int, r a64.GP) { g.Op("SUB", n, r, r) }

func (g *Gen) Advance(bytes int, pointers ...a64.GP) {
	for _, p := range pointers {
		g.Op("ADD", bytes, p, p)
	}
}

func (g *Gen) Return() { g.Ret() }

func (g *Gen) Lanes() int { return VecLanes }

func (g *Gen) LoadVec(p a64.GP, i int, x a64.Vec)  { g.LoadFrom(a64.At(p, i*VecBytes), x) }
func (g *Gen) StoreVec(x a64.Vec, p a64.GP, i int) { g.StoreTo(x, a64.At(p, i*VecBytes)) }

// EachColumn emits a loop over left columns of a row, first in whole vectors, then one by
// one. do gets the instruction that moves them, and their size in bytes. left is used up.
func (g *Gen) EachColumn(left a64.GP, do func(move string, size int)) {
	g.Op("SUBS", VecLanes, left, left)
	g.Jump("BLT", "rest")
	g.Label("vector")
	do("FMOVQ", VecBytes)
	g.Op("SUBS", VecLanes, left, left)
	g.Jump("BGE", "vector")
	g.Label("rest")
	g.Op("ADDS", VecLanes, left, left)
	g.Jump("BEQ", "end")
	g.Label("single")
	do("FMOVS", 4)
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "single")
	g.Label("end")
	g.Free(left)
}
