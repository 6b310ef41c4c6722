package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// A sheet is a table of times, each with its share of a limit.
type sheet struct {
	of      string   // what a row is
	columns []string // their headings
	rows    []*sheetRow
}

// A sheetRow has a time and a share in each column.
type sheetRow struct {
	name  string
	cells map[string][2]string
}

// add sets a cell of the row of a name, and appends the row if there is none. A time that is not
// steady is a stroke.
func (s *sheet) add(row, column string, t *results.Timing, text, share string) {
	if !slices.Contains(s.columns, column) {
		return
	}
	i := slices.IndexFunc(s.rows, func(r *sheetRow) bool { return r.name == row })
	if i < 0 {
		i, s.rows = len(s.rows), append(s.rows, &sheetRow{row, map[string][2]string{}})
	}
	if t.Unsteady() {
		text, share = "–", "–"
	}
	s.rows[i].cells[column] = [2]string{text, share}
}

// write writes the rows that have a steady time.
func (s *sheet) write(b *strings.Builder) {
	if len(s.rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s |", s.of)
	for _, c := range s.columns {
		fmt.Fprintf(b, " %s | of limit |", c)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|---|", len(s.columns)))
	for _, r := range s.rows {
		if !slices.ContainsFunc(s.columns, func(c string) bool { return r.cells[c][0] != "" && r.cells[c][0] != "–" }) {
			continue
		}
		fmt.Fprintf(b, "| %s |", r.name)
		for _, c := range s.columns {
			fmt.Fprintf(b, " %s | %s |", r.cells[c][0], r.cells[c][1])
		}
		b.WriteString("\n")
	}
}

// machineMarkdown writes the tables of one file.
func machineMarkdown(b *strings.Builder, f *results.File) {
	fmt.Fprintf(b, "\n## %s\n\n`%s` · contract %d · %s · commit %.8s · %s · %s\n", f.Machine.Name(), command(f), f.Contract, date(f), f.Build.Commit, f.Build.Go, link(f.Path))
	if f.Note != "" {
		fmt.Fprintf(b, "%s ", strings.TrimSuffix(f.Note, ".")+".")
	}
	var limits []string
	for _, p := range f.Peaks {
		if p.Threads == 1 {
			limits = append(limits, fmt.Sprintf("%.0f GFLOP/s with %s", p.GFLOPs, p.Vectors))
		}
	}
	fmt.Fprintf(b, "One thread: %s", strings.Join(limits, ", "))
	before := "; reads"
	for _, r := range f.Bandwidths {
		if r.Threads == 1 {
			fmt.Fprintf(b, "%s %.0f GB/s from %s", before, r.GBs, r.Level)
			before = ","
		}
	}
	b.WriteString(".\n")
	callTable(f).write(b)
	decodeTable(f).write(b)
	linearTable(f).write(b)
}

// date returns the day of a run.
func date(f *results.File) string { return f.Date[:min(10, len(f.Date))] }

// assemblyTiers returns the default tier and the other ones that ran in assembly.
func assemblyTiers(f *results.File) []string {
	names := []string{f.Default()}
	for _, t := range f.Tiers {
		if t.Runs && !t.Default && t.Name != "generic" {
			names = append(names, t.Name)
		}
	}
	return names
}

// leftOut has the shapes that the page omits to stay short; bench report shows them. The rows
// beside them say nearly the same.
var leftOut = []string{"S2", "S4", "S8", "smollm2-generate-32"}

// callTable has attention and models: the default tier on one thread and on the most, the other
// tiers on one, and gradients.
func callTable(f *results.File) *sheet {
	most := 1
	for _, s := range f.Speed {
		most = max(most, s.Threads)
	}
	column := func(tier string, threads int) string { return tier + ", " + results.Threads(threads) }
	var columns []string
	for _, tier := range assemblyTiers(f) {
		columns = append(columns, column(tier, 1))
	}
	if most > 1 {
		columns = append(columns, column(f.Default(), most))
	}
	gradients := func(tier string, threads int) string { return "gradients, " + column(tier, threads) }
	s := &sheet{of: "call", columns: append(columns, gradients(f.Default(), 1))}
	for i := range f.Speed {
		r := &f.Speed[i]
		if slices.Contains(leftOut, r.Alias) {
			continue
		}
		s.add(r.Alias+": "+r.Input, column(r.Tier, r.Threads), &r.Timing, tables.Duration(r.Ns), ofPeak(r.Share(f)))
	}
	for i := range f.Backward {
		r := &f.Backward[i]
		s.add(r.Alias+": "+r.Input, gradients(r.Tier, r.Threads), &r.Timing, tables.Duration(r.Ns), ofPeak(r.Share(f)))
	}
	for i := range f.Models {
		m := &f.Models[i]
		if slices.Contains(leftOut, m.Shape) {
			continue
		}
		s.add(m.Name(), column(m.Tier, m.Threads), &m.Timing, fmt.Sprintf("%.1f %s", m.Rate, m.Unit()), "")
	}
	return s
}

// decodeTable has one step of decoding for each type of keys and values, on one thread of the
// default tier.
func decodeTable(f *results.File) *sheet {
	s := &sheet{of: fmt.Sprintf("decoding, %s, one thread: type", f.Default())}
	for i := range f.Decode {
		d := &f.Decode[i]
		if d.Group != results.DecodeGroup || d.Tier != f.Default() || d.Threads != 1 {
			continue
		}
		read, readDoubt := d.ReadShare(f)
		peak, peakDoubt := d.PeakShare(f)
		share := ofPeak(peak, peakDoubt)
		if readDoubt == "" && (peakDoubt != "" || read > peak) {
			share = fmt.Sprintf("%.0f%% of reading", read)
		}
		level := "from " + d.Level
		if !slices.Contains(s.columns, level) {
			s.columns = append(s.columns, level)
		}
		s.add(d.Type, level, &d.Timing, tables.Duration(d.Ns), share)
	}
	return s
}

// linearShapes are the layers of the page: the limit of the first is the FMA peak, of the second
// reading. The files have more.
var linearShapes = []string{"512 × 512 → 512", "1 × 4096 → 16384"}

// linearTable has the two layers with each format of weights, on one thread.
func linearTable(f *results.File) *sheet {
	s := &sheet{of: "linear layer, one thread: weights"}
	for _, shape := range linearShapes {
		for _, tier := range assemblyTiers(f) {
			s.columns = append(s.columns, shape+", "+tier)
		}
	}
	for i := range f.Linear {
		l := &f.Linear[i]
		if l.Threads != 1 {
			continue
		}
		share := ofPeak(l.Share(f))
		if l.Limit == results.LimitRead {
			share = strings.Replace(share, "peak", "reading", 1)
		}
		s.add(l.Weights, l.Shape()+", "+l.Tier, &l.Timing, tables.Duration(l.Ns), share)
	}
	return s
}

// ofPeak is a share of the FMA peak, or a stroke if it cannot be relied on.
func ofPeak(percent float64, doubt string) string {
	if doubt != "" {
		return "–"
	}
	return fmt.Sprintf("%.0f%% of peak", percent)
}
