package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Gemm follows amd64/gemm.go. An FMA takes the number of A from any lane of a register. So
// one load can bring several of them, which depends on the layout of A:
//
//	cs = 1 (rows without gaps, as K)     a load brings some steps of one row
//	rs = 1 (columns without gaps, as Vᵀ) a load brings one step of 4 rows
//	else                                 a load brings one number
//
// There is an inner loop for each, chosen by the strides. The last one also computes the
// steps that the others leave over. Nothing outside A is read: if the rows of a register
// tile are no multiple of 4, the last ones are loaded as 2 or 1.
//
// The register tile of WeightGemm has more vectors than rows. There the numbers of A stay
// in registers, for some steps at once, and the vectors of B are loaded one by one.
//
// Vector registers: rows × vectors accumulators, the rows of B of an iteration, and the
// remaining ones for A. General registers: c, ldc, a, m, cs, ldb, the inner loop's p, b and
// k, one scratch, and i·rs for each row but the first. What only segments need is in memory, in
// the place of arguments, as in amd64/gemm.go.

// A gemmer emits one product.
type gemmer struct {
	*neon
	shape    spec.TileShape
	element  spec.Element
	epilogue spec.Epilogue

	isWeights bool

	a, c, m      a64.GP
	cs, ldb, ldc a64.GP   // in bytes
	row          []a64.GP // row[i] is i·rs, in bytes
	p, b, k      a64.GP
	x            a64.GP // scratch

	first, more, rest, left, adds a64.Param // as in amd64/gemm.go

	acc [][]a64.Vec
}

func (g *neon) Gemm(s spec.TileShape, e spec.Epilogue) {
	g.Kernel(spec.Gemm(s.Vectors, s.Vectors*emit.VecLanes, e))
	t := &gemmer{neon: g, shape: s, epilogue: e}
	t.emit(s.Rows)
}

func (g *neon) WeightGemm(s spec.TileShape, b spec.Element) {
	g.Kernel(spec.WeightGemm(b))
	t := &gemmer{neon: g, shape: s, element: b, isWeights: true}
	t.emit(s.Rows)
}

// emit emits the loop over the rows, which are divided as in amd64/gemm.go.
func (t *gemmer) emit(rows int) {
	t.p, t.b, t.k = t.GP(), t.GP(), t.GP()
	if t.epilogue != spec.StoreMerge {
		t.single()
		defer t.cut()
	}
	t.a, t.c, t.m = t.Slice("a"), t.Slice("c"), t.Num("m")
	t.cs, t.ldb, t.ldc = t.Stride("cs"), t.Num("ldb"), t.Stride("ldc")
	t.Op("LSL", t.element.Shift(), t.ldb, t.ldb)
	t.row = []a64.GP{{}, t.Stride("rs")}
	for len(t.row) < rows {
		r := t.GP()
		t.Op("ADD", t.row[1], t.row[len(t.row)-1], r)
		t.row = append(t.row, r)
	}

	t.Commentf("Tiles of %d rows while that many are left for another one after; the last two share the rest.", rows)
	t.Label("rows")
	t.Op("CMP", 2*rows, t.m)
	t.Jump("BGE", tileLabel(rows))
	t.Op("CMP", rows, t.m)
	t.Jump("BEQ", tileLabel(rows))
	height := t.GP()
	t.Op("MOVD", t.m, height)
	t.Jump("BLT", "last")
	t.Op("ADD", 1, height, height)
	t.Op("LSR", 1, height, height)
	t.Label("last")
	t.Jump("CBZ", "done", height)
	for h := 1; h <= rows; h++ { // one row first: some calls have no more
		t.Op("CMP", h, height)
		t.Jump("BEQ", tileLabel(h))
	}
	t.x = height
	t.Label("done")
	t.Ret()
	for h := rows; h > 0; h-- {
		t.Scope(func() { t.one(h) })
	}
}

// one emits a register tile of a number of rows.
func (t *gemmer) one(rows int) {
	name := tileLabel(rows)
	t.Commentf("Tile of %d × %d vectors.", rows, t.shape.Vectors)
	t.Label(name)
	t.acc = make([][]a64.Vec, rows)
	for i := range t.acc {
		t.acc[i] = t.Vecs(t.shape.Vectors)
	}
	t.Op("MOVD", t.a, t.p)
	t.Load(t.Base("b"), t.b)
	if t.epilogue == spec.StoreMerge {
		t.Load(t.Param("k"), t.k)
		t.zeros()
		t.Scope(func() { t.steps(name) })
	} else {
		t.Load(t.first, t.k)
		t.Label(name + "segment")
		t.zeros()
		t.Scope(func() { t.steps(name) })
		t.Load(t.more, t.x)
		t.Jump("CBNZ", name+"more", t.x)
		t.Label(name + "last")
		defer t.moreSegments(name)
	}
	switch t.epilogue {
	case spec.StoreMax:
		t.storeMax()
	case spec.StoreMerge:
		t.storeMerge()
	default:
		t.eachRow(func(i, v int, c a64.Mem) { t.StoreTo(t.acc[i][v], c) })
	}
	t.Commentf("Go on to the next rows.")
	t.Op("ADD", t.row[1], t.a, t.a)
	if rows > 1 {
		t.Op("ADD", t.row[rows-1], t.a, t.a)
	}
	t.Op("SUB", rows, t.m, t.m)
	t.Jump("B", "rows")
}

// single emits the test whether there is more to do than to store a single segment.
func (t *gemmer) single() {
	t.first, t.more, t.rest = t.Param("k").Local(), t.Len("c").Local(), t.Cap("c").Local()
	t.left, t.adds = t.Len("a").Local(), t.Cap("a").Local()
	t.Load(t.Param("k"), t.k)
	t.loadSegment(t.p)
	t.Op("CMP", t.p, t.k)
	t.Jump("BGT", "cut")
	if t.epilogue == spec.Store {
		t.Load(t.Param("load"), t.k)
		t.Jump("CBNZ", "cut", t.k)
	} else {
		t.Op("MOVD", 0, t.k)
	}
	t.Op("MOVD", t.k, t.more) // 0
	t.Label("tiles")
}

// cut emits the cut into segments.
func (t *gemmer) cut() {
	t.Commentf("There are several segments, or C is the first summand.")
	t.Label("cut")
	t.Load(t.Param("k"), t.b)
	t.Op("MOVD", t.b, t.k)
	t.limit(t.k, t.p)
	t.Op("SUB", t.k, t.b, t.b)
	t.Op("MOVD", t.k, t.first)
	t.Op("MOVD", t.b, t.rest)
	t.Op("MOVD", t.b, t.left)
	t.loadFlag(t.k)
	t.Op("MOVD", t.k, t.adds)
	t.Op("MOVD", 1, t.k)
	t.Op("MOVD", t.k, t.more)
	t.Jump("B", "tiles")
}

// loadSegment loads the number of steps of a segment.
func (t *gemmer) loadSegment(r a64.GP) {
	if t.isWeights {
		t.Op("MOVD", spec.InputSegment, r)
	} else {
		t.Load(t.Param("seg"), r)
	}
}

// limit limits a number of steps to those of a segment.
func (t *gemmer) limit(k, segment a64.GP) {
	t.loadSegment(segment)
	t.Op("CMP", segment, k)
	t.Op("CSEL", a64.LT, k, segment, k)
}

// loadFlag loads whether C is the first summand.
func (t *gemmer) loadFlag(r a64.GP) {
	if t.epilogue == spec.Store {
		t.Load(t.Param("load"), r)
	} else {
		t.Op("MOVD", 0, r)
	}
}

// moreSegments emits what follows a segment, unless it is the only one and C holds no sum: it
// is added to C, and the next one begins.
func (t *gemmer) moreSegments(name string) {
	t.Label(name + "more")
	t.Load(t.adds, t.x)
	t.Jump("CBZ", name+"sum", t.x)
	t.Scope(func() {
		sums := t.Vecs(min(4, t.FreeVecs()))
		n := 0
		t.eachVector(func(i, v int, c a64.Mem) {
			sum := sums[n%len(sums)]
			n++
			t.LoadFrom(c, sum)
			t.FADD(t.acc[i][v], sum, t.acc[i][v])
		})
	})
	t.Label(name + "sum")
	t.Load(t.left, t.x)
	t.Jump("CBNZ", name+"next", t.x)
	t.Commentf("It was the last one: the next tile begins with the first one.")
	t.Load(t.rest, t.x)
	t.Op("MOVD", t.x, t.left)
	t.loadFlag(t.x)
	t.Op("MOVD", t.x, t.adds)
	t.Jump("B", name+"last")
	t.Label(name + "next")
	t.eachVector(func(i, v int, c a64.Mem) { t.StoreTo(t.acc[i][v], c) })
	t.Op("MOVD", 1, t.k)
	t.Op("MOVD", t.k, t.adds)
	t.Load(t.left, t.k)
	t.limit(t.k, t.x)
	t.Load(t.left, t.x)
	t.Op("SUB", t.k, t.x, t.x)
	t.Op("MOVD", t.x, t.left)
	t.Jump("B", name+"segment")
}

// zeros clears the accumulators.
func (t *gemmer) zeros() {
	for i := range t.acc {
		for _, v := range t.acc[i] {
			t.Zero(v)
		}
	}
}

// stepsPerIteration is the number of steps per iteration of the inner loops: as many as
// leave registers for A beside a full tile and its rows of B.
func stepsPerIteration(s spec.TileShape) int {
	if isWide(s) {
		return 4
	}
	for steps := 4; steps > 1; steps /= 2 {
		if s.Rows*s.Vectors+steps*s.Vectors+2 <= 32 {
			return steps
		}
	}
	return 1
}

// isWide reports whether the vectors of B are loaded one by one.
func isWide(s spec.TileShape) bool { return s.Rows < s.Vectors }

// steps emits the inner loops over k steps, of A from p on and of B from b on.
func (t *gemmer) steps(name string) {
	unrolled := stepsPerIteration(t.shape)
	t.Op("CMP", 4, t.row[1])
	t.Jump("BEQ", name+"columns")
	t.Op("CMP", 4, t.cs)
	t.Jump("BNE", name+"left")

	t.Commentf("The rows of A have no gaps: %d steps of a row at once.", unrolled)
	t.loop(name, "row", unrolled, func() { t.rowSteps(unrolled) })
	t.Jump("B", name+"left")
	t.Commentf("The columns of A have no gaps: a step of 4 rows at once.")
	t.Label(name + "columns")
	t.loop(name, "column", unrolled, func() {
		for range unrolled {
			t.columnStep()
		}
	})
	t.Commentf("Number by number.")
	t.Label(name + "left")
	t.Jump("CBZ", name+"done", t.k)
	t.Label(name + "step")
	t.step()
	t.Op("SUBS", 1, t.k, t.k)
	t.Jump("BNE", name+"step")
	t.Label(name + "done")
}

// loop emits an inner loop of several steps per iteration, and leaves in k the number of
// remaining steps.
func (t *gemmer) loop(name, kind string, unrolled int, body func()) {
	t.Op("SUBS", unrolled, t.k, t.k)
	t.Jump("BLT", name+kind+"end")
	t.Align(32)
	t.Label(name + kind + "turn")
	t.Scope(body)
	t.Op("SUBS", unrolled, t.k, t.k)
	t.Jump("BGE", name+kind+"turn")
	t.Label(name + kind + "end")
	t.Op("ADD", unrolled, t.k, t.k)
}

// rowSteps emits some steps for rows of A without gaps. As many rows as there are
// registers for are computed together, step by step, since the FMAs of one accumulator
// wait for each other.
func (t *gemmer) rowSteps(unrolled int) {
	if isWide(t.shape) {
		numbers := t.Vecs(len(t.acc))
		for i, x := range numbers {
			t.number(x, i, unrolled)
		}
		for s := range unrolled {
			t.passB(func(i int) a64.Lane { return numbers[i].S(s) })
		}
		t.Advance(4*unrolled, t.p)
		return
	}
	b := make([][]a64.Vec, unrolled)
	for s := range b {
		b[s] = t.rowOfB()
	}
	numbers := t.Vecs(min(t.FreeVecs(), len(t.acc)))
	for first := 0; first < len(t.acc); first += len(numbers) {
		last := min(first+len(numbers), len(t.acc))
		for i := first; i < last; i++ {
			t.number(numbers[i-first], i, unrolled)
		}
		for s := range unrolled {
			for i := first; i < last; i++ {
				t.fma(i, b[s], numbers[i-first].S(s))
			}
		}
	}
	t.Advance(4*unrolled, t.p)
}

// columnStep emits a step for columns of A without gaps.
func (t *gemmer) columnStep() {
	t.Scope(func() {
		if isWide(t.shape) {
			numbers := t.Vec()
			t.loadNumbers(len(t.acc), a64.At(t.p, 0), numbers)
			t.passB(numbers.S)
			t.Op("ADD", t.cs, t.p, t.p)
			return
		}
		b := t.rowOfB()
		for first := 0; first < len(t.acc); {
			n := 4
			for n > len(t.acc)-first {
				n /= 2
			}
			numbers := t.Vec()
			t.loadNumbers(n, a64.At(t.p, 4*first), numbers)
			for i := range n {
				t.fma(first+i, b, numbers.S(i))
			}
			first += n
		}
		t.Op("ADD", t.cs, t.p, t.p)
	})
}

// step emits a step of single numbers.
func (t *gemmer) step() {
	t.Scope(func() {
		if isWide(t.shape) {
			numbers := t.Vecs(len(t.acc))
			for i, x := range numbers {
				t.number(x, i, 1)
			}
			t.passB(func(i int) a64.Lane { return numbers[i].S(0) })
			t.Op("ADD", t.cs, t.p, t.p)
			return
		}
		b := t.rowOfB()
		numbers := t.Vecs(min(t.FreeVecs(), len(t.acc)))
		for i := range t.acc {
			x := numbers[i%len(numbers)]
			t.number(x, i, 1)
			t.fma(i, b, x.S(0))
		}
		t.Op("ADD", t.cs, t.p, t.p)
	})
}

// rowOfB loads a row of B and moves b to the next one.
func (t *gemmer) rowOfB() []a64.Vec {
	b := t.Vecs(t.shape.Vectors)
	for v := range b {
		t.LoadFrom(a64.At(t.b, v*emit.VecBytes), b[v])
	}
	t.Op("ADD", t.ldb, t.b, t.b)
	return b
}

// passB emits the FMAs of a step of WeightGemm, two vectors of B at a time, and moves b to
// the next row. number is the number of a row of A.
func (t *gemmer) passB(number func(i int) a64.Lane) {
	t.Scope(func() {
		pairs := make([][]a64.Vec, t.FreeVecs()/2)
		for i := range pairs {
			pairs[i] = t.Vecs(2)
		}
		for v := 0; v < t.shape.Vectors; v += 2 {
			b := pairs[v/2%len(pairs)]
			t.pairOfB(v, b)
			for i := range t.acc {
				t.FMLALane(t.acc[i][v], b[0], number(i))
				t.FMLALane(t.acc[i][v+1], b[1], number(i))
			}
		}
		t.Op("ADD", t.ldb, t.b, t.b)
	})
}

// pairOfB loads vectors v and v+1 of a row of B.
func (t *gemmer) pairOfB(v int, b []a64.Vec) {
	if t.element == spec.Float32 {
		t.LoadFrom(a64.At(t.b, v*emit.VecBytes), b[0])
		t.LoadFrom(a64.At(t.b, (v+1)*emit.VecBytes), b[1])
		return
	}
	t.LoadFrom(a64.At(t.b, v*emit.VecBytes/2), b[0])
	if t.element == spec.F16 {
		t.FCVTL2(b[1], b[0])
		t.FCVTL(b[0], b[0])
		return
	}
	t.SHLL2(b[1], b[0])
	t.SHLL(b[0], b[0])
}

// number loads n numbers of row i, at p.
func (t *gemmer) number(x a64.Vec, i, n int) {
	switch {
	case i == 0:
		t.loadNumbers(n, a64.At(t.p, 0), x)
	case n == 4:
		t.LDRQ(x, t.p, t.row[i])
	default:
		t.loadNumbers(n, a64.Indexed(t.p, t.row[i]), x)
	}
}

// loadNumbers loads 1, 2 or 4 numbers.
func (t *gemmer) loadNumbers(n int, m a64.Mem, x a64.Vec) {
	t.Op(map[int]string{1: "FMOVS", 2: "FMOVD", 4: "FMOVQ"}[n], m, x)
}

// fma adds a number times a row of B to the accumulators of row i.
func (t *gemmer) fma(i int, b []a64.Vec, number a64.Lane) {
	for v := range b {
		t.FMLALane(t.acc[i][v], b[v], number)
	}
}

// eachRow moves c over the rows of C and calls f with the memory of each vector.
func (t *gemmer) eachRow(f func(i, v int, c a64.Mem)) { t.eachOf(t.c, f) }

// eachVector does the same with k, which is free between two segments, in the place of c.
func (t *gemmer) eachVector(f func(i, v int, c a64.Mem)) {
	t.Op("MOVD", t.c, t.k)
	t.eachOf(t.k, f)
}

func (t *gemmer) eachOf(c a64.GP, f func(i, v int, c a64.Mem)) {
	for i := range t.acc {
		for v := range t.acc[i] {
			f(i, v, a64.At(c, v*emit.VecBytes))
		}
		t.Op("ADD", t.ldc, c, c)
	}
}

// storeMax stores C and raises max.
func (t *gemmer) storeMax() {
	t.Commentf("Store; max = C > max ? C : max.")
	t.Load(t.Base("max"), t.p)
	max, larger := t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors)
	for v := range max {
		t.LoadFrom(a64.At(t.p, v*emit.VecBytes), max[v])
	}
	t.eachRow(func(i, v int, c a64.Mem) {
		t.StoreTo(t.acc[i][v], c)
		t.Raise(max[v], t.acc[i][v], larger[v])
	})
	for v := range max {
		t.StoreTo(max[v], a64.At(t.p, v*emit.VecBytes))
	}
}

// storeMerge merges into C.
func (t *gemmer) storeMerge() {
	t.Commentf("C = fma(acc, beta, C·alpha)")
	alpha, beta := t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors)
	t.Load(t.Base("alpha"), t.p)
	t.Load(t.Base("beta"), t.b)
	for v := range alpha {
		t.LoadFrom(a64.At(t.p, v*emit.VecBytes), alpha[v])
		t.LoadFrom(a64.At(t.b, v*emit.VecBytes), beta[v])
	}
	xs, stored := t.Vecs(2), 0
	t.eachRow(func(i, v int, c a64.Mem) {
		x := xs[stored%2]
		stored++
		t.LoadFrom(c, x)
		t.FMUL(x, x, alpha[v])
		t.Op("VFMLA", beta[v].S4(), t.acc[i][v].S4(), x.S4())
		t.StoreTo(x, c)
	})
}

func tileLabel(rows int) string { return fmt.Sprintf("tile%d", rows) }
