package linear_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A backwardCase is a call of Backward, with the layouts of its inputs.
type backwardCase struct {
	m, n, k    int
	accumulate bool
	layout     layout
	kind       testutil.Kind
	seed       int
}

func backwardCases() (list []backwardCase) {
	for i, s := range [][3]int{
		{1, 1, 1}, {3, 5, 7}, {2, 48, 16}, {17, 49, 65}, {128, 16, 3}, {129, 20, 33}, {300, 130, 7}, {5, 257, 96}, {40, 100, 129}, {64, 48, 48},
		{0, 3, 4}, {4, 0, 3}, {4, 3, 0}, {260, 7, 50}, {2100, 3, 2},
	} {
		for l := range layouts {
			list = append(list, backwardCase{s[0], s[1], s[2], (i+int(l))%2 == 0, l, testutil.KindOf(7*i + int(l)), 4*i + int(l)})
		}
	}
	return list
}

// A backwardData holds the tensors of a case.
type backwardData struct {
	dy, x, w matrix
	dx, dw   matrix
	db       []float32
	tier     kernel.Tier
	threads  int
}

func (c backwardCase) data() (d backwardData) {
	r := testutil.Rand(c.seed)
	in := testCase{layout: c.layout, kind: c.kind}
	d.dy, d.x, d.w = in.input(&r, c.m, c.n), in.input(&r, c.m, c.k), in.input(&r, c.n, c.k)
	output := func(rows, cols int) matrix {
		m := testCase{m: rows, n: cols, layout: c.layout}.output()
		for i := range rows {
			c.kind.Fill(&r, m.numbers[min(i*m.rowStride, len(m.numbers)):], min(cols, 1), cols, cols)
		}
		return m
	}
	d.dx, d.dw = output(c.m, c.k), output(c.n, c.k)
	d.db = make([]float32, c.n)
	c.kind.Fill(&r, d.db, 1, c.n, c.n)
	return d
}

func (d *backwardData) run(c backwardCase) error {
	return linear.Backward(linear.Gradients{X: d.dx.Matrix, W: d.dw.Matrix, Bias: d.db}, d.dy.Matrix, d.x.Matrix, d.w.Matrix,
		linear.ProductOptions{Exec: kernel.Exec{Tier: d.tier, Threads: d.threads}, Accumulate: c.accumulate})
}

// sumOf is the contract's sum of n terms in segments of 128.
func sumOf(n int, old float32, accumulate bool, term func(i int, acc float32) float32) float32 {
	sum := old
	for lo := 0; lo < n || lo == 0; lo += 128 {
		acc := float32(0)
		for i := lo; i < min(lo+128, n); i++ {
			acc = term(i, acc)
		}
		if lo == 0 && !accumulate {
			sum = acc
		} else {
			sum += acc
		}
	}
	if sum != sum {
		return math.Float32frombits(0x7fc00000)
	}
	return sum
}

// contract replaces the gradients by the contract's.
func (d *backwardData) contract(c backwardCase) {
	set := func(m *matrix, i, j, n int, x, y func(k int) float32) {
		at := &m.numbers[i*m.rowStride+j]
		*at = sumOf(n, *at, c.accumulate, func(k int, acc float32) float32 { return numeric.FMA(x(k), y(k), acc) })
	}
	for k := range c.k {
		for m := range c.m {
			set(&d.dx, m, k, c.n, func(n int) float32 { return d.dy.at(m, n) }, func(n int) float32 { return d.w.at(n, k) })
		}
		for n := range c.n {
			set(&d.dw, n, k, c.m, func(m int) float32 { return d.dy.at(m, n) }, func(m int) float32 { return d.x.at(m, k) })
		}
	}
	for n := range c.n {
		sum := float32(0)
		for group := 0; group < c.m; group += 1024 {
			inGroup := float32(0)
			for lo := group; lo < min(group+1024, c.m); lo += 32 {
				acc := float32(0)
				for m := lo; m < min(lo+32, c.m); m++ {
					acc += d.dy.at(m, n)
				}
				if lo == group {
					inGroup = acc
				} else {
					inGroup += acc
				}
			}
			switch {
			case group == 0 && !c.accumulate:
				sum = inGroup
			case group == 0:
				sum = d.db[n] + inGroup
			default:
				sum += inGroup
			}
		}
		if c.m == 0 && c.accumulate {
			sum += d.db[n]
		}
		if d.db[n] = sum; sum != sum {
			d.db[n] = contracttest.CanonicalNaN
		}
	}
}

// TestBackward compares all tiers, alone and on threads, with the contract.
func TestBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range backwardCases() {
		want := c.data()
		want.contract(c)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				d := c.data()
				d.tier, d.threads = tier, threads
				if err := d.run(c); err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
				what := fmt.Sprintf("%+v threads=%d: ", c, threads)
				contracttest.SameRow(t, what+"X", d.dx.numbers, want.dx.numbers)
				contracttest.SameRow(t, what+"W", d.dw.numbers, want.dw.numbers)
				contracttest.SameRow(t, what+"Bias", d.db, want.db)
			}
		})
	}
}

// TestProduct: a product has the bits of a layer, but that subnormal numbers stay, on all
// tiers, for all layouts and widths of the last panel.
func TestProduct(t *testing.T) {
	for layout := range layouts {
		for i, n := range []int{1, 7, 8, 15, 16, 17, 31, 33, 40, 48, 63, 97} {
			c := testCase{m: 5, n: n, k: 3 + 37*(i%5), product: true, layout: layout, kind: testutil.KindOf(i), seed: i}
			a, b, _ := c.inputs()
			want := c.contract(&a, &b, nil)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				out := c.output()
				if err := linear.Product(out.Matrix, a.Matrix, b.Matrix, linear.ProductOptions{Exec: kernel.Exec{Tier: tier}}); err != nil {
					t.Fatal(err)
				}
				contracttest.SameRow(t, c.String(), out.numbers, want.numbers)
			})
		}
	}
}

// TestBackwardIsApply: X has the bits of a layer with the transposed weights.
func TestBackwardIsApply(t *testing.T) {
	c := backwardCase{m: 33, n: 290, k: 70, kind: testutil.Mantissas, seed: 5}
	d := c.data()
	if err := d.run(c); err != nil {
		t.Fatal(err)
	}
	l := mustNew(t, d.w.Matrix.T(), nil)
	want := make([]float32, c.m*c.k)
	if err := l.Apply(linear.DenseMatrix(want, c.m, c.k), d.dy.Matrix, linear.Options{}); err != nil {
		t.Fatal(err)
	}
	contracttest.SameRow(t, "X", d.dx.numbers, want)
}

// TestBackwardDifferences compares with finite differences of the layer in float64: they are exact
// up to rounding, as the layer is linear in each argument.
func TestBackwardDifferences(t *testing.T) {
	const m, n, k = 3, 4, 5
	c := backwardCase{m: m, n: n, k: k, kind: testutil.Dyadics, seed: 9}
	d := c.data()
	x, w, b := widened(d.x.numbers), widened(d.w.numbers), make([]float64, n)
	loss := func() (sum float64) { // dy·y
		for i := range m {
			for o := range n {
				y := b[o]
				for j := range k {
					y += x[i*k+j] * w[o*k+j]
				}
				sum += float64(d.dy.numbers[i*n+o]) * y
			}
		}
		return sum
	}
	if err := d.run(c); err != nil {
		t.Fatal(err)
	}
	for what, g := range map[string]struct {
		of  []float64
		got []float32
	}{"X": {x, d.dx.numbers}, "W": {w, d.dw.numbers}, "Bias": {b, d.db}} {
		for i := range g.of {
			const h = 0.125
			before := g.of[i]
			g.of[i] = before + h
			up := loss()
			g.of[i] = before - h
			down := loss()
			g.of[i] = before
			if want := (up - down) / (2 * h); math.Abs(float64(g.got[i])-want) > 1e-4 {
				t.Errorf("%s[%d] is %v, want %v", what, i, g.got[i], want)
			}
		}
	}
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// TestBackwardGolden: every tier and architecture has these bits.
func TestBackwardGolden(t *testing.T) {
	const want = "41c6456f45ca6a216c89f48fd44403fea6847299c2c351d91dc9bfff471b8a58"
	c := backwardCase{m: 140, n: 77, k: 150, kind: testutil.Mantissas, seed: 4}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		d := c.data()
		d.tier = tier
		if err := d.run(c); err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, x := range [][]float32{d.dx.numbers, d.dw.numbers, d.db} {
			for _, x := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
			}
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("sha256 %s, want %s", got, want)
		}
	})
}

// TestBackwardAllocatesNothing in the steady state.
func TestBackwardAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	c := backwardCase{m: 150, n: 60, k: 100, seed: 3}
	d := c.data()
	sums, x, rows := linear.DenseMatrix(make([]float32, 300), 3, 100), linear.DenseMatrix(testutil.Floats(200), 2, 100), []int32{2, 0}
	for d.threads = 1; d.threads <= 3; d.threads++ {
		testutil.CheckNoMallocs(t, fmt.Sprint("threads=", d.threads), 20, func() {
			if err := d.run(c); err != nil {
				t.Fatal(err)
			}
			if err := linear.AddRows(sums, x, rows, kernel.Exec{Threads: d.threads}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestBackwardErrors: what does not fit is named, and no gradient is touched.
func TestBackwardErrors(t *testing.T) {
	memory := testutil.Filled(400, testutil.Canary)
	at := func(i, rows, cols int) linear.Matrix { return linear.DenseMatrix(memory[i:], rows, cols) }
	for _, c := range []struct {
		what, arg, want string
		spoil           func(g *linear.Gradients, dy, x, w *linear.Matrix, o *linear.ProductOptions)
	}{
		{"dy short", "dy", "elements", func(_ *linear.Gradients, dy, _, _ *linear.Matrix, _ *linear.ProductOptions) {
			*dy = linear.DenseMatrix(memory[:5], 2, 3)
		}},
		{"dy f16", "dy", "float32", func(_ *linear.Gradients, dy, _, _ *linear.Matrix, _ *linear.ProductOptions) {
			*dy = linear.DenseMatrix(make([]kernel.F16, 6), 2, 3)
		}},
		{"x rows", "x", "2 rows", func(_ *linear.Gradients, _, x, _ *linear.Matrix, _ *linear.ProductOptions) { *x = at(20, 3, 4) }},
		{"w rows", "w", "3 rows", func(_ *linear.Gradients, _, _, w *linear.Matrix, _ *linear.ProductOptions) { *w = at(40, 2, 4) }},
		{"X", "Gradients.X", "[2 4]", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) { g.X = at(100, 2, 3) }},
		{"W", "Gradients.W", "[3 4]", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) { g.W = at(130, 4, 3) }},
		{"W in columns", "Gradients.W", "contiguous", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) { g.W = at(130, 4, 3).T() }},
		{"Bias", "Gradients.Bias", "3, one per output", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) { g.Bias = memory[160:162] }},
		{"X is x", "Gradients.X", "memory of its own", func(g *linear.Gradients, _, x, _ *linear.Matrix, _ *linear.ProductOptions) { g.X = *x }},
		{"W meets Bias", "Gradients.W", "memory of its own", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) {
			g.W = at(159, 3, 4)
		}},
		{"Bias meets dy", "Gradients.Bias", "memory of its own", func(g *linear.Gradients, _, _, _ *linear.Matrix, _ *linear.ProductOptions) {
			g.Bias = memory[5:8]
		}},
		{"threads", "Options.Threads", "at least 1", func(_ *linear.Gradients, _, _, _ *linear.Matrix, o *linear.ProductOptions) { o.Threads = -1 }},
	} {
		g := linear.Gradients{X: at(100, 2, 4), W: at(130, 3, 4), Bias: memory[160:163]}
		dy, x, w, o := at(0, 2, 3), at(20, 2, 4), at(40, 3, 4), linear.ProductOptions{}
		c.spoil(&g, &dy, &x, &w, &o)
		contracttest.CheckArgument(t, c.what, linear.Backward(g, dy, x, w, o), c.arg, c.want)
	}
	for i, x := range memory {
		if x != testutil.Canary {
			t.Fatalf("element %d was changed", i)
		}
	}
}

// TestBackwardParts: a gradient that is not set is not computed, nor is its argument looked at.
func TestBackwardParts(t *testing.T) {
	c := backwardCase{m: 5, n: 6, k: 7, kind: testutil.Mantissas, seed: 8}
	want := c.data()
	want.contract(c)
	d := c.data()
	if err := linear.Backward(linear.Gradients{X: d.dx.Matrix}, d.dy.Matrix, linear.Matrix{}, d.w.Matrix, linear.ProductOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := linear.Backward(linear.Gradients{W: d.dw.Matrix}, d.dy.Matrix, d.x.Matrix, linear.Matrix{}, linear.ProductOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := linear.Backward(linear.Gradients{Bias: d.db}, d.dy.Matrix, linear.Matrix{}, linear.Matrix{}, linear.ProductOptions{}); err != nil {
		t.Fatal(err)
	}
	contracttest.SameRow(t, "X", d.dx.numbers, want.dx.numbers)
	contracttest.SameRow(t, "W", d.dw.numbers, want.dw.numbers)
	contracttest.SameRow(t, "Bias", d.db, want.db)
}

// TestAddRows compares with the definition, rows that repeat included, on all tiers and threads.
func TestAddRows(t *testing.T) {
	contracttest.ForceThreads(t)
	const n, k = 5, 150
	serial := func(n int, task func(i int)) {
		for i := n - 1; i >= 0; i-- {
			task(i)
		}
	}
	rows := []int32{3, 0, 3, 3, 4, 0}
	for kind := range testutil.Kinds {
		r := testutil.Rand(int(kind))
		before, x := make([]float32, n*k), make([]float32, len(rows)*k)
		kind.Fill(&r, before, 1, len(before), 0)
		kind.Fill(&r, x, 1, len(x), 0)
		want := append([]float32(nil), before...)
		for i, row := range rows {
			for e := range k {
				want[int(row)*k+e] += x[i*k+e]
			}
		}
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, exec := range []kernel.Exec{{Tier: tier}, {Tier: tier, Threads: 3}, {Tier: tier, Threads: 2, ParallelFor: serial}} {
				out := append([]float32(nil), before...)
				if err := linear.AddRows(linear.DenseMatrix(out, n, k), linear.DenseMatrix(x, len(rows), k), rows, exec); err != nil {
					t.Fatal(err)
				}
				testutil.CheckBits(t, fmt.Sprint(kind, ", threads=", exec.Threads), out, want)
			}
		})
	}
	out := testutil.Filled(n*k, 3)
	err := linear.AddRows(linear.DenseMatrix(out, n, k), linear.DenseMatrix(make([]float32, 2*k), 2, k), []int32{1, n}, kernel.Exec{})
	contracttest.CheckArgument(t, "a row too far", err, "rows[1]", "0 to 4")
	err = linear.AddRows(linear.DenseMatrix(out, n, k), linear.DenseMatrix(make([]float32, k), 1, k), []int32{1}, kernel.Exec{Threads: -1})
	contracttest.CheckArgument(t, "threads", err, "exec.Threads", "at least 1")
	err = linear.AddRows(linear.DenseMatrix(out, n, k), linear.DenseMatrix(out[k:], 1, k), []int32{1}, kernel.Exec{})
	contracttest.CheckArgument(t, "overlap", err, "out", "memory of its own")
	testutil.CheckBits(t, "after errors", out, testutil.Filled(n*k, 3))
}

// TestBackwardGuard: a call touches nothing outside of its matrices, which lie between guard pages.
func TestBackwardGuard(t *testing.T) {
	if !testutil.Guards {
		t.Log("NOT RUN: guard pages are not available here, this is TestBackward again on plain slices")
	}
	for _, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
		a := testutil.NewGuardedArena(t, place, 6, 1<<20)
		for i, c := range backwardCases() {
			want := c.data()
			want.contract(c)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				a.Reset(i)
				d := c.data()
				d.tier = tier
				for k, m := range []*matrix{&d.dy, &d.x, &d.w, &d.dx, &d.dw} {
					guard(a, [...]string{"dy", "x", "w", "X", "W"}[k], m)
				}
				bias := a.Vector("Bias", len(d.db), 0)
				copy(bias, d.db)
				if d.db = bias; bias == nil {
					d.db = []float32{}
				}
				if err := d.run(c); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%+v %v: ", c, place)
				contracttest.SameRow(t, what+"X", d.dx.numbers, want.dx.numbers)
				contracttest.SameRow(t, what+"W", d.dw.numbers, want.dw.numbers)
				contracttest.SameRow(t, what+"Bias", d.db, want.db)
			})
		}
	}
}

// TestAccumulateWithoutRows: where there is nothing to add, +0 is added to what a gradient holds.
func TestAccumulateWithoutRows(t *testing.T) {
	before := []float32{float32(math.Copysign(0, -1)), math.Float32frombits(0xffc00123), 3, 0}
	want := []float32{0, math.Float32frombits(0x7fc00000), 3, 0}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		held := func() []float32 { return append([]float32(nil), before...) }
		dx, dw, db := held(), held(), held()
		o := linear.ProductOptions{Exec: kernel.Exec{Tier: tier}, Accumulate: true}
		noRows, noOutputs := linear.DenseMatrix([]float32{}, 0, 2), linear.DenseMatrix([]float32{}, 2, 0)
		if err := linear.Backward(linear.Gradients{W: linear.DenseMatrix(dw, 2, 2), Bias: db[:2]}, noRows, noRows, linear.Matrix{}, o); err != nil {
			t.Fatal(err)
		}
		if err := linear.Backward(linear.Gradients{X: linear.DenseMatrix(dx, 2, 2)}, noOutputs, linear.Matrix{}, noRows, o); err != nil {
			t.Fatal(err)
		}
		testutil.CheckBits(t, "W", dw, want)
		testutil.CheckBits(t, "X", dx, want)
		testutil.CheckBits(t, "Bias", db[:2], want[:2])
	})
}
