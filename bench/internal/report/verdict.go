// Package report prints what the bench command found out: as tables, and the speed also
// in Go's benchmark format.
package report

import (
	"fmt"
	"io"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Verdict prints in a few lines which CPU this is, whether all bits agree, and how much of the
// machine is used.
func Verdict(w io.Writer, f *results.File) {
	v := f.Verdict()
	rows := []string{"CPU\t" + CPU(&f.Machine), "tier\t" + v.Tier + " (default)"}
	if v.Tier == "" {
		rows[1] = "tier\tnone: calls that name no tier fail, see ATTN_TIER"
	}
	if len(f.Checks)+len(f.Speed) > 0 {
		rows = append(rows, "bits\t"+results.Agree([]*results.File{f}).Line)
	}
	if p := v.Prefill; p != nil {
		row := "prefill\t" + shareOfPeak(p)
		if t := v.PrefillThreads; t != nil {
			row += fmt.Sprintf("; on %d threads %s", t.Threads, shareOfPeak(t))
		}
		rows = append(rows, row+" ("+p.Shape+")")
	}
	if v.DecodeThreads > 0 {
		share := fmt.Sprintf("%.0f%% of the read bandwidth: %.1f GB/s of %.1f", v.DecodePercent, v.DecodeGBs, v.DecodeRead)
		if !v.DecodeTrusted {
			share = fmt.Sprintf("%.1f GB/s, no share: the read bandwidth varied", v.DecodeGBs)
		}
		rows = append(rows, fmt.Sprintf("decode\t%s, threads=%d (%s)", share, v.DecodeThreads, v.DecodeShape))
	}
	for _, p := range f.WeakThreads() {
		rows = append(rows, "note\t"+Weak(f, p))
	}
	for _, n := range f.NotRun {
		rows = append(rows, "NOT RUN\t"+n)
	}
	for _, reason := range f.Disturbed() {
		rows = append(rows, "DISTURBED\t"+reason)
	}
	table.Write(w, rows...)
}

// shareOfPeak says how much of the FMA peak a call reaches, or without a peak to rely on, its speed alone.
func shareOfPeak(s *results.Speed) string {
	if percent, ok := s.Share(); ok {
		return fmt.Sprintf("%.0f%% of the FMA peak: %s GFLOP/s of %s", percent, table.GFLOPs(s.GFLOPs), table.GFLOPs(s.Peak))
	}
	return fmt.Sprintf("%s GFLOP/s, no share: the FMA peak varied by %.0f%%", table.GFLOPs(s.GFLOPs), 100*s.PeakSpread)
}

// Weak says that threads at once are worth less than as many times one.
func Weak(f *results.File, p results.Peak) string {
	one := f.Peak(p.Vectors, 1)
	return fmt.Sprintf("%d threads at once are worth %.2f of one (%s: %s and %s GFLOP/s); shares are of what they reach together",
		p.Threads, p.GFLOPs/one, p.Vectors, table.GFLOPs(p.GFLOPs), table.GFLOPs(one))
}

// CPU returns the name of a CPU, with family and model, which virtual machines do not hide.
func CPU(m *results.Machine) string {
	if m.Family == 0 {
		return m.CPU
	}
	return fmt.Sprintf("%s (%s family %d model %d)", m.CPU, m.Vendor, m.Family, m.Model)
}
