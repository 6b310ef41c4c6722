package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Gemm does nearly all the work of attention:
//
//	C[i][lane] = Σ A[i·rs + x·cs] · B[x·ldb + lane], x ascending, one fma each
//
// The steps x are cut into segments. The sum of each starts from +0 and is added to those
// before it, which wait in C meanwhile.
//
// It is computed as an outer product: every step of x takes a row of B, some vectors wide,
// multiplies it with one number from each row of A, and adds the products to the
// accumulators, rows × vectors of them, which stay in registers:
//
//	          B[x]      b0   b1
//	A[0][x]  a ───►   acc00 acc01
//	A[1][x]  a ───►   acc10 acc11
//	  ...                ...
//
// A step takes rows·vectors FMAs and rows + vectors loads, so larger register tiles save
// loads. There must be enough accumulators to hide the latency of an FMA (2 units · 4
// cycles = 8), and few enough to leave registers for b and a. The shapes are data of the
// ISA.
//
// Addresses: the rows of A lie rs bytes apart. From one moving pointer p, rows 0, 1, 2, 4,
// 8 are p + rs·{0, 1, 2, 4, 8}. The others need odd multiples of rs, which are kept in
// registers: 3 (rows 3, 6, 12), 5 (5, 10), 7, 9, 11.
//
// General registers in the inner loop: p, cs, rs and its odd multiples (5), b, ldb, steps
// left of the segment. Around it: a, c and rows left. That is 14 of 15. All else is in memory,
// in the place of arguments, see gemmer. A call for a single segment writes as little there as
// it can: on Zen 3, one with a single row of A takes 5 to 10% longer if it writes all of that.

// unroll is the number of steps per iteration of the inner loop.
const unroll = 2

func (g *gen) Gemm(s spec.TileShape, e spec.Epilogue) {
	g.Kernel(spec.Gemm(s.Vectors, s.Vectors*g.Lanes(), e))
	t := &gemmer{g: g, vectors: s.Vectors, epilogue: e}
	if s.Prefetch {
		t.prefetched = s.Rows
	}
	t.emit(s.Rows)
}

func (g *gen) WeightGemm(s spec.TileShape, b spec.Element) {
	variants := g.WeightVariants()
	for _, v := range variants {
		g.Kernel(v.Function(b))
		t := &gemmer{g: g, vectors: s.Vectors, weights: true, element: b, variant: v}
		t.emit(s.Rows)
	}
	if variants == nil {
		g.Kernel(spec.WeightGemm(b))
		t := &gemmer{g: g, vectors: s.Vectors, weights: true, element: b}
		t.emit(s.Rows)
	}
}

// A gemmer emits one product.
type gemmer struct {
	g        *gen
	vectors  int
	epilogue spec.Epilogue
	weights  bool
	element  spec.Element // of B
	variant  spec.WeightVariant

	a, c, m     reg.GPVirtual // row of A, row of C, rows left
	rs, cs, ldb reg.GPVirtual // in bytes
	odd         map[int]reg.GPVirtual

	prefetched int          // rows of the register tiles that prefetch A, 0 for none; see gemm_prefetch.go
	ahead      reg.Register // distance of the columns to prefetch, in bytes, if there are any

	next    reg.GPVirtual // next line to prefetch of the next part of the panel, see gemm_weights.go
	nextEnd operand.Mem   // the part's end
	lines   int           // that an iteration prefetches

	// first is the argument k, which becomes the steps of the first segment. With a single
	// segment a tile needs first and more alone.
	first operand.Mem
	more  operand.Mem // not 0 if there is more to do than to store a single segment
	rest  operand.Mem // steps after the first segment
	left  operand.Mem // steps after the current segment
	adds  operand.Mem // not 0 if the current segment is added to C
	ldc   operand.Mem // in bytes, while segments are added
}

// emit emits the loop over the rows. All register tiles but the last two have full height.
// The last two share the remaining rows evenly, as very low tiles are slow: their few
// accumulators wait for each other.
func (t *gemmer) emit(rows int) {
	if t.epilogue != spec.StoreMerge {
		t.single()
		defer t.cut()
	}
	t.a, t.c = t.g.Slice("a"), t.g.Slice("c")
	t.rs, t.cs, t.ldb = t.g.Stride("rs"), t.g.Stride("cs"), t.g.Num("ldb")
	t.g.SHLQ(operand.U8(t.element.Shift()), t.ldb)
	t.m = t.g.Num("m")
	t.oddMultiples(rows)
	if t.fetchesNext(rows) {
		t.prepareNext(rows)
	}

	t.g.Commentf("Tiles of %d rows while that many are left for another one after; the last two share the rest.", rows)
	t.g.Label("rows")
	t.g.CMPQ(t.m, operand.U32(2*rows))
	t.g.JGE(operand.LabelRef(tileLabel(rows)))
	t.g.CMPQ(t.m, operand.U32(rows))
	t.g.JE(operand.LabelRef(tileLabel(rows)))
	height := t.g.GP64()
	t.g.MOVQ(t.m, height)
	t.g.JL(operand.LabelRef("last"))
	t.g.INCQ(height)
	t.g.SHRQ(operand.Imm(1), height)
	t.g.Label("last")
	t.g.TESTQ(height, height)
	t.g.JZ(operand.LabelRef("done"))
	for h := 1; h <= rows; h++ { // one row first: some calls have no more
		t.g.CMPQ(height, operand.U32(h))
		t.g.JE(operand.LabelRef(tileLabel(h)))
	}
	t.g.Label("done")
	t.g.Return()

	for h := rows; h > 0; h-- {
		t.one(h)
	}
}

func tileLabel(rows int) string { return fmt.Sprintf("tile%d", rows) }

// oddMultiples computes the odd multiples of rs that the addresses of rows need.
func (t *gemmer) oddMultiples(rows int) {
	t.odd = map[int]reg.GPVirtual{1: t.rs}
	for o := 3; o < rows; o += 2 {
		r := t.g.GP64()
		t.g.LEAQ(emit.Indexed(t.odd[o-2], t.rs, 2), r)
		t.odd[o] = r
	}
}

// address returns the address of the number of row i at p.
func (t *gemmer) address(p reg.Register, i int) operand.Mem {
	if i == 0 {
		return emit.At(p, 0)
	}
	scale := uint8(1)
	for i%2 == 0 && scale < 8 {
		i, scale = i/2, scale*2
	}
	return emit.Indexed(p, t.odd[i], scale)
}

// one emits a register tile of a number of rows.
func (t *gemmer) one(rows int) {
	name := tileLabel(rows)
	t.g.Commentf("Tile of %d × %d vectors.", rows, t.vectors)
	t.g.Label(name)
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		acc[i] = t.g.Vecs(t.vectors)
	}
	p, b := t.copyOf(t.a), t.g.Slice("b")
	t.lookAhead(rows, p)
	t.fetchSums(acc, name)
	if t.epilogue == spec.StoreMerge {
		t.zeros(acc)
		t.steps(acc, t.g.Num("k"), p, b, name)
	} else {
		k := t.g.GP64()
		t.g.MOVQ(t.first, k)
		t.g.Label(name + "segment")
		t.zeros(acc)
		t.prefetchRows(rows, p)
		t.steps(acc, k, p, b, name)
		t.g.CMPQ(t.more, operand.Imm(0))
		t.g.JNE(operand.LabelRef(name + "more"))
		t.g.Label(name + "last")
		defer t.moreSegments(acc, k, name)
	}
	switch t.epilogue {
	case spec.StoreMax:
		t.storeMax(acc)
	case spec.StoreMerge:
		t.storeMerge(acc)
	default:
		t.eachRow(acc, func(i, v int, c operand.Mem) { t.g.VMOVUPS(acc[i][v], c) })
	}
	t.g.Comment("Go on to the next rows.")
	t.g.SUBQ(operand.U32(rows), t.m)
	t.skip(t.a, rows)
	t.g.JMP(operand.LabelRef("rows"))
}

// fetchSums prefetches C if the first segment is added to it. By the time it is needed, the
// processor cannot look ahead to the next tile's any more. The gradients of attention, which are
// added up in memory, take 2 to 4% less time on Emerald Rapids with 2048 keys of 128 numbers. AVX2's
// smaller tiles have no register left for it.
func (t *gemmer) fetchSums(acc [][]reg.VecVirtual, name string) {
	if t.weights || t.epilogue != spec.Store || len(acc)*t.vectors < busy {
		return
	}
	t.g.CMPQ(t.more, operand.Imm(0))
	t.g.JE(operand.LabelRef(name + "fetched"))
	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(operand.LabelRef(name + "fetched"))
	c, ldc := t.copyOf(t.c), t.g.Stride("ldc")
	for range acc {
		for v := 0; v < t.vectors*t.g.VecBytes(); v += spec.LineBytes {
			t.g.PREFETCHT0(emit.At(c, v))
		}
		t.g.ADDQ(ldc, c)
	}
	t.g.Label(name + "fetched")
}

// skip moves p over a number of rows of A, in powers of two.
func (t *gemmer) skip(p reg.GPVirtual, rows int) {
	for rows > 0 {
		n := 8
		for n > rows {
			n /= 2
		}
		t.g.LEAQ(emit.Indexed(p, t.rs, uint8(n)), p)
		rows -= n
	}
}

// single emits the test whether there is more to do than to store a single segment.
func (t *gemmer) single() {
	c, a, b := t.g.Param("c"), t.g.Param("a"), t.g.Param("b")
	t.first, t.more, t.rest = t.g.Argument("k"), t.g.Memory(c.Len()), t.g.Memory(c.Cap())
	t.left, t.adds, t.ldc = t.g.Memory(a.Len()), t.g.Memory(a.Cap()), t.g.Memory(b.Cap())
	k := t.g.Num("k")
	if t.weights {
		t.g.CMPQ(k, operand.U32(spec.InputSegment))
	} else {
		t.g.CMPQ(k, t.g.Argument("seg"))
	}
	t.g.JG(operand.LabelRef("cut"))
	if t.epilogue == spec.Store {
		t.g.CMPB(t.g.Argument("load"), operand.Imm(0))
		t.g.JNE(operand.LabelRef("cut"))
	}
	t.g.MOVQ(operand.U32(0), t.more)
	t.g.Label("tiles")
}

// cut emits the cut into segments.
func (t *gemmer) cut() {
	t.g.Comment("There are several segments, or C is the first summand.")
	t.g.Label("cut")
	rest, first := t.g.Num("k"), t.g.GP64()
	t.g.MOVQ(rest, first)
	t.limit(first)
	t.g.SUBQ(first, rest)
	t.g.MOVQ(first, t.first)
	t.g.MOVQ(rest, t.rest)
	t.g.MOVQ(rest, t.left)
	t.addsFirst()
	t.g.MOVQ(operand.U32(1), t.more)
	t.g.JMP(operand.LabelRef("tiles"))
}

// addsFirst sets adds for the first segment of a tile.
func (t *gemmer) addsFirst() {
	load := t.g.GP64()
	if t.epilogue == spec.Store {
		t.g.MOVBQZX(t.g.Argument("load"), load)
	} else {
		t.g.XORQ(load, load)
	}
	t.g.MOVQ(load, t.adds)
}

// limit limits a number of steps to those of a segment.
func (t *gemmer) limit(k reg.GPVirtual) {
	if t.weights {
		segment := t.g.GP64()
		t.g.MOVQ(operand.U32(spec.InputSegment), segment)
		t.g.CMPQ(k, segment)
		t.g.CMOVQGT(segment, k)
		return
	}
	t.g.CMPQ(k, t.g.Argument("seg"))
	t.g.CMOVQGT(t.g.Argument("seg"), k)
}

// moreSegments emits what follows a segment, unless it is the only one and C holds no sum: it
// is added to C, and the next one begins.
func (t *gemmer) moreSegments(acc [][]reg.VecVirtual, k reg.GPVirtual, name string) {
	t.g.Label(name + "more")
	ldc := t.g.Stride("ldc")
	t.g.MOVQ(ldc, t.ldc)
	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(operand.LabelRef(name + "sum"))
	t.eachVector(t.copyOf(t.c), t.ldc, acc, func(i, v int, c operand.Mem) { t.g.VADDPS(c, acc[i][v], acc[i][v]) })
	t.g.Label(name + "sum")
	t.g.CMPQ(t.left, operand.Imm(0))
	t.g.JNE(operand.LabelRef(name + "next"))
	t.g.Comment("It was the last one: the next tile begins with the first one.")
	t.g.Move(t.rest, t.left)
	t.addsFirst()
	t.g.JMP(operand.LabelRef(name + "last"))
	t.g.Label(name + "next")
	t.eachVector(t.copyOf(t.c), t.ldc, acc, func(i, v int, c operand.Mem) { t.g.VMOVUPS(acc[i][v], c) })
	t.g.MOVQ(operand.U32(1), t.adds)
	t.g.MOVQ(t.left, k)
	t.limit(k)
	t.g.SUBQ(k, t.left)
	t.g.JMP(operand.LabelRef(name + "segment"))
}

// zeros clears the accumulators.
func (t *gemmer) zeros(acc [][]reg.VecVirtual) {
	for i := range acc {
		for _, v := range acc[i] {
			t.g.Zero(t.g.Context, v)
		}
	}
}

func (t *gemmer) copyOf(r reg.GPVirtual) reg.GPVirtual {
	x := t.g.GP64()
	t.g.MOVQ(r, x)
	return x
}

// steps emits k steps, of A from p on and of B from b on: the unrolled inner loop, and a loop
// for the remaining steps. On Zen 4
// iterations of 1 to 8 steps are equally fast. Two steps halve the overhead of the loop
// on CPUs with two FMAs of full width per cycle.
func (t *gemmer) steps(acc [][]reg.VecVirtual, k, p, b reg.GPVirtual, name string) {
	if len(acc) == 1 {
		t.denseSteps(acc[0], k, p, b, name)
	}
	t.g.SUBQ(operand.Imm(unroll), k)
	t.g.JL(operand.LabelRef(name + "fewer"))
	if t.next != nil && len(acc) > 1 {
		t.stepsWithNext(acc, k, p, b, name)
	}
	t.g.Comment("One step: a row of B times a number of every row of A.")
	if t.next == nil || len(acc) == 1 { // of two loops that are aligned, Go's assembler finds no end
		t.g.AlignLoop()
	}
	t.g.Label(name + "steps")
	for range unroll {
		t.step(acc, p, b)
	}
	t.prefetchColumns(p)
	t.g.SUBQ(operand.Imm(unroll), k)
	t.g.JGE(operand.LabelRef(name + "steps"))
	t.g.Label(name + "fewer")
	t.g.ADDQ(operand.Imm(unroll), k)
	t.g.JZ(operand.LabelRef(name + "done"))
	t.g.Label(name + "step")
	t.step(acc, p, b)
	t.g.DECQ(k)
	t.g.JNZ(operand.LabelRef(name + "step"))
	t.g.Label(name + "done")
}

// denseSteps emits a loop of eight steps for a single row of A, for numbers of A and rows
// of B without gaps. Such a tile waits for its own chain. The fewer instructions it has,
// the more of the next call starts meanwhile.
func (t *gemmer) denseSteps(acc []reg.VecVirtual, k, p, b reg.GPVirtual, name string) {
	const steps = 8
	row := t.vectors * t.bytesOfB()
	t.g.CMPQ(t.cs, operand.Imm(4))
	t.g.JNE(operand.LabelRef(name + "sparse"))
	t.g.CMPQ(t.ldb, operand.U32(row))
	t.g.JNE(operand.LabelRef(name + "sparse"))
	t.g.SUBQ(operand.Imm(steps), k)
	t.g.JL(operand.LabelRef(name + "fewdense"))
	t.g.AlignLoop()
	t.g.Label(name + "dense")
	for i := range steps {
		a := t.g.Vec()
		t.g.VBROADCASTSS(emit.At(p, 4*i), a)
		for v := range acc {
			t.g.VFMADD231PS(t.operandOfB(emit.At(b, i*row+v*t.bytesOfB())), a, acc[v])
		}
		t.prefetchPanel(1, b, i*row)
	}
	t.g.ADDQ(operand.U32(4*steps), p)
	t.g.ADDQ(operand.U32(steps*row), b)
	t.g.SUBQ(operand.Imm(steps), k)
	t.g.JGE(operand.LabelRef(name + "dense"))
	t.g.Label(name + "fewdense")
	t.g.ADDQ(operand.Imm(steps), k)
	t.g.Label(name + "sparse")
}

// step emits one step, and moves p and b to the next one. Of the numbers of A and the
// vectors of B, the fewer stay in registers, and the others are loaded one by one.
func (t *gemmer) step(acc [][]reg.VecVirtual, p, b reg.GPVirtual) {
	switch {
	case len(acc) < t.vectors:
		as := t.g.Vecs(len(acc))
		for i := range as {
			t.g.VBROADCASTSS(t.address(p, i), as[i])
		}
		for v := range t.vectors {
			m := emit.At(b, v*t.bytesOfB())
			if len(acc) == 1 { // the vector is used once
				t.g.VFMADD231PS(t.operandOfB(m), as[0], acc[0][v])
				continue
			}
			x := t.loadB(m)
			for i := range acc {
				t.g.VFMADD231PS(x, as[i], acc[i][v])
			}
		}
	case t.vectors == 1:
		x := t.loadB(emit.At(b, 0))
		for i := range acc {
			t.g.FMABroadcast(t.g.Context, t.address(p, i), x, acc[i][0])
		}
	default:
		bs := make([]reg.VecVirtual, t.vectors)
		for v := range bs {
			bs[v] = t.loadB(emit.At(b, v*t.bytesOfB()))
		}
		for i := range acc {
			a := t.g.Vec()
			t.g.VBROADCASTSS(t.address(p, i), a)
			for v := range bs {
				t.g.VFMADD231PS(bs[v], a, acc[i][v])
			}
		}
	}
	t.prefetchPanel(len(acc), b, 0)
	t.g.ADDQ(t.ldb, b)
	t.g.ADDQ(t.cs, p)
}

// bytesOfB is the size of a vector of B in memory.
func (t *gemmer) bytesOfB() int { return t.g.Lanes() << t.element.Shift() }

// loadB loads a vector of B.
func (t *gemmer) loadB(m operand.Mem) reg.VecVirtual {
	x := t.g.Vec()
	t.g.LoadWide(t.element, m, x)
	return x
}

// operandOfB returns a vector of B as the operand of its only FMA: memory, if it needs no
// conversion.
func (t *gemmer) operandOfB(m operand.Mem) operand.Op {
	if t.element == spec.Float32 {
		return m
	}
	return t.loadB(m)
}

// eachRow moves c over the rows of C and calls f with the memory of each vector.
func (t *gemmer) eachRow(acc [][]reg.VecVirtual, f func(i, v int, c operand.Mem)) {
	t.eachVector(t.c, t.g.Stride("ldc"), acc, f)
}

// eachVector does the same with any pointer.
func (t *gemmer) eachVector(c reg.GPVirtual, ldc operand.Op, acc [][]reg.VecVirtual, f func(i, v int, c operand.Mem)) {
	for i := range acc {
		for v := range acc[i] {
			f(i, v, emit.At(c, v*t.g.VecBytes()))
		}
		t.g.ADDQ(ldc, c)
	}
}

// storeMax stores C and raises max. VMAXPS returns its second source if one is NaN or both
// are zero, which here is the running maximum.
func (t *gemmer) storeMax(acc [][]reg.VecVirtual) {
	t.g.Comment("Store; max = C > max ? C : max.")
	p := t.g.Slice("max")
	max := t.g.Vecs(t.vectors)
	for v := range max {
		t.g.VMOVUPS(emit.At(p, v*t.g.VecBytes()), max[v])
	}
	t.eachRow(acc, func(i, v int, c operand.Mem) {
		t.g.VMOVUPS(acc[i][v], c)
		t.g.VMAXPS(max[v], acc[i][v], max[v])
	})
	for v := range max {
		t.g.VMOVUPS(max[v], emit.At(p, v*t.g.VecBytes()))
	}
}

// storeMerge merges into C. It leaves alpha and beta in memory, as AVX2 has no registers
// for them.
func (t *gemmer) storeMerge(acc [][]reg.VecVirtual) {
	t.g.Comment("C = fma(acc, beta, C·alpha)")
	alpha, beta := t.g.Slice("alpha"), t.g.Slice("beta")
	t.eachRow(acc, func(i, v int, c operand.Mem) {
		x := t.g.Vec()
		t.g.VMOVUPS(c, x)
		t.g.VMULPS(emit.At(alpha, v*t.g.VecBytes()), x, x)
		t.g.VFMADD231PS(emit.At(beta, v*t.g.VecBytes()), acc[i][v], x)
		t.g.VMOVUPS(x, c)
	})
}
