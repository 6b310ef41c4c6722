package amd64

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products with quantized weights, for as few rows of A as wait for memory. Package fallback
// describes their blocks. A weight is made in registers and used for all rows of a tile:
//
//	Q8_0   w = float(q)·d                   sign extension, conversion, multiplication
//	Q4_x   w = fma(float(q), d, m)          see the ISAs' fourBits
//
// The product of q and d is exact, so each w is rounded at most once, as package fallback has
// it, and the product has the bits of one with widened weights. The alternative, a sum of
// x·q for a block that is scaled afterwards, was measured on Zen 3: from L2 it is 12% (Q8_0)
// to 20% (Q4_1) faster for one row, but products of many rows would need a second kind of
// Gemm with a scaled addition to C every 32 steps.
//
// General registers: a, c, rows left; p, cs, block, steps left and those of the segment,
// whether C is added; within a block a pointer, one to prefetch from, and a count.

// A blockGemmer emits one product.
type blockGemmer struct {
	*gen
	format spec.BlockFormat

	a, c, m  reg.GPVirtual // row of A, row of C, rows left
	p, block reg.GPVirtual // in the row of A, in the panel
	cs       reg.GPVirtual // in bytes
	row      []reg.GPVirtual
	ldc, rs  operand.Mem // in bytes

	acc    [][]reg.VecVirtual // of a tile, by row and vector
	d      []reg.VecVirtual   // the scales
	minima operand.Mem        // on the stack
}

func (g *gen) WeightGemmQ(q spec.BlockFormat) {
	g.function(spec.WeightGemmQ(q))
	t := &blockGemmer{gen: g, format: q, ldc: g.argument("ldc"), rs: g.argument("rs")}
	if q != spec.Q8_0 {
		t.minima = g.frame(4 * spec.PanelLanes)
	}
	g.SHLQ(operand.Imm(2), t.ldc)
	g.SHLQ(operand.Imm(2), t.rs)
	t.a, t.c, t.m, t.cs = g.slice("a"), g.slice("c"), g.num("m"), g.stride("cs")
	for _, rows := range g.blockRows() {
		t.tile(rows)
	}
	g.Return()
}

// panelVectors is the number of vectors in a row of a panel.
func (g *gen) panelVectors() int { return spec.PanelLanes / g.lanes() }

// tile emits the loop over tiles of some rows.
func (t *blockGemmer) tile(rows int) {
	name := func(part string) string { return fmt.Sprintf("rows%d%s", rows, part) }
	label := func(part string) operand.LabelRef { return operand.LabelRef(name(part)) }
	t.Commentf("Tiles of %d rows.", rows)
	t.Label(name(""))
	t.CMPQ(t.m, operand.U32(rows))
	t.JL(label("done"))
	t.rowOffsets(rows)
	t.p, t.block = t.GP64(), t.slice("b")
	t.MOVQ(t.a, t.p)
	left, adds := t.num("k"), t.Load(t.Param("load"), t.GP8()).(reg.GPVirtual)

	t.Label(name("segment"))
	steps := t.GP64()
	t.MOVQ(operand.U32(spec.InputSegment), steps)
	t.CMPQ(left, steps)
	t.CMOVQLT(left, steps)
	t.SUBQ(steps, left)
	t.acc = make([][]reg.VecVirtual, rows)
	for i := range t.acc {
		t.acc[i] = t.Vecs(t.panelVectors())
		for _, v := range t.acc[i] {
			t.zero(t.Context, v)
		}
	}
	t.Label(name("block"))
	t.scales()
	if t.format == spec.Q8_0 {
		t.eightBits(name("step"))
	} else {
		t.fourBits(t, name("step"))
	}
	t.ADDQ(operand.U32(t.format.BlockBytes(spec.PanelLanes)), t.block)
	t.SUBQ(operand.U32(spec.BlockSteps), steps)
	t.JNZ(label("block"))

	t.TESTB(adds, adds)
	t.JZ(label("store"))
	t.eachOfC(func(v reg.VecVirtual, m operand.Mem) { t.VADDPS(m, v, v) })
	t.Label(name("store"))
	t.eachOfC(func(v reg.VecVirtual, m operand.Mem) { t.VMOVUPS(v, m) })
	t.MOVB(operand.U8(1), adds)
	t.TESTQ(left, left)
	t.JNZ(label("segment"))
	for range rows {
		t.ADDQ(t.rs, t.a)
		t.ADDQ(t.ldc, t.c)
	}
	t.SUBQ(operand.U32(rows), t.m)
	t.JMP(label(""))
	t.Label(name("done"))
}

// rowOffsets computes the distances of the rows of a tile from the first one: at most 4 rows.
func (t *blockGemmer) rowOffsets(rows int) {
	t.row = make([]reg.GPVirtual, rows)
	for i := 1; i < rows; i++ {
		t.row[i] = t.GP64()
		t.MOVQ(t.rs, t.row[i])
		if i > 1 {
			t.ADDQ(t.row[i-1], t.row[i])
		}
	}
}

// eachOfC calls f for every accumulator and its place in C.
func (t *blockGemmer) eachOfC(f func(v reg.VecVirtual, m operand.Mem)) {
	c := t.GP64()
	t.MOVQ(t.c, c)
	for i, row := range t.acc {
		if i > 0 {
			t.ADDQ(t.ldc, c)
		}
		for v, x := range row {
			f(x, at(c, v*t.bytes()))
		}
	}
}

// scales loads the scales of a block, and stores the minima as float32.
func (t *blockGemmer) scales() {
	t.d = t.Vecs(t.panelVectors())
	for v, d := range t.d {
		t.VCVTPH2PS(at(t.block, v*t.bytes()/2), d)
		if t.format == spec.Q8_0 {
			continue
		}
		m := t.vec()
		if t.format == spec.Q4_1 {
			t.VCVTPH2PS(at(t.block, 2*spec.PanelLanes+v*t.bytes()/2), m)
		} else {
			t.VMULPS(t.constant(math.Float32bits(-8)), d, m)
		}
		t.VMOVUPS(m, t.minimum(v))
	}
}

// minimum is the memory of a vector of minima.
func (t *blockGemmer) minimum(v int) operand.Mem { return t.minima.Offset(v * t.bytes()) }

// numbers is the offset of the numbers in a block.
func (t *blockGemmer) numbers() int { return t.format.HeaderBytes() * spec.PanelLanes }

// step emits a step: weight makes a vector of weights.
func (t *blockGemmer) step(weight func(v int) reg.VecVirtual) {
	xs := t.Vecs(len(t.acc))
	for i, x := range xs {
		if i == 0 {
			t.VBROADCASTSS(at(t.p, 0), x)
		} else {
			t.VBROADCASTSS(indexed(t.p, t.row[i], 1), x)
		}
	}
	t.ADDQ(t.cs, t.p)
	for v := range t.d {
		w := weight(v)
		for i, x := range xs {
			t.VFMADD231PS(x, w, t.acc[i][v])
		}
	}
}

// blockAhead is the distance of prefetches in bytes.
const blockAhead = 4096

// eightBits emits the steps of a block of int8, four per iteration.
func (t *blockGemmer) eightBits(name string) {
	const unrolled = 4
	q, count := t.GP64(), t.GP64()
	t.LEAQ(at(t.block, t.numbers()), q)
	t.MOVQ(operand.U32(spec.BlockSteps/unrolled), count)
	t.AlignLoop()
	loop.Times(t.gen, count, name, func() {
		for i := range unrolled {
			t.step(func(v int) reg.VecVirtual {
				w := t.vec()
				t.VPMOVSXBD(at(q, i*spec.PanelLanes+v*t.lanes()), w)
				t.VCVTDQ2PS(w, w)
				t.VMULPS(t.d[v], w, w)
				return w
			})
		}
		for line := 0; line < unrolled*spec.PanelLanes; line += spec.LineBytes {
			t.PREFETCHT0(at(q, blockAhead+line))
		}
		t.ADDQ(operand.U32(unrolled*spec.PanelLanes), q)
	})
}

// word is the memory of vector v of the words of step i of a position.
func (t *blockGemmer) word(i, v int) operand.Mem {
	return at(t.block, t.numbers()+4*(i*spec.PanelLanes+v*t.lanes()))
}

// fourBits takes the numbers of 8 positions in a word where they are: masked, number j is
// q·16^j, and its scale is d·16^-j, exactly. That saves a shift for each vector of weights.
// The last one, whose upper bit is a sign, is shifted.
func (avx2) fourBits(t *blockGemmer, name string) {
	mask, far, count := t.vec(), t.GP64(), t.GP64()
	t.VMOVUPS(t.constant(15), mask)
	t.MOVQ(t.block, far)
	t.MOVQ(operand.U32(7), count)
	position := func(number func(m operand.Mem, w reg.VecVirtual)) {
		for i := range spec.WordSteps {
			t.step(func(v int) reg.VecVirtual {
				w := t.vec()
				number(t.word(i, v), w)
				t.VCVTDQ2PS(w, w)
				t.VFMADD213PS(t.minimum(v), t.d[v], w)
				return w
			})
		}
		t.PREFETCHT0(at(far, blockAhead))
		t.PREFETCHT0(at(far, blockAhead+spec.LineBytes))
	}
	scale := func(by float32) {
		for _, d := range t.d {
			t.VMULPS(t.constant(math.Float32bits(by)), d, d)
		}
	}
	t.AlignLoop()
	loop.Times(t.gen, count, name, func() {
		position(func(m operand.Mem, w reg.VecVirtual) { t.VPAND(m, mask, w) })
		t.ADDQ(operand.U32(2*spec.LineBytes), far)
		t.VPSLLD(operand.Imm(4), mask, mask)
		scale(0x1p-4)
	})
	scale(0x1p28)
	position(func(m operand.Mem, w reg.VecVirtual) {
		t.VMOVDQU(m, w)
		t.VPSRLD(operand.Imm(28), w, w)
	})
}

// fourBits looks the numbers up: VPERMPS takes the last 4 bits of each word as the index of
// one of 16 numbers.
func (avx512) fourBits(t *blockGemmer, _ string) {
	var words [16]uint32
	for i := range words {
		words[i] = math.Float32bits(float32(i))
	}
	table := t.atHand(t.repeated("numbers16", words[:]...))
	for j := range spec.BlockSteps / spec.WordSteps {
		for i := range spec.WordSteps {
			t.step(func(v int) reg.VecVirtual {
				w := t.vec()
				if j == 0 {
					t.VMOVDQU32(t.word(i, v), w)
				} else {
					t.VPSRLD(operand.U8(4*j), t.word(i, v), w)
				}
				t.VPERMPS(table, w, w)
				t.VFMADD213PS(t.minimum(v), t.d[v], w)
				return w
			})
		}
		t.PREFETCHT0(at(t.block, blockAhead+2*j*spec.LineBytes))
		t.PREFETCHT0(at(t.block, blockAhead+(2*j+1)*spec.LineBytes))
	}
}

// WeightWidenQ converts block by block, and in a block one vector of lanes after the other.
func (g *gen) WeightWidenQ(q spec.BlockFormat) {
	g.function(spec.WeightWidenQ(q))
	dst, block, lanes, k := g.slice("dst"), g.slice("b"), g.num("lanes"), g.num("k")
	g.JumpIfZero(k, "done")
	row, rows, size := g.GP64(), g.GP64(), g.GP64() // in bytes: a row of dst, those of a block, a block
	g.MOVQ(lanes, row)
	g.SHLQ(operand.Imm(2), row)
	g.MOVQ(row, rows)
	g.SHLQ(operand.Imm(5), rows) // BlockSteps
	g.IMUL3Q(operand.I32(q.BlockBytes(1)), lanes, size)

	g.Label("block")
	lane := g.GP64()
	g.XORQ(lane, lane)
	g.Label("vector")
	w := &blockWidener{gen: g, format: q, row: row, lanes: lanes, d: g.vec(), m: g.vec(), numbers: g.GP64(), to: g.GP64()}
	w.header(block, lane)
	g.LEAQ(indexed(dst, lane, 4), w.to)
	if q == spec.Q8_0 {
		w.eightBits()
	} else {
		w.fourBits()
	}
	g.ADDQ(operand.U32(g.Lanes()), lane)
	g.CMPQ(lane, lanes)
	g.JLT(operand.LabelRef("vector"))
	g.ADDQ(rows, dst)
	g.ADDQ(size, block)
	g.SUBQ(operand.U32(spec.BlockSteps), k)
	g.JNZ(operand.LabelRef("block"))
	g.Label("done")
	g.Return()
}

// A blockWidener converts a vector of lanes of a block.
type blockWidener struct {
	*gen
	format      spec.BlockFormat
	row, lanes  reg.GPVirtual
	d, m        reg.VecVirtual
	numbers, to reg.GPVirtual // pointers
}

// header loads the scales and minima of some lanes, and sets numbers to theirs.
func (w *blockWidener) header(block, lane reg.GPVirtual) {
	h := w.GP64()
	w.LEAQ(indexed(block, lane, 2), h)
	w.VCVTPH2PS(at(h, 0), w.d)
	switch w.format {
	case spec.Q4_0:
		w.VMULPS(w.constant(math.Float32bits(-8)), w.d, w.m)
	case spec.Q4_1:
		w.VCVTPH2PS(indexed(h, w.lanes, 2), w.m)
	}
	w.MOVQ(block, w.numbers)
	if w.format == spec.Q4_1 {
		w.ADDQ(w.row, w.numbers)
	} else {
		w.LEAQ(indexed(w.numbers, w.lanes, 2), w.numbers)
	}
	perLane := uint8(4) // bytes
	if w.format == spec.Q8_0 {
		perLane = 1
	}
	w.LEAQ(indexed(w.numbers, lane, perLane), w.numbers)
}

func (w *blockWidener) store(x reg.VecVirtual) {
	w.VMOVUPS(x, at(w.to, 0))
	w.ADDQ(w.row, w.to)
}

func (w *blockWidener) eightBits() {
	const unrolled = 4
	count := w.GP64()
	w.MOVQ(operand.U32(spec.BlockSteps/unrolled), count)
	loop.Times(w.gen, count, "step", func() {
		for range unrolled {
			x := w.vec()
			w.VPMOVSXBD(at(w.numbers, 0), x)
			w.VCVTDQ2PS(x, x)
			w.VMULPS(w.d, x, x)
			w.store(x)
			w.ADDQ(w.lanes, w.numbers)
		}
	})
}

func (w *blockWidener) fourBits() {
	count, mask, words := w.GP64(), w.vec(), w.Vecs(spec.WordSteps)
	w.VMOVUPS(w.constant(15), mask)
	for _, x := range words {
		w.VMOVUPS(at(w.numbers, 0), x)
		w.ADDQ(w.row, w.numbers)
	}
	w.MOVQ(operand.U32(spec.BlockSteps/spec.WordSteps), count)
	loop.Times(w.gen, count, "step", func() {
		for _, word := range words {
			x := w.vec()
			w.VANDPS(mask, word, x)
			w.VPSRLD(operand.Imm(4), word, word)
			w.VCVTDQ2PS(x, x)
			w.VFMADD213PS(w.m, w.d, x)
			w.store(x)
		}
	})
}
