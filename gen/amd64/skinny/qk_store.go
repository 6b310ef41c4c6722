package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What follows the steps of a tile of SkinnyQK is one piece of code for all numbers of queries,
// which have their accumulators in common.

// toRest emits the way of a tile to the remaining columns of the last segment, if a step does not
// divide them.
func (f *qkEmitter) toRest(t tile) {
	name := t.label()
	f.g.CMPQ(f.columns, operand.Imm(0))
	f.g.JNE(operand.LabelRef(name + "sum"))
	left := f.g.Num("d")
	f.g.ANDQ(operand.Imm(uint64(f.words.width()-1)), left)
	f.g.JZ(operand.LabelRef(name + "sum"))
	if t.ahead { // k is at the start of what comes next
		for i := range f.k {
			f.g.SUBQ(f.jump, f.k[i])
		}
		if f.off != nil {
			f.g.SUBQ(f.turn, f.off)
		}
	}
	f.g.MOVQ(operand.I32(t.number()), f.size)
	f.g.JMP(operand.LabelRef(restLabel(t.times)))
}

func restLabel(times int) string { return fmt.Sprintf("rest%d", times) }

// rest emits the remaining columns of all tiles of times·16 keys: it loads the columns of a whole
// step that ends with the row, and skips the first of them. Up to 4 queries are computed as if they
// were 4: products of queries that a tile does not have are not used.
func (f *qkEmitter) rest(times int, tiles []tile) {
	name, acc := restLabel(times), f.acc[times]
	f.rows = f.g.NewHeights(name, emit.Span{Least: 4, Most: len(acc)}, f.g.Frame(8))
	f.g.Comment("The remaining columns.")
	f.g.Label(name)
	if f.looksAhead() {
		f.forget()
	}
	if !f.rows.Single() {
		f.countQueries()
		f.rows.Set(f.queries)
	}
	left := f.g.Num("d")
	f.g.ANDQ(operand.Imm(uint64(f.words.width()-1)), left)
	bytes := f.g.OfColumns(left, left, f.words.element)
	for i := range f.k {
		bytes.Base = f.k[i]
		f.g.LEAQ(bytes, f.k[i])
	}
	if f.words.element == spec.Float32 {
		f.restInRegisters(acc, name, left)
	} else {
		f.restInMemory(acc, name, left)
	}
	if f.looksAhead() {
		f.g.CMPQ(f.size, operand.Imm(0))
		f.g.JG(operand.LabelRef(name + "plain"))
		f.rewind()
		f.g.Label(name + "plain")
	}
	number := f.g.GP64()
	f.g.MOVQ(f.size, number)
	f.g.MOVQ(operand.U32(0), f.size) // no scores wait
	for _, t := range tiles[1:] {
		f.g.CMPQ(number, operand.I32(t.number()))
		f.g.JE(operand.LabelRef(t.label() + "sum"))
	}
	f.g.JMP(operand.LabelRef(tiles[0].label() + "sum"))
}

// restInRegisters emits the products of the remaining columns, each with a jump over them.
func (f *qkEmitter) restInRegisters(acc [][]reg.VecVirtual, name string, left reg.GPVirtual) {
	f.eachColumn(acc, -4*f.words.n, func(x int, products func(q operand.Mem)) {
		if x == 0 {
			return
		}
		skip := fmt.Sprintf("%sskip%d", name, x)
		f.g.CMPQ(left, operand.Imm(uint64(f.words.width()-x)))
		f.g.JL(operand.LabelRef(skip))
		f.rows.Compare()
		products(emit.At(f.q, 0))
		f.g.ADDQ(f.w, f.q)
		f.g.Label(skip)
	})
}

// restInMemory emits the same as a loop, for the columns of narrow types, which are many and wait
// in memory.
func (f *qkEmitter) restInMemory(acc [][]reg.VecVirtual, name string, left reg.GPVirtual) {
	width, vectors := f.words.width(), len(acc[0])
	if f.waiting.Base == nil {
		// One column more: go vet takes a place behind the frame for an argument, also where a
		// negative index leads back.
		f.waiting = f.g.Frame((width + 1) * f.most() * spec.SkinnyKeys * 4)
	}
	place := func(x, v int) operand.Mem { return f.waiting.Offset((x*vectors + v) * f.g.VecBytes()) }
	if f.slots != nil {
		f.fill(f.row(-4*f.words.n), f.slots.now)
		columns := f.g.Vecs(vectors)
		for x := range width {
			f.widenSlots(columns, x%2, f.slot(f.slots.now, x/2, 0))
			for v := range columns {
				f.g.VMOVUPS(columns[v], place(x, v))
			}
		}
	} else {
		for v := range vectors {
			for x, column := range f.words.columns(f.words.load(f.row(-4*f.words.n), v), v) {
				f.g.VMOVUPS(column(), place(x, v))
			}
		}
	}
	bytes := vectors * f.g.VecBytes()
	f.g.IMUL3Q(operand.I32(-bytes), left, left) // from the end of them
	f.g.Label(name + "column")
	columns := f.g.Vecs(vectors)
	for v := range columns {
		m := place(width, v)
		m.Index, m.Scale = left, 1
		f.g.VMOVUPS(m, columns[v])
	}
	f.rows.Compare()
	f.rows.Rows(func(i int) { f.g.fmaVectors(emit.At(f.q, 4*i), columns, acc[i]) })
	f.g.ADDQ(f.w, f.q)
	f.g.ADDQ(operand.I32(bytes), left)
	f.g.JNZ(operand.LabelRef(name + "column"))
}

// toStore emits the way of a tile to where its scores are stored.
func (f *qkEmitter) toStore(t tile) {
	if f.looksAhead() && !t.ahead {
		f.g.JMP(operand.LabelRef("plain" + storeLabel(t.times)))
	} else {
		f.g.JMP(operand.LabelRef(storeLabel(t.times)))
	}
}

func storeLabel(times int) string { return fmt.Sprintf("store%d", times) }

// endPlain emits what tiles of times·16 keys without steps ahead do at their end.
func (f *qkEmitter) endPlain(times int, tiles []tile) {
	if f.looksAhead() && slices.ContainsFunc(tiles, func(t tile) bool { return t.times == times && !t.ahead }) {
		f.g.Label("plain" + storeLabel(times))
		f.rewind()
		f.forget()
	}
}

// halve emits the end of all tiles of twice 16 keys: the scores of the second 16 wait until the
// first are stored. On the stack they would cost 4 queries of 64 columns 2% of the time on Zen 4.
func (f *qkEmitter) halve(tiles []tile) {
	f.endPlain(2, tiles)
	f.g.Label(storeLabel(2))
	f.g.MOVQ(operand.U32(1), f.size)
	f.g.JMP(operand.LabelRef(storeLabel(1)))
}

// other goes on with the second 16 keys if they wait.
func (f *qkEmitter) other() {
	f.g.CMPQ(f.size, operand.Imm(0))
	f.g.JE(operand.LabelRef("next"))
	f.g.MOVQ(operand.U32(0), f.size)
	f.g.MOVQ(operand.U32(0), f.lane)
	for _, acc := range f.acc[2] {
		f.g.VMOVAPS(acc[1], acc[0])
	}
	f.forward("again")
	f.g.JMP(operand.LabelRef(storeLabel(1)))
	f.g.Label("next")
}

// store emits the end of all tiles of 16 keys: their scores are stored, 4 lanes at a time.
// The lanes after the last 4 with queries repeat them.
func (f *qkEmitter) store(tiles []tile) {
	name, acc := storeLabel(1), f.acc[1]
	f.endPlain(1, tiles)
	f.g.Comment("Store 4 lanes.")
	f.g.Label(name)
	f.repeat(name, acc[:4])
	t := make([][]reg.VecVirtual, len(acc[0]))
	for v := range t {
		t[v] = f.g.Transpose4([]reg.VecVirtual{acc[0][v], acc[1][v], acc[2][v], acc[3][v]})
	}
	f.g.Label(name + "lanes")
	f.storeLanes(t)
	f.g.ADDQ(operand.Imm(4), f.lane)
	end := f.g.GP64()
	f.g.MOVQ(f.lane, end)
	f.g.CMPQ(end, f.g.Argument("n"))
	f.g.JGE(operand.LabelRef(name + "idle"))
	if len(acc) > 4 {
		f.g.Comment("The other 4 of 8.")
		f.g.TESTQ(operand.I32(4), end)
		f.g.JZ(operand.LabelRef(name + "end"))
		for i := range 4 {
			for v := range acc[i] {
				f.g.VMOVAPS(acc[4+i][v], acc[i][v])
			}
		}
		f.g.JMP(operand.LabelRef(name))
	} else {
		f.g.JMP(operand.LabelRef(name + "end"))
	}
	f.g.Label(name + "idle")
	f.g.SHLQ(operand.Imm(2), end)
	f.g.CMPQ(end, f.w)
	f.g.JL(operand.LabelRef(name + "lanes"))
	f.g.Label(name + "end")
}

// repeat emits that the lanes after the last query, up to 4, repeat it.
func (f *qkEmitter) repeat(name string, acc [][]reg.VecVirtual) {
	rows := f.g.Num("n")
	f.g.SUBQ(f.lane, rows)
	f.g.CMPQ(rows, operand.Imm(uint64(len(acc))))
	f.g.JGE(operand.LabelRef(name + "four"))
	for i := 1; i < len(acc); i++ {
		has := fmt.Sprintf("%shas%d", name, i)
		f.g.CMPQ(rows, operand.Imm(uint64(i)))
		f.g.JG(operand.LabelRef(has))
		for v := range acc[i] {
			f.g.VMOVAPS(acc[i-1][v], acc[i][v])
		}
		f.g.Label(has)
	}
	f.g.Label(name + "four")
}

// storeLanes stores 4 lanes of all keys and raises their maxima, key by key.
func (f *qkEmitter) storeLanes(t [][]reg.VecVirtual) {
	s, p, lane, max := f.g.GP64(), f.g.Slice("max"), f.g.GP64(), f.g.XMM()
	f.g.MOVQ(f.lane, lane)
	f.g.MOVQ(f.s, s)
	f.g.LEAQ(emit.Indexed(s, lane, 4), s)
	f.g.LEAQ(emit.Indexed(p, lane, 4), p)
	f.g.VMOVUPS(emit.At(p, 0), max)
	for v := range t {
		for q := range f.g.Lanes() / 4 {
			for _, x := range t[v] {
				x := f.g.Quarter(f.g.Context, x, q)
				f.g.VMOVUPS(x, emit.At(s, 0))
				f.g.VMAXPS(max, x, max)
				f.g.ADDQ(f.w, s)
			}
		}
	}
	f.g.VMOVUPS(max, emit.At(p, 0))
}
