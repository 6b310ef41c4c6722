package speed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// A row has the median of all runs, and the share of the peak of as many threads.
func TestRow(t *testing.T) {
	var s samples
	s.merge(samples{ns: []float64{90, 100, 200}, peaks: []float64{90, 100, 110}, reads: []float64{30}, calls: 3})
	s.merge(samples{ns: []float64{100}, peaks: []float64{100, 120}, reads: []float64{50}, calls: 2})
	c, w := Cell{&problem.Shapes[0], machine.Generic, 2}, &workload{flops: 8000, bytes: 4000}
	r := s.row(c, w)
	if r.Ns != 100 || r.Q1 != 97.5 || r.Q3 != 125 || r.Samples != 4 || r.GFLOPs != 80 || r.Peak != 100 || r.Percent != 80 || r.Calls != 5 || len(r.Runs) != 2 || r.PeakSpread != 0.1 || r.Read != 40 || r.ReadSpread != 0.25 {
		t.Errorf("%+v", r)
	}
	if r := (&samples{}).row(c, w); r.GFLOPs != 0 || r.Percent != 0 {
		t.Errorf("without samples: %+v", r)
	}
}

func TestCells(t *testing.T) {
	other, err := machine.Generic.Tuned("SkinnyRows=1")
	if err != nil {
		t.Fatal(err)
	}
	names := map[kernel.Tier]string{other: "other", machine.Generic: "generic"}
	p := &Plan{Tiers: []kernel.Tier{other, machine.Generic}, Threads: []int{1, 2}}
	for i := range problem.Shapes {
		p.Shapes = append(p.Shapes, &problem.Shapes[i])
	}
	activations, err := problem.Activations()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range p.cells(activations) {
		count[c.Shape.Alias+" "+names[c.Tier]]++
	}
	for what, want := range map[string]int{"A other": 2, "A generic": 0, "R generic": 0, "S32 generic": 2, "M generic": 2} {
		if count[what] != want {
			t.Errorf("%d cells %s, want %d", count[what], what, want)
		}
	}
	want := "prefill-1k-d64 prefill-2k-d128-causal decode-4k-d128 encoder-128-d64 prefill-2k-d128 real-activations"
	if got := strings.Join(p.Skipped(activations), " "); got != want {
		t.Errorf("skipped %s, want %s", got, want)
	}
	p.Generic = true
	if n := len(p.cells(activations)); n != len(problem.Shapes)*4 {
		t.Errorf("%d cells with all of generic, want %d", n, len(problem.Shapes)*4)
	}
	if d := p.cellTime(1); d != DefaultTime {
		t.Errorf("%v for one cell", d)
	}
	if d := p.cellTime(1000); d != runTime/1000 {
		t.Errorf("%v for each of 1000 cells", d)
	}
}

// A sweep counts the calls of all measurements of a cell and measures the shapes' work.
func TestSweep(t *testing.T) {
	p := &Plan{Shapes: []*problem.Shape{{Name: "x", Heads: 2, KVHeads: 1, Lq: 3, Lk: 4, D: 8}, {Name: "real", Alias: problem.Real}},
		Tiers: []kernel.Tier{machine.Generic}, Threads: []int{1}, Time: time.Millisecond, Count: 2, Generic: true}
	activations := []*problem.Problem{p.Shapes[0].Random()}
	s := NewSweep(p, activations, machine.NewProbes())
	started, calls := 0, map[string]int{}
	s.Started = func(Cell) { started++ }
	s.Measured = func(c Cell, r results.Speed) { calls[c.Shape.Name] += r.Calls }
	if err := s.Run(context.Background()); err != nil || len(s.Failures) > 0 {
		t.Fatal(err, s.Failures)
	}
	if started != 4 || s.Len() != 4 {
		t.Errorf("%d of %d measurements, want 4", started, s.Len())
	}
	rs := s.Results()
	if len(rs) != 2 || rs[0].Input != "2 heads on 1, 3×4 D8" || rs[1].Input != "activations of trained models" {
		t.Fatalf("%+v", rs)
	}
	for _, r := range rs {
		if r.Calls != calls[r.Shape] || r.GFLOPs <= 0 || len(r.SHA256) != 64 || r.Percent <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// Reading is measured beside calls that have few operations for each of many bytes, and beside no others.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		shape problem.Shape
		reads bool
	}{
		"decoding":      {problem.Shape{Name: "x", Heads: 8, KVHeads: 2, Lq: 1, Lk: 2048, D: 64}, true},
		"a short call":  {problem.Shape{Name: "x", Heads: 8, KVHeads: 2, Lq: 1, Lk: 16, D: 64}, false},
		"a long prompt": {problem.Shape{Name: "x", Heads: 2, KVHeads: 2, Lq: 2048, Lk: 2048, D: 64}, false},
	} {
		w := newWorkload(&c.shape, nil)
		if rate := w.read(2); rate > 0 != c.reads {
			t.Errorf("%s: %g GB/s", name, rate)
		}
	}
}
