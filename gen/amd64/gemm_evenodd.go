package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products in bfloat16 have two chains for each sum, one of even and one of odd steps. They stay in
// registers, so that register tiles have half the height of others. At the end of a segment, after
// 32 steps, both are added, and their sum is added to C in memory, as other products do with their
// segments.

// evenOddFMAs is the number of chains of a register tile: 8 would hide the latency of an FMA.
func (g *gen) evenOddFMAs() int {
	if g.EVEX() {
		return 24
	}
	return 12
}

// EvenOdd emits GemmEvenOdd. The height of s does not matter.
func (g *gen) EvenOdd(s spec.TileShape) {
	g.Kernel(spec.GemmEvenOdd(s.Vectors, s.Vectors*g.Lanes()))
	t := &gemmer{g: g, vectors: s.Vectors, evenOdd: true, segment: spec.BF16Segment}
	const most = 8 // rows, for whose multiples there are registers
	t.emit(min(most, g.evenOddFMAs()/(2*s.Vectors)))
}

// TakesPairs says that WeightGemm does.
func (g *gen) TakesPairs() {}

// evenOddSteps emits k steps, and adds both chains.
func (t *gemmer) evenOddSteps(acc [][]reg.VecVirtual, name string) {
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
