package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The inner loop loads one number of every row of A at a time, whatever the strides are. With two
// or three vectors, a step of a full tile takes 24 FMAs and 11 to 14 loads: a core that starts 2
// FMAs a cycle has time for 24 loads, one that starts 4 for 18. With one vector it takes 16 FMAs
// and 17 loads, and llvm-mca predicts 94% of the peak for N1, 70% for V1 and V2, where the others
// reach it. So a full tile of one vector has two more loops, in which a load brings several
// numbers, which depends on the layout of A:
//
//	cs = 1 (rows without gaps, as K)     a load brings 4 steps of one row
//	rs = 1 (columns without gaps, as Vᵀ) a load brings one step of 4 rows
//
// Nothing outside A is read.

// denseUnroll is the number of steps per iteration of the loop for rows without gaps.
const denseUnroll = 4

// mostUnrolled is the largest height below the full one whose loop takes two steps at a time.
const mostUnrolled = 3

// steps emits the inner loops over k steps, of A from p on and of B from b on. With one vector, low
// tiles and full ones leave a core that starts 4 instructions a cycle no time to count the steps.
// Their loop takes two steps at a time, and an odd number of steps enters it in its middle.
func (t *gemmer) steps(name string) {
	full := len(t.acc) == t.shape.Rows
	if t.shape.Vectors > 1 || !full && len(t.acc) > mostUnrolled {
		t.Jump("CBZ", name+"done", t.k)
		t.Align(32)
		t.Label(name + "steps")
		t.step()
	} else {
		if full {
			t.denseSteps(name)
		}
		t.Op("ADD", 1, t.k, t.k)
		t.Op("ANDS", 1, t.k, t.x)
		t.Op("LSR", 1, t.k, t.k)
		t.Jump("BEQ", name+"odd")
		t.Jump("CBZ", name+"done", t.k)
		t.Align(32)
		t.Label(name + "steps")
		t.step()
		t.Label(name + "odd")
		t.step()
	}
	t.Op("SUBS", 1, t.k, t.k)
	t.Jump("BNE", name+"steps")
	t.Label(name + "done")
}

// evenOddSteps emits k steps in two chains, and adds both.
func (t *gemmer) evenOddSteps(name string) {
	even := t.acc
	t.Jump("CBZ", name+"done", t.k)
	t.Align(32)
	t.Label(name + "steps")
	t.step()
	t.Op("SUBS", 1, t.k, t.k)
	t.Jump("BEQ", name+"done")
	t.acc = t.accOdds
	t.step()
	t.acc = even
	t.Op("SUBS", 1, t.k, t.k)
	t.Jump("BNE", name+"steps")
	t.Label(name + "done")
	for i := range t.acc {
		for v := range t.acc[i] {
			t.FADD(t.acc[i][v], t.acc[i][v], t.accOdds[i][v])
		}
	}
}

// denseSteps emits the loops for rows or columns of A without gaps.
func (t *gemmer) denseSteps(name string) {
	t.Op("CMP", 4, t.row[1])
	t.Jump("BEQ", name+"columns")
	t.Op("CMP", 4, t.cs)
	t.Jump("BNE", name+"left")
	t.Commentf("The rows of A have no gaps: %d steps of a row at once.", denseUnroll)
	t.Op("SUBS", denseUnroll, t.k, t.k)
	t.Jump("BLT", name+"rowend")
	t.Align(32)
	t.Label(name + "row")
	t.Scope(t.rowSteps)
	t.Op("SUBS", denseUnroll, t.k, t.k)
	t.Jump("BGE", name+"row")
	t.Label(name + "rowend")
	t.Op("ADD", denseUnroll, t.k, t.k)
	t.Jump("B", name+"left")
	t.Commentf("The columns of A have no gaps: a step of 4 rows at once.")
	t.Label(name + "columns")
	t.Jump("CBZ", name+"done", t.k)
	t.Align(32)
	t.Label(name + "column")
	t.columnStep()
	t.Op("SUBS", 1, t.k, t.k)
	t.Jump("BNE", name+"column")
	t.Jump("B", name+"done")
	t.Commentf("Number by number.")
	t.Label(name + "left")
}

// rowSteps emits some steps for rows of A without gaps. As many rows as there are
// registers for are computed together, step by step, since the FMAs of one accumulator
// wait for each other.
func (t *gemmer) rowSteps() {
	b := make([][]a64.Vec, denseUnroll)
	for s := range b {
		b[s] = t.rowOfB()
	}
	numbers := t.Vecs(min(t.FreeVecs(), len(t.acc)))
	for first := 0; first < len(t.acc); first += len(numbers) {
		last := min(first+len(numbers), len(t.acc))
		for i := first; i < last; i++ {
			t.number(numbers[i-first], i, denseUnroll)
		}
		for s := range denseUnroll {
			for i := first; i < last; i++ {
				t.fma(i, b[s], numbers[i-first].S(s))
			}
		}
	}
	t.Advance(4*denseUnroll, t.p)
}

// columnStep emits a step for columns of A without gaps.
func (t *gemmer) columnStep() {
	t.Scope(func() {
		b := t.rowOfB()
		for first := 0; first < len(t.acc); first += emit.VecLanes {
			numbers := t.Vec()
			t.LoadFrom(a64.At(t.p, 4*first), numbers)
			for i := range emit.VecLanes {
				t.fma(first+i, b, numbers.S(i))
			}
		}
		t.Op("ADD", t.cs, t.p, t.p)
	})
}

// step emits a step of single numbers.
func (t *gemmer) step() {
	t.Scope(func() {
		t.heights.Compare()
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
		t.heights.Rows(func(i int) {
			x := numbers[i%len(numbers)]
			t.number(x, i, 1)
			t.fma(i, b, x.S(0))
		})
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

// loadNumbers loads 1 or 4 numbers.
func (t *gemmer) loadNumbers(n int, m a64.Mem, x a64.Vec) {
	t.Op(map[int]string{1: "FMOVS", 4: "FMOVQ"}[n], m, x)
}

// isWide reports whether the vectors of B are loaded one by one.
func isWide(s spec.TileShape) bool { return s.Rows < s.Vectors }

// fma adds a number times a row of B to the accumulators of row i.
func (t *gemmer) fma(i int, b []a64.Vec, number a64.Lane) {
	for v := range b {
		t.FMLALane(t.acc[i][v], b[v], number)
	}
}
