package machine

import (
	"testing"

	"github.com/attn-go/attn/bench/internal/results"
)

// The time of other virtual machines and of other programs is told from this program's and from
// idle time.
func TestCPUTimes(t *testing.T) {
	const self = "1234 (a ) name) S 1 2 3 4 5 6 7 8 9 10 "
	before := parseCPUTimes("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1", self+"30 10 0 0 20")
	now := parseCPUTimes("cpu  180 10 110 830 10 5 5 50 0 0", self+"70 30 0 0 20")
	if p := before.StealPercent(now); p == nil || *p != 25 {
		t.Errorf("steal %v, want 25", p)
	}
	// 200 ticks, of which 50 are stolen, 40 idle and 60 its own
	if p := before.OthersPercent(now); p == nil || *p != 25 {
		t.Errorf("others %v, want 25", p)
	}
	for _, stat := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseCPUTimes(stat, self+"1 1"); got != (CPUTimes{}) || got.StealPercent(got) != nil || got.OthersPercent(got) != nil {
			t.Errorf("%q: %v", stat, got)
		}
	}
	for _, self := range []string{"", "1 (x) S 1 2", self + "a b"} {
		if got := parseCPUTimes("cpu  1 1 1 1 1 1 1 1", self); got != (CPUTimes{}) {
			t.Errorf("%q: %v", self, got)
		}
	}
}

// A description has what every results file needs.
func TestDescribe(t *testing.T) {
	if m := Describe(); m.CPU == "" || m.CPUs < 1 || m.GOMAXPROCS < 1 {
		t.Errorf("%+v", m)
	}
	if tiers := TierInfos(); len(tiers) == 0 || tiers[len(tiers)-1].Name != Generic.String() {
		t.Errorf("%+v", tiers)
	}
	if b := Build(); b.Go == "" || b.GOARCH == "" {
		t.Errorf("%+v", b)
	}
}

// A limit is the median of all of its measurements, whenever they were taken, with their spread.
func TestLimits(t *testing.T) {
	l := &Limits{probes: Probes{{Name: "v"}}, threads: []int{1, 2}, peaks: map[PeakOf][]float64{},
		reads: []readLimit{{Bandwidth: results.Bandwidth{Level: "memory", Threads: 1}, rates: []float64{10, 20, 30}}}}
	l.Add(PeakOf{"v", 1}, []float64{100, 100, 100, 100})
	l.Add(PeakOf{"v", 1}, []float64{40})
	l.Add(PeakOf{"v", 2}, []float64{100, 200})
	if p := l.Peaks(); len(p) != 2 || p[0] != (results.Peak{Vectors: "v", Threads: 1, GFLOPs: 100}) || p[1].GFLOPs != 150 || p[1].Spread != 50.0/150 {
		t.Errorf("%+v", p)
	}
	if b := l.Bandwidths(); len(b) != 1 || b[0].GBs != 20 || b[0].Spread != 0.5 {
		t.Errorf("%+v", b)
	}
}

// Measurements of all levels and numbers of threads add up.
func TestMeasureLimits(t *testing.T) {
	l := NewLimits(NewProbes(), []int{1})
	l.Measure()
	n := len(l.reads[0].rates)
	l.Measure()
	if len(l.reads[0].rates) != 2*n || n == 0 {
		t.Errorf("%d measurements, then %d", n, len(l.reads[0].rates))
	}
	all := l.Bandwidths()
	if len(all) != 4 || all[3].Level != "memory" {
		t.Fatalf("%+v", all)
	}
	for _, b := range all {
		if b.GBs <= 0 || b.Bytes <= 0 {
			t.Errorf("%+v", b)
		}
	}
}
