package stats

import "testing"

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		samples        []float64
		median, spread float64
	}{
		{nil, 0, 0},
		{[]float64{7}, 7, 0},
		{[]float64{3, 1}, 2, 0.5},
		{[]float64{9, 1, 5}, 5, 0.8},
		{[]float64{4, 1, 3, 2, 100}, 3, 2.0 / 3},
	} {
		if m, s := Median(c.samples), Spread(c.samples); m != c.median || s != c.spread {
			t.Errorf("%v: median %g, spread %g, want %g, %g", c.samples, m, s, c.median, c.spread)
		}
	}
}
