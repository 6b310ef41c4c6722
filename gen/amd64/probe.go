package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// peakChains is a number of independent chains of FMAs that hides the latency of 4 cycles
// on two units.
const peakChains = 12

// Peak measures the FMA rate of a core: it has register operands only, and nothing waits.
func (g *gen) Peak() {
	g.Kernel(spec.Peak)
	n := g.Num("n")
	acc := g.Vecs(peakChains)
	x, y := g.Vec(), g.Vec()
	for _, v := range append(acc, x, y) {
		g.Zero(g.Context, v)
	}
	g.AlignLoop()
	g.Comment("Every chain twice.")
	g.Label("loop")
	for range 2 {
		for _, a := range acc {
			g.VFMADD231PS(x, y, a)
		}
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("loop"))
	g.Return()
}

// Read measures the bandwidth of memory: it loads all of a slice in order, in whole cache
// lines. The remainder that 16 lines do not divide is left out.
func (g *gen) Read() {
	const lines = 16
	g.Kernel(spec.Read)
	p, left := g.Slice("p"), g.SliceLen("p")
	g.SHRQ(operand.Imm(8), left) // 16 lines of 16 numbers
	g.JZ(operand.LabelRef("done"))
	g.AlignLoop()
	g.Label("loop")
	for i := range lines * spec.LineBytes / g.VecBytes() {
		g.VMOVUPS(emit.At(p, i*g.VecBytes()), g.Vec())
	}
	g.ADDQ(operand.U32(lines*spec.LineBytes), p)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("loop"))
	g.Label("done")
	g.Return()
}

// TileProbes multiply a tile once: they show whether a unit has the bits that kernels rely on.
func (g *gen) TileProbes() {
	if !g.EVEX() {
		return
	}
	for _, probe := range []struct {
		function spec.Function
		multiply func(b, a, c emit.Tile)
	}{{spec.TileInt8, g.TDPBSSD}, {spec.TileBF16, g.TDPBF16PS}} {
		g.Kernel(probe.function)
		var shapes [8]emit.TileShape
		for i := range shapes {
			shapes[i] = emit.TileShape{Rows: emit.TileRows, Bytes: spec.LineBytes}
		}
		config, line := g.GP64(), g.GP64()
		g.LEAQ(g.TileConfig("tilesWhole", shapes), config)
		g.LDTILECFG(emit.At(config, 0))
		g.MOVQ(operand.U32(spec.LineBytes), line)
		var rows [3]operand.Mem
		for tile, name := range []string{"c", "a", "b"} {
			rows[tile] = emit.Indexed(g.Slice(name), line, 1)
			g.TILELOADD(rows[tile], emit.Tile(tile))
		}
		probe.multiply(2, 1, 0)
		g.TILESTORED(0, rows[0])
		g.TILERELEASE()
		g.Return()
	}
}

// Pause generates the function Pause, with PAUSE, which every CPU has.
func Pause(contracts spec.Contracts) (spec.Output, error) {
	f, c := spec.Pause, build.NewContext()
	c.Function(f.Symbol(""))
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func" + contracts.Signature(&f))
	c.Doc(f.Doc(""))
	c.PAUSE()
	c.RET()
	asm, stubs, err := emit.Compile(c, "pause", func(*ir.File) error { return nil })
	return spec.Output{Asm: asm, Stubs: stubs, Functions: []spec.Function{f}}, err
}
