package layer

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// normals returns n numbers of the standard normal distribution.
func normals(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// normalTensor returns a tensor [B, H, L, D] of normals.
func normalTensor(seed uint64, b, h, l, d int) kernel.Tensor {
	return kernel.BHLD(normals(seed, b*h*l*d), b, h, l, d)
}

// newTensor returns a tensor [B, H, L, D] of zeros.
func newTensor(b, h, l, d int) kernel.Tensor {
	return kernel.BHLD(make([]float32, b*h*l*d), b, h, l, d)
}

// rowTensor returns a tensor [1, 1, L, D] with these rows.
func rowTensor(x ...[]float32) kernel.Tensor {
	t := newTensor(1, 1, len(x), len(x[0]))
	for i, from := range x {
		copy(row(&t, 0, 0, i), from)
	}
	return t
}

// columns returns a tensor [1, 1, L, D] with these columns.
func columns(x ...[]float32) kernel.Tensor {
	t := newTensor(1, 1, len(x[0]), len(x))
	for j, column := range x {
		for i, e := range column {
			row(&t, 0, 0, i)[j] = e
		}
	}
	return t
}

// all returns the elements of a tensor, row by row.
func all(t *kernel.Tensor) []float32 {
	var s []float32
	eachRow(t.Shape(), func(b, h, l int) { s = append(s, row(t, b, h, l)...) })
	return s
}

// near fails if an element of got differs from want's by more than tol.
func near(t *testing.T, what string, got []float32, tol float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= tol) {
			t.Errorf("%s[%d] is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// equal fails if the shapes or the bits of two tensors differ.
func equal(t *testing.T, what string, got, want *kernel.Tensor) {
	t.Helper()
	if got.Shape() != want.Shape() {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	eachRow(want.Shape(), func(b, h, l int) {
		x := row(got, b, h, l)
		for e, y := range row(want, b, h, l) {
			if math.Float32bits(x[e]) != math.Float32bits(y) {
				t.Fatalf("%s: element (%d, %d, %d, %d) is %v (%08x), want %v (%08x)", what, b, h, l, e, x[e], math.Float32bits(x[e]), y, math.Float32bits(y))
			}
		}
	})
}

// distance returns the largest difference between the elements of two tensors.
func distance(x, y *kernel.Tensor) float64 {
	most := 0.0
	eachRow(y.Shape(), func(b, h, l int) {
		got := row(x, b, h, l)
		for e, want := range row(y, b, h, l) {
			if d := math.Abs(float64(got[e]) - float64(want)); !(d <= most) {
				most = d
			}
		}
	})
	return most
}

// must fails if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless err is an Error about arg and out, if not nil, still holds
// the canaries of newCanaries.
func refused(t *testing.T, err error, arg string, out *kernel.Tensor) {
	t.Helper()
	var bad *kernel.Error
	if !errors.As(err, &bad) || bad.Arg() != arg {
		t.Errorf("got %v, want an error about %s", err, arg)
	}
	if out == nil {
		return
	}
	for _, x := range all(out) {
		if x != canary {
			t.Fatalf("a call that returned an error about %s wrote to its output", arg)
		}
	}
}

// wantText fails unless err has this text.
func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got the error %v, want %s", err, text)
	}
}

// canary is a number that no result has.
const canary = -12345

// newCanaries returns a tensor of canaries.
func newCanaries(b, h, l, d int) kernel.Tensor {
	t := newTensor(b, h, l, d)
	eachRow(t.Shape(), func(b, h, l int) {
		row := row(&t, b, h, l)
		for i := range row {
			row[i] = canary
		}
	})
	return t
}

// eachTier runs f as a subtest for every tier that runs on this CPU.
func eachTier(t *testing.T, f func(t *testing.T, tier kernel.Tier)) {
	for _, tier := range kernel.Tiers() {
		t.Run(tier.String(), func(t *testing.T) { f(t, tier) })
	}
}
