package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products in bfloat16 have two chains for each sum: even steps make the one, and odd steps the
// other. At the end of a segment, after 32 steps, both are added, and their sum is added to the
// sums of the segments before it.
//
// With AVX-512 both chains and the sums stay in registers, so that register tiles have a third of
// the height of others, and the next segment begins while the sums are added.
//
// With AVX2 both chains would read A and B too often: a tile of full height takes the even steps of
// a segment, leaves their sums on the stack, and takes the odd ones. The sums of segments wait in
// C, as in other products. On Zen 3 16 lanes and 24 then have 0.80 to 0.85 of the speed of
// float32; with both chains in registers they had 0.80, and 0.6 to 0.7 where the rows of A are
// columns of values.
//
// Pairs bring an even and an odd step by one load. Their chains are in registers, and the sums wait
// in C.

// heldRegisters is the number of registers for the chains and the sums of a register tile. 8 chains
// would hide the latency of an FMA.
const heldRegisters = 27

// EvenOdd emits GemmEvenOdd.
func (g *gen) EvenOdd(s spec.TileShape) {
	g.Kernel(spec.GemmEvenOdd(s.Vectors, s.Vectors*g.Lanes()))
	t := &gemmer{g: g, vectors: s.Vectors, evenOdd: true, segment: spec.BF16Segment, inTurn: !g.EVEX(), holds: g.EVEX()}
	const most = 8 // rows, for whose multiples there are registers
	if t.inTurn {
		t.emit(min(most, s.Rows))
		return
	}
	t.emit(min(most, heldRegisters/(3*s.Vectors)))
}

// TakesPairs says that WeightGemm does.
func (g *gen) TakesPairs() {}

// Where the variables of chains in turn are on the stack: where a segment begins, and one more than
// its steps until its even ones are done, then 0. Before them are the sums of those.
const (
	evenA = 8 * iota
	evenB
	evenSteps
	evenEnd
)

// begin prepares chains in turn, for tiles of some rows: their strides are two steps.
func (t *gemmer) begin(rows int) {
	sums := rows * t.vectors * t.g.VecBytes()
	frame := t.g.Frame(sums + t.g.VecBytes() + evenEnd)
	t.even, t.variables = t.g.GP64(), frame.Offset(sums+t.g.VecBytes())
	t.g.LEAQ(frame.Offset(t.g.VecBytes()-1), t.even)
	t.g.ANDQ(operand.I32(-t.g.VecBytes()), t.even)
	t.g.SHLQ(operand.Imm(1), t.cs)
	t.g.SHLQ(operand.Imm(1), t.ldb)
}

// chainsInTurn emits k steps, first the even ones and then the odd ones by the same loop, and adds
// both chains.
func (t *gemmer) chainsInTurn(acc [][]reg.VecVirtual, name string) {
	steps := t.variables.Offset(evenSteps)
	pointers := []struct {
		at, two reg.GPVirtual
		first   operand.Mem
	}{{t.p, t.cs, t.variables.Offset(evenA)}, {t.b, t.ldb, t.variables.Offset(evenB)}}
	for _, x := range pointers {
		t.g.MOVQ(x.at, x.first)
	}
	t.g.INCQ(t.k)
	t.g.MOVQ(t.k, steps)
	t.g.SHRQ(operand.Imm(1), t.k)
	t.g.Label(name + "chain")
	t.loop(acc, name)
	each := func(f func(sum reg.VecVirtual, even operand.Mem)) {
		for i, row := range acc {
			for v, sum := range row {
				f(sum, emit.At(t.even, (i*t.vectors+v)*t.g.VecBytes()))
			}
		}
	}
	t.g.MOVQ(steps, t.k)
	t.g.SUBQ(operand.Imm(1), t.k)
	t.g.JL(operand.LabelRef(name + "both"))
	t.g.Comment("The odd steps.")
	t.g.SHRQ(operand.Imm(1), t.k)
	each(func(sum reg.VecVirtual, even operand.Mem) { t.g.VMOVUPS(sum, even) })
	t.zeros(acc)
	for _, x := range pointers {
		t.g.MOVQ(x.two, x.at)
		t.g.SHRQ(operand.Imm(1), x.at)
		t.g.ADDQ(x.first, x.at)
	}
	t.g.MOVQ(operand.U32(0), steps)
	t.g.JMP(operand.LabelRef(name + "chain"))
	t.g.Label(name + "both")
	each(func(sum reg.VecVirtual, even operand.Mem) { t.g.VADDPS(even, sum, sum) })
	t.g.Comment("The next segment begins a step before the next odd one.")
	for _, x := range pointers {
		one := t.copyOf(x.two)
		t.g.SHRQ(operand.Imm(1), one)
		t.g.SUBQ(one, x.at)
	}
}

// hold emits a tile whose sums stay in registers until they are stored. They begin with C, or with
// -0, which changes no number that is added to it.
func (t *gemmer) hold(s emit.Span, name string) {
	sums, acc := t.sums[:s.Most], t.acc[:s.Most]
	t.g.Move(t.first, t.left)
	if s.Single() {
		t.g.MOVQ(operand.U32(s.Most), t.k)
		t.g.MOVQ(t.k, t.height)
	}
	t.g.CMPB(t.g.Argument("load"), operand.Imm(0))
	t.g.JNE(operand.LabelRef("load"))
	t.g.VBROADCASTSS(t.g.Constant(minusZero), sums[0][0])
	for i, row := range sums {
		for v, sum := range row {
			if i+v > 0 {
				t.g.VMOVAPS(sums[0][0], sum)
			}
		}
	}
	t.g.Label(name + "segment")
	t.g.MOVQ(t.left, t.k)
	t.limit(t.k)
	t.g.SUBQ(t.k, t.left)
	t.zeros(acc)
	t.bothChains(acc, name)
	for i, row := range sums {
		for v, sum := range row {
			t.g.VADDPS(acc[i][v], sum, sum)
		}
	}
	t.g.CMPQ(t.left, operand.Imm(0))
	t.g.JNE(operand.LabelRef(name + "segment"))
	t.g.JMP(operand.LabelRef("store"))
}

// minusZero has the bits of -0.
const minusZero = 0x80000000

// held emits what tiles have together that hold their sums: how these begin with C, and how they
// are stored.
func (t *gemmer) held() {
	t.g.Comment("C is the first summand.")
	t.g.Label("load")
	t.g.MOVQ(t.c, t.start)
	t.g.MOVQ(t.height, t.k)
	t.eachRow("load", t.sums, func(sum reg.VecVirtual, v int, c operand.Mem) { t.g.VMOVUPS(c, sum) })
	t.g.MOVQ(t.start, t.c)
	t.toSegment()

	t.g.Comment("Store.")
	t.g.Label("store")
	t.g.MOVQ(t.height, t.k)
	t.eachRow("store", t.sums, func(sum reg.VecVirtual, v int, c operand.Mem) { t.g.VMOVUPS(sum, c) })
	t.g.JMP(operand.LabelRef("rows"))
}

// bothChains emits k steps, and adds both chains.
func (t *gemmer) bothChains(acc [][]reg.VecVirtual, name string) {
	odds := t.odds[:len(acc)]
	t.zeros(odds)
	t.g.JumpIfZero(t.k, name+"end")
	if t.element == spec.BF16Pairs {
		t.g.SHRQ(operand.Imm(1), t.k)
	}
	t.g.Comment("An even step and an odd one.")
	t.g.AlignLoop()
	t.g.Label(name + "steps")
	if t.element == spec.BF16Pairs {
		t.pairStep(acc, odds)
		t.prefetchLow(len(acc), 1, name)
	} else {
		t.step(acc, 0)
		t.g.DECQ(t.k)
		t.g.JZ(operand.LabelRef(name + "end"))
		t.step(odds, 1)
	}
	t.g.DECQ(t.k)
	t.g.JNZ(operand.LabelRef(name + "steps"))
	t.g.Label(name + "end")
	for i := range acc {
		for v := range acc[i] {
			t.g.VADDPS(odds[i][v], acc[i][v], acc[i][v])
		}
	}
}

// pairStep emits an even and an odd step with a row of pairs. The half of a word that is not the
// step's is shifted out, or masked.
func (t *gemmer) pairStep(acc, odds [][]reg.VecVirtual) {
	if len(acc) == 1 {
		t.onePairStep(acc[0], odds[0])
	} else {
		t.heights.Compare()
		words, low := t.g.Vecs(t.vectors), t.g.Vecs(t.vectors)
		for v := range words {
			t.g.VMOVUPS(emit.At(t.b, v*t.bytesOfB()), words[v])
			t.g.VPSLLD(operand.Imm(16), words[v], low[v])
		}
		t.rowsTimes(acc, low)
		t.g.ADDQ(t.cs, t.p)
		t.heights.Compare()
		for _, w := range words {
			t.g.VANDPS(t.g.Constant(highHalf), w, w)
		}
		t.rowsTimes(odds, words)
		t.g.ADDQ(t.cs, t.p)
	}
	t.prefetchPanel(len(acc))
	t.g.ADDQ(t.ldb, t.b)
}

// highHalf has the bits of a number of bfloat16 in a word.
const highHalf = 0xffff0000

// rowsTimes multiplies some vectors with a number of each row.
func (t *gemmer) rowsTimes(acc [][]reg.VecVirtual, bs []reg.VecVirtual) {
	t.heights.Rows(func(i int) {
		a := t.g.Vec()
		t.g.VBROADCASTSS(t.address(t.p, i), a)
		for v := range bs {
			t.g.VFMADD231PS(bs[v], a, acc[i][v])
		}
	})
}

// onePairStep is pairStep for a single row, with a vector after the other.
func (t *gemmer) onePairStep(acc, odds []reg.VecVirtual) {
	even, odd := t.g.Vec(), t.g.Vec()
	t.g.VBROADCASTSS(emit.At(t.p, 0), even)
	t.g.VBROADCASTSS(emit.Indexed(t.p, t.cs, 1), odd)
	for v := range acc {
		word, low := t.g.Vec(), t.g.Vec()
		t.g.VMOVUPS(emit.At(t.b, v*t.bytesOfB()), word)
		t.g.VPSLLD(operand.Imm(16), word, low)
		t.g.VFMADD231PS(low, even, acc[v])
		t.g.VANDPS(t.g.Constant(highHalf), word, word)
		t.g.VFMADD231PS(word, odd, odds[v])
	}
	t.g.LEAQ(emit.Indexed(t.p, t.cs, 2), t.p)
}
