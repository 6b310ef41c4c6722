package skinny

import (
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A pair is two whole segments of columns that SkinnyQK computes side by side: twice as many
// chains for the same rows of K. They are added at the end, in their order.
//
// Bytes of K per cycle with data in L1, one segment → two, as predicted by llvm-mca 19. Its model
// of znver5 is znver4's, with half the FMAs of a Zen 5, and says nothing about it.
//
//	                 1 query      2 queries    3 queries    4 queries
//	sapphirerapids   10.6 → 18.9  10.6 → 18.2  10.4 → 13.8  10.2 → 13.3
//	skylake-avx512   14.2 → 17.9  13.8 → 13.9  13.4 → 12.9  13.1 → 12.8
//	znver4           15.0 → 14.8  14.0 → 13.8  12.8 → 11.3   7.9 →  7.9
//
// Measured on Emerald Rapids, which has Sapphire Rapids's core, a decoding call takes 3% less with
// 1 query from L2, and 1% more with 4: shuffles and broadcasts limit it, not FMAs.

// pairs reports whether a tile has pairs in a variant: more queries are chains enough, and leave no
// registers.
func (f *qkEmitter) pairs(t tile) bool {
	return !t.ahead && t.Most <= doubledQueries && slices.ContainsFunc(f.variants, hasPairs)
}

func hasPairs(v spec.QKVariant) bool { return v.Segments == 2 }

// ifPairs emits a jump to a label unless the variant at hand has pairs. A tile that only such
// variants have needs none.
func (f *qkEmitter) ifPairs(t tile, otherwise string) {
	i := slices.IndexFunc(f.variants, hasPairs)
	if slices.ContainsFunc(f.variantsOf(t), func(v spec.QKVariant) bool { return !hasPairs(v) }) {
		f.g.CMPQ(f.least(), operand.Imm(uint64(leastOf(f.variants[i]))))
		f.g.JNE(operand.LabelRef(otherwise))
	}
	f.prefetch.Into(f.variants[i].Near)
}

// pair emits a pair, and what addSums emits for a segment.
func (f *qkEmitter) pair(acc [][]reg.VecVirtual, name string) {
	const segmentBytes = 4 * spec.ColumnSegment
	f.g.Comment("Two segments side by side.")
	second := make([][]reg.VecVirtual, len(acc))
	for i := range acc {
		second[i] = f.g.Vecs(len(acc[i]))
	}
	f.clear(acc)
	f.clear(second)
	f.g.SUBQ(operand.I32(2*spec.ColumnSegment), f.columns)
	end, q := f.g.GP64(), f.g.GP64()
	f.g.LEAQ(emit.At(f.k[0], segmentBytes), end)
	f.g.MOVQ(end, f.end)
	f.g.MOVQ(f.w, q)
	f.g.IMUL3Q(operand.I32(spec.ColumnSegment), q, q)
	f.g.ADDQ(f.q, q)
	f.pairSteps(acc, second, q, name+"pair")
	for i := range f.k {
		f.g.ADDQ(operand.I32(segmentBytes), f.k[i])
	}
	f.g.MOVQ(q, f.q)
	f.g.CMPQ(f.adds, operand.Imm(0))
	f.g.JE(operand.LabelRef(name + "pairsum"))
	f.eachSum(acc, func(v reg.VecVirtual, sum operand.Mem) { f.g.VADDPS(sum, v, v) })
	f.g.Label(name + "pairsum")
	f.rows.Compare()
	f.rows.Rows(func(i int) {
		for x, v := range acc[i] {
			f.g.VADDPS(second[i][x], v, v)
		}
	})
	f.g.JMP(operand.LabelRef(name + "added"))
}

// pairSteps emits the loop over the steps of a pair, whose second segment begins at q of q̂.
func (f *qkEmitter) pairSteps(acc, second [][]reg.VecVirtual, q reg.GPVirtual, name string) {
	f.g.AlignLoop()
	f.g.Label(name + "step")
	f.prefetchStep(2*f.words.n, f.times(acc), name)
	f.rows.Compare()
	segments := []struct {
		acc  [][]reg.VecVirtual
		q    reg.GPVirtual
		disp int
	}{{acc, f.q, 0}, {second, q, 4 * spec.ColumnSegment}}
	for _, s := range segments {
		f.eachColumn(s.acc, s.disp, func(x int, products func(q operand.Mem)) {
			products(column(s.q, f.w, x))
			if x%2 == 1 {
				f.g.LEAQ(emit.Indexed(s.q, f.w, 2), s.q)
			}
		})
	}
	f.advance()
	f.g.CMPQ(f.k[0], f.end)
	f.g.JNE(operand.LabelRef(name + "step"))
}
