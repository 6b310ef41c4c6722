package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// A sheet is a table of times on some machines, each with its share of a limit.
type sheet struct {
	columns []string // their headings
	rows    []*sheetRow
}

// A sheetRow has a time with its share in each column.
type sheetRow struct {
	name  string
	cells map[string]string
}

// unsteady stands in a cell in place of a time that is not steady.
const unsteady = "–"

// add sets a cell of the row of a name, and appends the row if there is none. share may be empty.
func (s *sheet) add(row, column string, t *results.Timing, text, share string) {
	if !slices.Contains(s.columns, column) {
		return
	}
	i := slices.IndexFunc(s.rows, func(r *sheetRow) bool { return r.name == row })
	if i < 0 {
		i, s.rows = len(s.rows), append(s.rows, &sheetRow{row, map[string]string{}})
	}
	switch {
	case t.Unsteady():
		text = unsteady
	case share != "":
		text += " · " + share
	}
	s.rows[i].cells[column] = text
}

// write writes the rows that have a steady time.
func (s *sheet) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n| | %s |\n|%s\n", strings.Join(s.columns, " | "), strings.Repeat("---|", len(s.columns)+1))
	for _, r := range s.rows {
		if !slices.ContainsFunc(s.columns, func(c string) bool { return r.cells[c] != "" && r.cells[c] != unsteady }) {
			continue
		}
		fmt.Fprintf(b, "| %s |", r.name)
		for _, c := range s.columns {
			fmt.Fprintf(b, " %s |", r.cells[c])
		}
		b.WriteString("\n")
	}
}

// machinesMarkdown writes a list of the machines of some files, and a table of their times.
func machinesMarkdown(b *strings.Builder, files []*results.File) {
	if len(files) == 0 {
		return
	}
	b.WriteString("\n## Machines\n\n")
	s := &sheet{}
	for _, f := range files {
		machineMarkdown(b, f)
		s.addMachine(f)
	}
	s.write(b)
}

// machineMarkdown writes the item of one file.
func machineMarkdown(b *strings.Builder, f *results.File) {
	fmt.Fprintf(b, "- **%s**: %s. `%s` · contract %d · %s · commit %.8s · %s · %s\n  ", shortName(f), f.Machine.Name(), command(f), f.Contract, date(f), f.Build.Commit, f.Build.Go, link(f.Path))
	if f.Note != "" {
		fmt.Fprintf(b, "%s. ", capital(strings.TrimSuffix(f.Note, ".")))
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
}

// shortName is the name of a file without its extension.
func shortName(f *results.File) string {
	return strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
}

// capital returns a text with a capital letter at its beginning.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// date returns the day of a run.
func date(f *results.File) string { return f.Date[:min(10, len(f.Date))] }

// addMachine adds the columns of a file: its default tier on one thread and on the most.
func (s *sheet) addMachine(f *results.File) {
	most := 1
	for _, r := range f.Speed {
		most = max(most, r.Threads)
	}
	s.columns = append(s.columns, columnOf(f, f.Default(), 1))
	if most > 1 {
		s.columns = append(s.columns, columnOf(f, f.Default(), most))
	}
	s.addCalls(f)
	s.addDecoding(f)
	s.addLinear(f)
	s.addModels(f)
}

// columnOf is the heading of a tier of a machine on a number of threads.
func columnOf(f *results.File, tier string, threads int) string {
	return shortName(f) + ", " + tier + ", " + results.Threads(threads)
}

// The rows of the page. The files have more, which bench report shows.
var (
	callRows    = []string{"A", "B", "C", "D", "E", "M", "S1", "S16", "R"}
	modelRows   = []string{"minilm-8x64", "smollm2-prompt-256", "smollm2-generate-128"}
	decodeLevel = "L3"
	decodeRows  = []string{"float32", "bfloat16", "int8, quantized"}
	// The limit of the first layer is the FMA peak, of the second reading.
	linearRows = map[string][]string{
		"512 × 512 → 512":  {"float32", "Q4_K", "Q8_0 × int8"},
		"1 × 4096 → 16384": {"float32", "bfloat16, products too", "Q8_0 × int8", "Q4_K × int8"},
	}
)

// addCalls adds calls of attention and their gradients.
func (s *sheet) addCalls(f *results.File) {
	for i := range f.Speed {
		if r := &f.Speed[i]; slices.Contains(callRows, r.Alias) {
			s.add(r.Alias+": "+r.Input, columnOf(f, r.Tier, r.Threads), &r.Timing, tables.Duration(r.Ns), ofPeak(r.Share(f)))
		}
	}
	for i := range f.Backward {
		if r := &f.Backward[i]; slices.Contains(callRows, r.Alias) {
			s.add(r.Alias+", gradients", columnOf(f, r.Tier, r.Threads), &r.Timing, tables.Duration(r.Ns), ofPeak(r.Share(f)))
		}
	}
}

// addDecoding adds one step of decoding for some types of keys and values.
func (s *sheet) addDecoding(f *results.File) {
	for i := range f.Decode {
		d := &f.Decode[i]
		if d.Group != results.DecodeGroup || d.Level != decodeLevel || !slices.Contains(decodeRows, d.Type) {
			continue
		}
		read, readDoubt := d.ReadShare(f)
		peak, peakDoubt := d.PeakShare(f)
		share := ofPeak(peak, peakDoubt)
		if readDoubt == "" && (peakDoubt != "" || read > peak) {
			share = fmt.Sprintf("%.0f%% of reading", read)
		}
		s.add("decoding from "+d.Level+", keys of "+d.Type, columnOf(f, d.Tier, d.Threads), &d.Timing, tables.Duration(d.Ns), share)
	}
}

// addLinear adds two linear layers with some formats of weights.
func (s *sheet) addLinear(f *results.File) {
	for i := range f.Linear {
		l := &f.Linear[i]
		if !slices.Contains(linearRows[l.Shape()], l.Weights) {
			continue
		}
		share := ofPeak(l.Share(f))
		if l.Limit == results.LimitRead {
			share = strings.Replace(share, "peak", "reading", 1)
		}
		s.add("linear "+l.Shape()+", "+l.Weights, columnOf(f, l.Tier, l.Threads), &l.Timing, tables.Duration(l.Ns), share)
	}
}

// addModels adds whole models.
func (s *sheet) addModels(f *results.File) {
	for i := range f.Models {
		if m := &f.Models[i]; slices.Contains(modelRows, m.Shape) {
			s.add(m.Name(), columnOf(f, m.Tier, m.Threads), &m.Timing, fmt.Sprintf("%.1f %s", m.Rate, m.Unit()), "")
		}
	}
}

// ofPeak is a share of the FMA peak, or nothing if it cannot be relied on.
func ofPeak(percent float64, doubt string) string {
	if doubt != "" {
		return ""
	}
	return fmt.Sprintf("%.0f%% of peak", percent)
}
