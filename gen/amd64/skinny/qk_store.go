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
	f.g.JMP(operand.LabelRef("rest"))
}

// rest emits the remaining columns of all tiles: it loads the columns of a whole step that ends
// with the row, and skips the first of them. Up to 4 queries are computed as if they were 4:
// products of queries that a tile does not have are not used. A tile of twice 16 keys takes two
// passes, and between them its halves change places.
func (f *qkEmitter) rest(tiles []tile) {
	acc := f.acc[1]
	f.rows = f.g.NewHeights("rest", emit.Span{Least: 4, Most: len(acc)}, f.g.Frame(8))
	f.g.Comment("The remaining columns.")
	f.g.Label("rest")
	if f.looksAhead() {
		f.forget()
	}
	if !f.rows.Single() {
		f.countQueries()
		f.rows.Set(f.queries)
	}
	left := f.remaining()
	bytes := f.g.OfColumns(left, left, f.words.element)
	for i := range f.k {
		bytes.Base = f.k[i]
		f.g.LEAQ(bytes, f.k[i])
	}
	if f.most() > 1 {
		f.second = f.g.Frame(8)
		f.g.MOVQ(operand.U32(0), f.second)
		f.g.Label("restpass")
	}
	f.restColumns(acc)
	if f.most() > 1 {
		f.otherPass(tiles)
	}
	if f.looksAhead() {
		f.g.CMPQ(f.size, operand.Imm(0))
		f.g.JG(operand.LabelRef("restplain"))
		f.rewind()
		f.g.Label("restplain")
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

// remaining counts the remaining columns.
func (f *qkEmitter) remaining() reg.GPVirtual {
	left := f.g.Num("d")
	f.g.ANDQ(operand.Imm(uint64(f.words.width()-1)), left)
	return left
}

// otherPass emits the end of a pass of a tile of twice 16 keys: it goes on to the other 16 keys and
// the same columns, or back.
func (f *qkEmitter) otherPass(tiles []tile) {
	number, rows := f.g.GP64(), f.g.GP64()
	f.g.MOVQ(f.size, number)
	for _, t := range ofTimes(tiles, 1) {
		f.g.CMPQ(number, operand.I32(t.number()))
		f.g.JE(operand.LabelRef("restpassed"))
	}
	for _, acc := range f.acc[2] {
		x := f.g.Vec()
		f.g.VMOVAPS(acc[0], x)
		f.g.VMOVAPS(acc[1], acc[0])
		f.g.VMOVAPS(x, acc[1])
	}
	if f.off == nil {
		f.g.MOVQ(f.ld4, rows)
		f.g.SHLQ(operand.Imm(2), rows)
	} else {
		f.g.MOVQ(operand.U32(tileOffsets), rows)
	}
	scales := operand.Op(operand.Imm(4 * spec.SkinnyKeys))
	f.g.CMPQ(f.second, operand.Imm(0))
	f.g.JNE(operand.LabelRef("restback"))
	f.g.MOVQ(operand.U32(1), f.second)
	f.moveRows(f.g.ADDQ, rows)
	if f.words.element.IsScaled() {
		f.g.ADDQ(scales, f.words.at)
	}
	bytes := f.remaining()
	f.g.IMULQ(f.w, bytes)
	f.g.SUBQ(bytes, f.q)
	f.g.JMP(operand.LabelRef("restpass"))
	f.g.Label("restback")
	f.moveRows(f.g.SUBQ, rows)
	if f.words.element.IsScaled() {
		f.g.SUBQ(scales, f.words.at)
	}
	f.g.Label("restpassed")
}

// moveRows moves the rows by 16 keys, which are some bytes of K, or of the offsets.
func (f *qkEmitter) moveRows(move func(a, b operand.Op), bytes reg.GPVirtual) {
	if f.off != nil {
		move(bytes, f.off)
		return
	}
	for i := range f.k {
		move(bytes, f.k[i])
	}
}

// restColumns emits the products of the remaining columns of 16 keys. All columns of the step wait
// in memory, where a word waits for the loop that makes columns of it.
func (f *qkEmitter) restColumns(acc [][]reg.VecVirtual) {
	width, vectors, parts := f.words.width(), len(acc[0]), f.words.element.PerWord()
	// One column more: go vet takes a place behind the frame for an argument, also where a
	// negative index leads back.
	waiting := f.g.Frame((width + 1) * spec.SkinnyKeys * 4)
	bytes := vectors * f.g.VecBytes()
	place := func(x, v int) operand.Mem { return waiting.Offset(x*bytes + v*f.g.VecBytes()) }
	at := f.g.GP64()
	f.g.XORQ(at, at)
	if f.slots != nil {
		f.fill(f.row(-4*f.words.n), at)
	} else {
		for v := range vectors {
			for i, word := range f.words.load(f.row(-4*f.words.n), v) {
				f.g.VMOVUPS(word, place(i*parts, v))
			}
		}
	}
	if parts > 1 {
		f.restWords(place, vectors, at)
	}
	left := f.remaining()
	f.g.IMUL3Q(operand.I32(-bytes), left, left) // from the end of them
	f.g.Label("restcolumn")
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
	f.g.JNZ(operand.LabelRef("restcolumn"))
}

// restWords emits a loop over the words of a step, which makes columns of each. at is the offset of
// a word. Unless it is in slots, it waits in the place of its first column.
func (f *qkEmitter) restWords(place func(x, v int) operand.Mem, vectors int, at reg.GPVirtual) {
	parts := f.words.element.PerWord()
	bytes, scale := parts*vectors*f.g.VecBytes(), 1
	if f.slots != nil {
		scale, bytes = parts, slotVectors*f.g.VecBytes()
	}
	of := func(x, v int) operand.Mem {
		m := place(x, v)
		m.Index, m.Scale = at, uint8(scale)
		return m
	}
	f.g.Label("restword")
	if f.slots != nil {
		columns := f.g.Vecs(vectors)
		for x := range parts {
			f.widenSlots(columns, x, f.slot(at, 0, 0))
			for v := range columns {
				f.g.VMOVUPS(columns[v], of(x, v))
			}
		}
	} else {
		for v := range vectors {
			word := f.g.Vec()
			f.g.VMOVUPS(of(0, v), word)
			for x, column := range f.words.split(word, f.words.scalesOf(v)) {
				f.g.VMOVUPS(column(), of(x, v))
			}
		}
	}
	f.g.ADDQ(operand.I32(bytes), at)
	f.g.CMPQ(at, operand.I32(f.words.n*bytes))
	f.g.JNE(operand.LabelRef("restword"))
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
