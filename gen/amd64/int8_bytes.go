package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vexBytes are products of many rows with whole panels of K-quants by AVX-VNNI. Some blocks of a
// panel are expanded on the stack, once for all rows: a byte for each number, in the order of
// groups, scales and integers as float32. So a tile of 2 rows and 3 vectors has no masks and shifts
// in its loop: a word of codes takes 3 loads of weights, 2 broadcasts and 6 VPDPBUSD.
//
// A tile takes the halves of a panel one after the other. Each group of 16 steps has sums of its
// own, which its integer multiplies as float32. All of that is exact, see vnniGrouped.
//
// The formats differ in how blocks are expanded, and whether they have minima.
type vexBytes struct{ expanded }

const (
	bytesRows    = 2
	bytesVectors = 3
	bytesBlocks  = 4               // of a group: 10 KiB on the stack
	bytesLeast   = 6               // fewer rows take less time without
	bytesTaken   = spec.BlockSteps // of a row: codes by groups

	bytesBlock = (manyWords + bytesArrays) * manyVector
	bytesFrame = manyLocals + spec.LineBytes + bytesRows*bytesTaken + bytesBlocks*bytesBlock
)

// The arrays of a block on the stack, after its numbers, each with a number of every lane.
const (
	bytesScale  = iota
	bytesFirst  // integers of the first group
	bytesSecond // of the second group
	bytesMinimum
	bytesPairs // integers of minima: 16 bits for each group
	bytesArrays
)

// bytesFormats gain. U4x32 has little to gain, as its plain products take few instructions.
var bytesFormats = []ukernel.PackedFormat{ukernel.U5x32, ukernel.S6x16}

// bytesInt8 emits a product that takes vexBytes for whole panels and many rows.
func (g *gen) bytesInt8(q ukernel.PackedFormat) {
	f, few := spec.WeightGemmInt8Dot(q), operand.LabelRef("few")
	const name = "weightGemmInt8Bytes"
	if q == bytesFormats[0] {
		g.Shared(name, f, "is a product of many rows with quantized weights, to which kernels jump.")
		(&vexBytes{expanded{int8Gemmer: &int8Gemmer{g: g, formats: bytesFormats}}}).emit()
	}
	g.Kernel(f)
	g.CMPQ(g.Argument("lanes"), operand.Imm(spec.PanelLanes))
	g.JNE(few)
	g.CMPQ(g.Argument("m"), operand.Imm(bytesLeast))
	g.JL(few)
	t := &int8Gemmer{g: g}
	t.memory()
	g.MOVQ(operand.U32(uint32(q)), t.which)
	header, size := t.sizes(q)
	g.MOVQ(operand.U32(size*spec.PanelLanes), t.size)
	g.MOVQ(operand.U32(header*spec.PanelLanes), t.headers)
	g.TailJump(name)
	g.Label("few")
	plain := spec.WeightGemmInt8(q)
	g.TailJumpTo(plain, emit.AVX2{}, "AVX2", "F16C", "FMA3")
}

// skipMinima emits a jump for formats without minima.
func (b *vexBytes) skipMinima(label string) {
	b.g.CMPQ(b.which, operand.Imm(uint64(ukernel.S6x16)))
	b.g.JE(operand.LabelRef(label))
}

func (b *vexBytes) emit() {
	g, t := b.g, b.int8Gemmer
	b.memory()
	t.c, t.ldc, t.ldx, t.lanes2 = g.Slice("c"), g.Stride("ldc"), g.Stride("ldx"), g.Num("lanes")
	g.SHLQ(operand.Imm(1), t.lanes2)
	b.place(g.Frame(bytesFrame))
	t.clear()
	b.products(bytesRows, bytesTaken, b.expand, b.block)
}

// expand expands the blocks of a group.
func (b *vexBytes) expand() {
	b.eachBlock(bytesBlocks, bytesBlock, bytesRows*bytesTaken, func(block, to reg.GPVirtual) {
		b.passHead(block)
		numbers := b.g.GP64()
		b.g.MOVQ(block, numbers)
		b.g.ADDQ(b.headers, numbers)
		b.expandScales(block, to)
		b.expandNumbers(numbers, to)
	})
}

// passHead goes past scales and minima, which the blocks of a segment share.
func (b *vexBytes) passHead(block reg.GPVirtual) {
	g, left := b.g, b.g.GP64()
	g.MOVQ(b.kArg, left)
	g.TESTQ(operand.U32(spec.InputSegment-1), left)
	g.JNZ(operand.LabelRef("passed"))
	g.MOVQ(block, b.heads)
	g.ADDQ(operand.I32(2*spec.PanelLanes), block)
	b.skipMinima("passed")
	g.ADDQ(operand.I32(2*spec.PanelLanes), block)
	g.Label("passed")
}

// array is where an array of the block at p is.
func (b *vexBytes) array(p reg.GPVirtual, array int) operand.Mem {
	return emit.At(p, (manyWords+array)*manyVector)
}

// expandScales writes the arrays of a block, vector by vector.
func (b *vexBytes) expandScales(block, to reg.GPVirtual) {
	g := b.g
	heads, integers, arrays, count, pairs := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.Vec()
	g.MOVQ(b.heads, heads)
	g.MOVQ(block, integers)
	g.MOVQ(to, arrays)
	g.MOVQ(operand.U32(spec.PanelLanes/g.Lanes()), count)
	half := func(n, array int) {
		x := g.Vec()
		g.VCVTPH2PS(emit.At(heads, 2*spec.PanelLanes*n), x)
		g.VMOVUPS(x, b.array(arrays, array))
	}
	both := func(n int) { // an integer for both groups
		g.VPMOVSXBD(emit.At(integers, spec.PanelLanes*n), pairs)
		g.VPSHUFB(g.bothHalves(), pairs, pairs)
	}
	loop.Times(g, count, "scales", func() {
		half(0, bytesScale)
		b.skipMinima("apart")
		half(1, bytesMinimum)
		both(1)
		g.VMOVDQU(pairs, b.array(arrays, bytesPairs))
		both(0)
		g.ADDQ(operand.Imm(uint64(g.Lanes())), integers)
		g.Goto("integers")
		g.Label("apart")
		g.VPMOVSXBW(emit.At(integers, 0), pairs)
		g.ADDQ(operand.Imm(uint64(2*g.Lanes())), integers)
		g.Label("integers")
		first := g.Vec()
		g.VPSLLD(operand.Imm(16), pairs, first)
		for i, x := range []reg.VecVirtual{first, pairs} {
			g.VPSRAD(operand.Imm(16), x, x)
			g.VCVTDQ2PS(x, x)
			g.VMOVUPS(x, b.array(arrays, bytesFirst+i))
		}
		g.ADDQ(operand.Imm(uint64(g.VecBytes()/2)), heads)
		g.ADDQ(operand.Imm(uint64(g.VecBytes())), arrays)
	})
}

// expandNumbers writes the numbers of a block, in the loop of their format.
func (b *vexBytes) expandNumbers(from, to reg.GPVirtual) {
	g, words, count := b.g, b.g.GP64(), b.g.GP64()
	g.MOVQ(to, words)
	g.MOVQ(operand.U32(spec.PanelLanes/g.Lanes()), count)
	of := func(q ukernel.PackedFormat) {
		loop.Times(g, count, "numbers"+q.String(), func() {
			b.numbersOf(q, from, words)
			for word := range q.Bits() {
				g.PREFETCHT0(emit.At(from, int8Ahead+word*manyVector))
			}
			g.Advance(g.VecBytes(), from, words)
		})
	}
	b.skipMinima("six")
	of(ukernel.U5x32)
	g.Goto("numbers")
	g.Label("six")
	of(ukernel.S6x16)
	g.Label("numbers")
}

// numbersOf writes a vector of lanes: the words of the second group, then the words of the first.
// The codes of rows have the same order.
func (b *vexBytes) numbersOf(q ukernel.PackedFormat, from, to reg.GPVirtual) {
	g, more := b.g, q.Bits()-4
	for half := range 2 {
		for pair := range 2 {
			high, ws := g.Vec(), g.Vecs(2)
			g.VMOVDQU(g.further(q, emit.At(from, 0), 2*pair), high)
			for i, w := range ws {
				word := 2*pair + i
				g.numberBytes(emit.At(from, word*manyVector), high, w, 4*half, word*more%4, more)
			}
			x := g.Vec()
			g.VPSLLD(operand.Imm(16), ws[1], x)
			g.VPSRLD(operand.Imm(16), ws[0], high)
			g.VPBLENDW(operand.U8(0x55), ws[0], x, x)
			g.VPBLENDW(operand.U8(0xaa), ws[1], high, high)
			at := 2*half + pair
			g.VMOVDQU(high, emit.At(to, at*manyVector))
			g.VMOVDQU(x, emit.At(to, (manyWords/2+at)*manyVector))
		}
	}
}

// block emits the products of a tile with a block.
func (b *vexBytes) block() {
	g, count := b.g, b.g.GP64()
	b.take()
	g.MOVQ(operand.U32(spec.PanelLanes/bytesVectors/8), count)
	loop.Times(g, count, "half", b.half)
	g.ADDQ(operand.I32(bytesBlock-manyVector), b.from)
	for _, c := range b.c {
		g.SUBQ(operand.I32(manyVector), c)
	}
	g.Advance(spec.RowBytes, b.x...)
}

// ofTaken is what take has made of a row.
func (b *vexBytes) ofTaken(i, disp int) operand.Mem { return emit.At(b.taken, i*bytesTaken+disp) }

// take prepares the rows of a tile for a block: codes by groups, the second one first.
func (b *vexBytes) take() {
	g := b.g
	for i, x := range b.x {
		codes := g.Vec()
		g.VMOVDQU(emit.At(x, 0), codes)
		g.VPSHUFB(g.Repeated("groupHalvesOfQuarters", 0x07060302, 0x0f0e0b0a, 0x05040100, 0x0d0c0908), codes, codes)
		g.VPERMQ(operand.U8(0xd8), codes, codes)
		g.VMOVDQU(codes, b.ofTaken(i, 0))
	}
}

// sums emits the sums of a group.
func (b *vexBytes) sums(group int) (acc [bytesRows][]reg.VecVirtual) {
	g, name := b.g, fmt.Sprint("begin", group)
	for i := range acc {
		acc[i] = g.Vecs(bytesVectors)
		for _, v := range acc[i] {
			g.Zero(g.Context, v)
		}
	}
	g.CMPQ(b.which, operand.Imm(uint64(ukernel.S6x16)))
	g.JNE(operand.LabelRef(name))
	for i, row := range acc {
		g.VPBROADCASTD(emit.At(b.x[i], spec.RowGroups), row[0])
		g.VPMADDWD(b.groupFactor(group, uint32(ukernel.S6x16.Offset())), row[0], row[0])
		for _, v := range row[1:] {
			g.VMOVUPS(row[0], v)
		}
	}
	g.Label(name)
	for word := range manyWords / 2 {
		word += manyWords / 2 * (1 - group)
		codes := g.Vecs(bytesRows)
		for i, x := range codes {
			g.VPBROADCASTD(b.ofTaken(i, 4*word), x)
		}
		for v := range bytesVectors {
			w := g.Vec()
			g.VMOVDQU(emit.At(b.from, word*manyVector+v*g.VecBytes()), w)
			for i, x := range codes {
				g.VPDPBUSD(x, w, acc[i][v])
			}
		}
	}
	return acc
}

// half emits the products with half of a panel, and moves on to the next.
func (b *vexBytes) half() {
	g := b.g
	second, first := b.sums(1), b.sums(0)
	at := func(array, v int) operand.Mem { return b.array(b.from, array).Offset(v * g.VecBytes()) }
	zero, scales := g.Vec(), g.Vecs(bytesRows)
	g.Zero(g.Context, zero)
	for v := range bytesVectors {
		integer, other := g.Vec(), g.Vec()
		g.VMOVUPS(at(bytesSecond, v), integer)
		for i := range bytesRows {
			s := second[i][v]
			g.VCVTDQ2PS(s, s)
			g.VFMADD213PS(zero, integer, s)
		}
		g.VMOVUPS(at(bytesFirst, v), other)
		for i := range bytesRows {
			s := first[i][v]
			g.VCVTDQ2PS(s, s)
			g.VFMADD213PS(second[i][v], other, s)
		}
	}
	for i, d := range scales {
		g.VBROADCASTSS(emit.At(b.x[i], spec.RowScale), d)
		for v, s := range first[i] {
			p := g.Vec()
			g.VMULPS(at(bytesScale, v), d, p)
			g.VFMADD213PS(emit.At(b.c[i], v*g.VecBytes()), p, s)
		}
	}
	b.skipMinima("stored")
	for i, d := range scales {
		groups := g.Vec()
		g.VPBROADCASTD(emit.At(b.x[i], spec.RowGroups), groups)
		for v, s := range first[i] {
			p, codes := g.Vec(), g.Vec()
			g.VPMADDWD(at(bytesPairs, v), groups, codes)
			g.VCVTDQ2PS(codes, codes)
			g.VMULPS(at(bytesMinimum, v), d, p)
			g.VFMADD231PS(p, codes, s)
		}
	}
	g.Label("stored")
	for i, row := range first {
		for v, s := range row {
			g.VMOVUPS(s, emit.At(b.c[i], v*g.VecBytes()))
		}
	}
	g.Advance(bytesVectors*g.VecBytes(), append(b.c[:2:2], b.from)...)
}
