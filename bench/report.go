package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// table aligns rows of cells with tabs between them.
func table(w io.Writer, rows ...string) {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(tw, r)
	}
	tw.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// reportChecks prints what was checked on real input.
func reportChecks(w io.Writer, checks []checked) {
	if len(checks) == 0 {
		return
	}
	first := checks[0]
	fmt.Fprintf(w, "\nReal input: %s, with %d and %d threads each, against %s\n\n",
		strings.Join(first.tiers, ", "), first.threads[0], first.threads[1], reference)
	rows := []string{"group\tinput\tbits\tmax error\trms error\tPyTorch's max\t    rms\tratio max\t rms"}
	for _, c := range checks {
		verdict := "equal"
		if len(c.failures) > 0 {
			verdict = "DIFFER"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%9s\t%8s\t%13s\t%7s\t%9s\t%4s", c.group.name, c.group.describe(), verdict,
			small(c.ours.max), small(c.ours.rms()), small(c.theirs.max), small(c.theirs.rms()), ratio(c.ours.max, c.theirs.max), ratio(c.ours.rms(), c.theirs.rms())))
	}
	table(w, rows...)
	fmt.Fprintln(w, "\nerror: against float64. The sha256 of the results' bits, the same on every CPU:")
	rows = nil
	for _, c := range checks {
		known := ""
		if c.sha == c.group.sha {
			known = "as the contract says"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", c.group.name, c.sha, known))
	}
	table(w, rows...)
}

// small prints an error in three digits, as 1.23e-6.
func small(x float64) string {
	return strings.Replace(fmt.Sprintf("%.3g", x), "e-0", "e-", 1)
}

// ratio is a/b in a few digits.
func ratio(a, b float64) string {
	if b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// reportAccuracy prints the errors on unit-normal input.
func reportAccuracy(w io.Writer, all []accuracy) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nUnit-normal input, errors against float64 (expected: max up to %s, rms up to %s)\n\n", small(expectedMax), small(expectedRMS))
	rows := []string{"shape\trows\tmax error\trms error"}
	for _, a := range all {
		note := ""
		if a.err.max > expectedMax || a.err.rms() > expectedRMS {
			note = "more than expected"
		}
		rows = append(rows, fmt.Sprintf("%s\t%d of %d\t%9s\t%8s\t%s", a.shape, a.rows, a.of, small(a.err.max), small(a.err.rms()), note))
	}
	table(w, rows...)
}

// reportPeaks prints the FMA peaks before anything else is measured.
func reportPeaks(w io.Writer, ps probes, threads int) {
	fmt.Fprintf(w, "\nFMA peak, GFLOP/s (float32)\n\n")
	rows := []string{"vectors\t one core"}
	if threads > 1 {
		rows[0] += fmt.Sprintf("\t%d threads at once", threads)
	}
	for _, p := range ps {
		row := fmt.Sprintf("%s\t%9.1f", p.name, p.together(1))
		if threads > 1 {
			row += fmt.Sprintf("\t%17.1f", p.together(threads))
		}
		rows = append(rows, row)
	}
	table(w, rows...)
}

// reportResults prints the table of all measurements.
func reportResults(w io.Writer, results []result, ps probes) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSpeed: median time of a call, peak of one core measured beside it\n\n")
	rows := []string{"shape\tinput\tthreads\ttier\t     time\tspread\tGFLOP/s\tpeak × threads\t% of peak"}
	last := (*shape)(nil)
	for _, r := range results {
		name, what := "", ""
		if r.shape != last {
			name, what, last = r.shape.name, r.what, r.shape
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%7d\t%s\t%9s\t%5.1f%%\t%7.*f\t%14s\t%8.1f%%", name, what, r.threads, r.tier,
			duration(r.ns), 100*r.spread, gflopsDigits(r.gflops), r.gflops, fmt.Sprintf("%.1f × %d", r.peak, r.threads), r.percent))
	}
	table(w, rows...)
	fmt.Fprintf(w, "\nspread: between the quartiles. GFLOP/s: 4·heads·Lq·Lk·D, half when causal, visible keys only.\n")
	for _, t := range missingProbes(results, ps) {
		fmt.Fprintf(w, "The peak beside %s is that of %s.\n", t, ps.of(t).name)
	}
}

// reportSkipped tells what was left out to save time.
func reportSkipped(w io.Writer, shapes []string) {
	if len(shapes) > 0 {
		fmt.Fprintf(w, "%s was not timed on %s: ask for it with -tiers %s.\n", reference, strings.Join(shapes, ", "), reference)
	}
}

// missingProbes returns the tiers whose figures use another one's probe.
func missingProbes(results []result, ps probes) []string {
	var found []string
	seen := map[string]bool{}
	for _, r := range results {
		if !seen[r.tier] && ps.of(r.tier).name != r.tier {
			found = append(found, r.tier)
		}
		seen[r.tier] = true
	}
	return found
}

// duration prints nanoseconds with three digits and a unit.
func duration(ns float64) string {
	for _, u := range []struct {
		unit string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if x := ns / float64(u.size); x >= 0.9995 {
			return fmt.Sprintf("%.*f %s", digitsAfter(x), x, u.unit)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// digitsAfter leaves three significant digits.
func digitsAfter(x float64) int {
	switch {
	case x >= 99.95:
		return 0
	case x >= 9.995:
		return 1
	}
	return 2
}

// gflopsDigits is the number of digits after the point that tell something.
func gflopsDigits(x float64) int {
	if x >= 10 {
		return 1
	}
	return 2
}

// line is a result in one plain line.
func (r result) line() string {
	return fmt.Sprintf("%s %s threads=%d: %s, %.*f GFLOP/s, %.1f%% of peak", r.shape.name, r.tier, r.threads, duration(r.ns), gflopsDigits(r.gflops), r.gflops, r.percent)
}
