package rvv

import (
	"math"

	"github.com/attn-go/attn/gen/abi0"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// The formats are rows of a table. A kernel of a format writes down, in the place of an
// argument, where its row lies, and jumps to a function for all of them.

// The fields of a row.
const (
	fieldBits      = iota // of a number in the word that it is taken from: numbers of 5 and more become bytes
	fieldMask             // of the lowest number
	fieldPositions        // numbers of a word
	fieldSecond           // positions left where the second group begins; none for a single scale
	fieldInverse          // 2^-bits, float32
	fieldMinus            // -offset, or -1 for minima that are subtracted
	fieldSize             // bytes of a lane in a block
	fieldKind             // of scales
	fieldMore             // bits beyond 4 that are in other words
	fieldPer              // words of 4 bits that such a word is for
	fieldUpper            // mask of those bits above the lower 4 of bytes
	fieldWithin           // mask of the steps within what a head is for
	fieldSegment          // bytes of a lane in the head of a segment, 0 if blocks have theirs

	// For products of quantized rows.
	fieldOffset   // 0 with minima, and in formats with bfloat16 scales
	fieldHead     // bytes of a lane in a head
	fieldHeader   // bytes of a lane between it and its numbers
	fieldRest     // bytes of a lane in a block, without a head
	fieldGrouped  // 1 with a scale for each half of the steps
	fieldSingles  // 1 with scales of float32
	fieldIntegers // of a lane for a scale, 0 if there are none
	fieldWords    // of numbers, without those with further bits
	fieldPasses   // 8 if such a word has numbers in both halves of bytes, else 0
	fieldBFloat16 // 1 for formats with bfloat16 scales
	fieldLooks    // 1 if numbers stand for values in valueTable
	fieldTile     // rows that make a tile of rowTile
	fields
)

const formatTable = "formats" + isa

// valueTable has the values of IQ4, words of 32 bits. They repeat for as many lanes as a panel has.
const valueTable = "values" + isa

// looksUp tells whether the numbers of a format stand for values in valueTable.
func looksUp(q ukernel.PackedFormat) bool { return q.Values() != nil && !q.BFloat16Scales() }

// formatRow is the row of a format.
func formatRow(q ukernel.PackedFormat) []uint32 {
	bits, minus, second := q.Bits(), -float32(q.Offset()), uint32(99)
	var more, per, upper int
	if q.Grouped() && bits > 4 {
		const everyByte = 0x01010101
		more, bits = bits-4, 8
		per, upper = 4/more, (1<<more-1)<<4*everyByte
	}
	if q.Grouped() {
		second = uint32(16 / bits)
	}
	if q.Offset() == 0 {
		minus = -1
	}
	flag := func(x bool) uint32 {
		if x {
			return 1
		}
		return 0
	}
	integers, words, passes, tile, segment, rest := q.Integers(), 8, 0, rowTile, 0, q.BlockBytes(1)
	if q.Float32Scales() {
		tile, integers = math.MaxInt32, 0
	}
	if q.Segmented() {
		segment = q.HeadBytes()
	} else {
		rest -= q.HeadBytes()
	}
	offset := q.Offset()
	if q.BFloat16Scales() {
		offset = 0
	}
	if q != ukernel.S8 {
		words, passes = 4, 8
	}
	return []uint32{uint32(bits), 1<<bits - 1, uint32(32 / bits), second, math.Float32bits(1 / float32(int(1)<<bits)), math.Float32bits(minus),
		uint32(q.BlockBytes(1)), uint32(spec.ScaleKind(q)), uint32(more), uint32(per), uint32(upper), uint32(q.HeadSteps() - 1), uint32(segment),
		uint32(offset), uint32(q.HeadBytes()), uint32(q.IntegerBytes()), uint32(rest), flag(q.Grouped()), flag(q.Float32Scales()), uint32(integers), uint32(words), uint32(passes), flag(q.BFloat16Scales()), flag(looksUp(q)), uint32(tile)}
}

// formats adds the table to the file.
func (g *gen) formats() {
	var words []uint32
	for q := range ukernel.PackedFormat(ukernel.PackedFormats) {
		words = append(words, formatRow(q)...)
	}
	g.file.Table(formatTable, words...)
	values := make([]uint32, spec.PanelLanes)
	for i := range values {
		values[i] = uint32(ukernel.IQ4.Values()[i%16])
	}
	g.file.Table(valueTable, values...)
}

// toFormats ends the kernel of a format: it writes down its row, and jumps.
func (g *gen) toFormats(q ukernel.PackedFormat, about abi0.Param, function string) {
	row := g.Address(formatTable)
	g.Op("ADD", 4*fields*int(q), row, row)
	g.Op("MOV", row, about)
	g.TailJump(function + isa)
}

// A blockReader has the registers to widen some lanes of a block of quantized weights, see package
// quantized. A weight is d·q + m.
type blockReader struct {
	halver
	about             abi0.Param // where the row of the format lies
	block, lanes, off riscv.GP   // the block; bytes of float32 of all its lanes, and of those before
	row, n, pos       riscv.GP   // a row, those from it on; positions of numbers in words
	mask              riscv.GP   // of a number; in formats with bfloat16 scales the bits of a word below it
	bits              riscv.GP   // of a number in its word
	v, d, m           riscv.Vec
	inverse, minus    riscv.FP
	power             riscv.FP // of formats with bfloat16 scales
	groups            *groups  // of grouped formats, if there are any
	to                riscv.GP // where WeightWidenQ writes the block
}

func (g *gen) newBlockReader(about abi0.Param, x riscv.GP) blockReader {
	b := blockReader{halver: g.newHalver(spec.F16, x), about: about, d: g.Vec(wide), m: g.Vec(wide), inverse: g.FP(), minus: g.FP(), power: g.powerE2M1()}
	g.Op("MOV", about, x)
	g.Op("MOVF", riscv.At(x, 4*fieldInverse), b.inverse)
	g.Op("MOVF", riscv.At(x, 4*fieldMinus), b.minus)
	return b
}

// field loads a field.
func (b *blockReader) field(i int, to riscv.GP) {
	b.Op("MOV", b.about, to)
	b.Op("MOVW", riscv.At(to, 4*i), to)
}

// each emits the steps of a block: consume for each, with its weights in v.
func (b *blockReader) each(name string, consume func()) {
	b.header(name)
	if b.groups != nil {
		b.Jump("BEQZ", "whole"+name, b.groups.more)
		b.bytes(name)
		b.Label("whole" + name)
	}
	b.field(fieldBFloat16, b.n)
	b.Jump("BNEZ", "bfloat"+name, b.n)
	b.field(fieldLooks, b.n)
	b.Jump("BNEZ", "looks"+name, b.n)
	b.words(name, nil, consume)
	b.Jump("JMP", "read"+name)
	b.Label("bfloat" + name)
	b.words("bfloat"+name, func() {
		b.Scope(func() { b.e2m1(b.v, b.AtV0(wide), b.power, b.x) })
		b.Op("VFMULVV", b.d, b.v, b.v)
	}, consume)
	b.Jump("JMP", "read"+name)
	b.Label("looks" + name)
	b.words("looks"+name, func() {
		b.Op("VANDVI", 15, b.v, b.v)
		b.Op("VSLLVI", 2, b.v, b.v)
		b.SetAddress(valueTable, b.x)
		b.Op("VLUXEI32V", riscv.At(b.x, 0), b.v, b.v)
		b.Op("VFCVTFXUV", b.v, b.v)
		b.Op("VFMADDVV", b.m, b.d, b.v)
	}, consume)
	b.Label("read" + name)
}

// words goes through the positions, and the words for each. A number stays at its bits of
// a word. So number j is q·2^(j·bits), and its scale is d·2^(-j·bits), exactly. Where numbers stand
// for values, words are shifted, and lookUp makes weights of their lowest 4 bits.
func (b *blockReader) words(name string, lookUp, consume func()) {
	if lookUp != nil {
		b.Op("MOV", riscv.Zero, b.mask)
	} else {
		b.field(fieldMask, b.mask)
	}
	b.field(fieldPositions, b.pos)
	b.Label("position" + name)
	b.Op("MOV", b.bits, b.n)
	b.Label("word" + name)
	b.Op("VLE32V", riscv.At(b.row, 0), b.v)
	b.add(b.lanes, b.row)
	if lookUp != nil {
		b.Op("VSRLVX", b.mask, b.v, b.v)
		lookUp()
	} else {
		b.Op("VANDVX", b.mask, b.v, b.v)
		b.Op("VFCVTFXUV", b.v, b.v)
		b.Op("VFMADDVV", b.m, b.d, b.v)
	}
	consume()
	b.Op("ADD", -1, b.n, b.n)
	b.Jump("BNEZ", "word"+name, b.n)
	if lookUp != nil {
		b.add(b.bits, b.mask)
	} else {
		b.Op("SLL", b.bits, b.mask, b.mask)
		b.Op("VFMULVF", b.inverse, b.d, b.d)
	}
	b.Op("MUL", b.bits, b.lanes, b.x)
	b.Op("SUB", b.x, b.row, b.row)
	b.Op("ADD", -1, b.pos, b.pos)
	if b.groups != nil && lookUp == nil { // no values are of grouped formats
		b.Jump("BNE", "group"+name, b.groups.second, b.pos)
		b.Op("VMVVV", b.groups.d, b.d)
		b.Op("VMVVV", b.groups.m, b.m)
		b.Label("group" + name)
	}
	b.Jump("BNEZ", "position"+name, b.pos)
}

// e2m1 makes float32 of the values, doubled, that the lowest 4 bits of words have as E2M1: two bits
// are the exponent of a float32, which is multiplied by 2^127. t and x are scratch.
func (g *gen) e2m1(v, t riscv.Vec, power riscv.FP, x riscv.GP) {
	g.Op("VSLLVI", 28, v, t)
	g.Op("VSLLVI", 22, v, v)
	g.Op("MOV", 7<<22, x)
	g.Op("VANDVX", x, v, v)
	g.Op("VFMULVF", power, v, v)
	g.Op("VFSGNJVV", t, v, v)
}

// powerE2M1 is the factor of e2m1.
func (g *gen) powerE2M1() riscv.FP { return g.Float(math.Float32bits(0x1p127)) }

// size sets to to the bytes of some blocks: to is their number.
func (b *blockReader) size(to, scratch riscv.GP) {
	b.field(fieldSize, scratch)
	b.Op("MUL", b.lanes, scratch, scratch)
	b.Op("SRLI", 2, scratch, scratch)
	b.Op("MUL", scratch, to, to)
}

// heads is where the head of a segment is written down.
func (b *blockReader) heads() abi0.Param { return b.Cap("dst").Local() }

// passHead goes past the head before a block at which some inputs are left, if it begins a segment.
func (b *blockReader) passHead(left riscv.GP) {
	b.field(fieldWithin, b.x)
	b.Op("AND", left, b.x, b.x)
	b.Jump("BNEZ", "passed", b.x)
	b.Op("MOV", b.block, b.heads())
	b.field(fieldSegment, b.x)
	b.Op("MUL", b.lanes, b.x, b.x)
	b.Op("SRLI", 2, b.x, b.x)
	b.add(b.x, b.block)
	b.Label("passed")
}

// advance goes on to the next block.
func (b *blockReader) advance() {
	b.Op("MOV", 1, b.x)
	b.size(b.x, b.n)
	b.add(b.x, b.block)
}

// WeightWidenQ emits the conversion of a packed panel.
func (g *gen) WeightWidenQ(q ukernel.PackedFormat) {
	const name = "weightWidenBlocks"
	if q == spec.SingleFormats[0] {
		g.shared(name, spec.WeightWidenQ(q), "widens blocks of all formats, whose kernels jump to it.")
		g.widenBlocks()
	}
	g.kernel(spec.WeightWidenQ(q))
	g.toFormats(q, g.Len("dst").Local(), name)
}

func (g *gen) widenBlocks() {
	dst, left, lanes, to, got := g.Load(g.Base("dst")), g.Load(g.Param("k")), g.GP(), g.GP(), g.GP()
	x := g.GP()
	b := g.newBlockReader(g.Len("dst").Local(), x)
	b.block, b.lanes, b.off, b.row, b.n, b.pos, b.mask, b.bits = g.Load(g.Base("b")), g.stride("lanes"), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	b.field(fieldBits, b.bits)
	b.v, b.to = g.Vec(wide), to
	b.useGroups()
	g.Jump("BEQZ", "done", left)
	g.Label("block")
	b.passHead(left)
	g.Op("MOV", g.Param("lanes"), lanes)
	g.Op("MOV", riscv.Zero, b.off)
	g.Label("lanes")
	g.SetLanes(lanes, wide, got)
	g.Op("ADD", dst, b.off, to)
	b.each("", func() {
		g.Op("VSE32V", b.v, riscv.At(to, 0))
		g.add(b.lanes, to)
	})
	g.Op("SUB", got, lanes, lanes)
	g.Op("SLLI", 2, got, got)
	g.add(got, b.off)
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", lanes)
	b.advance()
	g.Op("SLLI", 5, b.lanes, x)
	g.add(x, dst)
	g.Op("ADD", -spec.BlockSteps, left, left)
	g.Jump("BNEZ", "block", left)
	g.Label("done")
	g.Ret()
}
