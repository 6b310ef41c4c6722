package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// With 16 registers, the accumulators of 4 queries, a column and a broadcast leave 5, just enough
// to transpose 4 rows in place. So SkinnyQK of AVX2 transposes the words of a step of a 16-bit type
// between the FMAs of the step before it, and they wait on the stack:
//
//	k[0..15][step+1] ──► one half of slots     the other half ──► columns of step ──► acc
//
// Otherwise FMAs, which wait for those before them, fill the scheduler, and the transposes of the
// next step start late. On Zen 3, 256 keys of 128 columns in L2 take a third less time with
// binary16 and 8 queries, a fifth less with 2, as much with one; with bfloat16 and 4 queries or 8 a
// seventh less. float32 and int8 took 3 to 13% more: for them the way through memory costs more
// than it hides.
//
// A slot is a vector. The slots of a word are:
//
//	bfloat16   the words of keys 0-7, the words of keys 8-15
//	binary16   the lower halves of all keys, the upper ones: VCVTPH2PS widens 8 from memory
type slots struct {
	memory    operand.Mem
	now, next reg.GPVirtual // the halves: offsets of the words of this step, and of the next one
}

// slotVectors are the vectors that 16 keys take, and with that the slots of a word.
const slotVectors = 2

// placeWords reserves the memory in which words wait.
func (f *qkEmitter) placeWords() {
	w, e := f.words, f.words.element
	switch {
	case w.kept >= w.n:
	case e == spec.F16 || e == spec.BF16:
		half := slotVectors * w.n * f.g.VecBytes()
		f.slots = &slots{memory: f.g.Frame(2 * half), now: f.g.GP64(), next: f.g.GP64()}
		f.g.XORQ(f.slots.now, f.slots.now)
		f.g.MOVQ(operand.U32(half), f.slots.next)
		if e == spec.BF16 {
			w.waiting = f.slots.memory
		}
	default:
		w.waiting = f.g.Frame((w.n - w.kept) * f.g.VecBytes())
	}
}

// fewBF16 is the least number of queries for which steps of bfloat16 use slots: 1 or 2 would take 7
// to 9% longer.
const fewBF16 = 3

// slot is a slot of a word in the half at an offset.
func (f *qkEmitter) slot(half reg.GPVirtual, word, i int) operand.Mem {
	m := f.slots.memory.Offset((slotVectors*word + i) * f.g.VecBytes())
	m.Index, m.Scale = half, 1
	return m
}

// fill loads and transposes the words of a step into a half.
func (f *qkEmitter) fill(row func(i int) operand.Mem, half reg.GPVirtual) {
	for v := range slotVectors {
		rows := row
		if f.words.element == spec.F16 { // rows 4-7 and 12-15, then the others
			rows = func(i int) operand.Mem { return row(i/4%2*8 + 4*(1-v) + i%4) }
		}
		for i, word := range f.words.load(rows, v) {
			if f.words.element == spec.F16 && v > 0 {
				f.sortHalves(word, f.slot(half, i, 0), f.slot(half, i, 1))
			} else {
				f.g.VMOVUPS(word, f.slot(half, i, v))
			}
		}
	}
}

// sortHalves sorts the halves of words of binary16. Rows 0-3 and 8-11 have theirs in word, the
// other rows in lower.
func (f *qkEmitter) sortHalves(word reg.VecVirtual, lower, upper operand.Mem) {
	x := f.g.Vec()
	f.g.VPUNPCKLQDQ(lower, word, x)
	f.g.VPUNPCKHQDQ(lower, word, word)
	f.g.VMOVUPS(x, lower)
	f.g.VMOVUPS(word, upper)
}

// slotsBeside emits the products of a step, interleaved with the loads of the next one.
func (f *qkEmitter) slotsBeside(acc [][]reg.VecVirtual) {
	f.g.Interleave(func() { f.slotProducts(acc) }, func() { f.fill(f.row(0), f.slots.next) })
	f.g.XCHGQ(f.slots.now, f.slots.next)
}

// slotProducts emits the products of the columns of a step.
func (f *qkEmitter) slotProducts(acc [][]reg.VecVirtual) {
	f.rows.Compare()
	for x := range f.words.width() {
		columns := f.g.Vecs(slotVectors)
		f.widenSlots(columns, x%2, f.slot(f.slots.now, x/2, 0))
		q := column(f.q, f.w, x)
		f.rows.Rows(func(i int) { f.g.fmaVectors(q.Offset(4*i), columns, acc[i]) })
		if x%2 == 1 {
			f.g.LEAQ(emit.Indexed(f.q, f.w, 2), f.q)
		}
	}
}

// widenSlots makes a column of a word, the lower half or the upper one, from its slots.
func (f *qkEmitter) widenSlots(columns []reg.VecVirtual, part int, slot operand.Mem) {
	bytes := f.g.VecBytes()
	last := columns[len(columns)-1]
	if f.words.element == spec.BF16 && part > 0 {
		f.g.VMOVUPS(f.words.aux, last)
	}
	for v, x := range columns {
		switch {
		case f.words.element == spec.F16:
			f.g.VCVTPH2PS(slot.Offset(part*bytes+v*bytes/2), x)
		case part > 0:
			f.g.VANDPS(slot.Offset(v*bytes), last, x)
		default:
			f.g.VMOVUPS(slot.Offset(v*bytes), x)
			f.g.VPSLLD(operand.Imm(16), x, x)
		}
	}
}
