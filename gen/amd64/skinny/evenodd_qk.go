package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// QKEvenOdd is SkinnyQK for products in bfloat16. The keys in the lanes are as many as a vector
// has, and a word of 32 bits has a column of an even chain and a column of an odd chain, whose
// small numbers become +0. A segment is 4 steps of 4 words: then both chains are added to the sum.
// After columns that are less than a step, keys have +0 and queries -0, whose products add nothing.
//
//	k[0..15][x..] ──► t0 t1 t2 t3     even[query] += t·2^16 · q̂[x][query]
//	                                  odd[query] += t & ffff0000 · q̂[x+1][query]
//
// Each number of queries has a loop of its own. The sums stay in registers if there are 32, else on
// the stack.
func (g *gen) QKEvenOdd() {
	g.Kernel(spec.QKEvenOdd)
	f := &evenOddQK{g: g, keys: g.Lanes(), s: g.Memory(g.Param("s").Base()), lane: g.Memory(g.Param("s").Len()), left: g.Memory(g.Param("off").Len()), columns: g.Memory(g.Param("k").Cap())}
	f.prefetch = g.NewRowPrefetch(g.Memory(g.Param("k").Base()), "d", spec.BF16, prefetchedLines*spec.LineBytes, 1)
	f.w = g.SliceLen("max")
	g.SHLQ(operand.Imm(2), f.w)
	f.rows = g.NewKeyOffsets()
	f.q, f.steps = g.GP64(), g.GP64()
	f.factors = g.newFactors()
	f.even, f.odd = g.Vecs(g.SkinnyRows()), g.Vecs(g.SkinnyRows())
	if g.EVEX() {
		f.sums = g.Vecs(g.SkinnyRows())
	} else {
		f.waiting = g.Frame(g.SkinnyRows() * g.VecBytes())
	}
	f.tiles()
}

// prefetchedLines are prefetched at once: the lines of 64 columns.
const prefetchedLines = 2

// stepWords are the words of a row in a step.
const stepWords = 4

type evenOddQK struct {
	g        *gen
	prefetch *emit.Prefetch
	factors  *factors

	keys    int           // of a tile
	s       operand.Mem   // scores of the tile
	lane    operand.Mem   // first query of the current group
	left    operand.Mem   // keys, from the tile on
	columns operand.Mem   // that are left
	w       reg.GPVirtual // bytes of a row of scores, and of q̂
	rows    *emit.KeyOffsets
	q       reg.GPVirtual // q̂ at the current column
	steps   reg.GPVirtual // left in the segment

	even, odd, sums []reg.VecVirtual
	waiting         operand.Mem // the sums, with 16 registers
}

// queriesOf are the numbers of queries that have a loop.
func (g *gen) queriesOf() []int {
	return slices.DeleteFunc([]int{1, 2, 4, 8}, func(n int) bool { return n > g.SkinnyRows() })
}

// tiles emits the loop over the tiles, and in it the loop over groups of queries.
func (f *evenOddQK) tiles() {
	g := f.g
	g.Label("tile")
	g.CMPQ(f.left, operand.Imm(uint64(f.keys)))
	g.JGE(operand.LabelRef("whole"))
	g.CMPQ(f.left, operand.Imm(0))
	g.JE(operand.LabelRef("done"))
	g.Comment("The last tile reaches back.")
	back, bytes := g.GP64(), g.GP64()
	g.MOVQ(f.left, back)
	g.SUBQ(operand.Imm(uint64(f.keys)), back)
	g.MOVQ(f.w, bytes)
	g.IMULQ(back, bytes)
	g.ADDQ(bytes, f.s)
	g.SHLQ(operand.Imm(3), back)
	g.ADDQ(back, f.rows.Off)
	g.MOVQ(operand.I32(f.keys), f.left)
	g.Label("whole")
	f.rows.Hold()
	g.MOVQ(operand.I32(0), f.lane)
	g.Label("group")
	g.MOVQ(f.lane, f.q)
	queries := g.Num("n")
	g.SUBQ(f.q, queries)
	g.SHLQ(operand.Imm(2), f.q)
	g.ADDQ(g.Memory(g.Param("q").Base()), f.q)
	f.prefetch.Start()
	g.Move(g.Argument("d"), f.columns)
	sizes := g.queriesOf()
	for i, n := range slices.Backward(sizes[1:]) {
		g.CMPQ(queries, operand.Imm(uint64(sizes[i]+1)))
		g.JGE(operand.LabelRef(groupLabel(n)))
	}
	for _, n := range sizes {
		f.group(n)
	}
	f.store()
	g.SUBQ(g.StrideOf("d", spec.BF16), f.rows.From)
	lane := g.GP64()
	g.MOVQ(f.lane, lane)
	g.CMPQ(lane, g.Argument("n"))
	g.JL(operand.LabelRef("group"))
	g.ADDQ(operand.I32(8*f.keys), f.rows.Off)
	g.ADDQ(operand.I32(8*f.keys), f.prefetch.Base)
	scores := g.GP64()
	g.MOVQ(f.w, scores)
	g.IMUL3Q(operand.Imm(uint64(f.keys)), scores, scores)
	g.ADDQ(scores, f.s)
	g.SUBQ(operand.Imm(uint64(f.keys)), f.left)
	g.JMP(operand.LabelRef("tile"))
	g.Label("done")
	g.Return()
}

// group emits the scores of up to n queries.
func (f *evenOddQK) group(n int) {
	g, name := f.g, groupLabel(n)
	g.Commentf("%d queries.", n)
	g.Label(name)
	for i := range n {
		if g.EVEX() {
			g.Zero(g.Context, f.sums[i])
		} else {
			g.Zero(g.Context, f.even[0])
			g.VMOVUPS(f.even[0], f.sum(i))
		}
	}
	g.Label(name + "segment")
	for i := range n {
		g.Zero(g.Context, f.even[i])
		g.Zero(g.Context, f.odd[i])
	}
	g.MOVQ(f.columns, f.steps)
	g.CMPQ(f.steps, operand.Imm(spec.BF16Segment))
	g.JLE(operand.LabelRef(name + "short"))
	g.MOVQ(operand.U32(spec.BF16Segment), f.steps)
	g.Label(name + "short")
	g.SUBQ(f.steps, f.columns)
	g.SHRQ(operand.Imm(3), f.steps)
	g.JZ(operand.LabelRef(name + "rest"))
	g.AlignLoop()
	g.Label(name + "step")
	rows := f.step(n, name)
	g.Label(name + "rest")
	f.rest(rows, name)
	g.Label(name + "sum")
	for i := range n {
		g.VADDPS(f.odd[i], f.even[i], f.even[i])
		if g.EVEX() {
			g.VADDPS(f.even[i], f.sums[i], f.sums[i])
		} else {
			g.VADDPS(f.sum(i), f.even[i], f.even[i])
			g.VMOVUPS(f.even[i], f.sum(i))
		}
	}
	g.CMPQ(f.columns, operand.Imm(0))
	g.JG(operand.LabelRef(name + "segment"))
	sums := f.scores()
	f.repeat(sums[:n], name)
	for i := n; i < 4; i++ {
		g.VMOVAPS(sums[n-1], sums[i])
	}
	if n > 4 {
		g.MOVQ(operand.U32(1), f.columns) // 4 more scores
	}
	if n < g.SkinnyRows() {
		g.JMP(operand.LabelRef("store"))
	}
}

// scores are the registers of the sums after the last segment.
func (f *evenOddQK) scores() []reg.VecVirtual {
	if f.g.EVEX() {
		return f.sums
	}
	return f.even
}

// repeat makes the lanes after the last query repeat it. A smaller group would do for n/2 queries.
func (f *evenOddQK) repeat(sums []reg.VecVirtual, name string) {
	queries := f.g.Num("n")
	f.g.SUBQ(f.lane, queries)
	for i := len(sums)/2 + 1; i < len(sums); i++ {
		f.g.CMPQ(queries, operand.Imm(uint64(i)))
		f.g.JG(operand.LabelRef(fmt.Sprint(name, "has", i)))
		f.g.VMOVAPS(sums[i-1], sums[i])
		f.g.Label(fmt.Sprint(name, "has", i))
	}
}

func (f *evenOddQK) sum(i int) operand.Mem { return f.waiting.Offset(i * f.g.VecBytes()) }

// step emits 4 words of all keys, while there are steps. It returns the registers into which they
// are loaded.
func (f *evenOddQK) step(n int, name string) []reg.VecVirtual {
	g := f.g
	for x := range f.keys / 8 {
		f.prefetch.Lines(fmt.Sprintf("%snear%d", name, x), upTo(prefetchedLines)...)
		f.prefetch.Advance(fmt.Sprintf("%sahead%d", name, x))
	}
	rows := g.KeyRows(f.rows.Row, 0)
	g.Label(name + "loaded")
	for _, t := range g.Transpose4(rows) {
		x := f.factors.split(t)
		for i := range n {
			g.FMABroadcast(g.Context, emit.At(f.q, 4*i), x, f.even[i])
		}
		for i := range n {
			g.FMABroadcast(g.Context, emit.Indexed(f.q, f.w, 1).Offset(4*i), t, f.odd[i])
		}
		g.LEAQ(emit.Indexed(f.q, f.w, 2), f.q)
	}
	g.ADDQ(operand.Imm(4*stepWords), f.rows.From)
	g.DECQ(f.steps)
	g.JNZ(operand.LabelRef(name + "step"))
	return rows
}

// rest emits, after the last segment, one more step for the columns that are less than a step. It
// loads the columns of a step that ends with the row, and shifts the others out.
func (f *evenOddQK) rest(rows []reg.VecVirtual, name string) {
	g := f.g
	g.CMPQ(f.columns, operand.Imm(0))
	g.JNE(operand.LabelRef(name + "sum"))
	left := g.Num("d")
	g.ANDQ(operand.Imm(2*stepWords-1), left)
	g.JZ(operand.LabelRef(name + "sum"))
	g.MOVQ(operand.I32(-1), f.columns) // none, nor are any less than a step
	g.ADDQ(left, left)
	g.SUBQ(operand.Imm(4*stepWords), left)
	g.ADDQ(left, f.rows.From)
	table, order := g.GP64(), g.Vec()
	g.LEAQ(g.Bytes("shifts", func(i int) uint8 {
		if i < 4*stepWords {
			return uint8(i)
		}
		return 1 << 7
	}), table)
	g.SUBQ(left, table)
	g.RepeatQuarter(g.Context, emit.At(table, 0), order)
	for x, row := range rows {
		g.LoadQuarters(g.Context, row, func(q int) operand.Mem { return f.rows.Row(4*q + x) })
		g.VPSHUFB(order, row, row)
	}
	g.MOVQ(operand.U32(1), f.steps)
	g.JMP(operand.LabelRef(name + "loaded"))
}

// store stores 4 lanes of all keys, and raises their maxima, key by key. The other half of 8 lanes
// follows.
func (f *evenOddQK) store() {
	g, sums := f.g, f.scores()
	g.Label("store")
	g.MulBroadcast(g.Context, g.Argument("scale"), sums[:4])
	s, p, lane, top := g.GP64(), g.Slice("max"), g.GP64(), g.XMM()
	g.MOVQ(f.lane, lane)
	g.MOVQ(f.s, s)
	g.LEAQ(emit.Indexed(s, lane, 4), s)
	g.LEAQ(emit.Indexed(p, lane, 4), p)
	t := g.Transpose4(slices.Clone(sums[:4]))
	g.VMOVUPS(emit.At(p, 0), top)
	for q := range g.Lanes() / 4 {
		for _, x := range t {
			x := g.Quarter(g.Context, x, q)
			g.VMOVUPS(x, emit.At(s, 0))
			g.VMAXPS(top, x, top)
			g.ADDQ(f.w, s)
		}
	}
	g.VMOVUPS(top, emit.At(p, 0))
	g.ADDQ(operand.Imm(4), f.lane)
	if len(sums) == 4 {
		return
	}
	g.CMPQ(f.columns, operand.Imm(0))
	g.JLE(operand.LabelRef("next"))
	g.MOVQ(operand.U32(0), f.columns)
	for i, x := range sums[4:] {
		g.VMOVAPS(x, sums[i])
	}
	g.JMP(operand.LabelRef("store"))
	g.Label("next")
}

// factors make float32 of words of two bfloat16, which products in bfloat16 take: those below 2^-56
// in magnitude become +0.
type factors struct {
	g                      *gen
	mask, magnitude, least operand.Op
}

func (g *gen) newFactors() *factors {
	at := func(bits uint32) operand.Op { return g.AtHand(g.Constant(bits)) }
	return &factors{g, at(0xffff0000), at(0x7fff7fff), at(spec.LeastBF16 | spec.LeastBF16>>16)}
}

// split makes words their upper halves, and returns their lower halves. The sign of the magnitude
// less the least one that stays, spread, clears a half.
func (f *factors) split(t reg.VecVirtual) (lower reg.VecVirtual) {
	a := f.g.Vec()
	f.g.VANDPS(f.magnitude, t, a)
	f.g.VPSUBW(f.least, a, a)
	f.g.VPSRAW(operand.Imm(15), a, a)
	f.g.VANDNPS(t, a, t)
	f.g.VPSLLD(operand.Imm(16), t, a)
	f.g.VANDPS(f.mask, t, t)
	return a
}
