package rvv

import (
	"math"
	"math/bits"

	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/internal/ukernel"
)

// A blockReader has the registers to widen some lanes of a block of quantized weights, see package
// quantized. A weight is d·q + m.
type blockReader struct {
	halver
	format            ukernel.PackedFormat
	block, lanes, off riscv.GP // the block; bytes of float32 of all its lanes, and of those before
	row, n, pos, mask riscv.GP // a row, those from it on; positions of numbers in words, and their bits
	v, d, m           riscv.Vec
	step, minus       riscv.FP // step from position to position; -offset, that of brain formats too, or -1 for minima that are subtracted
	shift             riscv.GP // of brain formats: bits of a word below the position
	groups            *groups  // of grouped formats
	to                riscv.GP // where WeightWidenQ writes the block
}

func (g *gen) newBlockReader(q ukernel.PackedFormat, x riscv.GP) blockReader {
	b := blockReader{halver: g.newHalver(x), format: q, d: g.Vec(wide), m: g.Vec(wide)}
	b.step = g.Float(math.Float32bits(1 / float32(int(1)<<b.bits())))
	if q.Brain() {
		b.shift = g.GP()
		b.minus = g.Float(math.Float32bits(-ukernel.BrainZero))
	} else if q.Offset() != 0 {
		b.minus = g.Float(math.Float32bits(-float32(q.Offset())))
	} else if q.Grouped() {
		b.minus = g.Float(math.Float32bits(-1))
	}
	return b
}

// bits are those of a number in the words that each takes: numbers of 5 and 6 bits become bytes.
func (b *blockReader) bits() int {
	if bits := b.format.Bits(); bits <= 4 {
		return bits
	}
	return 8
}

// each emits the steps of a block: consume for each, with its weights in v. A number stays
// at its bits of a word. So number j is q·2^(j·bits), and its scale is d·2^(-j·bits),
// exactly. In brain formats words are shifted.
func (b *blockReader) each(name string, consume func()) {
	width := b.bits()
	positions := 32 / width
	b.header()
	if b.format.Bits() < width {
		b.bytes(name)
	}
	b.Op("MOV", 1<<width-1, b.mask)
	b.Op("MOV", positions, b.pos)
	if b.format.Brain() {
		b.Op("MOV", riscv.Zero, b.shift)
	}
	b.Label("position" + name)
	b.Op("MOV", width, b.n)
	b.Label("word" + name)
	b.Op("VLE32V", riscv.At(b.row, 0), b.v)
	b.add(b.lanes, b.row)
	if b.format.Brain() {
		b.Op("VSRLVX", b.shift, b.v, b.v)
	}
	b.Op("VANDVX", b.mask, b.v, b.v)
	b.Op("VFCVTFXUV", b.v, b.v)
	if b.format.Brain() {
		b.Op("VFADDVF", b.minus, b.v, b.v)
		b.Op("VFMULVV", b.d, b.v, b.v)
	} else {
		b.Op("VFMADDVV", b.m, b.d, b.v)
	}
	consume()
	b.Op("ADD", -1, b.n, b.n)
	b.Jump("BNEZ", "word"+name, b.n)
	b.Op("SLLI", bits.TrailingZeros(uint(width)), b.lanes, b.x)
	b.Op("SUB", b.x, b.row, b.row)
	if b.format.Brain() {
		b.Op("ADD", width, b.shift, b.shift)
	} else {
		b.Op("SLLI", width, b.mask, b.mask)
		b.Op("VFMULVF", b.step, b.d, b.d)
	}
	b.Op("ADD", -1, b.pos, b.pos)
	if b.groups != nil {
		b.Op("MOV", positions/2, b.x)
		b.Jump("BNE", "group"+name, b.x, b.pos)
		b.Op("VMVVV", b.groups.d, b.d)
		b.Op("VMVVV", b.groups.m, b.m)
		b.Label("group" + name)
	}
	b.Jump("BNEZ", "position"+name, b.pos)
}

// advance goes on to the next block.
func (b *blockReader) advance() {
	b.Op("MOV", b.format.BlockBytes(1)/2, b.x)
	b.Op("SRLI", 1, b.lanes, b.n)
	b.Op("MUL", b.n, b.x, b.x)
	b.add(b.x, b.block)
}
