package fallback

import "testing"

func TestAdditive(t *testing.T) {
	// Two rows of A in columns, two lanes, with gaps; sums of ±1, of 0, and one that
	// is rounded: 3·tanh(½) + ½·1.
	a := []float32{50, 0.25, 100, 100}
	b := []float32{1, 0.25, canary, -100, 10}
	c := []float32{canary, canary, canary, canary, canary}
	Additive(c, 3, a, 1, 2, b, 3, 2, 2, []float32{3, 0.5})
	third := FMA(0.5, 1, 3*Tanh(0.5))
	equal(t, "c", c, []float32{3, 3.5, canary, 3 * Tanh(1.25), third})
	Additive(c, 3, nil, 1, 1, nil, 3, 2, 2, nil)
	equal(t, "c without weights", c, []float32{0, 0, canary, 0, 0})
}
