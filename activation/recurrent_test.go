package activation_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// sigmoid is the contract's.
func sigmoid(x float32) float32 {
	e := []float32{float32(-float32(math.Abs(float64(x))) * math.Log2E)}
	if err := numeric.Exp2Slice(e, e, kernel.Exec{}); err != nil {
		panic(err)
	}
	if x < 0 {
		return e[0] / (1 + e[0])
	}
	return 1 / (1 + e[0])
}

// TestGRU compares the next states with the contract's formulas, on every tier, and the gradients
// with finite differences in float64.
func TestGRU(t *testing.T) {
	const rows, size = 3, 21
	in, hidden, before := testutil.Floats(3*rows*size), testutil.Floats(3*rows*size), testutil.Floats(rows*size)
	for i := range hidden {
		in[i], hidden[i] = 2*in[i], float32(i%7)-3
	}
	contracttest.EachDefault(t, func(t *testing.T) {
		state, gates := append([]float32(nil), before...), make([]float32, 3*rows*size)
		if err := activation.GRU(state, gates, in, hidden, size, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		d := testutil.Floats(rows * size)
		dIn, dHidden := make([]float32, 3*rows*size), make([]float32, 3*rows*size)
		dBefore := append([]float32(nil), d...)
		if err := activation.GRUBackward(dBefore, dIn, dHidden, gates, hidden, before, size, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, s := range before {
			at := i/size*3*size + i%size
			var x, h [3]float32
			for k := range x {
				x[k], h[k] = in[at+k*size], hidden[at+k*size]
			}
			r, z := sigmoid(x[0]+h[0]), sigmoid(x[1]+h[1])
			c := numeric.Tanh(x[2] + float32(r*h[2]))
			want := c + float32((s-c)*z)
			if state[i] != want || gates[at] != r || gates[at+size] != z || gates[at+2*size] != c {
				t.Fatalf("state %d: %v with gates %v %v %v, want %v with %v %v %v", i, state[i], gates[at], gates[at+size], gates[at+2*size], want, r, z, c)
			}
			check := func(name string, got float32, next func(change float64) float64) {
				const step = 1e-5
				want := float64(d[i]) * (next(step) - next(-step)) / (2 * step)
				if math.Abs(float64(got)-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("state %d: gradient of %s is %v, want %v", i, name, got, want)
				}
			}
			check("state", dBefore[i], func(v float64) float64 { return exactGRU(x, h, float64(s)+v, 0, 0, 0) })
			for k := range x {
				check("in", dIn[at+k*size], func(v float64) float64 { return exactGRU(x, h, float64(s), k, v, 0) })
				check("hidden", dHidden[at+k*size], func(v float64) float64 { return exactGRU(x, h, float64(s), k, 0, v) })
			}
		}
	})
}

// exactGRU returns the next state, with changes of element k of x and of h.
func exactGRU(x, h [3]float32, state float64, k int, changeX, changeH float64) float64 {
	var in, hidden [3]float64
	for i := range in {
		in[i], hidden[i] = float64(x[i]), float64(h[i])
	}
	in[k] += changeX
	hidden[k] += changeH
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	r, z := logistic(in[0]+hidden[0]), logistic(in[1]+hidden[1])
	c := math.Tanh(in[2] + r*hidden[2])
	return c + (state-c)*z
}

func TestGRUErrors(t *testing.T) {
	x := func(n int) []float32 { return make([]float32, n) }
	for _, c := range []struct {
		arg, text string
		err       error
	}{
		{"size", "0", activation.GRU(x(6), x(18), x(18), x(18), 0, kernel.Exec{})},
		{"state", "length 7", activation.GRU(x(7), x(18), x(18), x(18), 3, kernel.Exec{})},
		{"gates", "length 17", activation.GRU(x(6), x(17), x(18), x(18), 3, kernel.Exec{})},
		{"in", "length 21", activation.GRU(x(6), x(18), x(21), x(18), 3, kernel.Exec{})},
		{"hidden", "length 0", activation.GRU(x(6), x(18), x(18), nil, 3, kernel.Exec{})},
		{"size", "-1", activation.GRUBackward(x(6), x(18), x(18), x(18), x(18), x(6), -1, kernel.Exec{})},
		{"dstate", "length 5", activation.GRUBackward(x(5), x(18), x(18), x(18), x(18), x(6), 3, kernel.Exec{})},
		{"din", "length 6", activation.GRUBackward(x(6), x(6), x(18), x(18), x(18), x(6), 3, kernel.Exec{})},
		{"dhidden", "length 6", activation.GRUBackward(x(6), x(18), x(6), x(18), x(18), x(6), 3, kernel.Exec{})},
		{"gates", "length 6", activation.GRUBackward(x(6), x(18), x(18), x(6), x(18), x(6), 3, kernel.Exec{})},
		{"hidden", "length 6", activation.GRUBackward(x(6), x(18), x(18), x(18), x(6), x(6), 3, kernel.Exec{})},
		{"before", "length 3", activation.GRUBackward(x(6), x(18), x(18), x(18), x(18), x(3), 3, kernel.Exec{})},
	} {
		contracttest.CheckArgument(t, c.arg, c.err, c.arg, c.text)
	}
	both := x(24)
	contracttest.CheckArgument(t, "overlap", activation.GRU(both[:6], both[5:23], x(18), x(18), 3, kernel.Exec{}), "state", "overlaps gates")
}
