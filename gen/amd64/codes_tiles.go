package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention for tiles, see ukernel.LaneKernels.CodeScores. As in Gemm a
// step multiplies some vectors of lanes by a number of each of four rows, but a number is a pair of
// integers.

// pairTileRows are the rows of a tile of integers.
const pairTileRows = 4

// pairVectors are the vectors of a tile, the most first. With AVX2 an accumulator waits for an
// addition alone, one cycle, so eight of them are enough. VPDPWSSD takes 4 or 5 cycles.
func (g *gen) pairVectors() []int {
	if g.EVEX() {
		return []int{4, 2, 1}
	}
	return []int{2, 1}
}

// codeTiles emits them. Those that multiply no pairs are the kernels of AVX2 in both tiers.
func (g *gen) codeTiles() {
	g.codeScores()
	g.codeValues()
	g.codeMerge()
	if g.EVEX() {
		return
	}
	g.pairColumns()
	g.pairRows()
}

// pairProducts emits the sums of left ≥ 1 steps, from the pairs at row and the lanes at b on, which
// lie ldb bytes apart. advance moves the rows on by a step.
func (g *gen) pairProducts(name string, vectors int, left, b, ldb reg.GPVirtual, row func(i int) operand.Mem, advance func()) [][]reg.VecVirtual {
	twice := !g.EVEX() // tiles of four vectors have no use for it
	acc := make([][]reg.VecVirtual, pairTileRows)
	for i := range acc {
		acc[i] = g.Vecs(vectors)
		for _, v := range acc[i] {
			g.Zero(g.Context, v)
		}
	}
	step := func() {
		x := g.Vecs(vectors)
		for v := range x {
			g.VMOVUPS(emit.At(b, v*g.VecBytes()), x[v])
		}
		add := func() {} // the products of a row, after the next row's are begun
		for i := range acc {
			a := g.Vec()
			g.VPBROADCASTD(row(i), a)
			if g.EVEX() {
				for v := range x {
					g.VPDPWSSD(x[v], a, acc[i][v]) // exact: it does not saturate
				}
				continue
			}
			products := append(g.Vecs(vectors-1), a)
			for v := range x {
				g.VPMADDWD(x[v], a, products[v])
			}
			add()
			add = func() {
				for v, p := range products {
					g.VPADDD(p, acc[i][v], acc[i][v])
				}
			}
		}
		add()
		g.ADDQ(ldb, b)
		advance()
	}
	if twice {
		g.Comment("Two steps an iteration; an odd number enters in the middle.")
		g.INCQ(left)
		g.SHRQ(operand.Imm(1), left)
		g.JCC(operand.LabelRef(name + "odd"))
	}
	g.AlignLoop()
	g.Label(name + "steps")
	step()
	if twice {
		g.Label(name + "odd")
		step()
	}
	g.DECQ(left)
	g.JNZ(operand.LabelRef(name + "steps"))
	for _, row := range acc {
		for _, v := range row {
			g.VCVTDQ2PS(v, v)
		}
	}
	return acc
}

// codeScores takes four keys at a time, and those that are left over one by one, as four times the
// same key.
func (g *gen) codeScores() {
	g.Kernel(spec.CodeScores)
	lanes, q := g.SliceLen("max"), g.Slice("q")
	k, s, scale := g.GP64(), g.GP64(), g.GP64()
	ldk, ldk3, w, lsc := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	steps := []operand.Mem{g.Memory(g.Param("k").Len()), g.Memory(g.Param("s").Len()), g.Memory(g.Param("scales").Len())} // from a tile to the next
	rows := g.Memory(g.Param("k").Cap())
	pointers, strides := []reg.GPVirtual{k, s, scale}, []reg.GPVirtual{ldk, w, lsc}
	loop.Chunks(g, g.pairVectors(), lanes, func(vectors int, name string) {
		g.Label(name)
		g.MOVQ(g.Memory(g.Param("k").Base()), k)
		g.MOVQ(g.Memory(g.Param("s").Base()), s)
		g.MOVQ(g.Memory(g.Param("scales").Base()), scale)
		g.MOVQ(g.Argument("d"), ldk)
		g.MOVQ(g.Memory(g.Param("max").Len()), w)
		g.MOVQ(g.Argument("lsc"), lsc)
		g.SHLQ(operand.Imm(1), ldk)
		four := g.GP64()
		for i, x := range strides {
			if x != ldk {
				g.SHLQ(operand.Imm(2), x)
			}
			g.MOVQ(x, four)
			g.SHLQ(operand.Imm(2), four)
			g.MOVQ(four, steps[i])
		}
		count := g.GP64()
		g.MOVQ(g.Argument("m"), count)
		g.SHRQ(operand.Imm(2), count)
		g.MOVQ(count, rows)
		g.JZ(operand.LabelRef(name + "rest"))
		g.Label(name + "tile")
		g.LEAQ(emit.Indexed(ldk, ldk, 2), ldk3)
		left, b, p, ldb := g.GP64(), g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(g.Argument("d"), left)
		g.SHRQ(operand.Imm(1), left)
		g.MOVQ(q, b)
		g.MOVQ(k, p)
		g.MOVQ(g.Memory(g.Param("max").Len()), ldb)
		g.SHLQ(operand.Imm(2), ldb)
		acc := g.pairProducts(name, vectors, left, b, ldb, func(i int) operand.Mem {
			return emit.OfFour(p, ldk, ldk3, i)
		}, func() { g.ADDQ(operand.Imm(4), p) })
		top, to, from, unit, max := g.Vecs(vectors), g.GP64(), g.GP64(), g.Slice("unit"), g.Slice("max")
		for v := range top {
			g.VMOVUPS(emit.At(max, v*g.VecBytes()), top[v])
		}
		g.MOVQ(s, to)
		g.MOVQ(scale, from)
		for i, row := range acc {
			factor := g.Vec()
			g.VBROADCASTSS(emit.At(from, 0), factor)
			for v, x := range row {
				g.VMULPS(emit.At(unit, v*g.VecBytes()), x, x)
				g.VMULPS(factor, x, x)
				g.VMOVUPS(x, emit.At(to, v*g.VecBytes()))
				g.VMAXPS(top[v], x, top[v])
			}
			if i+1 < len(acc) {
				g.ADDQ(w, to)
				g.ADDQ(lsc, from)
			}
		}
		for v := range top {
			g.VMOVUPS(top[v], emit.At(max, v*g.VecBytes()))
		}
		for i, x := range pointers {
			g.ADDQ(steps[i], x)
		}
		g.DECQ(rows)
		g.JNZ(operand.LabelRef(name + "tile"))
		g.Label(name + "rest")
		g.TESTQ(w, w)
		g.JZ(operand.LabelRef(name + "end"))
		g.MOVQ(g.Argument("m"), count)
		g.ANDQ(operand.Imm(pairTileRows-1), count)
		g.JZ(operand.LabelRef(name + "end"))
		g.MOVQ(count, rows)
		for i, x := range strides {
			g.SHRQ(operand.Imm(2), steps[i])
			g.XORQ(x, x)
		}
		g.JMP(operand.LabelRef(name + "tile"))
		g.Label(name + "end")
		bytes := vectors * g.VecBytes()
		g.Advance(bytes, q)
		for _, name := range []string{"s", "unit", "max"} {
			g.ADDQ(operand.U32(bytes), g.Memory(g.Param(name).Base()))
		}
	})
}

// codeValues takes four columns of V at a time.
func (g *gen) codeValues() {
	g.Kernel(spec.CodeValues)
	lanes, w, ldv := g.SliceLen("unit"), g.SliceLen("unit"), g.Stride("dv")
	p, unit, first := g.Slice("p"), g.Slice("unit"), g.Slice("o")
	g.SHLQ(operand.Imm(2), w)
	v, o, columns := g.GP64(), g.GP64(), g.GP64()
	keep, x := g.Vec(), g.GP32()
	g.Comment("What is in o counts with load alone.")
	g.MOVBLZX(g.Argument("load"), x)
	g.NEGL(x)
	g.VMOVD(x, keep.AsX())
	g.VPBROADCASTD(keep.AsX(), keep)
	loop.Chunks(g, g.pairVectors(), lanes, func(vectors int, name string) {
		g.Label(name)
		g.MOVQ(g.Memory(g.Param("v").Base()), v)
		g.MOVQ(g.Argument("dv"), columns)
		g.MOVQ(first, o)
		g.Label(name + "tile")
		left, b, row := g.Num("pairs"), g.GP64(), g.GP64()
		g.MOVQ(p, b)
		g.MOVQ(v, row)
		acc := g.pairProducts(name, vectors, left, b, w, func(i int) operand.Mem { return emit.At(row, 4*i) }, func() { g.ADDQ(ldv, row) })
		for i := range acc {
			for n, x := range acc[i] {
				m, y := emit.At(o, n*g.VecBytes()), g.Vec()
				g.VANDPS(m, keep, y)
				g.VFMADD231PS(emit.At(unit, n*g.VecBytes()), x, y)
				g.VMOVUPS(y, m)
			}
			g.ADDQ(w, o)
		}
		g.Advance(4*pairTileRows, v)
		g.SUBQ(operand.Imm(pairTileRows), columns)
		g.JNZ(operand.LabelRef(name + "tile"))
		g.Advance(vectors*g.VecBytes(), p, unit, first)
	})
}

func (g *gen) codeMerge() {
	g.Kernel(spec.CodeMerge)
	o, part, alpha, beta := g.Slice("o"), g.Slice("part"), g.Slice("alpha"), g.Slice("beta")
	n, w := g.Num("n"), g.SliceLen("alpha")
	g.SHLQ(operand.Imm(2), w)
	loop.Lanes(g, g.SliceLen("alpha"), "One vector of lanes.", []reg.GPVirtual{o, part, alpha, beta}, nil, func() {
		a, b, left, at := g.Vec(), g.Vec(), g.GP64(), g.GP64()
		g.VMOVUPS(emit.At(alpha, 0), a)
		g.VMOVUPS(emit.At(beta, 0), b)
		g.XORQ(at, at)
		g.MOVQ(n, left)
		loop.Times(g, left, "row", func() {
			x, y := g.Vec(), g.Vec()
			g.VMULPS(emit.Indexed(o, at, 1), a, x)
			g.VMOVUPS(emit.Indexed(part, at, 1), y)
			g.VFMADD231PS(b, y, x)
			g.VMOVUPS(x, emit.Indexed(o, at, 1))
			g.ADDQ(w, at)
		})
	})
	g.Return()
}

// pairColumns widens 16 columns at a time: pairs of columns are words that lie side by side.
func (g *gen) pairColumns() {
	g.Kernel(spec.PairColumns)
	dst, src, lds, n, d := g.Slice("dst"), g.Slice("src"), g.Num("lds"), g.Num("n"), g.Num("d")
	loop.Times(g, n, "row", func() {
		at := g.GP64()
		g.XORQ(at, at)
		g.Label("columns")
		x := g.Vec()
		g.VPMOVSXBW(emit.Indexed(src, at, 1), x)
		g.VMOVDQU(x, emit.At(dst, 0))
		g.Advance(g.VecBytes(), dst)
		g.ADDQ(operand.Imm(codeColumns), at)
		g.CMPQ(at, d)
		g.JL(operand.LabelRef("columns"))
		g.ADDQ(lds, src)
	})
	g.Return()
}

// pairRows interleaves the bytes of two rows before it widens them.
func (g *gen) pairRows() {
	g.Kernel(spec.PairRows)
	dst, src, lds, n, d := g.Slice("dst"), g.Slice("src"), g.Num("lds"), g.Num("n"), g.Num("d")
	second := g.GP64()
	g.Label("pair")
	g.LEAQ(emit.Indexed(src, lds, 1), second)
	g.SUBQ(operand.Imm(2), n)
	g.JGE(operand.LabelRef("both"))
	g.MOVQ(src, second)
	g.Label("both")
	at := g.GP64()
	g.XORQ(at, at)
	g.Label("columns")
	rows, half := [2]reg.VecVirtual{g.XMM(), g.XMM()}, g.XMM()
	g.VMOVDQU(emit.Indexed(src, at, 1), rows[0])
	g.VMOVDQU(emit.Indexed(second, at, 1), rows[1])
	for i, unpack := range []func(...operand.Op){g.VPUNPCKLBW, g.VPUNPCKHBW} {
		x := g.Vec()
		unpack(rows[1], rows[0], half)
		g.VPMOVSXBW(half, x)
		g.VMOVDQU(x, emit.At(dst, i*g.VecBytes()))
	}
	g.Advance(2*g.VecBytes(), dst)
	g.ADDQ(operand.Imm(codeColumns), at)
	g.CMPQ(at, d)
	g.JL(operand.LabelRef("columns"))
	g.LEAQ(emit.Indexed(src, lds, 2), src)
	g.CMPQ(n, operand.Imm(0))
	g.JG(operand.LabelRef("pair"))
	g.Return()
}
