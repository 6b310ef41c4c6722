package linear_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A linearCase is a call of a Linear with its data.
type linearCase struct {
	m, n, k int
	dtype   kernel.DType
	bias    bool
	layout  linearLayout
	values  values
	seed    int
}

// A linearLayout says how the matrices of a case lie in memory.
type linearLayout int

const (
	tightRows    linearLayout = iota
	gappedRows                // gaps of canaries between rows
	transposed                // x and w in columns, out in rows with gaps
	scatteredAll              // x and w with gaps between all elements
	linearLayouts
)

func (c linearCase) String() string {
	return fmt.Sprintf("m%d_n%d_k%d_%v_bias=%v_layout%d_%v_seed%d", c.m, c.n, c.k, c.dtype, c.bias, c.layout, c.values, c.seed)
}

// strides returns those of an input.
func (l linearLayout) strides(rows, cols int) (row, col int) {
	switch l {
	case gappedRows:
		return cols + 3, 1
	case transposed:
		return 1, rows + 2
	case scatteredAll:
		return 2*cols + 1, 2
	}
	return cols, 1
}

// matrix makes an input; what lies between elements is NaN.
func (c linearCase) matrix(r *rng, rows, cols int) linear.Matrix {
	rs, cs := c.layout.strides(rows, cols)
	m := linear.StridedMatrix[float32](nil, rows, cols, rs, cs)
	m.f32 = filled(m.extent(), nan32)
	for i := range rows {
		for j := range cols {
			m.f32[i*rs+j*cs] = c.values.next(r)
		}
	}
	return m
}

// weights makes w, which is rounded to the case's type.
func (c linearCase) weights(r *rng) linear.Matrix {
	w := c.matrix(r, c.n, c.k)
	switch c.dtype {
	case kernel.Float16:
		return rounded(w, numeric.ToF16)
	case kernel.BFloat16:
		return rounded(w, numeric.ToBF16)
	}
	return w
}

func rounded[E kernel.F16 | kernel.BF16](w linear.Matrix, to func(float32) E) linear.Matrix {
	data := make([]E, len(w.f32))
	for i, x := range w.f32 {
		data[i] = to(x)
	}
	return linear.StridedMatrix(data, w.rows, w.cols, w.rowStride, w.colStride)
}

// element returns an element as a float32.
func (m *linear.Matrix) element(i, j int) float32 {
	at := i*m.rowStride + j*m.colStride
	switch m.dtype {
	case kernel.Float16:
		return kernel.F16(m.u16()[at]).Float32()
	case kernel.BFloat16:
		return kernel.BF16(m.u16()[at]).Float32()
	}
	return m.f32[at]
}

// inputs makes the case's x, w and bias.
func (c linearCase) inputs() (x, w linear.Matrix, bias []float32) {
	r := rng(c.seed)
	x, w = c.matrix(&r, c.m, c.k), c.weights(&r)
	if c.bias {
		bias = make([]float32, c.n)
		c.values.fill(&r, bias, 1, c.n, c.n)
	}
	return x, w, bias
}

// output makes an output full of canaries.
func (c linearCase) output() linear.Matrix {
	stride := c.n
	if c.layout != tightRows {
		stride += 5
	}
	out := linear.StridedMatrix[float32](nil, c.m, c.n, stride, 1)
	out.f32 = filled(out.extent(), canary)
	return out
}

// linearContract computes an output as the documentation of Apply defines it.
func linearContract(x, w *linear.Matrix, bias []float32, m, n int) float32 {
	acc := float32(0)
	for k := range x.cols {
		acc = fallback.FMA(x.element(m, k), w.element(n, k), acc)
	}
	if bias != nil {
		acc += bias[n]
	}
	if acc != acc {
		return canonicalNaN
	}
	return acc
}

// contract computes all outputs.
func (c linearCase) contract(x, w *linear.Matrix, bias []float32) linear.Matrix {
	out := c.output()
	for m := range c.m {
		for n := range c.n {
			out.f32[m*out.rowStride+n] = linearContract(x, w, bias, m, n)
		}
	}
	return out
}

func mustLinear(t testing.TB, w linear.Matrix, bias []float32) *linear.Linear {
	t.Helper()
	l, err := linear.New(w, bias)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameFloats fails unless both hold the same bits.
func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, x := range want {
		if math.Float32bits(got[i]) != math.Float32bits(x) {
			t.Fatalf("%s: [%d] is %v (%08x), want %v (%08x)", what, i, got[i], math.Float32bits(got[i]), x, math.Float32bits(x))
		}
	}
}

// check compares every tier with the contract, gaps included.
func (c linearCase) check(t *testing.T, threads ...int) {
	t.Helper()
	x, w, bias := c.inputs()
	want := c.contract(&x, &w, bias)
	l := mustLinear(t, w, bias)
	eachTier(t, func(t *testing.T, tier *tier) {
		for _, n := range threads {
			out := c.output()
			if err := l.Apply(out, x, linear.Options{Exec: kernel.Exec{Tier: tier.name, Threads: n}}); err != nil {
				t.Fatal(err)
			}
			sameFloats(t, c.String(), out.f32, want.f32)
		}
	})
}

// linearCases are all remainders of every dimension, in every layout and type.
func linearCases() (list []linearCase) {
	add := func(m, n, k int) {
		i := len(list)
		list = append(list, linearCase{
			m: m, n: n, k: k, dtype: kernel.DType(i % 3), bias: i%2 == 0, layout: linearLayout(i / 3 % int(linearLayouts)), values: kindOf(i), seed: i,
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
	return list
}

func TestLinear(t *testing.T) {
	for i, c := range linearCases() {
		if !thin() || sampled(i) {
			c.check(t, 1)
		}
	}
}

// TestLinearLarge takes sizes that are cut: into parts of K, strips, blocks of rows and
// tasks.
func TestLinearLarge(t *testing.T) {
	eagerTiers(t)
	cases := []linearCase{
		{m: 40, n: 130, k: 1000, bias: true, layout: gappedRows},
		{m: 5, n: 48 * 5, k: 300, dtype: kernel.Float16, layout: transposed, bias: true},
		{m: 1, n: 290, k: 700, dtype: kernel.BFloat16},
		{m: 500, n: 33, k: 140, layout: transposed, values: mantissas},
		{m: 90, n: 500, k: 40, dtype: kernel.Float16, bias: true, values: mantissas},
		{m: 1, n: 20, k: 6000, dtype: kernel.Float16, values: mantissas},
	}
	if quick() {
		cases = cases[:3]
	}
	for _, c := range cases {
		c.check(t, 1, 2, 5)
	}
}

// TestLinearWidens: it does not matter whether weights of 16 bits are widened on the way
// or before.
func TestLinearWidens(t *testing.T) {
	eagerTiers(t)
	for i, dtype := range []kernel.DType{kernel.Float16, kernel.BFloat16} {
		c := linearCase{m: 41, n: 120, k: 300, dtype: dtype, bias: true, values: mantissas, seed: i}
		x, w, bias := c.inputs()
		want, l := c.contract(&x, &w, bias), mustLinear(t, w, bias)
		eachTier(t, func(t *testing.T, tier *tier) {
			for _, rows := range []int{0, 2, 41} {
				other := *tier
				other.halfRows = rows
				out := c.output()
				l.apply(&other, out, x, &linear.Options{Exec: kernel.Exec{Threads: 2}})
				sameFloats(t, fmt.Sprintf("halfRows %d", rows), out.f32, want.f32)
			}
		})
	}
}

// TestLinearSplit: the rows of a product do not depend on each other, nor on how
// many there are.
func TestLinearSplit(t *testing.T) {
	c := linearCase{m: 61, n: 83, k: 150, bias: true, values: mantissas, seed: 3}
	x, w, bias := c.inputs()
	l := mustLinear(t, w, bias)
	eachTier(t, func(t *testing.T, tier *tier) {
		want, opts := c.output(), linear.Options{Exec: kernel.Exec{Tier: tier.name}}
		if err := l.Apply(want, x, opts); err != nil {
			t.Fatal(err)
		}
		r := rng(1)
		for range repeats(20) {
			got := c.output()
			for at := 0; at < c.m; {
				n := min(1+r.intn(20), c.m-at)
				if err := l.Apply(linear.DenseMatrix(got.f32[at*c.n:], n, c.n), linear.DenseMatrix(x.f32[at*c.k:], n, c.k), opts); err != nil {
					t.Fatal(err)
				}
				at += n
			}
			sameFloats(t, "split", got.f32, want.f32)
		}
	})
}

// TestLinearAccuracy compares with float64.
func TestLinearAccuracy(t *testing.T) {
	c := linearCase{m: 20, n: 70, k: 768, bias: true, seed: 4}
	x, w, bias := c.inputs()
	out := c.output()
	if err := mustLinear(t, w, bias).Apply(out, x, linear.Options{}); err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for m := range c.m {
		for n := range c.n {
			sum, size := float64(bias[n]), 0.0
			for k := range c.k {
				p := float64(x.element(m, k)) * float64(w.element(n, k))
				sum += p
				size += math.Abs(p)
			}
			worst = max(worst, math.Abs(float64(out.f32[m*c.n+n])-sum)/size)
		}
	}
	if worst > 1e-6 {
		t.Errorf("largest error %.3g of the sum of magnitudes", worst)
	}
	t.Logf("largest error %.3g of the sum of magnitudes", worst)
}

// TestLinearZeros: without a bias -0 stays, with one of +0 it does not.
func TestLinearZeros(t *testing.T) {
	tiny := linear.DenseMatrix([]float32{0x1p-140}, 1, 1)
	x := linear.DenseMatrix([]float32{-0x1p-140}, 1, 1)
	for _, y := range []struct {
		bias []float32
		want uint32
	}{{nil, 1 << 31}, {[]float32{0}, 0}, {[]float32{float32(math.Copysign(0, -1))}, 1 << 31}} {
		out := []float32{canary}
		if err := mustLinear(t, tiny, y.bias).Apply(linear.DenseMatrix(out, 1, 1), x, linear.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := math.Float32bits(out[0]); got != y.want {
			t.Errorf("bias %v: got %08x, want %08x", y.bias, got, y.want)
		}
	}
}

// TestGuardLinear puts x, out, w and the bias right behind a page that nobody may
// touch, and right before one.
func TestGuardLinear(t *testing.T) {
	for _, a := range []*arena{newGuardedArena(t, atStart), newGuardedArena(t, atEnd)} {
		put := func(name string, m linear.Matrix) linear.Matrix {
			if m.dtype == kernel.Float32 {
				guarded := a.vector(name, len(m.f32), 0)
				copy(guarded, m.f32)
				m.f32 = guarded
				return m
			}
			guarded := elementsOf[uint16](a, name, 1, m.other.n, m.other.n, 2)
			copy(guarded, m.u16())
			m.other = sliceOf(guarded)
			return m
		}
		for i, c := range linearCases() {
			if i%5 != 0 && !sampled(i) {
				continue
			}
			a.slots = a.slots[:0]
			x, w, bias := c.inputs()
			want := c.contract(&x, &w, bias)
			x, w = put("x", x), put("w", w)
			bias = put("bias", linear.DenseMatrix(bias, 1, len(bias))).f32
			if !c.bias {
				bias = nil
			}
			out := put("out", want)
			l := mustLinear(t, w, bias)
			eachTier(t, func(t *testing.T, tier *tier) {
				copy(out.f32, filled(len(out.f32), canary))
				if err := l.Apply(out, x, linear.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 1}}); err != nil {
					t.Fatal(err)
				}
				sameFloats(t, c.String(), out.f32, want.f32)
			})
		}
	}
}

func TestLinearErrors(t *testing.T) {
	data := filled(100, canary)
	for _, y := range []struct {
		what      string
		w         linear.Matrix
		bias      []float32
		arg, want string
	}{
		{"short", linear.DenseMatrix(data, 10, 11), nil, "w", "110 elements"},
		{"nil", linear.DenseMatrix[float32](nil, 1, 1), nil, "w", "1 elements"},
		{"short f16", linear.DenseMatrix(make([]kernel.F16, 5), 2, 3), nil, "w", "float16"},
		{"negative", linear.DenseMatrix(data, -1, 3), nil, "w", "negative dimension"},
		{"negative stride", linear.StridedMatrix(data, 2, 3, -3, 1), nil, "w", "negative stride"},
		{"overflow", linear.DenseMatrix(data, math.MaxInt, math.MaxInt), nil, "w", "fits an int"},
		{"broadcast to too many", linear.StridedMatrix(data, math.MaxInt/2, 3, 0, 0), nil, "w", "at most"},
		{"broadcast to too many", linear.StridedMatrix(data, 3, math.MaxInt/2, 0, 0), nil, "w", "at most"},
		{"short bias", linear.DenseMatrix(data, 4, 4), data[:3], "bias", "4, one per row"},
		{"empty bias", linear.DenseMatrix(data, 4, 4), []float32{}, "bias", "nil"},
	} {
		_, err := linear.New(y.w, y.bias)
		wantArgument(t, y.what, err, y.arg, y.want)
	}
	l := mustLinear(t, linear.DenseMatrix(make([]float32, 20), 4, 5), nil)
	other := make([]float32, 100)
	for _, y := range []struct {
		what      string
		out, x    linear.Matrix
		opts      linear.Options
		arg, want string
	}{
		{"x short", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other[:14], 3, 5), linear.Options{}, "x", "15 elements"},
		{"x narrow", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 4), linear.Options{}, "x", "5 columns"},
		{"x f16", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(make([]kernel.F16, 15), 3, 5), linear.Options{}, "x", "float32"},
		{"x negative", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, -3, 5), linear.Options{}, "x", "negative dimension"},
		{"out short", linear.DenseMatrix(data[:11], 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "12 elements"},
		{"out f16", linear.DenseMatrix(make([]kernel.F16, 12), 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "float32"},
		{"out has other rows", linear.DenseMatrix(data, 4, 4), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "[3 4]"},
		{"out has other columns", linear.DenseMatrix(data, 3, 5), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "[3 4]"},
		{"out in columns", linear.DenseMatrix(data, 4, 3).T(), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "contiguous rows"},
		{"out broadcast", linear.StridedMatrix(data, 3, 4, 0, 1), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "overlap"},
		{"out rows overlap", linear.StridedMatrix(data, 3, 4, 3, 1), linear.DenseMatrix(other, 3, 5), linear.Options{}, "out", "overlap"},
		{"out is x", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(data, 3, 5), linear.Options{}, "out", "overlaps x"},
		{"out meets x", linear.DenseMatrix(data[14:], 3, 4), linear.DenseMatrix(data, 3, 5), linear.Options{}, "out", "overlaps x"},
		{"threads", linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{Exec: kernel.Exec{Threads: -1}}, "LinearOptions.Threads", "at least 1"},
	} {
		wantArgument(t, y.what, l.Apply(y.out, y.x, y.opts), y.arg, y.want)
	}
	for _, x := range data {
		if x != canary {
			t.Fatal("out was written to")
		}
	}
	if _, ok := l.Apply(linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{Exec: kernel.Exec{Tier: "sse9"}}).(*kernel.TierError); !ok {
		t.Error("an unknown tier gave no TierError")
	}
}

// TestLinearGood makes calls at the edge of what is valid.
func TestLinearGood(t *testing.T) {
	data, other := make([]float32, 100), make([]float32, 100)
	l := mustLinear(t, linear.DenseMatrix(make([]float32, 20), 4, 5), nil)
	for what, err := range map[string]error{
		"no rows":         l.Apply(linear.DenseMatrix[float32](nil, 0, 4), linear.DenseMatrix[float32](nil, 0, 5), linear.Options{}),
		"no inputs":       mustLinear(t, linear.DenseMatrix[float32](nil, 4, 0), data[:4]).Apply(linear.DenseMatrix(data, 3, 4), linear.DenseMatrix[float32](nil, 3, 0), linear.Options{}),
		"no outputs":      mustLinear(t, linear.DenseMatrix[float32](nil, 0, 5), nil).Apply(linear.DenseMatrix[float32](nil, 3, 0), linear.DenseMatrix(other, 3, 5), linear.Options{}),
		"unused strides":  l.Apply(linear.StridedMatrix(data, 1, 4, -7, 1), linear.StridedMatrix(other, 1, 5, math.MinInt, 1), linear.Options{}),
		"x broadcast":     l.Apply(linear.DenseMatrix(data, 3, 4), linear.StridedMatrix(other, 3, 5, 0, 1), linear.Options{}),
		"out touches x":   l.Apply(linear.DenseMatrix(data[15:], 3, 4), linear.DenseMatrix(data, 3, 5), linear.Options{}),
		"one column":      mustLinear(t, linear.DenseMatrix(other, 1, 5), nil).Apply(linear.StridedMatrix(data, 3, 1, 2, -9), linear.DenseMatrix(other, 3, 5), linear.Options{}),
		"more threads":    l.Apply(linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{Exec: kernel.Exec{Threads: 1000}}),
		"w broadcast too": mustLinear(t, linear.StridedMatrix(other, 4, 5, 0, 0), nil).Apply(linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5), linear.Options{}),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLinearRun: a program's parallel-for gives the same bits, a bad one too.
func TestLinearRun(t *testing.T) {
	eagerTiers(t)
	c := linearCase{m: 50, n: 200, k: 400, seed: 6}
	x, w, bias := c.inputs()
	l := mustLinear(t, w, bias)
	want := c.output()
	if err := l.Apply(want, x, linear.Options{Exec: kernel.Exec{Threads: 1}}); err != nil {
		t.Fatal(err)
	}
	var late func(int)
	for what, run := range map[string]func(n int, task func(int)){
		"one after the other": func(n int, task func(int)) {
			for i := range n {
				task(i)
			}
		},
		"none":     func(int, func(int)) {},
		"too many": func(n int, task func(int)) { late = task; go task(0); task(n); task(n + 1); task(n + 2) },
	} {
		got := c.output()
		if err := l.Apply(got, x, linear.Options{Exec: kernel.Exec{Threads: 3, ParallelFor: run, Tier: "generic"}}); err != nil {
			t.Fatal(err)
		}
		sameFloats(t, what, got.f32, want.f32)
	}
	late(0)
}

// TestLinearConcurrent uses one Linear of every type from many goroutines.
func TestLinearConcurrent(t *testing.T) {
	eagerTiers(t)
	var wg sync.WaitGroup
	for dtype := range kernel.Int8 {
		c := linearCase{m: 9, n: 100, k: 70, dtype: dtype, bias: true, seed: 8}
		x, w, bias := c.inputs()
		want, l := c.contract(&x, &w, bias), mustLinear(t, w, bias)
		for g := range 4 {
			wg.Go(func() {
				for i := range repeats(30) {
					m := 1 + (i+g)%c.m
					out := filled(m*c.n, canary)
					if err := l.Apply(linear.DenseMatrix(out, m, c.n), linear.DenseMatrix(x.f32, m, c.k), linear.Options{Exec: kernel.Exec{Threads: 1 + g%2}}); err != nil {
						t.Error(err)
					}
					for i, y := range out {
						if math.Float32bits(y) != math.Float32bits(want.f32[i]) {
							t.Errorf("%v: [%d] is %v, want %v", c, i, y, want.f32[i])
							return
						}
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestLinearAllocs(t *testing.T) {
	eagerTiers(t)
	for dtype := range kernel.Int8 {
		for _, m := range []int{1, 40} {
			for _, threads := range []int{1, 2} {
				c := linearCase{m: m, n: 300, k: 500, dtype: dtype, bias: true}
				x, w, bias := c.inputs()
				l, out := mustLinear(t, w, bias), c.output()
				apply := func() {
					if err := l.Apply(out, x, linear.Options{Exec: kernel.Exec{Threads: threads}}); err != nil {
						t.Fatal(err)
					}
				}
				apply()
				if n := warmAllocs(10, apply); n != 0 && !raceEnabled {
					t.Errorf("%v threads=%d: %v allocations", c, threads, n)
				}
			}
		}
	}
}
