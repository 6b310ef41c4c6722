package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention. Those for few rows are in codes_keys.go and codes_values.go
// for AVX2, in codes_vnni.go for AVX-512 with VNNI; those for tiles of both in codes_tiles.go. With
// AVX2, VPMADDWD multiplies words of 16 bits and adds pairs of products in 32 bits: twice as many
// products in an instruction as an FMA has. An addition follows each, so on CPUs with twice as many
// units for additions as for products, such as Zen 3, integers have up to twice the throughput of
// FMAs. Bytes would not have more: VPMADDUBSW needs one more instruction to add its pairs in 32
// bits, and another for signs.

// Queries that share the numbers of a key or a value in registers, and the columns of a step.
const (
	codeLanes   = 4
	codeColumns = 16
)

// Codes emits them. The tier of AVX-512 takes from AVX2 those that it lacks.
func (g *gen) Codes() {
	if g.EVEX() {
		g.integerPairs()
		g.vnniKeyCodes()
		g.vnniValueCodes()
	} else {
		g.round()
		g.scaleRows()
		g.keyCodes()
		g.integerPairs()
		g.valueCodes()
	}
	g.codeTiles()
}

// scaleRows multiplies a vector of lanes of all rows.
func (g *gen) scaleRows() {
	g.Kernel(spec.ScaleRows)
	s, ld, a, lda, n := g.Slice("s"), g.Stride("ld"), g.Slice("a"), g.Stride("lda"), g.Num("n")
	scales, lsc, max := g.Slice("scales"), g.Stride("lsc"), g.Slice("max")
	loop.Lanes(g, g.SliceLen("max"), "One vector of lanes.", []reg.GPVirtual{s, a, max}, nil, func() {
		top := g.Vec()
		g.VMOVUPS(emit.At(max, 0), top)
		to, from, scale, left := g.GP64(), g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(s, to)
		g.MOVQ(a, from)
		g.MOVQ(scales, scale)
		g.MOVQ(n, left)
		rows := func(name string, product func(x reg.VecVirtual)) {
			loop.AnyTimes(g, left, name, name+"end", false, func() {
				x := g.Vec()
				g.VBROADCASTSS(emit.At(scale, 0), x)
				product(x)
				g.VMOVUPS(x, emit.At(to, 0))
				g.VMAXPS(top, x, top)
				g.ADDQ(ld, to)
				g.ADDQ(lda, from)
				g.ADDQ(lsc, scale)
			})
		}
		g.CMPB(g.Argument("load"), operand.Imm(0))
		g.JNE(operand.LabelRef("loads"))
		rows("row", func(x reg.VecVirtual) { g.VMULPS(emit.At(from, 0), x, x) })
		g.JMP(operand.LabelRef("done"))
		g.Label("loads")
		rows("sum", func(x reg.VecVirtual) {
			y := g.Vec()
			g.VMOVUPS(emit.At(from, 0), y)
			g.VFMADD213PS(emit.At(to, 0), y, x)
		})
		g.Label("done")
		g.VMOVUPS(top, emit.At(max, 0))
	})
	g.Return()
}
