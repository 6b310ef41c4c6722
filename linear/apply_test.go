package linear_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// smallCases have all remainders of every dimension, in every layout and type.
func smallCases() (list []testCase) {
	add := func(m, n, k int) {
		i := len(list)
		list = append(list, testCase{
			m: m, n: n, k: k, dtype: kernel.DType(i % 3), bias: i%2 == 0, layout: layout(i / 3 % int(layouts)), kind: testutil.KindOf(i), seed: i,
		})
	}
	for m := range 28 {
		for _, n := range []int{1, 15, 16, 17, 48, 75} {
			for _, k := range []int{0, 1, 2, 9, 35} {
				add(m, n, k)
			}
		}
	}
	for n := range 101 {
		for _, m := range []int{1, 2, 3, 8, 11, 30} {
			add(m, n, n%13)
		}
	}
	for k := range 100 {
		for _, m := range []int{1, 2, 5, 9} {
			add(m, 49, k)
		}
	}
	for _, f := range singleFormats {
		for _, k := range []int{32, 96, 128, 288} {
			for m := range 12 {
				for _, n := range []int{5, 16, 48, 53, 96} {
					add(m, n, k)
					list[len(list)-1].format = f
				}
			}
		}
	}
	for i, k := range []int{127, 128, 129, 255, 256, 257, 300, 513} { // segments
		for m := 1; m < 18; m += 1 + i%3 {
			for _, n := range []int{5, 48, 53} {
				add(m, n, k)
			}
		}
	}
	return list
}

func TestApply(t *testing.T) {
	for i, c := range smallCases() {
		if !testutil.Thin() || testutil.Sampled(i) {
			c.check(t, 1)
		}
	}
}

// Sizes that are cut: into steps of K, panels, blocks of rows and tasks.
func TestApplyLarge(t *testing.T) {
	contracttest.ForceThreads(t)
	cases := []struct {
		testCase
		threads int // that find work, of 5
	}{
		{testCase{m: 40, n: 130, k: 1000, bias: true, layout: gappedRows}, 3},
		{testCase{m: 5, n: 48 * 5, k: 300, dtype: kernel.Float16, layout: transposed, bias: true}, 5},
		{testCase{m: 1, n: 290, k: 700, dtype: kernel.BFloat16}, 5},
		{testCase{m: 500, n: 33, k: 140, layout: transposed, kind: testutil.Mantissas}, 5},
		{testCase{m: 90, n: 500, k: 40, dtype: kernel.Float16, bias: true, kind: testutil.Mantissas}, 5},
		{testCase{m: 3, n: 48 * 6, k: 1120, format: linear.Q8_0, bias: true}, 5},
		{testCase{m: 40, n: 290, k: 1600, format: linear.Q4_1, layout: gappedRows, kind: testutil.Mantissas}, 5},
		{testCase{m: 1, n: 20, k: 6000, dtype: kernel.Float16, kind: testutil.Mantissas}, 1},
	}
	if testutil.Quick() {
		cases = cases[:3]
	}
	for _, c := range cases {
		c.check(t, 1, 2, 5)
		c.checkThreads(t, c.threads)
	}
}

// Many rows of out that lie in the same few sets of L1: their sums are elsewhere until they are
// finished. There are several steps of K, and a last panel that is not whole.
func TestCollidingRows(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, c := range eachType(testCase{m: 97, n: 53 + 4*48, k: 416, bias: true, layout: colliding, kind: testutil.Mantissas}) {
		if c.seed = i; testutil.Thin() && !testutil.Sampled(i) {
			continue
		}
		c.check(t, 1, 2)
		x, w, bias := c.inputs()
		l := w.layer(t, bias)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			o := c.options(tier, 2)
			o.Activation = linear.GELU
			far, near := c.output(), testCase{m: c.m, n: c.n}.output()
			if err := errors.Join(l.Apply(far.Matrix, x.Matrix, o), l.Apply(near.Matrix, x.Matrix, o)); err != nil {
				t.Fatal(err)
			}
			for m := range c.m {
				contracttest.SameRow(t, fmt.Sprintf("%v GELU row %d", c, m), far.numbers[m*far.rowStride:][:c.n], near.numbers[m*c.n:][:c.n])
			}
		})
	}
}

// checkThreads fails the test unless the case runs on so many threads if it may have 5.
func (c testCase) checkThreads(t *testing.T, want int) {
	t.Helper()
	x, w, bias := c.inputs()
	l, out := w.layer(t, bias), c.output()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o, got := c.options(tier, 5), 0
		o.ParallelFor = func(n int, task func(int)) { got = n }
		if err := l.Apply(out.Matrix, x.Matrix, o); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%v runs on %d threads, want %d", c, got, want)
		}
	})
}

// It does not matter whether weights of 16 bits are widened on the way or before.
func TestWidening(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, dtype := range []kernel.DType{kernel.Float16, kernel.BFloat16} {
		c := testCase{m: 41, n: 120, k: 300, dtype: dtype, bias: true, kind: testutil.Mantissas, seed: i}
		for _, rows := range []int{0, 2, 41} {
			t.Run(fmt.Sprintf("%v/WidenRows=%d", dtype, rows), func(t *testing.T) {
				tune(t, func(x *tier.Tuning) { x.WidenRows = rows })
				c.check(t, 2)
			})
		}
	}
}

// The rows of a product do not depend on each other, nor on how many there are.
func TestRowsAreIndependent(t *testing.T) {
	c := testCase{m: 61, n: 83, k: 150, bias: true, kind: testutil.Mantissas, seed: 3}
	x, w, bias := c.inputs()
	l := w.layer(t, bias)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := c.output()
		if err := l.Apply(want.Matrix, x.Matrix, options(tier, 0)); err != nil {
			t.Fatal(err)
		}
		r := testutil.Rand(1)
		for range contracttest.Repeats(20) {
			got := c.output()
			for at := 0; at < c.m; {
				n := min(1+r.IntN(20), c.m-at)
				if err := l.Apply(got.from(at, n).Matrix, x.from(at, n).Matrix, options(tier, 0)); err != nil {
					t.Fatal(err)
				}
				at += n
			}
			contracttest.SameRow(t, "in parts", got.numbers, want.numbers)
		}
	})
}

// The error compared with float64 is as of float32.
func TestAccuracy(t *testing.T) {
	c := testCase{m: 20, n: 70, k: 768, bias: true, seed: 4}
	x, w, bias := c.inputs()
	out := c.output()
	if err := w.layer(t, bias).Apply(out.Matrix, x.Matrix, linear.Options{}); err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for m := range c.m {
		for n := range c.n {
			sum, size := float64(bias[n]), 0.0
			for k := range c.k {
				p := float64(x.at(m, k)) * float64(w.at(n, k))
				sum += p
				size += math.Abs(p)
			}
			worst = max(worst, math.Abs(float64(out.at(m, n))-sum)/size)
		}
	}
	if worst > 1e-6 {
		t.Errorf("largest error %.3g of the sum of magnitudes", worst)
	}
	t.Logf("largest error %.3g of the sum of magnitudes", worst)
}

// Without a bias -0 stays, with a bias of +0 it does not.
func TestNegativeZero(t *testing.T) {
	tiny := linear.DenseMatrix([]float32{0x1p-100}, 1, 1)
	x := linear.DenseMatrix([]float32{-0x1p-100}, 1, 1)
	for _, y := range []struct {
		bias []float32
		want uint32
	}{{nil, 1 << 31}, {[]float32{0}, 0}, {[]float32{float32(math.Copysign(0, -1))}, 1 << 31}} {
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			out := []float32{testutil.Canary}
			if err := mustNew(t, tiny, y.bias).Apply(linear.DenseMatrix(out, 1, 1), x, options(tier, 1)); err != nil {
				t.Fatal(err)
			}
			if got := math.Float32bits(out[0]); got != y.want {
				t.Errorf("bias %v: got %08x, want %08x", y.bias, got, y.want)
			}
		})
	}
}

// New and Apply read nothing before the first element of an argument, and nothing after
// the last one: there are guard pages.
func TestGuard(t *testing.T) {
	if !testutil.Guards {
		t.Log("guard pages are not available here: this is TestApply again, on plain slices")
	}
	for _, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
		a := testutil.NewGuardedArena(t, place, 4, 256<<10)
		for i, c := range smallCases() {
			if i%5 != 0 && !testutil.Sampled(i) {
				continue
			}
			a.Reset(i)
			x, w, bias := c.inputs()
			want := c.contract(&x, &w, bias)
			out := want
			guard(a, "x", &x)
			switch {
			case c.format != 0:
				blocks := testutil.Slice[byte](a, "w", len(w.blocks))
				copy(blocks, w.blocks)
				w.blocks = blocks
			case c.dtype == kernel.Float32:
				guard(a, "w", &w)
			case c.dtype == kernel.Float16:
				guardHalves(a, &w, numeric.ToF16)
			case c.dtype == kernel.BFloat16:
				guardHalves(a, &w, numeric.ToBF16)
			}
			guard(a, "out", &out)
			if c.bias {
				guarded := a.Vector("bias", len(bias), 0)
				copy(guarded, bias)
				bias = guarded
			}
			l := w.layer(t, bias)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				copy(out.numbers, testutil.Filled(len(out.numbers), testutil.Canary))
				if err := l.Apply(out.Matrix, x.Matrix, options(tier, 1)); err != nil {
					t.Fatal(err)
				}
				contracttest.SameRow(t, c.String(), out.numbers, want.numbers)
			})
		}
	}
}

// guard moves a float32 matrix to the arena.
func guard(a *testutil.Arena, name string, m *matrix) {
	guarded := a.Vector(name, len(m.numbers), 0)
	copy(guarded, m.numbers)
	*m = newMatrix(guarded, m.rows, m.cols, m.rowStride, m.colStride)
}

// guardHalves moves weights of 16 bits to the arena.
func guardHalves[E kernel.F16 | kernel.BF16](a *testutil.Arena, w *matrix, to func(float32) E) {
	data := testutil.Slice[E](a, "w", len(w.numbers))
	for i, x := range w.numbers {
		data[i] = to(x)
	}
	w.Matrix = linear.StridedMatrix(data, w.rows, w.cols, w.rowStride, w.colStride)
}

// A program's parallel-for gives the same bits, and so does a bad one.
func TestParallelFor(t *testing.T) {
	contracttest.ForceThreads(t)
	c := testCase{m: 50, n: 200, k: 400, seed: 6}
	x, w, bias := c.inputs()
	l := w.layer(t, bias)
	want := c.output()
	if err := l.Apply(want.Matrix, x.Matrix, options(kernel.Tier{}, 1)); err != nil {
		t.Fatal(err)
	}
	const threads = 3
	var late func(int)
	parallelFors := map[string]func(n int, task func(int)){
		"one after the other": func(n int, task func(int)) {
			for i := range n {
				task(i)
			}
		},
		"at once": func(n int, task func(int)) {
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() { task(i) })
			}
			wg.Wait()
		},
		"none":     func(int, func(int)) {},
		"too many": func(n int, task func(int)) { late = task; go task(0); task(n); task(n + 1); task(n + 2) },
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for what, parallelFor := range parallelFors {
			got, calls := c.output(), 0
			o := options(tier, threads)
			o.ParallelFor = func(n int, task func(int)) {
				if calls++; n != threads {
					t.Errorf("%s: n is %d, want %d", what, n, threads)
				}
				parallelFor(n, task)
			}
			if err := l.Apply(got.Matrix, x.Matrix, o); err != nil {
				t.Fatal(err)
			}
			if calls != 1 {
				t.Errorf("%s: called %d times", what, calls)
			}
			contracttest.SameRow(t, what, got.numbers, want.numbers)
		}
		late(0)
	})
}

// Many goroutines use one Linear of every type.
func TestConcurrent(t *testing.T) {
	contracttest.ForceThreads(t)
	var wg sync.WaitGroup
	for _, c := range eachType(testCase{m: 9, n: 100, k: 96, bias: true, seed: 8}) {
		x, w, bias := c.inputs()
		want, l := c.contract(&x, &w, bias), w.layer(t, bias)
		for g := range 4 {
			wg.Go(func() {
				t := testutil.Goroutine(t)
				for i := range contracttest.Repeats(30) {
					m := 1 + (i+g)%c.m
					out := testutil.Filled(m*c.n, testutil.Canary)
					if err := l.Apply(linear.DenseMatrix(out, m, c.n), x.from(0, m).Matrix, c.options(kernel.Tier{}, 1+g%2)); err != nil {
						t.Fatal(err)
					}
					contracttest.SameRow(t, c.String(), out, want.numbers[:m*c.n])
				}
			})
		}
	}
	wg.Wait()
}

// What a call was given can be collected when the call is over and the caller forgets it.
func TestApplyKeepsNoReference(t *testing.T) {
	contracttest.ForceThreads(t)
	l := mustNew(t, linear.DenseMatrix(testutil.Floats(100*30), 100, 30), nil)
	apply := func(threads int) (out, x weak.Pointer[float32]) {
		o, in := make([]float32, 10*100), make([]float32, 10*30)
		if err := l.Apply(linear.DenseMatrix(o, 10, 100), linear.DenseMatrix(in, 10, 30), options(kernel.Tier{}, threads)); err != nil {
			t.Fatal(err)
		}
		return weak.Make(&o[0]), weak.Make(&in[0])
	}
	for threads := 1; threads <= 3; threads++ {
		out, x := apply(threads)
		for out.Value() != nil || x.Value() != nil { // go test ends a test that hangs
			runtime.GC() // a worker that lost its processor as it left the call may have them on its stack
			time.Sleep(time.Millisecond)
		}
	}
}

// A warm call allocates nothing, on the caller's goroutine, on workers, and with a
// parallel-for.
func TestApplyAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	serial := func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	}
	for _, m := range []int{1, 40} {
		for _, c := range eachType(testCase{m: m, n: 100, k: 160, bias: true}) {
			x, w, bias := c.inputs()
			l, out := w.layer(t, bias), c.output()
			wide, ids := linear.DenseMatrix(make([]float32, 2*c.k), 2, c.k), []int32{int32(c.n) - 1, 0}
			testutil.CheckNoMallocs(t, "Rows of "+c.String(), contracttest.Repeats(30), func() {
				if err := l.Rows(wide, ids, kernel.Exec{}); err != nil {
					t.Fatal(err)
				}
			})
			for _, e := range []kernel.Exec{{Threads: 1}, {Threads: 2}, {Threads: 2, ParallelFor: serial}} {
				what := fmt.Sprintf("%v threads=%d parallel-for=%v", c, e.Threads, e.ParallelFor != nil)
				testutil.CheckNoMallocs(t, what, contracttest.Repeats(30), func() {
					if err := l.Apply(out.Matrix, x.Matrix, linear.Options{Exec: e, DynamicInt8: c.int8, Activation: linear.GELU}); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

// TestSubnormalWeights: a weight below 2^-126 is +0 in the packed layer, for all places in
// panels and layouts, and the others are what they were.
func TestSubnormalWeights(t *testing.T) {
	const n, k = 101, 67
	w, want := make([]float32, n*k), make([]float32, n*k)
	for i := range w {
		w[i] = []float32{0x1p-126, 0x1p-127, -0x1p-149, -0x1.8p-126, float32(math.Copysign(0, -1)), 1.25}[i%6]
		if want[i] = w[i]; i%6 == 1 || i%6 == 2 || i%6 == 4 {
			want[i] = 0
		}
	}
	halves := make([]kernel.BF16, n*k)
	for i, x := range w {
		halves[i] = numeric.ToBF16(x)
	}
	f16s, want16 := make([]kernel.F16, n*k), make([]float32, n*k)
	for i, x := range w {
		f16s[i] = numeric.ToF16(x) // ±0, but for 1.25
		if x == 1.25 {
			want16[i] = x
		}
	}
	columns := make([]float32, n*k)
	for i := range columns {
		columns[i] = w[i%n*k+i/n]
	}
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	for name, m := range map[string]linear.Matrix{
		"rows": linear.DenseMatrix(w, n, k), "columns": linear.DenseMatrix(columns, k, n).T(), "bfloat16": linear.DenseMatrix(halves, n, k),
		"float16": linear.DenseMatrix(f16s, n, k),
	} {
		want := want
		if name == "float16" {
			want = want16
		}
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			l, err := linear.New(m, nil, kernel.Exec{Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, n*k)
			if err := l.Rows(linear.DenseMatrix(got, n, k), ids, kernel.Exec{Tier: tier}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, name, got, want)
		})
	}
}
