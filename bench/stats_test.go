package main

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
		if m, s := median(c.samples), spread(c.samples); m != c.median || s != c.spread {
			t.Errorf("%v: median %g, spread %g, want %g, %g", c.samples, m, s, c.median, c.spread)
		}
	}
}

func TestResult(t *testing.T) {
	s := samples{ns: []float64{90, 100, 200}, peaks: []float64{40, 50, 60}, calls: 3}
	s.merge(samples{ns: []float64{100}, peaks: []float64{50}, calls: 2})
	r := s.result(cell{&shapes[0], "avx2", 2}, "", 8000)
	if r.ns != 100 || r.gflops != 80 || r.peak != 50 || r.percent != 80 || r.calls != 5 {
		t.Errorf("%+v", r)
	}
	if r := (&samples{}).result(r.cell, "", 1); r.gflops != 0 || r.percent != 0 {
		t.Errorf("without samples: %+v", r)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		12: "12 ns", 999.4: "999 ns", 999.6: "1.00 µs", 1500: "1.50 µs", 24771.9: "24.8 µs",
		999499: "999 µs", 14.13e6: "14.1 ms", 8.6e9: "8.60 s",
	} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%g) = %q, want %q", ns, got, want)
		}
	}
	for x, want := range map[float64]string{1.234e-6: "1.23e-6", 0: "0", 1e-12: "1e-12"} {
		if got := small(x); got != want {
			t.Errorf("small(%g) = %q, want %q", x, got, want)
		}
	}
	if got := ratio(3, 2) + ratio(1, 0); got != "1.50-" {
		t.Errorf("ratios %q", got)
	}
}

func TestWrap(t *testing.T) {
	if got := wrap([]string{"one", "two", "three"}, 8, "  "); got != "one two\n  three" {
		t.Errorf("wrap = %q", got)
	}
}

func TestNameInCPUInfo(t *testing.T) {
	for info, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Some  CPU @ 2\n": "Some CPU @ 2",
		"processor\t: 0\nBogoMIPS\t: 50.00\n":           "",
		"cpu\t\t: POWER9\n":                             "POWER9",
	} {
		if got := nameInCPUInfo(info); got != want {
			t.Errorf("%q: %q, want %q", info, got, want)
		}
	}
}

func TestProbes(t *testing.T) {
	ps := newProbes()
	for _, p := range ps {
		if rate := p.together(2); rate <= 0 {
			t.Errorf("%s: %g GFLOP/s", p.name, rate)
		}
		if ps.of(p.name) != p {
			t.Errorf("%s has another's probe", p.name)
		}
	}
	if ps.of("generic") != ps[0] {
		t.Error("generic is not compared with the widest vectors")
	}
}
