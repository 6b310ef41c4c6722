package linear_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A testCase is a call of Apply with its data.
type testCase struct {
	m, n, k int
	dtype   kernel.DType  // of the weights
	format  linear.Format // of quantized weights; k is a multiple of 32
	int8    bool          // Options.DynamicInt8
	rounds  bool          // a layer of RoundBFloat16
	product bool          // a call of Product, which takes the weights as they are
	bias    bool
	layout  layout
	kind    testutil.Kind
	seed    int
}

// eachType returns a case with weights of every type and every format.
func eachType(c testCase) (list []testCase) {
	for c.dtype = range kernel.Int8 {
		list = append(list, c)
	}
	c.dtype, c.rounds = kernel.Float32, true
	list = append(list, c)
	c.rounds = false
	for _, c.format = range singleFormats {
		c.int8 = false
		list = append(list, c)
		c.int8 = true
		list = append(list, c)
	}
	return list
}

// A layout says how the matrices of a case lie in memory.
type layout int

const (
	dense      layout = iota
	gappedRows        // gaps of canaries between rows
	transposed        // x and w by columns, out by rows with gaps
	scattered         // x and w with gaps between all elements, out by rows with gaps
	colliding         // dense, but the rows of out lie 512 numbers apart

	layouts = scattered + 1 // that cases take in turn
)

func (l layout) String() string {
	return [...]string{"dense", "gaps", "transposed", "scattered", "colliding"}[l]
}

func (c testCase) String() string {
	if c.format != 0 {
		return fmt.Sprintf("m=%d n=%d k=%d %v int8=%v bias=%v %v %v seed=%d", c.m, c.n, c.k, c.format, c.int8, c.bias, c.layout, c.kind, c.seed)
	}
	return fmt.Sprintf("m=%d n=%d k=%d %v rounds=%v bias=%v %v %v seed=%d", c.m, c.n, c.k, c.dtype, c.rounds, c.bias, c.layout, c.kind, c.seed)
}

// A matrix is an argument whose elements the test knows.
type matrix struct {
	linear.Matrix
	rows, cols           int
	rowStride, colStride int
	numbers              []float32 // what the elements in memory stand for
	format               linear.Format
	blocks               []byte    // of quantized weights
	scales               []float32 // beside them, of NVFP4
	rounds               bool      // the layer is made by RoundBFloat16
}

func (m *matrix) at(i, j int) float32 { return m.numbers[i*m.rowStride+j*m.colStride] }

// scale is the scale of an output beside the blocks.
func (m *matrix) scale(n int) float32 {
	if len(m.scales) == 0 {
		return 1
	}
	return m.scales[n%len(m.scales)]
}

// weight is an element as New packs it: +0 if it is subnormal.
func (m *matrix) weight(i, j int) float32 {
	if x := m.at(i, j); x >= 0x1p-126 || x <= -0x1p-126 || x != x {
		return x
	}
	return 0
}

// newMatrix returns a matrix over numbers.
func newMatrix(numbers []float32, rows, cols, rowStride, colStride int) matrix {
	view := linear.StridedMatrix(numbers, rows, cols, rowStride, colStride)
	return matrix{Matrix: view, rows: rows, cols: cols, rowStride: rowStride, colStride: colStride, numbers: numbers}
}

// from returns the n rows of a float32 matrix from row lo on.
func (m *matrix) from(lo, n int) matrix {
	return newMatrix(m.numbers[min(lo*m.rowStride, len(m.numbers)):], n, m.cols, m.rowStride, m.colStride)
}

// extent returns the number of elements from the first to the last.
func extent(rows, cols, rowStride, colStride int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*rowStride + (cols-1)*colStride + 1
}

// input makes an input. What lies between its elements is NaN.
func (c testCase) input(r *testutil.Rand, rows, cols int) matrix {
	rs, cs := cols, 1
	switch c.layout {
	case gappedRows:
		rs = cols + 3
	case transposed:
		rs, cs = 1, rows+2
	case scattered:
		rs, cs = 2*cols+1, 2
	}
	m := newMatrix(testutil.Filled(extent(rows, cols, rs, cs), testutil.NaN), rows, cols, rs, cs)
	for i := range rows {
		for j := range cols {
			m.numbers[i*rs+j*cs] = c.kind.Next(r)
		}
	}
	return m
}

// weights makes w, rounded to the case's type.
func (c testCase) weights(r *testutil.Rand) matrix {
	if c.format != 0 {
		return quantizedWeights(r, c.format, c.n, c.k, c.kind)
	}
	w := c.input(r, c.n, c.k)
	switch c.dtype {
	case kernel.Float16:
		round(&w, numeric.ToF16)
	case kernel.BFloat16:
		round(&w, numeric.ToBF16)
	}
	w.rounds = c.rounds
	return w
}

// round converts a matrix to 16 bits.
func round[E interface {
	kernel.F16 | kernel.BF16
	Float32() float32
}](m *matrix, to func(float32) E) {
	data := make([]E, len(m.numbers))
	for i, x := range m.numbers {
		data[i] = to(x)
		m.numbers[i] = data[i].Float32()
	}
	m.Matrix = linear.StridedMatrix(data, m.rows, m.cols, m.rowStride, m.colStride)
}

// inputs makes the case's x, w and bias.
func (c testCase) inputs() (x, w matrix, bias []float32) {
	r := testutil.Rand(c.seed)
	x, w = c.input(&r, c.m, c.k), c.weights(&r)
	if c.bias {
		bias = make([]float32, c.n)
		c.kind.Fill(&r, bias, 1, c.n, c.n)
	}
	return x, w, bias
}

// output makes an output full of canaries.
func (c testCase) output() matrix {
	stride := c.n
	switch c.layout {
	case dense:
	case colliding:
		stride = 512
	default:
		stride += 5
	}
	return newMatrix(testutil.Filled(extent(c.m, c.n, stride, 1), testutil.Canary), c.m, c.n, stride, 1)
}

// contract computes the output as the documentation of Apply defines it.
func (c testCase) contract(x, w *matrix, bias []float32) matrix {
	out, weight := c.output(), w.weight
	if c.product {
		weight = w.at
	}
	for m := range c.m {
		for n := range c.n {
			sum := float32(0)
			switch {
			case c.int8:
				sum = c.int8Sum(x, w, m, n)
			case c.rounds:
				sum = c.roundedSum(x, w, m, n)
			}
			for first := 0; first < c.k && !c.int8 && !c.rounds; first += 128 { // segments
				acc := float32(0)
				for k := first; k < min(first+128, c.k); k++ {
					acc = numeric.FMA(x.at(m, k), weight(n, k), acc)
				}
				if first == 0 {
					sum = acc
				} else {
					sum += acc
				}
			}
			if bias != nil {
				sum += bias[n]
			}
			if sum != sum {
				sum = math.Float32frombits(0x7fc00000)
			}
			out.numbers[m*out.rowStride+n] = sum
		}
	}
	return out
}

// check compares every tier with the contract, the gaps included, with so many threads.
func (c testCase) check(t *testing.T, threads ...int) {
	t.Helper()
	compare := c.compare(t, threads...)
	contracttest.EachTier(t, compare)
}

// compare returns the test of one tier.
func (c testCase) compare(t *testing.T, threads ...int) func(t *testing.T, tier kernel.Tier) {
	t.Helper()
	x, w, bias := c.inputs()
	want := c.contract(&x, &w, bias)
	l := w.layer(t, bias)
	return func(t *testing.T, tier kernel.Tier) {
		t.Helper()
		for _, n := range threads {
			out := c.output()
			if err := l.Apply(out.Matrix, x.Matrix, c.options(tier, n)); err != nil {
				t.Fatal(err)
			}
			contracttest.SameRow(t, fmt.Sprintf("%v threads=%d", c, n), out.numbers, want.numbers)
		}
	}
}

func options(tier kernel.Tier, threads int) linear.Options {
	return linear.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
}

func (c testCase) options(tier kernel.Tier, threads int) linear.Options {
	o := options(tier, threads)
	o.DynamicInt8 = c.int8
	return o
}

// layer packs the matrix.
func (m *matrix) layer(t testing.TB, bias []float32) *linear.Linear {
	t.Helper()
	if m.rounds {
		l, err := linear.RoundBFloat16(m.Matrix, bias, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if m.format == 0 {
		return mustNew(t, m.Matrix, bias)
	}
	l, err := linear.FromBlocks(m.format, m.blocks, m.rows, m.cols, bias, kernel.Exec{})
	if m.scales != nil {
		l, err = linear.FromNVFP4(m.blocks, m.scales, m.rows, m.cols, bias, kernel.Exec{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustNew(t testing.TB, w linear.Matrix, bias []float32) *linear.Linear {
	t.Helper()
	l, err := linear.New(w, bias, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// tune changes the tuning of all tiers until the test ends.
func tune(t testing.TB, change func(x *tier.Tuning)) {
	for i := range tier.Tiers {
		x := &tier.Tiers[i].Tuning
		before := *x
		change(x)
		t.Cleanup(func() { *x = before })
	}
}
