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
// Both chains stay in registers, so that register tiles have half the height of others or less.
// With AVX-512 the sums of segments stay there, too, and the next segment begins while they are
// added. With AVX2 they wait in C. A tile of full height that took the even steps of a segment, and
// then the odd ones, would read A and B less often. But it would leave twice as many sums in memory
// and bring them back, which takes longer than these loads.
//
// Pairs bring an even and an odd step by one load. Their chains are in registers, and the sums wait
// in C.

// heldRegisters is the number of registers for the chains and the sums of a register tile, and
// chainRegisters for the chains alone, where the sums wait in C. 8 chains would hide the latency of
// an FMA.
const heldRegisters, chainRegisters = 27, 12

// EvenOdd emits GemmEvenOdd.
func (g *gen) EvenOdd(s spec.TileShape) {
	g.Kernel(spec.GemmEvenOdd(s.Vectors, s.Vectors*g.Lanes()))
	t := &gemmer{g: g, vectors: s.Vectors, evenOdd: true, segment: spec.BF16Segment, holds: g.EVEX(), waits: !g.EVEX()}
	if t.waits {
		t.emit(chainRegisters / (2 * s.Vectors))
		return
	}
	const most = 8 // rows, for whose multiples there are registers
	t.emit(min(most, heldRegisters/(3*s.Vectors)))
}

// TakesPairs says that WeightGemm does.
func (g *gen) TakesPairs() {}

// wait emits a tile whose sums wait in C. They begin with C, or with -0, which changes no number
// that is added to it.
func (t *gemmer) wait(s emit.Span, name string) {
	acc := t.acc[:s.Most]
	each := func(f func(sum reg.VecVirtual, c operand.Mem)) (end reg.GPVirtual) {
		end = t.copyOf(t.c)
		for _, row := range acc {
			for v, sum := range row {
				f(sum, emit.At(end, v*t.g.VecBytes()))
			}
			t.g.ADDQ(t.ldc, end)
		}
		return end
	}
	t.g.Move(t.first, t.left)
	t.g.CMPB(t.g.Argument("load"), operand.Imm(0))
	t.g.JNE(operand.LabelRef(name + "segment"))
	none := acc[0][0]
	t.g.VBROADCASTSS(t.g.Constant(minusZero), none)
	each(func(_ reg.VecVirtual, c operand.Mem) { t.g.VMOVUPS(none, c) })
	t.nextChains(acc, name)
	end := each(func(sum reg.VecVirtual, c operand.Mem) {
		t.g.VADDPS(c, sum, sum)
		t.g.VMOVUPS(sum, c)
	})
	t.g.CMPQ(t.left, operand.Imm(0))
	t.g.JNE(operand.LabelRef(name + "segment"))
	t.g.MOVQ(end, t.c)
	t.g.JMP(operand.LabelRef("rows"))
}

// nextChains emits the next segment of those that are left.
func (t *gemmer) nextChains(acc [][]reg.VecVirtual, name string) {
	t.g.Label(name + "segment")
	t.g.MOVQ(t.left, t.k)
	t.limit(t.k)
	t.g.SUBQ(t.k, t.left)
	t.zeros(acc)
	t.bothChains(acc, name)
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
	t.nextChains(acc, name)
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

// bothChains emits k steps, and adds both chains. An odd number of steps begins with the odd ones:
// the chains are exchanged then, and have the same sum.
func (t *gemmer) bothChains(acc [][]reg.VecVirtual, name string) {
	odds := t.odds[:len(acc)]
	t.zeros(odds)
	if t.element == spec.BF16Pairs {
		t.pairSteps(acc, odds, name)
	} else {
		t.twoSteps(acc, odds, name)
	}
	for i := range acc {
		for v := range acc[i] {
			t.g.VADDPS(odds[i][v], acc[i][v], acc[i][v])
		}
	}
}

// pairSteps emits k steps of pairs.
func (t *gemmer) pairSteps(acc, odds [][]reg.VecVirtual, name string) {
	t.g.JumpIfZero(t.k, name+"end")
	t.g.SHRQ(operand.Imm(1), t.k)
	t.g.AlignLoop()
	t.g.Label(name + "steps")
	t.pairStep(acc, odds)
	t.prefetchLow(len(acc), 1, name)
	t.g.DECQ(t.k)
	t.g.JNZ(operand.LabelRef(name + "steps"))
	t.g.Label(name + "end")
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
