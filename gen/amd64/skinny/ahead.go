package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Steps of many tiles load and transpose the words of the step after them between their own FMAs,
// and widen a column before the FMAs of the column before it. Processors look ahead by themselves,
// but not far enough for all of that, least of all if two threads share a core. On Zen 4 it gains
// up to a fifth for two threads on a core, else up to a tenth.
//
//	start   the words of the first step, unless they are loaded
//	step    the products of step i, beside the words of step i+1
//	last    the products of the last step, beside the words of the next tile's first step
//
// The words wait in registers from one segment to the next, and from one tile to the next. With 16
// registers they wait on the stack, see slots.go. The next tile has the same rows if queries are
// left for another group. It has the next rows if there are 16 more. Otherwise the last step loads
// the words of this tile's first step, which nobody needs.

// aheadFrom is the least number of queries for which steps of a narrow type do that, 0 for none.
// bfloat16 with one query, which takes the least time, would then wait for memory and, on Zen 4,
// read a seventh less per second. A step of int4 or fp8 has so many instructions that Zen 5 starts
// the next vector's FMAs late, and one vector has too few chains. Tiles of twice 16 keys widen a
// column of both vectors at a time instead. How float32 fares depends on the CPU: on Zen 4 it would
// gain 4% with 2 queries and lose as much with 8, so its variants say.
func (g *gen) aheadFrom(e spec.Element) int {
	switch {
	case e == spec.BF16 && g.EVEX():
		return 2
	case e == spec.BF16:
		return fewBF16
	case e == spec.F16 || e == spec.Int8 && g.EVEX():
		return 1
	case g.EVEX():
		return doubledQueries + 1
	}
	return 0
}

// startAhead loads the words of the first step, unless they are loaded or, for float32, a row has
// no whole step. It finds the last step of a row, and what will be loaded beside it.
func (f *qkEmitter) startAhead() {
	f.g.CMPQ(f.loaded, operand.Imm(0))
	f.g.JNE(operand.LabelRef("loaded"))
	if f.words.element == spec.Float32 {
		f.g.MOVQ(operand.U32(0), f.jump)
		f.g.CMPQ(f.g.Argument("d"), operand.Imm(uint64(f.words.width())))
		f.g.JL(operand.LabelRef("started"))
		defer f.g.Label("started")
	}
	if f.slots != nil {
		f.fill(f.row(0), f.slots.now)
	} else {
		for i, x := range f.words.load(f.row(0), 0) {
			f.g.VMOVAPS(x, f.first[i])
		}
	}
	f.g.Label("loaded")
	columns, x := f.g.Num("d"), f.g.GP64()
	f.g.ANDQ(operand.I32(-f.words.width()), columns)
	f.g.LEAQ(emit.At(columns, -f.words.width()), x)
	f.g.IMULQ(f.w, x)
	f.g.ADDQ(f.q, x)
	f.g.MOVQ(x, f.last)
	f.g.ToBytes(columns, f.words.element)
	f.g.NEGQ(columns)
	f.g.MOVQ(columns, f.jump)
	if f.off != nil {
		f.g.MOVQ(operand.U32(0), f.turn)
	}
	f.g.MOVQ(operand.U32(1), f.loaded)

	n := x
	f.g.MOVQ(f.g.Argument("n"), n)
	f.g.SUBQ(f.lane, n)
	f.g.CMPQ(n, operand.Imm(uint64(f.g.SkinnyRows())))
	f.g.JG(operand.LabelRef("begin"))
	f.g.Comment("This is the last group: the next tile has the next rows.")
	left, rows := x, columns
	f.g.MOVQ(f.left, left)
	f.g.SUBQ(operand.Imm(spec.SkinnyKeys), left)
	turn := f.jump
	if f.off != nil {
		turn = f.turn
		f.g.MOVQ(operand.U32(tileOffsets), rows)
	} else {
		f.g.MOVQ(f.ld4, rows)
		f.g.SHLQ(operand.Imm(2), rows)
	}
	if f.most() > 1 && leastOf(f.variants[0]) <= doubledQueries {
		f.g.CMPQ(f.g.Argument("n"), operand.Imm(doubledQueries))
		f.g.JG(operand.LabelRef("once"))
		f.g.CMPQ(left, operand.Imm(spec.SkinnyKeys))
		f.g.JL(operand.LabelRef("once"))
		f.g.SUBQ(operand.Imm(spec.SkinnyKeys), left)
		f.g.ADDQ(rows, rows)
		f.g.Label("once")
	}
	f.g.ADDQ(rows, turn)
	f.g.CMPQ(left, operand.Imm(spec.SkinnyKeys))
	f.g.JGE(operand.LabelRef("begin"))
	f.g.Comment("But there are no 16 more.")
	f.g.SUBQ(rows, turn)
	f.g.MOVQ(operand.U32(0), f.loaded)
	f.g.Label("begin")
}

// forget emits that no words are loaded. Code before it may use their registers.
func (f *qkEmitter) forget() {
	f.g.MOVQ(operand.U32(0), f.loaded)
	for _, x := range f.first {
		f.g.VXORPS(x, x, x)
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
	f.g.JNE(operand.LabelRef(name + "more"))
	for i := range f.k {
		f.g.ADDQ(f.jump, f.k[i])
	}
	if f.off != nil {
		f.g.ADDQ(f.turn, f.off)
	}
	f.g.Label(name + "more")
	f.advance()
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
	f.rows.Compare()
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
		f.rows.Rows(func(i int) { f.g.FMABroadcast(f.g.Context, m.Offset(4*i), k, acc[i][v]) })
		if x%2 == 1 {
			f.g.LEAQ(emit.Indexed(q, f.w, 2), q)
		}
	}
}
