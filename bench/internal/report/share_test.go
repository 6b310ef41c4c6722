package report

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/bench/internal/results"
)

// disturbed returns a file of two calls, of which the peak of the first one varied and the reading of the
// second one, while other programs took CPU time.
func disturbed() *results.File {
	others := 45.0
	speed := func(shape, alias string) results.Speed {
		return results.Speed{Shape: shape, Alias: alias, Tier: "avx2", Threads: 1, Timing: results.Timing{Ns: 1000, Samples: 9}, Calls: 9, Flops: 5e4, Bytes: 2e4, GFLOPs: 50, Peak: 100, Percent: 50}
	}
	f := &results.File{Tiers: []results.Tier{{Name: "avx2", Runs: true, Default: true}}, Machine: results.Machine{CPU: "x", OthersPercent: &others},
		Peaks: []results.Peak{{Vectors: "avx2", Threads: 1, GFLOPs: 100, Spread: 0.4}}, Speed: []results.Speed{speed("prefill", "A"), speed("decoding", "C")}}
	f.Speed[0].Flops, f.Speed[0].PeakSpread = 9e4, 0.3
	f.Speed[1].Read, f.Speed[1].ReadSpread = 13, 0.5
	return f
}

// Without a peak to rely on, a result is printed without a share; what has disturbed the run is said first.
func TestNoShare(t *testing.T) {
	f := disturbed()
	var verdict strings.Builder
	Verdict(&verdict, f)
	for _, want := range []string{
		"50.0 GFLOP/s, no share: the FMA peak varied by 30%", "20.0 GB/s, no share: the read bandwidth varied",
		"DISTURBED", "other programs took 45.0% of the CPU time", "the FMA peak varied: avx2 on one thread by 40%",
	} {
		if !strings.Contains(verdict.String(), want) {
			t.Errorf("the verdict lacks %q:\n%s", want, &verdict)
		}
	}
	for text, want := range map[string]bool{Line(f.Speed[0]): false, Line(f.Speed[1]): true, bench(f.Speed[0]): false, bench(f.Speed[1]): true} {
		if strings.Contains(text, "% of peak") || strings.Contains(text, "%peak") {
			if !want {
				t.Errorf("a share of a peak that varied: %s", text)
			}
		} else if want {
			t.Errorf("no share: %s", text)
		}
	}
}

// A run that nothing has disturbed has its shares, and no note.
func TestQuietRun(t *testing.T) {
	f := disturbed()
	f.Machine.OthersPercent, f.Peaks[0].Spread, f.Speed[0].PeakSpread, f.Speed[1].ReadSpread, f.Speed[1].Read = nil, 0.01, 0.01, 0.01, 25
	var b strings.Builder
	Verdict(&b, f)
	for _, want := range []string{"50% of the FMA peak: 50.0 GFLOP/s of 100", "80% of the read bandwidth: 20.0 GB/s of 25.0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "DISTURBED") {
		t.Errorf("a note without a reason:\n%s", &b)
	}
}

// bench returns the line of a call in Go's benchmark format.
func bench(s results.Speed) string {
	var b strings.Builder
	Bench(&b, &results.File{Speed: []results.Speed{s}})
	return b.String()
}

// TestBench: there is a line for every row that was measured.
func TestBench(t *testing.T) {
	f := &results.File{Options: make([]results.Option, 2), Linear: make([]results.Linear, 2), Backward: make([]results.Backward, 2), Decode: make([]results.Decode, 2),
		Groups: make([]results.Decode, 2), Queries: make([]results.Queries, 2), Models: make([]results.Model, 2)}
	f.Options[1].Option, f.Linear[1].Limit = "bool mask [B, 1, 1, Lk]", results.LimitRead
	var b strings.Builder
	Bench(&b, f)
	for l := range strings.Lines(b.String()) {
		if name, _, ok := strings.Cut(l, "\t"); !ok || !strings.HasPrefix(name, "Benchmark") || strings.ContainsAny(name, " []") {
			t.Errorf("not in Go's benchmark format: %q", l)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 14 {
		t.Errorf("%d lines, want 14", n)
	}
}
