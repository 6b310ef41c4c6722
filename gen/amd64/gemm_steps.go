package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unroll is the number of steps per iteration of the inner loop.
const unroll = 2

// steps emits k steps, of A from p on and of B from b on.
func (t *gemmer) steps(acc [][]reg.VecVirtual, name string) {
	if len(acc) == 1 {
		t.denseSteps(acc[0], name)
	}
	if t.ahead != nil {
		t.g.CMPQ(t.mode, operand.Imm(maxOne))
		t.g.JGE(operand.LabelRef(name + "scores"))
		t.loop(acc, name+"sums")
		t.g.JMP(operand.LabelRef(name + "done"))
		t.ahead = nil
		t.g.Label(name + "scores")
	}
	if far := t.nextRows; far != nil && len(acc) == t.prefetched {
		t.g.TESTQ(far[0], far[0])
		t.g.JZ(operand.LabelRef(name + "near"))
		t.loop(acc, name+"far")
		t.g.JMP(operand.LabelRef(name + "done"))
		t.nextRows = nil
		defer func() { t.nextRows = far }()
		t.g.Label(name + "near")
	}
	t.loop(acc, name)
	t.g.Label(name + "done")
}

// mostUnrolled is the largest height below the full one whose loop takes two steps at a time.
const mostUnrolled = 3

// loop emits the inner loop. Two steps halve the overhead of a loop: of low tiles, with AVX2, and
// with packed panels, which prefetch once an iteration. With one vector of AVX2 that is for the
// full height and up to mostUnrolled rows: each height has its own loop, and the others are rare.
func (t *gemmer) loop(acc [][]reg.VecVirtual, name string) {
	rare := !t.g.EVEX() && !t.weights && t.vectors == 1 && len(acc) > mostUnrolled && len(acc) < len(t.acc)
	if rare || t.g.EVEX() && !t.weights && !t.isLow(len(acc)) {
		t.g.JumpIfZero(t.k, name+"end")
		t.g.AlignLoop()
		t.g.Label(name + "steps")
		t.step(acc, 0)
		t.g.CountDown(t.k, 1, name+"steps")
		t.g.Label(name + "end")
		return
	}
	t.twoSteps(acc, acc, name)
}

// twoSteps emits a loop of two steps. An odd number of them enters it in its middle.
func (t *gemmer) twoSteps(first, second [][]reg.VecVirtual, name string) {
	t.g.INCQ(t.k)
	t.g.SHRQ(operand.Imm(1), t.k)
	t.g.JCC(operand.LabelRef(name + "odd"))
	t.g.JZ(operand.LabelRef(name + "end"))
	t.g.Comment("One step: a row of B times a number of every row of A.")
	t.g.AlignLoop()
	t.g.Label(name + "steps")
	t.step(first, 0)
	t.g.Label(name + "odd")
	t.step(second, 1)
	t.prefetchColumns(t.p)
	if t.weights {
		t.prefetchLow(len(first), unroll, name)
	}
	t.g.DECQ(t.k)
	t.g.JNZ(operand.LabelRef(name + "steps"))
	t.g.Label(name + "end")
}

// denseSteps emits a loop of four steps for a single row of A, for numbers of A and rows
// of B without gaps. Such a tile waits for its own chain. The fewer instructions it has,
// the more of the next call starts meanwhile.
func (t *gemmer) denseSteps(acc []reg.VecVirtual, name string) {
	const steps = 4
	row := t.vectors * t.bytesOfB()
	t.g.CMPQ(t.cs, operand.Imm(4))
	t.g.JNE(operand.LabelRef(name + "sparse"))
	t.g.CMPQ(t.ldb, operand.U32(row))
	t.g.JNE(operand.LabelRef(name + "sparse"))
	t.g.SUBQ(operand.Imm(steps), t.k)
	t.g.JL(operand.LabelRef(name + "fewdense"))
	t.g.AlignLoop()
	t.g.Label(name + "dense")
	for i := range steps {
		a := t.g.Vec()
		t.g.VBROADCASTSS(emit.At(t.p, 4*i), a)
		for v := range acc {
			t.g.VFMADD231PS(t.operandOfB(emit.At(t.b, i*row+v*t.bytesOfB())), a, acc[v])
		}
	}
	if t.weights {
		t.prefetchLow(1, steps, name+"dense")
	}
	t.g.ADDQ(operand.U32(4*steps), t.p)
	t.g.ADDQ(operand.U32(steps*row), t.b)
	t.g.SUBQ(operand.Imm(steps), t.k)
	t.g.JGE(operand.LabelRef(name + "dense"))
	t.g.Label(name + "fewdense")
	t.g.ADDQ(operand.Imm(steps), t.k)
	t.g.Label(name + "sparse")
}

// step emits one step, and moves p and b to the next one. Of the numbers of A and the vectors of B,
// the fewer stay in registers, and the others are loaded one by one. which is its place in the
// iteration.
func (t *gemmer) step(acc [][]reg.VecVirtual, which int) {
	t.heights.Compare()
	switch {
	case len(acc) < t.vectors && t.heights.Single():
		as := t.g.Vecs(len(acc))
		for i := range as {
			t.g.VBROADCASTSS(t.address(t.p, i), as[i])
		}
		for v := range t.vectors {
			m := emit.At(t.b, v*t.bytesOfB())
			if len(acc) == 1 { // the vector is used once
				t.g.VFMADD231PS(t.operandOfB(m), as[0], acc[0][v])
				continue
			}
			x := t.loadB(m)
			for i := range acc {
				t.g.VFMADD231PS(x, as[i], acc[i][v])
			}
		}
	case t.vectors == 1:
		x := t.loadB(emit.At(t.b, 0))
		t.heights.Rows(func(i int) { t.g.FMABroadcast(t.g.Context, t.address(t.p, i), x, acc[i][0]) })
	default:
		bs := make([]reg.VecVirtual, t.vectors)
		for v := range bs {
			bs[v] = t.loadB(emit.At(t.b, v*t.bytesOfB()))
		}
		t.heights.Rows(func(i int) {
			a := t.g.Vec()
			t.g.VBROADCASTSS(t.address(t.p, i), a)
			for v := range bs {
				t.g.VFMADD231PS(bs[v], a, acc[i][v])
			}
		})
	}
	t.prefetchPanel(len(acc))
	t.prefetchNextRows(len(acc), which)
	t.g.ADDQ(t.ldb, t.b)
	t.g.ADDQ(t.cs, t.p)
}

// bytesOfB is the size of a vector of B in memory.
func (t *gemmer) bytesOfB() int { return t.g.Lanes() << t.element.Shift() }

// loadB loads a vector of B.
func (t *gemmer) loadB(m operand.Mem) reg.VecVirtual {
	x := t.g.Vec()
	t.g.LoadWide(t.element, m, x)
	return x
}

// operandOfB returns a vector of B as the operand of its only FMA: memory, if it needs no
// conversion.
func (t *gemmer) operandOfB(m operand.Mem) operand.Op {
	if t.element == spec.Float32 {
		return m
	}
	return t.loadB(m)
}
