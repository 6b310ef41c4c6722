package born

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/nn"
	"github.com/born-ml/born/tensor"
)

// layer returns a layer on a backend, and one with the same weights on Born's own.
func layer(b *Backend, in, out int, opts ...nn.LinearOption) (*nn.Linear[*Backend], func(x []float32) []float32) {
	l, same := nn.NewLinear(in, out, b, opts...), nn.NewLinear(in, out, host, opts...)
	return l, func(x []float32) []float32 {
		copy(same.Weight().Tensor().Data(), l.Weight().Tensor().Data())
		if l.HasBias() {
			copy(same.Bias().Tensor().Data(), l.Bias().Tensor().Data())
		}
		t, err := tensor.FromSlice(x, tensor.Shape{len(x) / in, in}, host)
		if err != nil {
			panic(err)
		}
		return same.Forward(t).Data()
	}
}

// forward returns what a layer makes of rows of numbers.
func forward(t testing.TB, b *Backend, l *nn.Linear[*Backend], x []float32) []float32 {
	t.Helper()
	in, err := tensor.FromSlice(x, tensor.Shape{len(x) / l.InFeatures(), l.InFeatures()}, b)
	if err != nil {
		t.Fatal(err)
	}
	return l.Forward(in).Data()
}

// nearSlices is near for slices.
func nearSlices(t *testing.T, what string, got, want []float32) {
	t.Helper()
	tensorOf := func(x []float32) *floats {
		y, err := tensor.FromSlice(x, tensor.Shape{len(x)}, host)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	near(t, what, tensorOf(got), tensorOf(want))
}

// TestLinear compares packed layers with Born's, on the shapes of its tests and of the byte
// model, with a bias and without.
func TestLinear(t *testing.T) {
	b := NewBackend(kernel.Exec{})
	for _, s := range []struct{ rows, in, out int }{
		{1, 1, 1}, {2, 3, 2}, {1, 784, 128}, {32, 784, 128}, {7, 192, 64}, {64, 192, 512}, {5, 512, 192}, {1, 192, 256},
	} {
		for _, bias := range []bool{false, true} {
			l, want := layer(b, s.in, s.out, nn.WithBias(bias))
			if bias {
				copy(l.Bias().Tensor().Data(), random(s.out).Data())
			}
			x := random(s.rows, s.in).Data()
			nearSlices(t, fmt.Sprint(s, bias, " not packed"), forward(t, b, l, x), want(x))
			if err := b.Pack(l); err != nil {
				t.Fatal(err)
			}
			nearSlices(t, fmt.Sprint(s, bias, " packed"), forward(t, b, l, x), want(x))
		}
	}
}

// TestChangedWeights: a packed layer keeps its weights until it is packed again or unpacked.
func TestChangedWeights(t *testing.T) {
	b := NewBackend(kernel.Exec{})
	l, want := layer(b, 64, 32)
	if err := b.Pack(l); err != nil {
		t.Fatal(err)
	}
	x := random(3, 64).Data()
	before := want(x)
	w := l.Weight().Tensor().Data()
	for i := range w {
		w[i] += 1
	}
	nearSlices(t, "before Pack", forward(t, b, l, x), before)
	if err := b.Pack(l); err != nil {
		t.Fatal(err)
	}
	nearSlices(t, "after Pack", forward(t, b, l, x), want(x))
	if len(b.weights) != 1 || len(b.transposed) != 1 {
		t.Errorf("%d and %d entries for one layer that was packed twice", len(b.weights), len(b.transposed))
	}
	for i := range w {
		w[i] *= 2
	}
	b.Unpack(l)
	b.Unpack(l)
	nearSlices(t, "after Unpack", forward(t, b, l, x), want(x))
	if len(b.weights) != 0 || len(b.transposed) != 0 {
		t.Errorf("%d and %d entries after Unpack", len(b.weights), len(b.transposed))
	}
}

// TestTransposed: the transposed tensor of packed weights is a tensor like any other. A sum
// into which Born would write in place does not change it.
func TestTransposed(t *testing.T) {
	b := NewBackend(kernel.Exec{})
	l, _ := layer(b, 3, 2)
	if err := b.Pack(l); err != nil {
		t.Fatal(err)
	}
	w := l.Weight().Tensor()
	want := []float32{w.At(0, 0), w.At(1, 0), w.At(0, 1), w.At(1, 1), w.At(0, 2), w.At(1, 2)}
	for _, transposed := range []*tensor.Tensor[float32, *Backend]{w.Transpose(), w.Transpose(1, 0), w.T()} {
		if transposed.Raw() != w.Transpose().Raw() {
			t.Error("the packed weights are transposed anew")
		}
		sum := transposed.Add(tensor.Ones[float32](tensor.Shape{3, 2}, b))
		if !slices.Equal(transposed.Data(), want) || sum.At(0, 0) != want[0]+1 {
			t.Errorf("the transposed tensor is %v, want %v", transposed.Data(), want)
		}
	}
	if got := w.Transpose(0, 1).Data(); !slices.Equal(got, w.Data()) {
		t.Errorf("the axes 0, 1 give %v, want %v", got, w.Data())
	}
}

// TestThreads: goroutines that use layers while others are packed, for the race detector.
func TestThreads(t *testing.T) {
	b := NewBackend(kernel.Exec{})
	used, want := layer(b, 64, 32)
	if err := b.Pack(used); err != nil {
		t.Fatal(err)
	}
	x := random(3, 64).Data()
	y := want(x)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			other, _ := layer(b, 64, 32)
			for range 20 {
				if err := b.Pack(other); err != nil {
					t.Error(err)
				}
				nearSlices(t, "out", forward(t, b, used, x), y)
				b.Unpack(other)
			}
		})
	}
	wg.Wait()
}

// TestMatMulPanics: Born reports a product that does not fit.
func TestMatMulPanics(t *testing.T) {
	b := NewBackend(kernel.Exec{})
	l, _ := layer(b, 4, 2)
	if err := b.Pack(l); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for rows of 5 numbers")
		}
	}()
	tensor.Ones[float32](tensor.Shape{1, 5}, b).MatMul(l.Weight().Tensor().Transpose())
}
