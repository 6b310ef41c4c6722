package compare

import (
	"errors"
	"slices"
	"testing"

	"github.com/attn-go/attn/bench/internal/results"
)

// runs returns a file whose shape took these times.
func runs(ns ...float64) *results.File {
	return &results.File{Machine: results.Machine{CPU: "x"}, Speed: []results.Speed{{Shape: "p", Tier: "avx2", Threads: 1, Timing: results.Timing{Runs: ns}, SHA256: "1"}}}
}

func TestFiles(t *testing.T) {
	steady := []float64{100, 101, 99, 100, 102, 98}
	slower := []float64{120, 121, 119, 120, 122, 118}
	noisy := []float64{60, 150, 160, 62, 155, 58}
	for name, c := range map[string]struct {
		old, new       []float64
		certain        bool
		slower, faster bool
	}{
		"the same":                {steady, steady, false, false, false},
		"slower":                  {steady, slower, true, true, false},
		"faster":                  {slower, steady, true, false, true},
		"noise":                   {steady, noisy, false, false, false},
		"few runs, slower":        {steady[:1], slower[:1], false, true, false},
		"few runs, faster":        {[]float64{516e6}, []float64{54.5e6}, false, false, true},
		"few runs, same":          {steady[:1], steady[1:2], false, false, false},
		"numbers of runs differ":  {steady, slower[:5], true, true, false},
		"slower by less than 10%": {steady, []float64{106, 107, 105, 106, 108, 104}, true, false, false},
		"faster by less than 10%": {[]float64{106, 107, 105, 106, 108, 104}, steady, true, false, false},
	} {
		got, err := Files([]*results.File{runs(c.old...)}, []*results.File{runs(c.new...)}, 10)
		if err != nil || len(got.Rows) != 1 {
			t.Fatal(name, got, err)
		}
		r := got.Rows[0]
		if r.Certain != c.certain || r.Slower != c.slower || r.Faster != c.faster || got.Slower > 0 != c.slower || got.Faster > 0 != c.faster {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// With less than 6 runs there is no interval. A difference that alternated runs do not have is
// not certain, however unlikely it is in runs without an order.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		old, new []float64
		interval bool
		certain  bool
	}{
		{[]float64{100, 101, 99, 100, 101}, []float64{120, 121, 119, 120, 121}, false, true},
		{[]float64{100, 101, 99, 100, 101, 102}, []float64{120, 121, 119, 120, 121, 122}, true, true},
		{[]float64{100, 101, 102, 103, 104, 105, 106, 107, 130}, []float64{110, 111, 112, 113, 114, 115, 116, 117, 118}, true, true},
		{[]float64{100, 101, 102, 103, 104, 105, 106, 107, 130, 131}, []float64{120, 121, 122, 123, 124, 125, 126, 127, 128, 129}, true, false},
	} {
		got, err := Files([]*results.File{runs(c.old...)}, []*results.File{runs(c.new...)}, 5)
		if err != nil {
			t.Fatal(err)
		}
		if r := got.Rows[0]; (r.High > 0) != c.interval || r.Certain != c.certain || r.P >= 0.05 {
			t.Errorf("%v %v: %+v", c.old, c.new, r)
		}
	}
}

// The ratio is the median over alternated runs, so that load that comes and goes does not count.
func TestRatioOfAlternatedRuns(t *testing.T) {
	old, new := []float64{100, 200, 300, 100, 200, 300}, []float64{110, 220, 330, 110, 220, 330}
	c, err := Files([]*results.File{runs(old...)}, []*results.File{runs(new...)}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Rows[0]; r.Ratio < 1.0999 || r.Ratio > 1.1001 || r.Low < 1.0999 || r.High > 1.1001 {
		t.Errorf("%+v", r)
	}
}

// Files of several runs are one sample, in their order.
func TestSeveralFiles(t *testing.T) {
	c, err := Files([]*results.File{runs(1), runs(2), runs(3)}, []*results.File{runs(2), runs(4), runs(6)}, 5)
	if err != nil || c.Rows[0].Ratio != 2 || c.Rows[0].Runs != [2]int{3, 3} {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestNothingInCommon(t *testing.T) {
	other := runs(1)
	other.Speed[0].Shape = "q"
	if _, err := Files([]*results.File{runs(1)}, []*results.File{other}, 5); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
}

// What has disturbed the runs of a file is said with its name.
func TestDisturbed(t *testing.T) {
	much := 45.0
	old, new := runs(516e6), runs(54.5e6)
	old.Path, old.Machine.OthersPercent = "results/old.json", &much
	c, err := Files([]*results.File{old}, []*results.File{new}, 5)
	if want := []string{"old.json: other programs took 45.0% of the CPU time"}; err != nil || !slices.Equal(c.Disturbed, want) {
		t.Errorf("%q, %v; want %q", c.Disturbed, err, want)
	}
}

// Bits that differ and another CPU are noticed.
func TestOtherBits(t *testing.T) {
	other := runs(1)
	other.Speed[0].SHA256, other.Machine.CPU = "2", "y"
	c, err := Files([]*results.File{runs(1)}, []*results.File{other}, 5)
	if err != nil || c.Agreement.Agree || !c.OtherCPU {
		t.Errorf("%+v, %v", c, err)
	}
}

// Every kind of timed row is compared.
func TestAllKinds(t *testing.T) {
	f := &results.File{Speed: []results.Speed{{Shape: "l", Timing: results.Timing{Ns: 1}}}, Linear: make([]results.Linear, 1),
		Decode: make([]results.Decode, 1), Backward: make([]results.Backward, 1), Options: make([]results.Option, 1), Models: make([]results.Model, 1),
		Curves: []results.Curve{{X: []float64{1, 2}, Ns: []float64{3, 4}}}}
	if values, names := samples([]*results.File{f, f}); len(names) != 8 || len(values[names[0]]) != 2 {
		t.Errorf("%v, %q", values, names)
	}
}
