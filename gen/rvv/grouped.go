package rvv

import (
	"math"

	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// groups are the further registers for grouped formats. Their d and m are products with an
// integer for each 16 steps.
type groups struct {
	d, m         riscv.Vec // of the second 16 steps, d for the position of their numbers
	half         riscv.FP  // that position is 2^16 times the first
	low, far     riscv.Vec // a word, and the one with its further bits
	lower, upper riscv.GP  // masks of the lower halves of bytes, and of what is put above them
	more         riscv.GP  // bits beyond 4
	farAt, word  riscv.GP
	second       riscv.GP // positions left where the second 16 steps begin
}

func (b *blockReader) useGroups() {
	g := &groups{d: b.Vec(wide), m: b.Vec(wide), half: b.Float(math.Float32bits(0x1p-16))}
	const everyByte = 0x01010101
	g.low, g.far = b.Vec(wide), b.Vec(wide)
	g.lower, g.upper, g.more, g.farAt, g.word, g.second = b.GP(), b.GP(), b.GP(), b.GP(), b.GP(), b.GP()
	b.Op("MOV", 15*everyByte, g.lower)
	b.field(fieldUpper, g.upper)
	b.field(fieldMore, g.more)
	b.field(fieldSecond, g.second)
	b.groups = g
}

// bytes makes words of bytes of the numbers at row, which then is at them. They lie in the last 8
// rows of what the block becomes, each of which is read a last time before it gets its weights.
func (b *blockReader) bytes(name string) {
	g := b.groups
	const last = spec.BlockSteps - 8
	b.Op("SLLI", 2, b.lanes, g.farAt)
	b.add(b.row, g.farAt)
	b.Op("MOV", last, b.x)
	b.Op("MUL", b.lanes, b.x, g.word)
	b.add(b.to, g.word)
	b.Op("MOV", g.more, b.pos)
	b.Label("far" + name)
	b.Op("VLE32V", riscv.At(g.farAt, 0), g.far)
	b.add(b.lanes, g.farAt)
	b.field(fieldPer, b.n)
	b.Label("low" + name)
	b.Scope(func() {
		t := b.AtV0(wide)
		b.Op("VLE32V", riscv.At(b.row, 0), g.low)
		b.add(b.lanes, b.row)
		b.Op("VANDVX", g.lower, g.low, b.v)
		b.Op("VSLLVI", 4, g.far, t)
		b.Op("VANDVX", g.upper, t, t)
		b.Op("VORVV", t, b.v, b.v)
		b.Op("VSE32V", b.v, riscv.At(g.word, 0))
		b.Op("VSRLVI", 4, g.low, g.low)
		b.Op("VANDVX", g.lower, g.low, g.low)
		b.Op("VANDVX", g.upper, g.far, t)
		b.Op("VORVV", t, g.low, g.low)
		b.Op("SLLI", 2, b.lanes, b.x)
		b.add(g.word, b.x)
		b.Op("VSE32V", g.low, riscv.At(b.x, 0))
		b.add(b.lanes, g.word)
		b.Op("VSRLVX", g.more, g.far, g.far)
	})
	b.Op("ADD", -1, b.n, b.n)
	b.Jump("BNEZ", "low"+name, b.n)
	b.Op("ADD", -1, b.pos, b.pos)
	b.Jump("BNEZ", "far"+name, b.pos)
	b.Op("SLLI", 2, b.lanes, b.x)
	b.Op("SUB", b.x, g.word, b.row)
}
