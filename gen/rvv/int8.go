package rvv

import (
	"math"
	"math/bits"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/abi0"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// Products of quantized rows with quantized weights have one function for all formats. Its loops
// are, from outside,
//
//	blocks
//	parts of the panel's lanes, as many as a group has
//	4 rows, or one
//	halves of the steps, the second first; formats with a single scale have one
//	words, and both halves of their bytes if numbers have less than 8 bits
//	bytes
//
// A number is multiplied by the integer of its half before it is multiplied by a code. The offset
// is subtracted once for a half: a row has the sums of its codes.

// rowTile is how many rows a tile has, unless it has one.
const rowTile = 4

// An int8Emitter has the registers of the product.
type int8Emitter struct {
	*gen
	ldx, block, off, lanes, xi, ci riscv.GP  // bytes of a row, of float32 before the part, and of all lanes; the tile's codes and sums
	rows, limit                    riscv.GP  // rows from the tile on; how many make it a tile of 4
	row, far, farShift             riscv.GP  // words of numbers, and of their further bits
	half, pass, shift, code, codes riscv.GP  // bits of a word before the half; 4 for the upper halves of bytes; bits before a byte; its codes
	bytes, words, grouped          riscv.GP  // of the half of a word that are left; of a lane; 1 for a format with halves
	p, q, x                        riscv.GP  // scratch
	w, b, s                        riscv.Vec // a word, a byte, the integer of the half
	acc                            []riscv.Vec
	power                          riscv.FP // see e2m1
}

// The places in memory of what the loops need rarely.
func (f *int8Emitter) about() abi0.Param { return f.Len("c").Local() } // the row of the format
func (f *int8Emitter) adds() abi0.Param  { return f.Cap("c").Local() } // whether sums are added to C
func (f *int8Emitter) left() abi0.Param  { return f.Len("b").Local() } // lanes from the part on
func (f *int8Emitter) steps() abi0.Param { return f.Param("k").Local() }
func (f *int8Emitter) heads() abi0.Param { return f.Cap("b").Local() }  // of the segment or block
func (f *int8Emitter) first() abi0.Param { return f.Base("x").Local() } // the block of the first row

func (f *int8Emitter) field(i int, to riscv.GP) {
	f.Op("MOV", f.about(), to)
	f.Op("MOVW", riscv.At(to, 4*i), to)
}

// WeightGemmInt8 emits the product for a format.
func (g *gen) WeightGemmInt8(q ukernel.PackedFormat) {
	const name = "weightGemmInt8Blocks"
	k := spec.WeightGemmInt8(q)
	if q == spec.SingleFormats[0] {
		g.shared(name, k, "is the product of quantized rows with weights of all formats, whose kernels jump to it.")
		g.gemmInt8()
	}
	g.kernel(k)
	g.toFormats(q, g.Len("c").Local(), name)
}

func (g *gen) gemmInt8() {
	f := &int8Emitter{gen: g, ldx: g.stride("ldx"), block: g.Load(g.Base("b")), off: g.GP(), lanes: g.stride("lanes"), xi: g.GP(), ci: g.GP(),
		rows: g.GP(), limit: g.GP(), row: g.GP(), far: g.GP(), farShift: g.GP(), half: g.GP(), pass: g.GP(), shift: g.GP(), code: g.GP(), codes: g.GP(),
		bytes: g.GP(), words: g.GP(), grouped: g.GP(), p: g.GP(), q: g.GP(), x: g.GP(), w: g.Vec(wide), b: g.Vec(wide), s: g.Vec(wide), acc: g.Vecs(rowTile, wide), power: g.powerE2M1()}
	g.Op("MOVBU", g.Param("load"), f.x)
	g.Op("MOV", f.x, f.adds())
	f.field(fieldGrouped, f.grouped)
	f.field(fieldTile, f.limit)
	g.Label("block")
	f.passHead()
	g.Op("MOV", g.Param("lanes"), f.x)
	g.Op("MOV", f.x, f.left())
	g.Op("MOV", riscv.Zero, f.off)
	g.Label("lanes")
	g.Op("MOV", f.left(), f.x)
	g.SetLanes(f.x, wide, f.x)
	g.Op("MOV", g.Base("c"), f.ci)
	g.add(f.off, f.ci)
	g.Op("MOV", f.first(), f.xi)
	g.Op("MOV", g.Param("m"), f.rows)
	g.Label("rows")
	g.Jump("BEQZ", "part", f.rows)
	f.tile()
	g.Jump("JMP", "rows")
	g.Label("part")
	g.Op("MOV", f.left(), f.q)
	g.SetLanes(f.q, wide, f.x)
	g.Op("SUB", f.x, f.q, f.q)
	g.Op("MOV", f.q, f.left())
	g.Op("SLLI", 2, f.x, f.x)
	g.add(f.x, f.off)
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", f.q)
	f.skip(fieldRest)
	g.Op("MOV", f.first(), f.x)
	g.Op("ADD", spec.RowBytes, f.x, f.x)
	g.Op("MOV", f.x, f.first())
	g.Op("MOV", 1, f.x)
	g.Op("MOV", f.x, f.adds())
	g.Op("MOV", f.steps(), f.x)
	g.Op("ADD", -spec.BlockSteps, f.x, f.x)
	g.Op("MOV", f.x, f.steps())
	g.Jump("BNEZ", "block", f.x)
	g.Ret()
}

// skip goes past some bytes of each lane, a field.
func (f *int8Emitter) skip(field int) {
	f.field(field, f.x)
	f.Op("MUL", f.lanes, f.x, f.x)
	f.Op("SRLI", 2, f.x, f.x)
	f.add(f.x, f.block)
}

// passHead goes past the head before a block, if there is one.
func (f *int8Emitter) passHead() {
	f.field(fieldWithin, f.x)
	f.Op("MOV", f.steps(), f.q)
	f.Op("AND", f.q, f.x, f.x)
	f.Jump("BNEZ", "passed", f.x)
	f.Op("MOV", f.block, f.heads())
	f.skip(fieldHead)
	f.Label("passed")
}

// eachRow emits what is done for the rows of the tile, with something of theirs at p, from where p
// is on.
func (f *int8Emitter) eachRow(label string, do func(acc riscv.Vec)) {
	do(f.acc[0])
	f.Jump("BLT", label, f.rows, f.limit)
	for _, v := range f.acc[1:] {
		f.add(f.ldx, f.p)
		do(v)
	}
	f.Label(label)
}

// tile emits the product of a block with 4 rows or one.
func (f *int8Emitter) tile() {
	for _, v := range f.acc {
		f.Op("VMVVI", 0, v)
	}
	f.Op("SLLI", 4, f.grouped, f.half)
	f.Label("half")
	f.integers()
	f.numbers()
	f.Jump("BEQZ", "sums", f.half)
	f.Op("MOV", riscv.Zero, f.half)
	f.field(fieldSingles, f.x)
	f.Jump("BEQZ", "half", f.x)
	f.Op("ADD", f.block, f.lanes, f.x)
	f.scaled(f.acc[1])
	f.Op("VMVVI", 0, f.acc[0])
	f.Jump("JMP", "half")
	f.Label("sums")
	f.finish()
}

// scaled adds the sums of a half of a format with scales of float32, which has one row, to another
// half's. The scales are at x.
func (f *int8Emitter) scaled(to riscv.Vec) {
	f.add(f.off, f.x)
	f.Op("VLE32V", riscv.At(f.x, 0), f.b)
	f.Op("VFCVTFXV", f.acc[0], f.acc[0])
	f.Op("VFMACCVV", f.acc[0], f.b, to)
}

// words16 loads scales or minima, part 0 or 1 of a head, into the last half of a group.
func (f *int8Emitter) words16(part int, to riscv.Vec) {
	f.Op("MOV", f.off, f.x)
	if part > 0 {
		f.add(f.lanes, f.x)
	}
	f.Op("SRLI", 1, f.x, f.x)
	f.Op("MOV", f.heads(), f.q)
	f.add(f.q, f.x)
	f.Op("VLE16V", riscv.At(f.x, 0), to.Last(2))
}

// pairs loads the integers of scales, part 0, or of minima, part 1, as pairs of int8 with the sign
// of the second. If a block has a single scale for a lane, it loads that and jumps to single.
func (f *int8Emitter) pairs(part int, to riscv.Vec, single string) {
	label := []string{"scales", "minima"}[part]
	f.Op("MOV", f.off, f.p)
	if part > 0 {
		f.add(f.lanes, f.p)
	}
	f.Op("SRLI", 1, f.p, f.p)
	f.field(fieldIntegers, f.x)
	f.Op("ADD", -1, f.x, f.x)
	f.Jump("BEQZ", "one"+label, f.x)
	f.add(f.block, f.p)
	f.Op("VLE16V", riscv.At(f.p, 0), to.Last(2))
	f.Op("VSEXTVF2", to.Last(2), to)
	f.Jump("JMP", "pairs"+label)
	f.Label("one" + label)
	f.Op("SRLI", 1, f.p, f.p)
	f.add(f.block, f.p)
	f.loadBytes(f.p, to)
	f.Jump("JMP", single)
	f.Label("pairs" + label)
}

// integers makes the integer of the half, 1 if there is none, and begins sums with the codes times
// the offset. In formats with bfloat16 scales the values of all numbers take its place.
func (f *int8Emitter) integers() {
	f.Op("VMVVI", 1, f.s)
	f.field(fieldIntegers, f.x)
	f.Jump("BEQZ", "ones", f.x)
	f.pairs(0, f.s, "ones")
	f.Op("SRLI", 1, f.half, f.x)
	f.Op("MOV", 24, f.q)
	f.Op("SUB", f.x, f.q, f.q)
	f.Op("VSLLVX", f.q, f.s, f.s)
	f.Op("VSRAVI", 24, f.s, f.s)
	f.Label("ones")
	f.field(fieldOffset, f.x)
	f.Op("SRLI", 3, f.half, f.p)
	f.add(f.xi, f.p)
	f.eachRow("offsets", func(acc riscv.Vec) {
		single, next := "single"+acc.String(), "offset"+acc.String()
		f.Jump("BEQZ", single, f.grouped)
		f.Op("MOVH", riscv.At(f.p, spec.RowGroups), f.q)
		f.Jump("JMP", next)
		f.Label(single)
		f.Op("MOVW", riscv.At(f.p, spec.RowMinusSum), f.q)
		f.Label(next)
		f.Op("MUL", f.x, f.q, f.q)
		f.Op("VMACCVX", f.s, f.q, acc)
	})
	f.field(fieldLooks, f.x)
	f.Jump("BEQZ", "nolooks", f.x)
	f.SetAddress(valueTable, f.x)
	f.Op("VLE32V", riscv.At(f.x, 0), f.s)
	f.Label("nolooks")
	f.field(fieldBFloat16, f.x)
	f.Jump("BEQZ", "selves", f.x)
	f.Op("VIDV", f.s)
	f.e2m1(f.s, f.b, f.power, f.x)
	f.Op("VFCVTXFV", f.s, f.s)
	f.Op("MOV", ukernel.E2M1.Offset(), f.x)
	f.Op("VADDVX", f.x, f.s, f.s)
	f.Label("selves")
}

// numbers adds the products of the half.
func (f *int8Emitter) numbers() {
	f.field(fieldHeader, f.row)
	f.Op("MUL", f.lanes, f.row, f.row)
	f.Op("SRLI", 2, f.row, f.row)
	f.add(f.block, f.row)
	f.add(f.off, f.row)
	f.Op("SLLI", 2, f.lanes, f.far)
	f.add(f.row, f.far)
	f.Op("MOV", riscv.Zero, f.farShift)
	f.Op("SRLI", 3, f.half, f.codes)
	f.add(f.xi, f.codes)
	f.field(fieldWords, f.words)
	f.Label("word")
	f.Op("MOV", riscv.Zero, f.pass)
	f.Label("pass")
	f.word()
	f.Op("MOV", f.half, f.shift)
	f.Op("SLLI", 2, f.pass, f.code) // 4 words after the first ones
	f.add(f.codes, f.code)
	f.Op("MOV", 4, f.bytes)
	f.Op("SUB", f.grouped, f.bytes, f.bytes)
	f.Op("SUB", f.grouped, f.bytes, f.bytes)
	f.Label("byte")
	f.Op("VSRLVX", f.shift, f.w, f.b)
	f.Op("MOV", 255, f.q)
	f.Op("VANDVX", f.q, f.b, f.b)
	f.field(fieldBFloat16, f.x)
	f.field(fieldLooks, f.q)
	f.add(f.q, f.x)
	f.Jump("BEQZ", "number", f.x)
	f.Scope(func() {
		value := f.AtV0(wide)
		f.Op("VRGATHERVV", f.b, f.s, value)
		f.Op("VMVVV", value, f.b)
	})
	f.Label("number")
	f.Jump("BEQZ", "times1", f.grouped)
	f.Op("VMULVV", f.s, f.b, f.b)
	f.Label("times1")
	f.Op("MOV", f.code, f.p)
	f.eachRow("products", func(acc riscv.Vec) {
		f.Op("MOVB", riscv.At(f.p, 0), f.q)
		f.Op("VMACCVX", f.b, f.q, acc)
	})
	f.Op("ADD", 1, f.code, f.code)
	f.Op("ADD", 8, f.shift, f.shift)
	f.Op("ADD", -1, f.bytes, f.bytes)
	f.Jump("BNEZ", "byte", f.bytes)
	f.field(fieldPasses, f.x)
	f.Op("ADD", 4, f.pass, f.pass)
	f.Jump("BLT", "pass", f.pass, f.x)
	f.Op("ADD", 4, f.codes, f.codes)
	f.add(f.lanes, f.row)
	f.field(fieldMore, f.x)
	f.add(f.x, f.farShift)
	f.Op("AND", 3, f.farShift, f.x)
	f.Jump("BNEZ", "same", f.x)
	f.Op("SRLI", 2, f.farShift, f.x)
	f.Op("MUL", f.lanes, f.x, f.x)
	f.add(f.x, f.far)
	f.Op("MOV", riscv.Zero, f.farShift)
	f.Label("same")
	f.Op("ADD", -1, f.words, f.words)
	f.Jump("BNEZ", "word", f.words)
}

// word loads a word with a number in each byte, or makes one from halves of bytes and further bits.
func (f *int8Emitter) word() {
	f.Op("VLE32V", riscv.At(f.row, 0), f.w)
	f.field(fieldPasses, f.x)
	f.Jump("BEQZ", "whole", f.x)
	f.Op("VSRLVX", f.pass, f.w, f.w)
	f.Op("MOV", 0x0f0f0f0f, f.q)
	f.Op("VANDVX", f.q, f.w, f.w)
	f.field(fieldMore, f.x)
	f.Jump("BEQZ", "whole", f.x)
	f.Op("VLE32V", riscv.At(f.far, 0), f.b)
	f.Op("ADD", f.farShift, f.pass, f.q)
	f.Op("VSRLVX", f.q, f.b, f.b)
	f.Op("VSLLVI", 4, f.b, f.b)
	f.field(fieldUpper, f.q)
	f.Op("VANDVX", f.q, f.b, f.b)
	f.Op("VORVV", f.b, f.w, f.w)
	f.Label("whole")
}

// finish adds the sums of the tile to C, row by row: the first row's is in the first accumulator,
// to which the others move.
func (f *int8Emitter) finish() {
	f.scales()
	sum, y := f.FP(), f.FP()
	f.Op("MOV", rowTile, f.words)
	f.Jump("BGE", "row", f.rows, f.limit)
	f.Op("MOV", 1, f.words)
	f.Label("row")
	v := f.AtV0(wide)
	f.Op("VMVVI", 0, v)
	f.Op("MOV", f.adds(), f.x)
	f.Jump("BEQZ", "load", f.x)
	f.Op("VLE32V", riscv.At(f.ci, 0), v)
	f.Label("load")
	f.Op("MOVF", riscv.At(f.xi, spec.RowScale), y)
	f.field(fieldSingles, f.x)
	f.Jump("BEQZ", "integers", f.x)
	f.Op("VFMACCVF", f.acc[1], y, v)
	f.Jump("JMP", "store")
	f.Label("integers")
	f.Op("VFCVTFXV", f.acc[0], f.acc[0])
	f.Op("VFMULVF", y, f.w, f.s)
	f.Op("VFMACCVV", f.acc[0], f.s, v)
	f.field(fieldBFloat16, f.x)
	f.Jump("BEQZ", "plain", f.x)
	f.Op("MOVW", riscv.At(f.xi, spec.RowMinusSum), f.q)
	f.Op("SLLI", bits.TrailingZeros(uint(ukernel.E2M1.Offset())), f.q, f.q)
	f.Op("FCVTSW", f.q, sum)
	f.Op("VFMACCVF", f.s, sum, v)
	f.Jump("JMP", "store")
	f.Label("plain")
	f.field(fieldOffset, f.x)
	f.Jump("BNEZ", "store", f.x)
	f.Jump("BNEZ", "minima", f.grouped)
	f.Op("MOVF", riscv.At(f.xi, spec.RowSum), sum)
	f.Op("VFMACCVF", f.b, sum, v)
	f.Jump("JMP", "store")
	f.Label("minima")
	f.pairs(1, f.s, "minimum")
	f.Op("VSLLVI", 24, f.s, f.acc[0])
	f.Op("VSRAVI", 24, f.acc[0], f.acc[0])
	f.Op("VSRAVI", 8, f.s, f.s)
	f.Jump("JMP", "totals")
	f.Label("minimum")
	f.Op("VMVVV", f.s, f.acc[0])
	f.Label("totals")
	f.Op("MOVH", riscv.At(f.xi, spec.RowGroups), f.q)
	f.Op("VMULVX", f.q, f.acc[0], f.acc[0])
	f.Op("MOVH", riscv.At(f.xi, spec.RowGroups+2), f.q)
	f.Op("VMACCVX", f.s, f.q, f.acc[0])
	f.Op("VFCVTFXV", f.acc[0], f.acc[0])
	f.Op("VFMULVF", y, f.b, f.s)
	f.Op("VFMACCVV", f.acc[0], f.s, v)
	f.Label("store")
	f.Op("VSE32V", v, riscv.At(f.ci, 0))
	f.Free(v)
	for i, v := range f.acc[1:] {
		f.Op("VMVVV", v, f.acc[i])
	}
	f.add(f.ldx, f.xi)
	f.Op("MOV", f.Param("ldc"), f.x)
	f.Op("SLLI", 2, f.x, f.x)
	f.add(f.x, f.ci)
	f.Op("ADD", -1, f.rows, f.rows)
	f.Op("ADD", -1, f.words, f.words)
	f.Jump("BNEZ", "row", f.words)
}

// scales makes the scales in w, and in b the minima, or what is not used. A format with scales of
// float32 has its sums in the second accumulator then.
func (f *int8Emitter) scales() {
	f.field(fieldSingles, f.x)
	f.Jump("BEQZ", "halves", f.x)
	f.Op("MOV", f.block, f.x)
	f.scaled(f.acc[1])
	f.Jump("JMP", "scaled")
	f.Label("halves")
	f.words16(0, f.w)
	f.words16(1, f.b)
	f.field(fieldBFloat16, f.x)
	f.Jump("BNEZ", "bfloat", f.x)
	h := f.newHalver(spec.F16, f.x)
	h.t = f.s
	h.widen(spec.F16, f.w)
	h.widen(spec.F16, f.b)
	f.Jump("JMP", "scaled")
	f.Label("bfloat")
	h.widen(spec.BF16, f.w)
	f.Label("scaled")
}

// WeightQuantize has a byte of 8 words in the lanes of each of 4 groups.
func (g *gen) WeightQuantize() {
	const group, lanes = 2, 8
	g.kernel(spec.WeightQuantize)
	src, dst, left := g.Load(g.Base("src")), g.Load(g.Base("dst")), g.Load(g.Len("src"))
	x, most, to, got, sum, half := g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	a, d, inverse, round := g.FP(), g.FP(), g.FP(), g.GP()
	magic, per, code := g.Float(spec.RoundMagic), g.Float(contract.PerCode), g.Float(math.Float32bits(contract.MostCode))
	vs, t, top := g.Vecs(4, group), g.Vec(group), g.Vec(1)
	number := func(bits uint32, to riscv.GP) { g.Op("MOV", int(int32(bits)), to) }
	number(spec.RoundMagic, round)
	g.Op("MOV", lanes, x)
	g.SetLanes(x, group, got)
	g.Jump("BEQZ", "done", left)
	g.Label("block")
	g.Op("VMVSX", riscv.Zero, top)
	for i, v := range vs {
		g.Op("ADD", 4*lanes*i, src, x)
		g.Op("VLE32V", riscv.At(x, 0), v)
		g.Op("VFABSV", v, t)
		g.Op("VREDMAXUVS", top, t, top)
	}
	g.Op("VMVXS", top, most)
	number(spec.NaN, to)
	number(spec.Exponent&^uint32(spec.SignBit), x)
	g.Jump("BGE", "zero", most, x)
	g.Op("MOV", riscv.Zero, to)
	number(contract.LeastOfBlock, x)
	g.Jump("BLT", "zero", most, x)
	g.Op("FMVWX", most, a)
	g.Op("FMULS", per, a, d)
	g.Op("FDIVS", a, code, inverse)
	for i, v := range vs {
		g.Op("VFMULVF", inverse, v, v)
		g.Op("VFADDVF", magic, v, v)
		g.Op("VSUBVX", round, v, v)
		if i%2 == 1 {
			g.Op("VADDVV", v, vs[i-1], t)
			g.Op("VMVSX", riscv.Zero, top)
			g.Op("VREDSUMVS", top, t, top)
			g.Op("VMVXS", top, []riscv.GP{sum, half}[i/2])
		}
	}
	g.Op("MOV", 255, x)
	for i, v := range vs {
		g.Op("VANDVX", x, v, v)
		if i > 0 {
			g.Op("VSLLVI", 8*i, v, v)
			g.Op("VORVV", v, vs[0], vs[0])
		}
	}
	g.Op("VSE32V", vs[0], riscv.At(dst, 0))
	g.Op("SUB", sum, riscv.Zero, sum)
	g.Op("SUB", half, riscv.Zero, half)
	g.Op("MOVH", sum, riscv.At(dst, spec.RowGroups))
	g.Op("MOVH", half, riscv.At(dst, spec.RowGroups+2))
	g.add(half, sum)
	g.Op("MOVW", sum, riscv.At(dst, spec.RowMinusSum))
	g.Op("SUB", sum, riscv.Zero, sum)
	g.Op("MOVF", d, riscv.At(dst, spec.RowScale))
	g.Op("FCVTSW", sum, a)
	g.Op("FMULS", d, a, a)
	g.Op("MOVF", a, riscv.At(dst, spec.RowSum))
	g.Jump("JMP", "next")
	g.Label("zero")
	g.Op("VMVVI", 0, t)
	g.Op("VSE32V", t, riscv.At(dst, 0))
	for i := range 2 {
		g.Op("MOVW", to, riscv.At(dst, spec.RowScale+4*i))
		g.Op("MOVW", riscv.Zero, riscv.At(dst, spec.RowMinusSum+4*i))
	}
	g.Label("next")
	g.Op("ADD", 4*spec.BlockSteps, src, src)
	g.Op("ADD", spec.RowBytes, dst, dst)
	g.Op("ADD", -spec.BlockSteps, left, left)
	g.Jump("BNEZ", "block", left)
	g.Label("done")
	g.Ret()
}
