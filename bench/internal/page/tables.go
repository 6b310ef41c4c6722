package page

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// furtherTables are what has no chart.
func furtherTables(f *results.File, i int) []table {
	all := []table{tiers(f), limits(f, i), checks(f, i), worstSteps(f)}
	var filled []table
	for _, t := range all {
		if len(t.Rows) > 0 {
			filled = append(filled, t)
		}
	}
	return filled
}

func tiers(f *results.File) table {
	t := table{Caption: "Tiers", Head: []string{"tier", "state"}}
	for i := range f.Tiers {
		x := &f.Tiers[i]
		t.Rows = append(t.Rows, []cell{text("%s", x.Name), text("%s", x.State())})
	}
	return t
}

func limits(f *results.File, i int) table {
	t := table{Caption: "Limits of the machine, of so many threads at once", Head: []string{"limit", "threads", "rate", "unit", "spread, %"}}
	for k, p := range f.Peaks {
		from := from(i, "peaks", k)
		t.Rows = append(t.Rows, []cell{text("FMA peak, %s", p.Vectors), from.int("threads", p.Threads), from.fixed("gflops", p.GFLOPs, 1), text("GFLOP/s"), from.spread("spread", p.Spread)})
	}
	for k, b := range f.Bandwidths {
		from := from(i, "bandwidths", k)
		t.Rows = append(t.Rows, []cell{text("reading from %s", b.Level), from.int("threads", b.Threads), from.fixed("gbs", b.GBs, 1), text("GB/s"), from.spread("spread", b.Spread)})
	}
	return t
}

func checks(f *results.File, i int) table {
	t := table{Caption: "Errors against float64 on activations of trained models", Head: []string{"activations", "input", "max", "rms", "PyTorch's max", "rms"}}
	for k, c := range f.Checks {
		from := from(i, "checks", k)
		t.Rows = append(t.Rows, []cell{text("%s", c.Name), text("%s", c.Input), from.num("error.max", c.Error.Max, tables.Error(c.Error.Max)), from.num("error.rms", c.Error.RMS, tables.Error(c.Error.RMS)),
			from.num("pytorch.max", c.PyTorch.Max, tables.Error(c.PyTorch.Max)), from.num("pytorch.rms", c.PyTorch.RMS, tables.Error(c.PyTorch.RMS))})
	}
	return t
}

// Print prints what a page has as text: the cards, what was measured on, and the tables. It leaves
// out tables that only arrange the figures of calls for a chart, and curves, which have very many.
func Print(w io.Writer, f *results.File) {
	rows := []string{"CPU\t" + f.Machine.Name()}
	for _, c := range cards(f) {
		rows = append(rows, fmt.Sprintf("%s\t%s %s\t%s", c.Label, c.Value, c.Unit, c.Detail))
	}
	tables.Write(w, rows...)
	for _, line := range warnings(f) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%s\n%s\nSIMD %s\n", results.Agree([]*results.File{f}).Line, detail(f), tables.Wrap(f.Machine.Features, 100, "     "))
	for _, t := range furtherTables(f, 0) {
		t.print(w, "")
	}
	for _, draw := range drawers {
		if s := draw(f, 0); s.id != "roofline" && s.id != "threads" {
			s.table.print(w, s.text)
		}
	}
	if len(f.Skipped) > 0 {
		fmt.Fprintf(w, "%s was not timed on %s: ask for it with -tiers %[1]s.\n", f.Tiers[len(f.Tiers)-1].Name, tables.Wrap(f.Skipped, 90, "  "))
	}
	hashes([]*results.File{f}).print(w, "")
}

// print prints the table, if it has any rows.
func (t table) print(w io.Writer, text string) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", t.Caption)
	if text != "" {
		fmt.Fprintln(w, tables.Wrap(strings.Fields(text), 100, ""))
	}
	rows, missing := []string{strings.Join(t.Head, "\t")}, false
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.Text)
			missing = missing || c.Text == "–"
		}
		rows = append(rows, strings.Join(cells, "\t"))
	}
	fmt.Fprintln(w)
	tables.Write(w, rows...)
	if missing {
		fmt.Fprintf(w, "–: not measured, or no share, as what limits the calls varied by more than %.0f%% between them, or was less than they reached, or others took more than %d%% of the CPU time.\n", 100*results.MostSpread, results.MostTaken)
	}
}

// hashes lays the hashes of all outputs side by side.
func hashes(files []*results.File) *table {
	t := &table{Caption: "SHA-256 of the bits of each output, over all tiers and numbers of threads", Head: []string{"output"}}
	for i := range files {
		t.Head = append(t.Head, name(files, i))
	}
	for _, o := range results.Outputs(files) {
		row := []cell{text("%s", o.Name)}
		for i := range files {
			row = append(row, hashCell(o, i))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func hashCell(o *results.Output, file int) cell {
	all := o.Hashes[file]
	switch n := len(all); {
	case n == 0:
		return text("–")
	case len(slices.Compact(slices.Sorted(slices.Values(all)))) > 1:
		return text("DIFFER")
	}
	return text("%.12s… (%d times)", all[0], len(all))
}
