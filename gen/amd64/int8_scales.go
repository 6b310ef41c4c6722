package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2Scales is avx2GroupedBytes with scales of float32 for both groups, whose sums have accumulators of their
// own: VPMADDWD with 1 and 0 takes those of the first group, with 0 and 1 those of the second.
type avx2Scales struct{ avx2GroupedBytes }

func (avx2Scales) tiles(ukernel.PackedFormat) [][]spec.TileShape {
	return [][]spec.TileShape{{{Vectors: 2, Rows: 2}, {Vectors: 2, Rows: 1}}}
}

// groupOnes has a 1 for each group, 16 bits each.
func (t *int8Gemmer) groupOnes(group int) operand.Mem { return t.g.Constant(1 << (16 * group)) }

func (d avx2Scales) sums(t *int8Gemmer, name string) {
	g := t.g
	second := make([][]reg.VecVirtual, t.rows)
	for i, row := range t.acc {
		second[i] = g.Vecs(len(row))
		for v := range row {
			for group, acc := range []reg.VecVirtual{row[v], second[i][v]} {
				g.VPBROADCASTD(t.frame.Offset(4*i), acc)
				g.VPMADDWD(t.groupOnes(group), acc, acc)
				g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(t.format.Offset())))), acc, acc)
			}
		}
	}
	d.words(t, name, func(i, v int, p reg.VecVirtual) {
		q := g.Vec()
		g.VPMADDWD(t.groupOnes(1), p, q)
		g.VPADDD(q, second[i][v], second[i][v])
		g.VPMADDWD(t.groupOnes(0), p, p)
		g.VPADDD(p, t.acc[i][v], t.acc[i][v])
	})
	t.scaleGroups(second)
}

// scaleGroups makes the accumulators float32: the sums of both groups, times their scales. The second product is
// added to +0, as otherwise a sum of zeros could be -0.
func (t *int8Gemmer) scaleGroups(second [][]reg.VecVirtual) {
	g, zero, from := t.g, t.g.Vec(), t.g.GP64()
	g.VPXOR(zero, zero, zero)
	for group := 1; group >= 0; group-- {
		g.LEAQ(emit.Indexed(t.block, t.lane2, 2), from)
		if group == 1 {
			g.LEAQ(emit.Indexed(from, t.lanes2, 2), from)
		}
		for v := range t.acc[0] {
			scale := g.Vec()
			g.VMOVUPS(emit.At(from, v*g.VecBytes()), scale)
			for i, row := range t.acc {
				acc, s := row[v], second[i][v]
				if group == 1 {
					g.VCVTDQ2PS(s, s)
					g.VFMADD213PS(zero, scale, s)
				} else {
					g.VCVTDQ2PS(acc, acc)
					g.VFMADD213PS(s, scale, acc)
				}
			}
		}
	}
}

// addScaled adds accumulators of float32 to C, times the scales of the rows.
func (t *int8Gemmer) addScaled(x, c rowPointers) {
	g := t.g
	for i, row := range t.acc {
		d := g.Vec()
		g.VBROADCASTSS(x.at(i, spec.RowScale), d)
		for v, acc := range row {
			g.VFMADD213PS(c.at(i, v*g.VecBytes()), d, acc)
			g.VMOVUPS(acc, c.at(i, v*g.VecBytes()))
		}
	}
}
