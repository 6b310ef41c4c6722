package machine

import (
	"testing"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

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
	ps := NewProbes()
	for _, p := range ps {
		if rate := stats.Median(p.Sample(2)); rate <= 0 {
			t.Errorf("%s: %g GFLOP/s", p.Name, rate)
		}
	}
	for _, tier := range kernel.Tiers() {
		if vectorProbe(tier) != nil && ps.For(tier).Name != tier.String() {
			t.Errorf("%s gets the probe of another tier", tier)
		}
	}
	if ps.For(Generic) != ps[0] {
		t.Error("generic is not compared with the widest vectors")
	}
}

// Two threads at once are more than a hundredth and less than thrice as fast as one, unless others
// have the processors just then.
func TestPeakOfThreads(t *testing.T) {
	var one, two float64
	for range 1000 {
		p := NewProbes()[0]
		if one, two = stats.Median(p.Sample(1)), stats.Median(p.Sample(2)); two >= one/100 && two <= 3*one {
			return
		}
	}
	t.Errorf("%g GFLOP/s on one thread, %g on two at once, of 1000 times the last", one, two)
}

func TestReader(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		if rate := NewReader(numbers.Huge(1001)).Rate(2, threads); rate <= 0 {
			t.Errorf("%d threads: %g GB/s", threads, rate)
		}
	}
}
