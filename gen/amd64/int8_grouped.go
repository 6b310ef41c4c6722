package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2Grouped is for grouped formats with 4 bits. Bytes 0 and 1 of a word belong to the first 16
// steps, bytes 2 and 3 to the others: so the two halves of a lane of VPMADDUBSW are the sums of two
// groups, and VPMADDWD with the integers of the groups, in the place of avx2Dot's ones, makes the
// sum of the block.
//
// No sum is inexact, as codes are at most 127 and the integers of groups at least -128:
//
//	numbers of 4 bits, in 16    8 pairs, each at most 2·15·127           30480
//	of 5 and 6 bits, in 16      2 pairs, each at most 2·63·127           32004
//	codes, in 16                16 of them                                2032
//	4 bits, in 32               2·30480·128                          7,802,880
//	6 bits, in 32               4 sums, 2 groups, times 128         32,772,096
//	  with the offset           2·2032·32·128 more                  49,418,240
type avx2Grouped struct{ avx2Dot }

// The frame has the integers of the groups of some lanes, 16 bits each.
func (avx2Grouped) frameBytes(ukernel.PackedFormat) int { return 2 * 32 }

func (avx2Grouped) tiles(ukernel.PackedFormat) [][]spec.TileShape { return tilesOf(6, 4, 3, 2) }

func (avx2Grouped) prepare(*int8Gemmer) {}

func (d avx2Grouped) sums(t *int8Gemmer, name string) {
	g := t.g
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPXOR(acc, acc, acc) })
	d.sums4(t, name)
	t.eachInteger(name+"integers", func(v int, s reg.VecVirtual) {
		t.eachRow(func(i int) { g.VPMADDWD(s, t.acc[i][v], t.acc[i][v]) })
	})
}

// eachInteger loads the integers of the groups, vector by vector.
func (t *int8Gemmer) eachInteger(name string, f func(v int, s reg.VecVirtual)) {
	integers := t.g.Vecs(len(t.acc[0]))
	t.loadIntegers(name, 0, integers)
	for v, s := range integers {
		f(v, s)
	}
}

// loadIntegers loads the integers of scales, part 0, or of minima, part 1: pairs of 16 bits.
func (t *int8Gemmer) loadIntegers(name string, part int, to []reg.VecVirtual) {
	g, lane2, block, whole := t.g, t.lane2, t.block, t.whole() // of the tile, see eachCount
	t.eachCount(name, func(n int) {
		from := emit.At(block, part*n*spec.PanelLanes)
		if !whole {
			p := g.GP64()
			if part == 0 {
				g.MOVQ(lane2, p)
			} else {
				g.LEAQ(emit.Indexed(lane2, t.lanes2, 1), p)
			}
			if n == 1 {
				g.SHRQ(operand.Imm(1), p)
			}
			from = emit.Indexed(block, p, 1)
		}
		for v, s := range to {
			from := from.Offset(v * g.Lanes() * n)
			if n == 2 {
				g.VPMOVSXBW(from, s)
				continue
			}
			g.VPMOVSXBD(from, s)
			g.VPSHUFB(g.bothHalves(), s, s)
		}
	})
}

// bothHalves is the order of the lower halves of words, each twice.
func (g *gen) bothHalves() operand.Mem {
	return g.Repeated("bothHalves", 0x01000100, 0x05040504, 0x09080908, 0x0d0c0d0c)
}

// eachCount emits code for the integers of a lane that a block has for a scale, 1 or 2. For formats
// with 1 and with 2 the code for 2 stands at the end of the function, see eachFormat.
func (t *int8Gemmer) eachCount(name string, emit func(n int)) {
	first, last := t.formats[0].Integers(), t.format.Integers()
	if first != last {
		t.g.CMPQ(t.which, operand.Imm(uint64(t.formats[0])))
		t.g.JNE(operand.LabelRef(name + "two"))
		t.apart = append(t.apart, func() {
			t.g.Label(name + "two")
			emit(last)
			t.g.Goto(name + "any")
		})
	}
	emit(first)
	if first != last {
		t.g.Label(name + "any")
	}
}

// avx2GroupedBytes is for grouped formats with more than 4 bits. The further bits are put above the
// others, and the products of 2 words go through VPMADDWD at once. That takes registers for 4
// vectors of weights, so a tile has 4 rows. One row takes 2 vectors at a time, too: with all of a
// panel it takes 10 to 17% less time from L1 on Zen 3, but from memory it reads 70 (U5x16) and 73%
// (S6x16) as fast as a loop that only reads, and this way 81 and 79%.
type avx2GroupedBytes struct{ avx2Grouped }

func (avx2GroupedBytes) tiles(ukernel.PackedFormat) [][]spec.TileShape {
	return [][]spec.TileShape{{{Vectors: 2, Rows: 4}, {Vectors: 2, Rows: 3}, {Vectors: 2, Rows: 2}, {Vectors: 2, Rows: 1}}}
}

func (d avx2GroupedBytes) sums(t *int8Gemmer, name string) {
	g := t.g
	x := g.rowsFrom(t.x, t.ldx, t.rows)
	if t.format.Offset() == 0 {
		t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPXOR(acc, acc, acc) })
	} else {
		t.clearOthers(t.acc)
	}
	t.eachInteger(name+"integers", func(v int, s reg.VecVirtual) {
		g.VMOVDQU(s, t.groupIntegers(v))
		if t.format.Offset() != 0 {
			t.eachRow(func(i int) {
				acc := t.acc[i][v]
				g.VPBROADCASTD(x.at(i, spec.RowGroups), acc)
				g.VPMADDWD(s, acc, acc)
				g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(t.format.Offset())))), acc, acc)
			})
		}
	})
	d.words(t, name, t.format.Bits()-4, func(i, v int, p reg.VecVirtual) {
		g.VPMADDWD(t.groupIntegers(v), p, p)
		g.VPADDD(p, t.acc[i][v], t.acc[i][v])
	})
	t.prefetchRest(t.wordPairs())
}

// words emits the loop over pairs of words with so many further bits. add adds the sums of their
// products, of 16 bits for each group, to the sums of a row and a vector.
func (d avx2GroupedBytes) words(t *int8Gemmer, name string, more int, add func(i, v int, p reg.VecVirtual)) {
	g := t.g
	x, first, far := g.rowsFrom(t.x, t.ldx, t.rows), g.GP64(), g.GP64()
	g.LEAQ(emit.Indexed(t.numbers, t.lanes2, 8), far)
	g.XORQ(first, first)
	g.AlignLoop()
	g.Label(name)
	d.pair(t, x, first, far, 0, more, add)
	d.pair(t, x, first, far, 4, more, add)
	t.prefetch(t.wordPairs())
	g.LEAQ(emit.Indexed(t.numbers, t.lanes2, 4), t.numbers)
	if more == 2 {
		g.LEAQ(emit.Indexed(far, t.lanes2, 2), far)
	}
	x.advance(g, 8)
	g.ADDQ(operand.Imm(2), first)
	g.CMPQ(first, operand.Imm(4))
	g.JNE(operand.LabelRef(name))
}

// wordPairs is how many iterations words has for a block: with 8 bits it goes through it twice.
func (t *int8Gemmer) wordPairs() int {
	if t.format.Bits() == 8 {
		return 4
	}
	return 2
}

// groupIntegers is where a vector's are.
func (t *int8Gemmer) groupIntegers(v int) operand.Mem { return t.frame.Offset(32 * v) }

// pair makes the products of the lower halves of words first and first+1, bit 0, or of the upper
// halves, bit 4, which are the numbers of words 4 further on. Their further bits are at far: with 1
// bit, from bit first on.
func (avx2GroupedBytes) pair(t *int8Gemmer, x rowPointers, first, far reg.GPVirtual, bit, more int, add func(i, v int, p reg.VecVirtual)) {
	g := t.g
	var ws [2][]reg.VecVirtual
	for i := range ws {
		ws[i] = g.Vecs(len(t.acc[0]))
	}
	for v := range t.acc[0] {
		high := g.Vec()
		if more > 0 {
			g.VMOVDQU(emit.At(far, v*g.VecBytes()), high)
		}
		if more == 1 {
			count := g.XMM()
			g.VMOVQ(first, count)
			g.VPSRLD(count, high, high)
		}
		for i := range ws {
			from := emit.At(t.numbers, v*g.VecBytes())
			if i == 1 {
				from = emit.Indexed(t.numbers, t.lanes2, 2)
				from.Disp = v * g.VecBytes()
			}
			g.numberBytes(from, high, ws[i][v], bit, i*more, more)
		}
	}
	t.eachRow(func(i int) {
		a, b := g.Vec(), g.Vec()
		g.VPBROADCASTD(x.at(i, 4*bit), a)
		g.VPBROADCASTD(x.at(i, 4*bit+4), b)
		for v := range t.acc[i] {
			p, q := g.Vec(), g.Vec()
			g.VPMADDUBSW(a, ws[0][v], p)
			g.VPMADDUBSW(b, ws[1][v], q)
			g.VPADDW(q, p, p)
			add(i, v, p)
		}
	})
}

// numberBytes sets w to numbers: the lower or upper halves of the bytes at from, and above them the
// bits of high that begin at a bit of the same half.
func (g *gen) numberBytes(from operand.Mem, high, w reg.VecVirtual, half, bit, more int) {
	g.VMOVDQU(from, w)
	if half > 0 {
		g.VPSRLW(operand.Imm(4), w, w)
	}
	g.VPAND(g.Constant(0x0f0f0f0f), w, w)
	if more > 0 {
		g.insertHigh(high, w, half, bit, more)
	}
}

// insertHigh puts the bits of high that begin at a bit of a half of its bytes above the lower 4 of
// the bytes of w.
func (g *gen) insertHigh(high, w reg.VecVirtual, half, bit, more int) {
	t := high
	if left := 4 - half - bit; left != 0 {
		t = g.Vec()
		if left > 0 {
			g.VPSLLD(operand.Imm(uint64(left)), high, t)
		} else {
			g.VPSRLD(operand.Imm(uint64(-left)), high, t)
		}
	}
	bits := g.Constant((1<<more - 1) << 4 * 0x01010101)
	if g.EVEX() {
		const aOrBAndC = 0xf8
		g.VPTERNLOGD(operand.U8(aOrBAndC), bits, t, w)
		return
	}
	upper := g.Vec()
	g.VPAND(bits, t, upper)
	g.VPOR(upper, w, w)
}

// addGroupMinima takes the minima off C: d·m, times the sums of the codes of the groups, times
// their integers.
func (t *int8Gemmer) addGroupMinima(x, c rowPointers, vectors int, name string) {
	g, integers, minima := t.g, t.g.Vecs(vectors), t.g.Vecs(vectors)
	t.widen(t.format, t.header(1), minima)
	t.loadIntegers(name, 1, integers)
	t.eachRow(func(i int) {
		row, d, codes := t.acc[i], g.Vec(), g.Vec()
		g.VBROADCASTSS(x.at(i, spec.RowScale), d)
		g.VPBROADCASTD(x.at(i, spec.RowGroups), codes)
		for v := range minima {
			sum, p := g.Vec(), g.Vec()
			g.VPMADDWD(codes, integers[v], sum)
			g.VCVTDQ2PS(sum, sum)
			g.VMULPS(d, minima[v], p)
			if t.kept != nil {
				g.VFMADD231PS(sum, p, t.kept[i][v])
				continue
			}
			to := c.at(i, v*g.VecBytes())
			if g.EVEX() {
				g.VFMADD213PS(row[v], p, sum)
			} else {
				g.VFMADD213PS(to, p, sum)
			}
			g.VMOVUPS(sum, to)
		}
	})
}
