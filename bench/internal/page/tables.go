package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/report"
	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// furtherTables are what has no chart.
func furtherTables(f *results.File, i int) []table {
	all := []table{tiers(f), limits(f, i), checks(f, i), modules(f, i), additive(f, i), norms(f, i), groups(f, i), queries(f, i), ragged(f, i)}
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
	for _, x := range f.Tiers {
		t.Rows = append(t.Rows, []cell{text("%s", x.Name), text("%s", report.TierState(x))})
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
	for k, e := range f.Errors {
		from := from(i, "errors", k)
		t.Rows = append(t.Rows, []cell{text("%s", e.Shape), text("unit normal, %d of %d rows", e.Rows, e.Of), from.num("error.max", e.Error.Max, tables.Error(e.Error.Max)), from.num("error.rms", e.Error.RMS, tables.Error(e.Error.RMS)), text("–"), text("–")})
	}
	return t
}

func modules(f *results.File, i int) table {
	t := table{Caption: "Multi-head self-attention with its four projections", Head: []string{"batch × tokens × width, heads", "tier", "threads", "time", "GFLOP/s", "peak", "% of peak"}}
	for k, m := range f.MultiHead {
		from := from(i, "multihead", k)
		percent, ok := m.Share()
		t.Rows = append(t.Rows, []cell{text("%d × %d × %d, %d", m.Batch, m.Tokens, m.Width, m.Heads), text("%s", m.Tier), from.int("threads", m.Threads), from.num("ns", m.Ns, tables.Duration(m.Ns)),
			from.fixed("gflops", m.GFLOPs, 1), from.fixed("peak_gflops", m.Peak, 1), from.share("peak_percent", 1, percent, ok)})
	}
	return t
}

func additive(f *results.File, i int) table {
	t := table{Caption: "Additive attention, beside a loop that only computes tanh", Head: []string{"queries, keys, values", "tier", "threads", "time", "ns/tanh", "alone", "% of its rate"}}
	for k, a := range f.Additive {
		from := from(i, "additive", k)
		t.Rows = append(t.Rows, []cell{text("[%d, %d, %d], %d, %d", a.Batch, a.Queries, a.Hidden, a.Keys, a.Values), text("%s", a.Tier), from.int("threads", a.Threads), from.num("ns", a.Ns, tables.Duration(a.Ns)),
			from.fixed("tanh_ns", a.Tanh, 3), from.fixed("tanh_alone_ns", a.Alone, 3), from.fixed("tanh_percent", a.Percent, 1)})
	}
	return t
}

func norms(f *results.File, i int) table {
	t := table{Caption: "Norms of tokens in L2, beside a copy of them", Head: []string{"tokens × width", "norm", "tier", "threads", "time", "ns/element", "copied"}}
	for k, n := range f.Norms {
		from := from(i, "norms", k)
		t.Rows = append(t.Rows, []cell{text("%d × %d", n.Tokens, n.Width), text("%s", n.Norm), text("%s", n.Tier), from.int("threads", n.Threads), from.num("ns", n.Ns, tables.Duration(n.Ns)),
			from.fixed("element_ns", n.Element, 3), from.fixed("copy_element_ns", n.Copy, 3)})
	}
	return t
}

func groups(f *results.File, i int) table {
	t := table{Caption: "Groups of several sizes on one thread", Head: []string{"query heads for each KV head", "from", "type", "tier", "time", "GB/s", "% of reading", "% of peak"}}
	for k, d := range f.Groups {
		from := from(i, "groups", k)
		read, readOK := d.ReadShare()
		peak, peakOK := d.PeakShare()
		t.Rows = append(t.Rows, []cell{from.int("group", d.Group), text("%s", d.Level), text("%s", d.Type), text("%s", d.Tier), from.num("ns", d.Ns, tables.Duration(d.Ns)),
			from.fixed("gbs", d.GBs, 1), from.share("read_percent", 0, read, readOK), from.share("peak_percent", 0, peak, peakOK)})
	}
	return t
}

func queries(f *results.File, i int) table {
	t := table{Caption: "Several queries per head, from L3 on one thread", Head: []string{"queries", "rows per KV head", "tier", "time for each", "% of one alone"}}
	for k, q := range f.Queries {
		from := from(i, "queries", k)
		t.Rows = append(t.Rows, []cell{from.int("queries", q.Queries), from.int("rows", q.Rows), text("%s", q.Tier), from.num("query_ns", q.Ns, tables.Duration(q.Ns)), from.fixed("of_one_percent", q.Percent, 0)})
	}
	return t
}

func ragged(f *results.File, i int) table {
	t := table{Caption: "Batches of uneven lengths: the speedup by threads, and that of only reading", Head: []string{"from", "type", "tier", "one thread", "threads", "speedup", "reading"}}
	for k, r := range f.Ragged {
		from := from(i, "ragged", k)
		t.Rows = append(t.Rows, []cell{text("%s", r.Level), text("%s", r.Type), text("%s", r.Tier), from.num("one_thread_ns", r.One, tables.Duration(r.One)), from.int("threads", r.Threads), from.fixed("speedup", r.Speedup, 2), from.fixed("reading_speedup", r.Reading, 2)})
	}
	return t
}

// Print prints the tables of a file as text, with what the page says below their charts. Of those of the calls of attention
// some arrange the same figures for charts alone.
func Print(w io.Writer, f *results.File) {
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
		fmt.Fprintf(w, "–: not measured, or no share, as what limits the calls varied by more than %.0f%% between them, or was less than they reached.\n", 100*results.MostSpread)
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
	seen, n := []string{}, 0
	for _, h := range o.Hashes {
		if h.File != file {
			continue
		}
		n++
		if len(seen) == 0 || seen[len(seen)-1] != h.SHA256 {
			seen = append(seen, h.SHA256)
		}
	}
	switch {
	case n == 0:
		return text("–")
	case len(seen) > 1:
		return text("DIFFER")
	}
	return text("%.12s… (%d times)", seen[0], n)
}
