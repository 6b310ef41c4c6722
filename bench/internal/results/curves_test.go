package results

import "testing"

// The worst step is to a larger number, which is more work; of flat curves it is to any.
func TestWorst(t *testing.T) {
	for _, c := range []struct {
		kind     string
		ns       []float64
		ratio    float64
		from, to int
	}{
		{OverRows, []float64{10, 30, 20, 40, 25}, 1.6, 3, 4},
		{OverRows, []float64{10, 30, 20, 40, 45}, 1.5, 1, 2},
		{OverRows, []float64{10, 20, 40}, 0.5, 0, 1},
		{OverMagnitudes, []float64{10, 20, 30}, 3, 2, 0},
		{OverPages, []float64{80, 20, 10}, 8, 0, 2},
	} {
		curve := Curve{Kind: c.kind, X: make([]float64, len(c.ns)), Ns: c.ns}
		if ratio, from, to := curve.Worst(); ratio != c.ratio || from != c.from || to != c.to {
			t.Errorf("%s %v: %g from %d to %d, want %g from %d to %d", c.kind, c.ns, ratio, from, to, c.ratio, c.from, c.to)
		}
	}
}

// Groups of files of earlier versions are rows of decoding, but for those that are there already.
func TestGroups(t *testing.T) {
	f, err := Parse("x", []byte(`{"format":"attn-bench","schema":2,"contract":2,"machine":{"cpu":"x"},"tiers":[{"name":"generic"}],"decode":[{"group":4}],"groups":[{"group":4},{"group":7}]}`))
	if err != nil || len(f.Decode) != 2 || f.Decode[1].Group != 7 || f.Groups != nil {
		t.Errorf("%+v, %v", f, err)
	}
}
