package neon

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// Products of quantized rows with quantized weights, see amd64/int8.go: block by block of the
// panel, and in a block one group of vectors after the other, with the sums over the blocks in C.
// How a block is summed up depends on the CPU: files int8_dot.go and int8_long.go. Each has one
// function for all formats with one scale, which differ in one loop and in the minima, and one for
// grouped formats (int8_grouped.go). The kernels write down their format and jump there.
//
// SCVTF takes as long as 4 products on Neoverse N1. So the sums of a block begin with an integer
// that is the bits of 1.5·2^23, plus what makes up for the offset. Read as a float32 they are
// 1.5·2^23 plus the sum, whose magnitude is below 2^22, and a subtraction gives the sum, exactly.
// What they begin with is a vector on the stack for each row, made once for all lanes of a block:
// to load it takes no vector unit. 8-bit numbers need nothing that makes up for their offset: with
// their highest bit flipped they are signed.
//
// General registers: x and its current block, ldx, c, ldc, the block, the lanes, the bytes of a
// word of all lanes, of the headers and of the block, the first lane of the group, its numbers, the
// inputs and the rows left, three for the format, three scratch, and up to four for a loop over
// words.
//
// Vector registers: a mask and 1.5·2^23; while a block is summed up accumulators, words of the rows
// and weights; at its end accumulators, two scales, two minima, the scale and the sum of a row, two
// products of scales and two vectors of C.

// int8Vectors is the width of tiles. It divides the lanes of all panels.
const int8Vectors = 2

// An int8Gemmer emits the products of one int8Dot.
type int8Gemmer struct {
	*neon
	rows  int // of a tile
	acc   [][]a64.Vec
	frame []a64.Local // on the stack, see int8Blocks

	x, xb, ldx, c, ldc, block     a64.GP // distances in bytes
	lanes, word, head, size, lane a64.GP
	numbers, left, m              a64.GP
	more, minima, offset          a64.GP // more: bits beyond 4; minima: not 0 if there are some
	p, q, t                       a64.GP // scratch
	mask                          a64.Vec
	values                        bool    // numbers stand for values: E2M1's with their offset, or if minima is not 0, IQ4's without
	table                         a64.Vec // of these
	constant                      a64.Vec // see int8Blocks.constants
}

// int8Blocks is what a kernel does with blocks.
type int8Blocks interface {
	// heights are the heights of tiles, the largest first and 1 last.
	heights() []int

	// rowVectors is how many vectors on the stack each row of a tile has.
	rowVectors() int

	// constants loads what all tiles need, beside the mask.
	constants(t *int8Gemmer)

	// begin emits what is done once for a block of the rows.
	begin(t *int8Gemmer, name string)

	// group emits the sums of a block for a group of vectors, and adds them to C.
	group(t *int8Gemmer, name func(part string) string)
}

// An int8Dot is how the numbers of a block are summed up.
type int8Dot interface {
	heights() []int

	// eight and four emit sums of numbers of 8 and 4 bits, on top of the starts, into acc.
	eight(t *int8Gemmer, name string)
	four(t *int8Gemmer, name string)
}

// WeightGemmInt8 emits two kernels: for CPUs with SDOT and without.
func (g *neon) WeightGemmInt8(q ukernel.PackedFormat) {
	first, kind, values := q == spec.SingleFormats[0], "", q.Values() != nil
	if values {
		first, kind = q.BFloat16Scales(), "Values"
	}
	g.gemmInt8("weightInt8Long"+kind, first, spec.WeightGemmInt8(q), q, singleBlocks{longDot{}, values})
	g.gemmInt8("weightInt8Dot"+kind, first, spec.WeightGemmInt8Dot(q), q, singleBlocks{sdot{}, values})
}

// format are the places of arguments where a kernel writes down what its format is. header is what
// a lane has in a block before its numbers, without a head.
func (g *neon) format() (mask, more, offset, minima, header a64.Param) {
	return g.Len("c").Local(), g.Cap("c").Local(), g.Len("x").Local(), g.Cap("x").Local(), g.Len("b").Local()
}

func (t *int8Gemmer) minimaParam() a64.Param {
	_, _, _, minima, _ := t.format()
	return minima
}

// gemmInt8 emits the kernel of a format, and before the first one that which all of them jump to.
func (g *neon) gemmInt8(shared string, first bool, f spec.Function, q ukernel.PackedFormat, blocks int8Blocks) {
	if first {
		g.Shared(shared, f, "is GemmInt8 of several formats, which jump to it.")
		(&int8Gemmer{neon: g}).emit(blocks)
	}
	g.Kernel(f)
	r := g.GP()
	set := func(to a64.Param, n int) {
		g.Op("MOVD", n, r)
		g.Op("MOVD", r, to)
	}
	mask, more, offset, minima, header := g.format()
	switch {
	case q.Grouped() && q.Bits() == 8:
		set(mask, 0x80)
		set(offset, offsetOf(q))
	case q.Grouped():
		set(mask, (1<<(q.Bits()-4)-1)<<4)
		set(offset, offsetOf(q))
	case q.Bits() == 8:
		set(mask, 0x80)
		set(offset, 0)
	case q.Values() != nil:
		set(mask, 0x0f)
		set(offset, 0)
	default:
		set(mask, 0x0f)
		set(offset, q.Offset())
	}
	set(more, q.Bits()-4)
	if q == ukernel.IQ4 {
		set(minima, 1) // see int8Gemmer.values
	} else {
		set(minima, q.HeadBytes()-2)
	}
	if q.Grouped() {
		set(header, q.IntegerBytes())
	} else {
		set(header, q.HeaderBytes())
	}
	g.TailJump(shared)
}

func (t *int8Gemmer) emit(blocks int8Blocks) {
	g := t.neon
	mask, more, offset, minima, header := g.format()
	t.c, t.ldc, t.ldx, t.lanes, t.m, t.x = g.Slice("c"), g.Stride("ldc"), g.Stride("ldx"), g.Num("lanes"), g.Num("m"), g.Slice("x")
	t.xb, t.block, t.word, t.head, t.size, t.lane, t.numbers, t.left = g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	t.p, t.q, t.t = g.GP(), g.GP(), g.GP()
	t.frame = g.Frame(blocks.heights()[0] * blocks.rowVectors())
	t.clear()
	t.mask = g.Vec()
	g.Load(mask, t.t)
	g.Op("VDUP", t.t, t.mask.B16())
	blocks.constants(t)
	t.more, t.offset, t.minima = g.LoadParam(more), g.LoadParam(offset), g.LoadParam(minima)
	g.Op("LSL", 2, t.lanes, t.word)
	g.Load(header, t.head)
	g.Op("MUL", t.lanes, t.head, t.head)
	g.Op("ADD", 4, t.more, t.size)
	g.Op("MADD", t.word, t.head, t.size, t.size)
	for _, t.rows = range blocks.heights() {
		t.tile(blocks)
	}
	g.Ret()
}

// clear sets C to zeros unless it is loaded.
func (t *int8Gemmer) clear() {
	t.Scope(func() {
		zero, m := t.Vec(), t.GP()
		t.Load(t.Param("load"), t.t)
		t.Jump("CBNZ", "cleared", t.t)
		t.Jump("CBZ", "cleared", t.m)
		t.Zero(zero)
		t.Op("MOVD", t.c, t.p)
		t.Op("MOVD", t.m, m)
		t.Label("clear")
		t.Op("MOVD", t.p, t.q)
		t.Op("MOVD", t.lanes, t.t)
		t.Label("clearlanes")
		t.Op("FMOVQ.P", zero, a64.At(t.q, emit.VecBytes))
		t.CountDown(t.t, emit.VecLanes, "clearlanes")
		t.Op("ADD", t.ldc, t.p, t.p)
		t.CountDown(m, 1, "clear")
		t.Label("cleared")
	})
}

// tile emits the loop over tiles of a height.
func (t *int8Gemmer) tile(blocks int8Blocks) {
	name := func(part string) string { return fmt.Sprintf("rows%d%s", t.rows, part) }
	t.Commentf("Tiles of %d × %d vectors.", t.rows, int8Vectors)
	t.Label(name(""))
	t.Op("CMP", t.rows, t.m)
	t.Jump("BLT", name("done"))
	t.Op("MOVD", t.x, t.xb)
	t.Load(t.Base("b"), t.block)
	t.Load(t.Param("k"), t.left)
	t.Label(name("block"))
	t.Scope(func() { blocks.begin(t, name("begin")) })
	t.Op("MOVD", 0, t.lane)
	t.Label(name("lanes"))
	t.Op("ADD", t.head, t.block, t.numbers)
	t.Op("ADD", t.lane.Shl(2), t.numbers, t.numbers)
	t.Scope(func() { blocks.group(t, name) })
	t.Op("ADD", int8Vectors*emit.VecLanes, t.lane, t.lane)
	t.Op("CMP", t.lanes, t.lane)
	t.Jump("BLT", name("lanes"))
	t.Op("ADD", t.size, t.block, t.block)
	t.Op("ADD", spec.RowBytes, t.xb, t.xb)
	t.CountDown(t.left, spec.BlockSteps, name("block"))

	t.Commentf("Go on to the next rows.")
	t.Op("MOVD", t.rows, t.t)
	t.Op("MADD", t.t, t.c, t.ldc, t.c)
	t.Op("MADD", t.t, t.x, t.ldx, t.x)
	t.Op("SUB", t.rows, t.m, t.m)
	t.Jump("B", name(""))
	t.Label(name("done"))
}

// eachRow emits a loop over the rows of the tile, if it has several. It uses up count.
func (t *int8Gemmer) eachRow(count a64.GP, name string, body func()) {
	if t.rows == 1 {
		body()
		return
	}
	t.Op("MOVD", t.rows, count)
	loop.Times(t.neon, count, name, body)
}

// newAcc allocates n vectors for each row.
func (t *int8Gemmer) newAcc(n int) (acc [][]a64.Vec) {
	for range t.rows {
		acc = append(acc, t.Vecs(n))
	}
	return acc
}

// singleBlocks have one scale, and perhaps a minimum. The sums of formats with bfloat16 scales
// contain the offset.
type singleBlocks struct {
	int8Dot
	values bool // numbers stand for them
}

func (singleBlocks) rowVectors() int { return 1 }

func (b singleBlocks) constants(t *int8Gemmer) {
	t.constant = t.Broadcast(spec.RoundMagic)
	if t.values = b.values; t.values {
		t.table = t.valueBytes(ukernel.E2M1)
		t.Load(t.minimaParam(), t.t)
		t.Jump("CBZ", "valuesloaded", t.t)
		t.Op("MOVD", t.valueData(ukernel.IQ4, ukernel.IQ4.Offset()), t.p)
		t.LoadFrom(a64.At(t.p, 0), t.table)
		t.Label("valuesloaded")
	}
}

// begin stores what the sums of a block begin with.
func (singleBlocks) begin(t *int8Gemmer, _ string) {
	v, bias := t.Vec(), t.q
	t.Op("MOVD", spec.RoundMagic, bias)
	t.Op("MOVD", t.xb, t.p)
	for i := range t.rows {
		t.Op("MOVW", a64.At(t.p, spec.RowMinusSum), t.t)
		t.Op("ADD", t.ldx, t.p, t.p)
		t.Op("MADD", t.offset, bias, t.t, t.t)
		t.Op("VDUP", t.t, v.S4())
		t.Op("FMOVQ", v, t.frame[i])
	}
}

func (b singleBlocks) group(t *int8Gemmer, name func(part string) string) {
	t.acc = t.newAcc(int8Vectors)
	four := func() { t.Scope(func() { b.four(t, name("word")) }) }
	if b.values { // all have 4 bits
		four()
	} else {
		t.Jump("CBZ", name("four"), t.more)
		t.Scope(func() { b.eight(t, name("eight")) })
		t.Jump("B", name("sums"))
		t.Label(name("four"))
		four()
		t.Label(name("sums"))
	}
	t.addToC(name)
}

// start loads what the sums of a row begin with.
func (t *int8Gemmer) start(row int, v a64.Vec) { t.Op("FMOVQ", t.frame[row], v) }

// codes loads 16 bytes of codes of every row. The first row's are at p.
func (t *int8Gemmer) codes(xs []a64.Vec) {
	for i, x := range xs {
		if i > 0 {
			t.Op("ADD", t.ldx, t.p, t.p)
		}
		t.LoadFrom(a64.At(t.p, 0), x)
	}
}

// lower sets to to the numbers in the lower halves of bytes, or their values, and upper x to those
// in its upper halves.
func (t *int8Gemmer) lower(x, to a64.Vec) {
	t.Op("VAND", t.mask.B16(), x.B16(), to.B16())
	t.lookUp(to)
}

func (t *int8Gemmer) upper(x a64.Vec) {
	t.Op("VUSHR", 4, x.B16(), x.B16())
	t.lookUp(x)
}

func (t *int8Gemmer) lookUp(x a64.Vec) {
	if t.values {
		t.Op("VTBL", x.B16(), []a64.Arr{t.table.B16()}, x.B16())
	}
}

// prefetch prefetches what is blockAhead of a word of the group.
func (t *int8Gemmer) prefetch(word a64.GP) {
	t.Op("PRFM", a64.At(word, blockAhead), emit.Hint("PLDL1KEEP"))
}

// addToC scales the sums and adds them to C, and then the minima.
func (t *int8Gemmer) addToC(name func(part string) string) {
	t.Op("ADD", t.lane.Shl(1), t.block, t.p)
	scales := t.scalesOf(t.values, t.p, int8Vectors)
	t.Jump("CBZ", name("scale"), t.minima)
	var minima []a64.Vec
	if t.values {
		t.loadScales(false, t.p, 0, scales)
	} else {
		t.Op("ADD", t.lanes.Shl(1), t.p, t.p)
		minima = t.halves(t.p, 0, int8Vectors)
	}
	t.Label(name("scale"))
	x, products, cs := t.Vec(), t.Vecs(int8Vectors), t.Vecs(int8Vectors)
	t.Op("MOVD", t.xb, t.p)
	t.Op("ADD", t.lane.Shl(2), t.c, t.q)
	for i, row := range t.acc {
		done := name(fmt.Sprintf("row%d", i))
		t.LoadFrom(a64.At(t.p, spec.RowScale), x)
		t.Op("ADD", t.ldx, t.p, t.p)
		t.LoadVecs(t.q, cs)
		for v, acc := range row {
			t.FSUB(acc, acc, t.constant)
			t.FMULLane(products[v], scales[v], x.S(0))
			t.Op("VFMLA", products[v].S4(), acc.S4(), cs[v].S4())
		}
		if t.values {
			t.Jump("CBNZ", done, t.minima)
			t.addOffset(x, products, cs)
		} else {
			t.Jump("CBZ", done, t.minima)
		}
		for v, m := range minima {
			t.FMLALane(cs[v], m, x.S((spec.RowSum-spec.RowScale)/4))
		}
		t.Label(done)
		t.StoreVecs(cs, t.q)
		t.Op("ADD", t.ldc, t.q, t.q)
	}
}

// addOffset adds what makes up for the offset of a format with bfloat16 scales to C: what a row has
// from its scale on is in x.
func (t *int8Gemmer) addOffset(x a64.Vec, products, cs []a64.Vec) {
	t.Op("VSHL", bits.TrailingZeros(uint(ukernel.E2M1.Offset())), x.S4(), x.S4())
	t.SCVTF(x, x)
	for v, c := range cs {
		t.FMLALane(c, products[v], x.S((spec.RowMinusSum-spec.RowScale)/4))
	}
}

// WeightQuantize follows amd64/int8.go, with 8 vectors. SLI puts the bytes of a word together: it
// inserts a number, shifted, and leaves the bits below.
func (g *neon) WeightQuantize() {
	g.Kernel(spec.WeightQuantize)
	dst, src, n := g.Slice("dst"), g.Slice("src"), g.LoadParam(g.Len("src"))
	largest, infinity, least, sum, second := g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	most, unit, a, d, inverse, s := g.Broadcast(math.Float32bits(spec.MostCode)), g.Broadcast(spec.PerCode), g.Vec(), g.Vec(), g.Vec(), g.Vec()
	const vectors = spec.BlockSteps / emit.VecLanes
	xs, ts := g.Vecs(vectors), g.Vecs(vectors)
	g.Op("MOVD", spec.MinusInf&^spec.SignBit, infinity)
	g.Op("MOVD", spec.LeastOfBlock, least)
	g.JumpIfZero(n, "done")
	g.Label("block")
	for i, x := range xs {
		g.LoadFrom(a64.At(src, i*emit.VecBytes), x)
		g.FABS(ts[i], x)
	}
	// tree combines the vectors in place, the result in the first one.
	tree := func(vs []a64.Vec, op string) {
		for step := len(vs) / 2; step > 0; step /= 2 {
			for i := range step {
				g.Op(op, vs[i+step].S4(), vs[i].S4(), vs[i].S4())
			}
		}
	}
	tree(ts, "VUMAX")
	g.UMAXV(a, ts[0])
	g.Op("FMOVS", a, largest)
	g.Op("CMPW", infinity, largest)
	g.Jump("BHS", "infinite")
	g.Op("CMPW", least, largest)
	g.Jump("BLO", "zeros")

	g.Op("FDIVS", a, most, inverse)
	for i, x := range xs {
		g.FMULLane(x, x, inverse.S(0))
		g.FCVTNS(x, x)
		g.Op("VMOV", x.B16(), ts[i].B16())
	}
	for i := 2; i < vectors; i++ {
		g.Op("VSLI", i/2*8, xs[i].S4(), xs[i%2].S4())
	}
	g.StoreTo(xs[0], a64.At(dst, 0))
	g.StoreTo(xs[1], a64.At(dst, emit.VecBytes))
	tree(ts[:vectors/2], "VADD")
	tree(ts[vectors/2:], "VADD")
	g.Op("VADD", ts[vectors/2].S4(), ts[0].S4(), ts[0].S4())
	g.ADDV(s, ts[0])
	g.SCVTF(inverse, s)
	g.Op("FMULS", unit, a, d)
	g.Op("FMULS", d, inverse, inverse)
	g.Op("FMOVS", s, sum)
	g.Op("NEGW", sum, sum)
	g.Op("FMOVS", d, a64.At(dst, spec.RowScale))
	g.Op("FMOVS", inverse, a64.At(dst, spec.RowSum))
	g.Op("MOVW", sum, a64.At(dst, spec.RowMinusSum))
	g.ADDV(a, ts[vectors/2])
	g.Op("FMOVS", a, second)
	g.Op("ADDW", second, sum, sum)
	g.Op("NEGW", second, second)
	g.Op("MOVH", sum, a64.At(dst, spec.RowGroups))
	g.Op("MOVH", second, a64.At(dst, spec.RowGroups+2))
	g.Label("next")
	g.Advance(4*spec.BlockSteps, src)
	g.Advance(spec.RowBytes, dst)
	g.CountDown(n, spec.BlockSteps, "block")
	g.Label("done")
	g.Ret()

	g.Label("infinite")
	g.Op("MOVD", spec.NaN<<32|spec.NaN, sum)
	g.Jump("B", "fill")
	g.Label("zeros")
	g.Op("MOVD", 0, sum)
	g.Label("fill")
	g.Zero(s)
	for i := range spec.RowBytes / emit.VecBytes {
		g.StoreTo(s, a64.At(dst, i*emit.VecBytes))
	}
	g.Op("MOVD", sum, a64.At(dst, spec.RowScale))
	g.Jump("B", "next")
}
