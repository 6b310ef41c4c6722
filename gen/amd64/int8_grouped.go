package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2Grouped is for grouped formats. Bytes 0 and 1 of a word belong to the first 16 steps, bytes 2 and 3 to
// the others: so the two halves of a lane of VPMADDUBSW are the sums of two groups, and VPMADDWD with the
// integers of the groups, in the place of the ones of avx2Dot, makes that of the block.
//
// Numbers of more than 4 bits are q = lower + 16·upper, and an offset, a multiple of 16, is taken off the
// upper bits. The sum with the lower bits waits on the stack for that with the others.
//
// No sum is inexact, as codes are at most 127 and the integers of groups at least -128:
//
//	lower bits, in 16     8 pairs, each at most 2·15·127           30480
//	upper bits, in 16     8 pairs, each at most 2·3·127             6096
//	  with the offset     2, times 16 codes                        10160
//	lower, in 32          2·30480·128                          7,802,880
//	upper, in 32          2·10160·128, times 16               41,615,360
//	codes, in 16          16 of them                                2032
type avx2Grouped struct{ avx2Dot }

// upperBits is the number of bits of the numbers beyond 4.
func (avx2Grouped) upperBits(t *int8Gemmer) int { return t.format.Bits() - 4 }

// The frame has a word for each row, which is minus the sums of the codes of both groups, 16 bits each,
// times what is taken off the upper bits. The accumulators follow, by row and vector.
const groupedAcc = 32

func (d avx2Grouped) frameBytes(spec.BlockFormat) int {
	largest := d.tiles()[0][0]
	return groupedAcc + 32*largest.Rows*largest.Vectors
}

// waiting is the place of an accumulator on the stack.
func (avx2Grouped) waiting(t *int8Gemmer, row, vector int) operand.Mem {
	return t.frame.Offset(groupedAcc + 32*(row*len(t.acc[row])+vector))
}

// prepare stores the sums of the codes.
func (avx2Grouped) prepare(t *int8Gemmer) {
	g := t.g
	rows := g.rowsFrom(t.x, t.ldx, t.rows)
	for i := range t.rows {
		sums, minus := g.Vec(), g.XMM()
		g.VMOVDQU(g.Constant(0x01010101), sums)
		g.VPMADDUBSW(rows.at(i, 0), sums, sums)
		total := g.acrossLanes(sums, g.VPADDW)
		g.VPXOR(minus, minus, minus)
		g.VPSUBW(total, minus, minus)
		if offset := t.format.Offset() / 16; offset > 1 {
			g.VPSLLW(operand.Imm(uint64(bits.TrailingZeros(uint(offset)))), minus, minus)
		}
		g.VMOVD(minus, t.frame.Offset(4*i))
	}
}

func (d avx2Grouped) sums(t *int8Gemmer, name string) {
	g := t.g
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.VPXOR(acc, acc, acc) })
	d.sums4(t, name)
	d.scale(t)
	if d.upperBits(t) == 0 {
		return
	}
	t.eachAcc(func(i, v int, acc reg.VecVirtual) { g.VMOVDQU(acc, d.waiting(t, i, v)) })
	t.eachAcc(func(i, _ int, acc reg.VecVirtual) {
		if t.format.Offset() == 0 {
			g.VPXOR(acc, acc, acc)
		} else {
			g.VPBROADCASTD(t.frame.Offset(4*i), acc)
		}
	})
	d.upper(t, name+"upper")
	d.scale(t)
	t.eachAcc(func(i, v int, acc reg.VecVirtual) {
		g.VPSLLD(operand.Imm(4), acc, acc)
		g.VPADDD(d.waiting(t, i, v), acc, acc)
	})
}

// upper adds the products of the upper bits. The words with them follow the others; a word has those of
// some steps in the lower halves of its bytes, and in the upper ones those of the steps 4 words of codes on.
func (d avx2Grouped) upper(t *int8Gemmer, name string) {
	g, n := t.g, d.upperBits(t)
	x, mask := g.rowsFrom(t.x, t.ldx, t.rows), g.Constant(uint32(1<<n-1)*0x01010101)
	t.eachWord(name, n, func() {
		for bit := 0; bit < 8; bit += n {
			disp := bit/4*16 + bit%4/n*4
			t.addPairs(func(from operand.Mem, w reg.VecVirtual) {
				g.VMOVDQU(from, w)
				if bit > 0 {
					g.VPSRLW(operand.Imm(uint64(bit)), w, w)
				}
				g.VPAND(mask, w, w)
			}, func(i int) operand.Mem { return x.at(i, disp) })
		}
		x.advance(g, 16/n)
	})
}

// scale multiplies the sums of the groups by their integers and adds them.
func (avx2Grouped) scale(t *int8Gemmer) {
	g, from := t.g, t.header(t.format.Halves())
	for v := range t.acc[0] {
		s := g.Vec()
		g.VPMOVSXBW(from.Offset(v*g.VecBytes()/2), s)
		for _, row := range t.acc {
			g.VPMADDWD(s, row[v], row[v])
		}
	}
}

// addGroupMinima takes the minima off C: d·m, times the sums of the codes of the groups, times their integers.
func (t *int8Gemmer) addGroupMinima(x, c rowPointers, vectors int) {
	g := t.g
	minima, integers := g.Vecs(vectors), g.Vecs(vectors)
	m, s := t.header(1), t.header(3)
	for v := range vectors {
		g.VCVTPH2PS(m.Offset(v*g.VecBytes()/2), minima[v])
		g.VPMOVSXBW(s.Offset(v*g.VecBytes()/2), integers[v])
	}
	for i := range t.rows {
		d, codes := g.Vec(), g.Vec()
		g.VBROADCASTSS(x.at(i, spec.RowScale), d)
		g.VPBROADCASTD(t.frame.Offset(4*i), codes)
		for v := range vectors {
			sum, p, to := g.Vec(), g.Vec(), c.at(i, v*g.VecBytes())
			g.VPMADDWD(codes, integers[v], sum)
			g.VCVTDQ2PS(sum, sum)
			g.VMULPS(d, minima[v], p)
			g.VFMADD213PS(to, p, sum)
			g.VMOVUPS(sum, to)
		}
	}
}
