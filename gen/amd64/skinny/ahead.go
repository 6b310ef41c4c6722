package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Steps of many tiles load and transpose the words of the step after them between their own FMAs, and
// widen a column before the FMAs of the column before it. Processors look ahead by themselves, but not
// far enough for all of that, least of all if two threads share a core. On Zen 4 it gains up to a fifth
// for two threads on a core, else up to a tenth.
//
//	start   the words of the row's first step
//	step    the products of step i, beside the words of step i+1
//	last    the products of the last step, beside its own words once more
//
// The words wait in registers from one segment to the next. With 16 registers they wait on the stack,
// see slots.go. Between the last step of a row and its end, k stays at that step.
//
// Loading the last words twice takes one of the 8 steps' loads of 128 columns of a narrow type, but no step
// of a segment waits for its words, and the last products need no code of their own.

// aheadFrom is the least number of queries for which steps of a narrow type do that, 0 for none.
// bfloat16 with one query, which takes the least time, would then wait for memory and, on Zen 4, read a
// seventh less per second. How float32 fares depends on the CPU: on Zen 4 it would gain 4% with 2 queries
// and lose as much with 8, so its variants say.
func (g *gen) aheadFrom(e spec.Element) int {
	switch {
	case e == spec.BF16 && g.EVEX():
		return 2
	case e == spec.BF16:
		return fewBF16
	case e == spec.F16 || g.EVEX():
		return 1
	}
	return 0
}

// startAhead finds the last whole step of a row, and loads the words of the first one. If there is
// none, k goes back to where the last one would be.
func (f *qkEmitter) startAhead() {
	columns, step := f.g.Num("d"), f.g.GP64()
	if f.words.element == spec.Float32 {
		f.g.CMPQ(columns, operand.Imm(uint64(f.words.width())))
		f.g.JGE(operand.LabelRef("steps"))
		f.move(-1)
		f.g.JMP(operand.LabelRef("started"))
		f.g.Label("steps")
		defer f.g.Label("started")
	}
	f.g.ANDQ(operand.I32(-f.words.width()), columns)
	f.g.IMULQ(f.w, columns)
	f.g.ADDQ(f.q, columns)
	f.g.IMUL3Q(operand.I32(f.words.width()), f.w, step)
	f.g.SUBQ(step, columns)
	f.g.MOVQ(columns, f.last)
	if f.slots != nil {
		f.fill(f.row(0), f.slots.now)
		return
	}
	for i, x := range f.words.load(f.row(0), 0) {
		f.g.VMOVAPS(x, f.first[i])
	}
}

// stepsAhead emits the loop over the steps of a segment.
func (f *qkEmitter) stepsAhead(acc [][]reg.VecVirtual, name string) {
	f.g.AlignLoop()
	f.g.Label(name + "step")
	f.prefetchStep(f.words.n, f.times(acc), name)
	words, last := f.first, len(acc[0])-1
	if f.slots == nil {
		for v := range last {
			words = f.vectorBeside(acc, words, v, v+1)
		}
	}
	f.g.CMPQ(f.q, f.last)
	f.g.JE(operand.LabelRef(name + "again"))
	f.move(1)
	f.g.Label(name + "again")
	if f.slots != nil {
		f.slotsBeside(acc)
	} else {
		for i, x := range f.vectorBeside(acc, words, last, 0) {
			f.g.VMOVAPS(x, f.first[i])
		}
	}
	f.words.next(name + "scale")
	f.g.CMPQ(f.q, f.end)
	f.g.JNE(operand.LabelRef(name + "step"))
}

// vectorBeside emits the products of vector v of keys, interleaved with the loads of the
// next vector. It returns the words of that.
func (f *qkEmitter) vectorBeside(acc [][]reg.VecVirtual, words []reg.VecVirtual, v, next int) (loaded []reg.VecVirtual) {
	f.g.Interleave(func() { f.vectorProducts(acc, words, v) }, func() { loaded = f.words.load(f.row(0), next) })
	return loaded
}

// vectorProducts emits the products of all columns of vector v of keys.
func (f *qkEmitter) vectorProducts(acc [][]reg.VecVirtual, words []reg.VecVirtual, v int) {
	columns := f.words.columns(words, v)
	q := f.q
	if v+1 < len(acc[0]) {
		q = f.g.GP64()
		f.g.MOVQ(f.q, q)
	}
	next := columns[0]()
	for x := range columns {
		k := next
		if x+1 < len(columns) {
			next = columns[x+1]()
		}
		m := column(q, f.w, x)
		for i := range acc {
			f.g.FMABroadcast(f.g.Context, m, k, acc[i][v])
			m.Disp += 4
		}
		if x%2 == 1 {
			f.g.LEAQ(emit.Indexed(q, f.w, 2), q)
		}
	}
}
