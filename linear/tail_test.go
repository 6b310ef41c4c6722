package linear_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// floatLayer is the layer of float32 with the weights of another one.
func floatLayer(t testing.TB, l *linear.Linear, bias []float32) *linear.Linear {
	t.Helper()
	n, k := l.Shape()
	numbers, rows := make([]float32, n*k), make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	if err := l.Rows(linear.DenseMatrix(numbers, n, k), rows, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	wide, err := linear.New(linear.DenseMatrix(numbers, n, k), bias, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	return wide
}

// sameOutputs compares two layers on rows of x of every layout, on all tiers and threads.
func sameOutputs(t *testing.T, what string, c testCase, got, want *linear.Linear, opts linear.Options) {
	t.Helper()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for c.layout = range layouts {
			x, _, _ := c.inputs()
			a, b := c.output(), c.output()
			opts.Exec = kernel.Exec{Tier: tier, Threads: 1 + int(c.layout)%3}
			if err := got.Apply(a.Matrix, x.Matrix, opts); err != nil {
				t.Fatal(err)
			}
			if err := want.Apply(b.Matrix, x.Matrix, opts); err != nil {
				t.Fatal(err)
			}
			contracttest.SameRow(t, fmt.Sprintf("%s, %v", what, c), a.numbers, b.numbers)
		}
	})
}

// With any number of inputs, a layer of QuantizeInt8 has the bits of one with its weights as
// float32, also where sums are -0.
func TestTail(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, k := range []int{1, 31, 33, 50, 127, 129, 1050} {
		for _, m := range []int{1, 2, 3, 9, 70} {
			if testutil.Quick() && (i+m)%3 != 0 {
				continue
			}
			c := testCase{m: m, n: 50 + i, k: k, seed: i, kind: testutil.KindOf(i + m)}
			_, w, bias := testCase{n: c.n, k: k, bias: true, seed: i + 1}.inputs()
			l, err := linear.QuantizeInt8(w.Matrix, bias, kernel.Exec{})
			if err != nil {
				t.Fatal(err)
			}
			sameOutputs(t, "tail", c, l, floatLayer(t, l, bias), linear.Options{})
		}
	}
}

// Sums that are -0 stay so: the product of a tiny number and a negative one vanishes.
func TestTailNegativeZero(t *testing.T) {
	w := []float32{0x1p-14, 0x1p-14}
	for _, k := range []int{1, 2} {
		l, err := linear.QuantizeInt8(linear.DenseMatrix(w, 1, k), nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		x, got, want := []float32{-0x1p-140, -0x1p-140}, []float32{1}, []float32{1}
		for out, l := range map[*float32]*linear.Linear{&got[0]: l, &want[0]: floatLayer(t, l, nil)} {
			y := []float32{1}
			if err := l.Apply(linear.DenseMatrix(y, 1, 1), linear.DenseMatrix(x, 1, k), linear.Options{}); err != nil {
				t.Fatal(err)
			}
			*out = y[0]
		}
		contracttest.SameRow(t, fmt.Sprintf("%d inputs", k), got, want)
	}
}

// With Options.DynamicInt8 the bits are as with a layer and rows that end in zeros.
func TestTailInt8(t *testing.T) {
	for i, k := range []int{1, 17, 33, 100, 1050} {
		for _, m := range []int{1, 3, 60} {
			if testutil.Quick() && (i+m)%2 != 0 {
				continue
			}
			const n = 70
			depth := (k + 31) / 32 * 32
			c := testCase{m: m, n: n, k: k, seed: i, kind: testutil.Mantissas}
			x, w, _ := c.inputs()
			longX, longW := make([]float32, m*depth), make([]float32, n*depth)
			for r := range m {
				copy(longX[r*depth:], x.numbers[r*k:][:k])
			}
			for r := range n {
				copy(longW[r*depth:], w.numbers[r*k:][:k])
			}
			short, err := linear.QuantizeInt8(w.Matrix, nil, kernel.Exec{})
			if err != nil {
				t.Fatal(err)
			}
			long, err := linear.QuantizeInt8(linear.DenseMatrix(longW, n, depth), nil, kernel.Exec{})
			if err != nil {
				t.Fatal(err)
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				a, b := c.output(), c.output()
				opts := linear.Options{DynamicInt8: true, Exec: kernel.Exec{Tier: tier}}
				if err := short.Apply(a.Matrix, x.Matrix, opts); err != nil {
					t.Fatal(err)
				}
				if err := long.Apply(b.Matrix, linear.DenseMatrix(longX, m, depth), opts); err != nil {
					t.Fatal(err)
				}
				contracttest.SameRow(t, c.String(), a.numbers, b.numbers)
			})
		}
	}
}

// The packed form of a layer with a tail is read as it was written.
func TestTailPacked(t *testing.T) {
	c := testCase{m: 3, n: 20, k: 45}
	_, w, _ := c.inputs()
	l, err := linear.QuantizeInt8(w.Matrix, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := linear.FromPacked(bytes.Clone(packed(t, l)))
	if err != nil {
		t.Fatal(err)
	}
	sameOutputs(t, "read", c, again, l, linear.Options{})
}

// A warm call allocates nothing, though it copies the last inputs.
func TestTailAllocatesNothing(t *testing.T) {
	l, err := linear.QuantizeInt8(linear.DenseMatrix(testutil.Filled(50*45, 1.5), 50, 45), nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	x, out := linear.DenseMatrix(testutil.Filled(3*45, 2), 3, 45), linear.DenseMatrix(make([]float32, 3*50), 3, 50)
	for _, opts := range []linear.Options{{}, {DynamicInt8: true}} {
		testutil.CheckNoMallocs(t, "Apply", 100, func() {
			if err := l.Apply(out, x, opts); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A layer with five inputs, one block that is not full.
func ExampleQuantizeInt8_inputs() {
	l, err := linear.QuantizeInt8(linear.DenseMatrix([]float32{1, -2, 0, 0.5, 127}, 1, 5), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, out := []float32{1, 1, 1, 2, 1}, []float32{0}
	err = l.Apply(linear.DenseMatrix(out, 1, 1), linear.DenseMatrix(x, 1, 5), linear.Options{})
	fmt.Println(out, err)

	// Output: [126] <nil>
}
