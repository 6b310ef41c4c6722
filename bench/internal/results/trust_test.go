package results

import (
	"strings"
	"testing"
)

// A share is told if its limit hardly varied and is one, and others left the CPU to the calls.
func TestShares(t *testing.T) {
	timing := Timing{Ns: 10}
	for name, c := range map[string]struct {
		share func(*File) (float64, string)
		want  float64
		ok    bool
	}{
		"of the peak":               {(&Speed{Percent: 80, PeakSpread: 0.1}).Share, 80, true},
		"of a peak that varied":     {(&Speed{Percent: 80, PeakSpread: 0.3}).Share, 80, false},
		"more than the peak":        {(&Speed{Percent: 154}).Share, 154, false},
		"without a peak":            {(&Speed{}).Share, 0, false},
		"of reading":                {(&Speed{Timing: timing, Bytes: 100, Read: 20, ReadSpread: 0.1}).ReadShare, 50, true},
		"of reading that varied":    {(&Speed{Timing: timing, Bytes: 100, Read: 20, ReadSpread: 0.4}).ReadShare, 50, false},
		"not measured":              {(&Speed{Timing: timing, Bytes: 100}).ReadShare, 0, false},
		"decoding, reading":         {(&Decode{ReadPercent: 118}).ReadShare, 118, true},
		"decoding, too fast":        {(&Decode{ReadPercent: 154}).ReadShare, 154, false},
		"decoding, reading varied":  {(&Decode{ReadPercent: 50, ReadSpread: 1}).ReadShare, 50, false},
		"decoding, peak":            {(&Decode{PeakPercent: 20}).PeakShare, 20, true},
		"decoding, peak varied":     {(&Decode{PeakPercent: 20, PeakSpread: 1}).PeakShare, 20, false},
		"a layer, peak":             {(&Linear{Limit: LimitPeak, Percent: 107}).Share, 107, false},
		"a layer, reading":          {(&Linear{Limit: LimitRead, Percent: 107}).Share, 107, true},
		"a layer, limit varied":     {(&Linear{Limit: LimitRead, Percent: 90, LimitSpread: 0.3}).Share, 90, false},
		"gradients":                 {(&Backward{Percent: 70}).Share, 70, true},
		"gradients, forward":        {(&Backward{ForwardPercent: 60}).ForwardShare, 60, true},
		"gradients, forward varied": {(&Backward{ForwardPercent: 60, PeakSpread: 0.3}).ForwardShare, 60, false},
	} {
		little, much := 8.0, 15.0
		for _, f := range []*File{{}, {Machine: Machine{StealPercent: &little, OthersPercent: &little}}} {
			if got, doubt := c.share(f); got != c.want || (doubt == "") != c.ok {
				t.Errorf("%s: %g, %q; want %g, %v", name, got, doubt, c.want, c.ok)
			}
		}
		if got, doubt := c.share(&File{Machine: Machine{StealPercent: &little, OthersPercent: &much}}); doubt == "" || got > 0 && doubt != "others took 23% of the CPU time" {
			t.Errorf("%s: a share of a CPU that others used: %q", name, doubt)
		}
	}
}

// What took CPU time from the measurements is said, and a peak that varied.
func TestDisturbed(t *testing.T) {
	little, much := 0.5, 12.0
	quiet := &File{Machine: Machine{StealPercent: &little, OthersPercent: &little}, Peaks: []Peak{{"avx2", 1, 100, 0.1}}}
	if got := append(quiet.Disturbed(), (&File{}).Disturbed()...); len(got) != 0 {
		t.Errorf("%q, want nothing", got)
	}
	f := &File{Machine: Machine{StealPercent: &much, OthersPercent: &much}, Peaks: []Peak{{"avx2", 1, 100, 0.3}, {"avx2", 2, 100, 0.1}, {"avx512", 2, 100, 0.5}}}
	want := "other virtual machines took 12.0% of the CPU time|other programs took 12.0% of the CPU time|the FMA peak varied: avx2 on one thread by 30%, avx512 on 2 threads by 50%"
	if got := strings.Join(f.Disturbed(), "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
