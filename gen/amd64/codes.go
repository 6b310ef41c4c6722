package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention. Those for few rows are in codes_keys.go for keys, and for
// values in codes_values.go with AVX2 and in codes_vnni.go with AVX-512; those for tiles are in
// codes_tiles.go. AVX-512 has VPDPWSSD of VNNI, which multiplies words of 16 bits and adds pairs of
// products to 32 bits, without saturation. With AVX2, VPMADDWD does that without the addition to 32
// bits: twice as many products in an instruction as an FMA has. An addition follows each, so on
// CPUs with twice as many units for additions as for products, such as Zen 3, integers have up to
// twice the throughput of FMAs. Bytes would not have more: VPMADDUBSW needs one more instruction to
// add its pairs in 32 bits, and another for signs.

// Queries that share the numbers of a key or a value in registers, and the columns of a step.
const (
	codeLanes   = 4
	codeColumns = 16
)

// Codes emits them. The tier of AVX-512 takes from AVX2 those that it lacks.
func (g *gen) Codes() {
	g.scaleRows()
	values := g.valueCodes
	if g.EVEX() {
		values = g.vnniValueCodes
	} else {
		g.round()
	}
	g.integerPairs()
	g.groupPairs()
	g.keyCodes(spec.QKCodes)
	g.keyCodes(spec.QKCodes4)
	values(spec.PVCodes)
	values(spec.PVCodes4)
	g.codeTiles()
}

// scaleRows multiplies some vectors of lanes of all rows: each waits for its maximum of the row
// before.
func (g *gen) scaleRows() {
	g.Kernel(spec.ScaleRows)
	lanes := g.SliceLen("max")
	s, ld, a, lda, n := g.Slice("s"), g.Stride("ld"), g.Slice("a"), g.Stride("lda"), g.Num("n")
	scales, lsc, max := g.Slice("scales"), g.Stride("lsc"), g.Slice("max")
	loop.Chunks(g, g.pairVectors(), lanes, func(vectors int, name string) {
		g.Label(name)
		tops := g.Vecs(vectors)
		for v, top := range tops {
			g.LoadVec(max, v, top)
		}
		to, from, scale, left := g.GP64(), g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(s, to)
		g.MOVQ(a, from)
		g.MOVQ(scales, scale)
		g.MOVQ(n, left)
		rows := func(kind string, product func(factor, x reg.VecVirtual, v int)) {
			loop.AnyTimes(g, left, name+kind, name+kind+"end", false, func() {
				factor := g.Vec()
				g.VBROADCASTSS(emit.At(scale, 0), factor)
				for v, top := range tops {
					x := g.Vec()
					product(factor, x, v)
					g.StoreVec(x, to, v)
					g.VMAXPS(top, x, top)
				}
				g.ADDQ(ld, to)
				g.ADDQ(lda, from)
				g.ADDQ(lsc, scale)
			})
		}
		g.CMPB(g.Argument("load"), operand.Imm(0))
		g.JNE(operand.LabelRef(name + "loads"))
		rows("row", func(factor, x reg.VecVirtual, v int) { g.VMULPS(emit.At(from, v*g.VecBytes()), factor, x) })
		g.JMP(operand.LabelRef(name + "done"))
		g.Label(name + "loads")
		rows("sum", func(factor, x reg.VecVirtual, v int) {
			g.LoadVec(from, v, x)
			g.VFMADD213PS(emit.At(to, v*g.VecBytes()), factor, x)
		})
		g.Label(name + "done")
		for v, top := range tops {
			g.StoreVec(top, max, v)
		}
		g.Advance(vectors*g.VecBytes(), s, a, max)
	})
}
