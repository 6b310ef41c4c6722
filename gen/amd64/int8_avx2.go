package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2Dot multiplies bytes by VPMADDUBSW and words of 16 bits by VPMADDWD, both of which add pairs
// of products. Twelve accumulators leave four registers: two vectors of weights, a number of x and
// a product.
//
// 4-bit numbers: VPMADDUBSW. A pair of products is at most 2·15·127 = 3810, and the 8 pairs that a
// 16-bit lane sums up in a block 30480: no sum saturates. At the end VPMADDWD with ones adds two of
// them in 32 bits.
//
// 8-bit numbers: a pair could be 2·255·127 = 64770, at which VPMADDUBSW saturates. So bytes become
// words of 16 bits, in the weights by a mask and a shift for all rows of a tile, in x once for
// all lanes of a block, on the stack; and VPMADDWD sums up in 32 bits.
type avx2Dot struct{}

func (avx2Dot) tiles(q ukernel.PackedFormat) [][]spec.TileShape {
	if q.Bits() == 4 && q.Values() == nil {
		return tilesOf(6, 4, 3, 2)
	}
	return tilesOf(4, 3, 2) // int8Words has the products of many rows
}

// tilesOf returns tiles of 2 vectors with some rows, and tiles of 1 row. The latter have all
// vectors of a panel if it is whole, so that weights are taken in the order of memory and each
// number of x once.
func tilesOf(rows ...int) [][]spec.TileShape {
	var more []spec.TileShape
	for _, n := range rows {
		more = append(more, spec.TileShape{Vectors: 2, Rows: n})
	}
	return [][]spec.TileShape{more, {{Vectors: wordVectors, Rows: 1}}, {{Vectors: 2, Rows: 1}}}
}

// inWords tells whether bytes become words: numbers of more than 4 bits, and IQ4's values.
func (avx2Dot) inWords(q ukernel.PackedFormat) bool { return q.Bits() > 4 || q == ukernel.IQ4 }

func (d avx2Dot) frameBytes(q ukernel.PackedFormat) int {
	if !d.inWords(q) {
		return 0
	}
	return 2 * spec.BlockSteps * d.tiles(q)[0][0].Rows
}

// prepare stores the codes of 8-bit products as 16-bit words: for each row the even bytes of all
// words of codes, then the odd ones.
func (d avx2Dot) prepare(t *int8Gemmer) {
	if !d.inWords(t.format) {
		return
	}
	rows := t.g.rowsFrom(t.x, t.ldx, t.rows)
	t.eachRow(func(i int) {
		codes, at := t.g.Vec(), 2*spec.BlockSteps*i
		t.g.VMOVDQU(rows.at(i, 0), codes)
		t.g.splitBytes(codes, t.frame.Offset(at), t.frame.Offset(at+spec.BlockSteps))
	})
}

// splitBytes writes the even bytes of v as words, and the odd ones.
func (g *gen) splitBytes(v reg.VecVirtual, even, odd operand.Mem) {
	t := g.Vec()
	g.VPSLLW(operand.Imm(8), v, t)
	g.VPSRAW(operand.Imm(8), t, t)
	g.VMOVDQU(t, even)
	g.VPSRAW(operand.Imm(8), v, t)
	g.VMOVDQU(t, odd)
}

func (d avx2Dot) sums(t *int8Gemmer, name string) {
	g := t.g
	if t.format.BFloat16Scales() {
		d.sumsOfValues(t, name)
		return
	}
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPXOR(acc, acc, acc) })
	if t.format.Values() != nil {
		d.sumsOfBytes(t, name)
	} else if t.format.Bits() == 4 {
		d.sums4(t, name)
		t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPMADDWD(g.Constant(1<<16|1), acc, acc) })
	} else {
		d.sums8(t, name)
	}
	q := t.format
	if t.several {
		q = ukernel.S4
		g.CMPQ(t.which, operand.Imm(uint64(q)))
		g.JNE(operand.LabelRef(name + "done"))
		defer g.Label(name + "done")
	}
	x := g.rowsFrom(t.x, t.ldx, t.rows)
	t.eachRow(func(i int) {
		offset := g.Vec()
		t.broadcastOffset(q, x, i, offset)
		for _, v := range t.acc[i] {
			g.VPADDD(offset, v, v)
		}
	})
}

// sumsOfValues is sums for values of 5 bits, times which all pairs of a block do not fit a lane of
// 16 bits: the four of a word do.
func (avx2Dot) sumsOfValues(t *int8Gemmer, name string) {
	g, x := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows)
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPXOR(acc, acc, acc) })
	mask, lookUp := t.mask(0x0f0f0f0f), t.valueOf(name)
	t.eachWord(name, 4, func() {
		for v := range t.acc[0] {
			from, ws := emit.At(t.numbers, v*g.VecBytes()), g.Vecs(2)
			mask.and(from, ws[0])
			mask.andUpper(from, ws[1])
			for half := range ws {
				lookUp(ws[half])
			}
			t.eachRow(func(i int) {
				row, ps := t.acc[i], g.Vecs(2)
				for half, p := range ps {
					g.VPBROADCASTD(x.at(i, 16*half), p)
					g.VPMADDUBSW(p, ws[half], p)
				}
				g.VPADDW(ps[1], ps[0], ps[0])
				g.VPMADDWD(g.Constant(1<<16|1), ps[0], ps[0])
				g.VPADDD(ps[0], row[v], row[v])
			})
		}
		x.advance(g, 4)
	})
}

// sums4 takes a word in an iteration: its lower halves of bytes, then the upper ones.
func (avx2Dot) sums4(t *int8Gemmer, name string) {
	g := t.g
	x, mask := g.rowsFrom(t.x, t.ldx, t.rows), t.mask(0x0f0f0f0f)
	halves := func(disp int, half func(from operand.Mem, w reg.VecVirtual)) {
		t.addPairs(half, func(i int) operand.Mem { return x.at(i, disp) })
	}
	t.eachWord(name, 4, func() {
		halves(0, mask.and)
		halves(16, mask.andUpper)
		x.advance(g, 4)
	})
}

// addPairs is eachProduct by VPMADDUBSW: sums have 16 bits.
func (t *int8Gemmer) addPairs(part func(from operand.Mem, w reg.VecVirtual), number func(i int) operand.Mem) {
	t.eachProduct(part, number, func(number, w, acc reg.VecVirtual) {
		p := t.g.Vec()
		t.g.VPMADDUBSW(number, w, p)
		t.g.VPADDW(p, acc, acc)
	})
}

// sums8 takes a word in an iteration: its even bytes, then the odd ones.
func (avx2Dot) sums8(t *int8Gemmer, name string) {
	g := t.g
	x, mask := g.GP64(), t.mask(0x00ff00ff)
	g.LEAQ(t.frame, x)
	halves := func(disp int, half func(from operand.Mem, w reg.VecVirtual)) {
		t.eachProduct(half, func(i int) operand.Mem { return emit.At(x, 2*spec.BlockSteps*i+disp) }, func(number, w, acc reg.VecVirtual) {
			p := g.Vec()
			g.VPMADDWD(number, w, p)
			g.VPADDD(p, acc, acc)
		})
	}
	t.eachWord(name, 8, func() {
		halves(0, mask.and)
		halves(spec.BlockSteps, func(from operand.Mem, w reg.VecVirtual) {
			g.VMOVDQU(from, w)
			g.VPSRLW(operand.Imm(8), w, w)
		})
		g.ADDQ(operand.Imm(4), x)
	})
}

// sumsOfBytes is sums8 for values of 8 bits that 4 bits stand for. It takes a word in an iteration:
// its lower halves of bytes, then the upper ones.
func (avx2Dot) sumsOfBytes(t *int8Gemmer, name string) {
	g := t.g
	x, mask, lookUp := g.GP64(), t.mask(0x0f0f0f0f), t.valueOf(name)
	g.LEAQ(t.frame, x)
	t.eachWord(name, 4, func() {
		for half, number := range []func(from operand.Mem, w reg.VecVirtual){mask.and, mask.andUpper} {
			for v := range t.acc[0] {
				ws := g.Vecs(2) // even bytes, and odd ones
				number(emit.At(t.numbers, v*g.VecBytes()), ws[0])
				lookUp(ws[0])
				g.VPSRLW(operand.Imm(8), ws[0], ws[1])
				g.VPAND(g.Constant(0x00ff00ff), ws[0], ws[0])
				t.eachRow(func(i int) {
					row := t.acc[i]
					for odd, w := range ws {
						p := g.Vec()
						g.VPBROADCASTD(emit.At(x, 2*spec.BlockSteps*i+spec.BlockSteps*odd+16*half), p)
						g.VPMADDWD(p, w, p)
						g.VPADDD(p, row[v], row[v])
					}
				})
			}
		}
		g.ADDQ(operand.Imm(4), x)
	})
}

// valueOf returns what makes bytes of numbers their values, if the format has such.
func (t *int8Gemmer) valueOf(name string) func(w reg.VecVirtual) {
	if t.format.Values() == nil {
		return func(reg.VecVirtual) {}
	}
	table := t.g.Vec()
	t.eachOfValues(name+"values", func(q ukernel.PackedFormat) { t.g.loadValues(q, table) })
	return func(w reg.VecVirtual) { t.g.VPSHUFB(w, table, w) }
}

// A byteMask is the same bits in all words of a vector.
type byteMask struct {
	g    *gen
	bits operand.Op // in a register unless a tile has 6 rows: they have none to spare
}

func (t *int8Gemmer) mask(bits uint32) byteMask {
	c := t.g.Constant(bits)
	if t.rows > 4 && !t.g.EVEX() {
		return byteMask{t.g, c}
	}
	v := t.g.Vec()
	t.g.VMOVUPS(c, v)
	return byteMask{t.g, v}
}

// and sets w to those bits of the words in memory.
func (m byteMask) and(from operand.Mem, w reg.VecVirtual) {
	if _, inMemory := m.bits.(operand.Mem); inMemory {
		m.g.VMOVDQU(m.bits, w)
		m.g.VPAND(from, w, w)
		return
	}
	m.g.and(from, m.bits, w)
}

// andUpper sets w to those bits once the words are shifted to the right by 4.
func (m byteMask) andUpper(from operand.Mem, w reg.VecVirtual) {
	if m.g.EVEX() {
		m.g.VPSRLD(operand.Imm(4), from, w)
	} else {
		m.g.VMOVDQU(from, w)
		m.g.VPSRLW(operand.Imm(4), w, w)
	}
	m.g.and(m.bits, w, w)
}
