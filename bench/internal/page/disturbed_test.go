package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/attn-go/attn/bench/internal/results"
)

// A page says what has disturbed the measurements, has no share of a peak that varied, and tells
// files of one CPU apart by their names.
func TestDisturbedPage(t *testing.T) {
	f, g := example(0), example(1)
	others, most := 15.0, 60.0
	busy := example(0)
	busy.Machine.OthersPercent = &most
	f.Path, g.Path, f.Machine.CPU, g.Machine.CPU = "somewhere/first.json", "somewhere/second.json", "x", "x"
	f.Machine.OthersPercent = &others
	for i := range f.Speed {
		f.Speed[i].PeakSpread = 0.4
	}
	for name, c := range map[string]struct {
		files         []*results.File
		want, without []string
	}{
		"disturbed": {[]*results.File{f}, []string{"attn on x<", "x, first.json", "DISTURBED: other programs took 15.0% of the CPU time.", "GFLOP/s on one thread; the peak varied by 40%;", "no share, as the peak varied"}, []string{"% of FMA peak"}},
		"busy":      {[]*results.File{busy}, []string{"GFLOP/s on one thread; others took 64% of the CPU time", "GB/s on one thread; others took 64% of the CPU time (", "no share, as others took 64% of the CPU time"}, []string{"% of FMA peak", "varied by 0%", "as the peak varied"}},
		"quiet":     {[]*results.File{g}, []string{"attn on x<", "x, second.json", "% of FMA peak"}, []string{"DISTURBED: other programs", "on one thread; the peak varied", "no share, as the peak varied"}},
		"both":      {[]*results.File{f, g}, []string{"1. x, first.json", "2. x, second.json"}, nil},
	} {
		var b bytes.Buffer
		if err := Write(&b, c.files); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		for _, unwanted := range c.without {
			if strings.Contains(b.String(), unwanted) {
				t.Errorf("%s: the page has %q", name, unwanted)
			}
		}
	}
}

// TestPrint: the tables have no share of a peak that varied, and say why; without that they have
// shares alone.
func TestPrint(t *testing.T) {
	f := example(0)
	var quiet, disturbed bytes.Buffer
	Print(&quiet, f)
	for i := range f.Speed {
		f.Speed[i].PeakSpread = 0.4
	}
	Print(&disturbed, f)
	others := 60.0
	busy := example(0)
	busy.Machine.OthersPercent = &others
	var shared bytes.Buffer
	if Print(&shared, busy); strings.Contains(shared.String(), "% of FMA peak") || strings.Count(shared.String(), "81.0") > strings.Count(disturbed.String(), "81.0") || !strings.Contains(shared.String(), "others took more than 20%") {
		t.Errorf("shares of a machine that others used:\n%s", &shared)
	}
	for _, want := range []string{"prefill", "40.0", "varied by more than 25%", "SHA-256", "query heads for each KV head", "CPU      EPYC", "DISTURBED: other virtual machines took 3.5%", "NOT RUN: SmolLM2", "75 % of reading", "81.0 GFLOP/s on one thread; the peak varied by 40%; 142.9 on 2 (prefill)"} {
		if !strings.Contains(disturbed.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &disturbed)
		}
	}
	if strings.Count(quiet.String(), "81.0") <= strings.Count(disturbed.String(), "81.0") {
		t.Errorf("the tables of a quiet run:\n%s", &quiet)
	}
}
