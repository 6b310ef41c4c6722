package page

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
)

// markdownHead is the text of the page that no file determines but the contract's version.
const markdownHead = `# Benchmarks

` + "`make report`" + ` writes this page from the files in [bench/results](../bench/results/README.md). Nobody edits this page.
Commands write the files of machines. The files of comparisons are written by hand from what commands print.

- **time** is the median time of a call; calls follow each other without a pause. A time is –, and its share, if the middle half of its
  samples spreads over more than %.0f%% of the median: something else ran.
- **of peak** is the share of the FMA peak, a loop of independent multiply-adds on as many threads, measured between the calls.
  **of reading** is the share of a loop that only reads as much memory. The larger one of the two is told.
- A run on one machine that others disturbed has no table: it is named below, and ` + "`go run ./bench report FILE`" + ` shows it. Comparisons
  are ratios of runs in turn, unless their text says otherwise. They stay on the page, and say what was disturbed.
- Compare shares, not times: shares depend much less on the machine.
- A table of a contract before %d, today's, is of the kernels of its time. Bits are compared among files of one contract alone.

To measure your CPU: ` + "`go run ./bench -all -json FILE`, or `-quick`" + ` for less than a minute, then ` + "`go run ./bench report FILE`" + `.
More flags: ` + "`go run ./bench -h`" + `. Predictions for CPUs that are not at hand: ` + "`.ci/step mca`" + `. What options cost, accuracy in 42 cases, curves
and norms are in the files, and on the page that ` + "`bench report`" + ` draws.
`

// WriteMarkdown writes the page of benchmarks: a table for each file that nothing disturbed, one of
// errors, and the comparisons. Links lead from folder docs to paths below bench/results.
func WriteMarkdown(w io.Writer, files []*results.File, comparisons []*results.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, markdownHead, 100*results.MostSpread, kernel.Contract)
	for _, f := range files {
		if len(f.Disturbed()) == 0 {
			machineMarkdown(&b, f)
		}
	}
	for _, f := range files {
		if reasons := f.Disturbed(); len(reasons) > 0 {
			fmt.Fprintf(&b, "\nLeft out: %s, %s: %s.\n", f.Machine.Name(), link(f.Path), strings.Join(reasons, "; "))
		}
	}
	errorsMarkdown(&b, files)
	for _, c := range comparisons {
		comparisonMarkdown(&b, c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// link returns a link to a file of bench/results or the folder below it.
func link(path string) string {
	at := "results/" + filepath.Base(path)
	if folder := filepath.Base(filepath.Dir(path)); folder == "peers" {
		at = "results/peers/" + filepath.Base(path)
	}
	return fmt.Sprintf("[%s](../bench/%s)", filepath.Base(path), at)
}

// command returns the command that wrote a file, without what says nothing of the figures.
func command(f *results.File) string {
	words := []string{"go run ./bench"}
	for i := 0; i < len(f.Args); i++ {
		name, _, whole := strings.Cut(strings.TrimPrefix(f.Args[i], "-"), "=") // -name=value is whole
		switch "-" + strings.TrimPrefix(name, "-") {
		case "-json", "-note", "-peers":
			if !whole {
				i++
			}
		default:
			words = append(words, f.Args[i])
		}
	}
	return strings.Join(words, " ")
}

// A timed is a cell of the table of a machine: a tier and a number of threads.
type timed struct {
	tier    string
	threads int
}

// machineMarkdown writes the table of one file: the default tier on one thread and on the most, and
// the other tiers with assembly on one.
func machineMarkdown(b *strings.Builder, f *results.File) {
	most := 1
	for _, s := range f.Speed {
		most = max(most, s.Threads)
	}
	columns := []timed{{f.Default(), 1}}
	for _, t := range f.Tiers {
		if t.Runs && !t.Default && t.Name != "generic" {
			columns = append(columns, timed{t.Name, 1})
		}
	}
	if most > 1 {
		columns = append(columns, timed{f.Default(), most})
	}
	fmt.Fprintf(b, "\n## %s\n\n`%s` · contract %d · %s · commit %.8s · %s · %s\n\n", f.Machine.Name(), command(f), f.Contract, date(f), f.Build.Commit, f.Build.Go, link(f.Path))
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
	b.WriteString(".\n\n| call |")
	for _, c := range columns {
		fmt.Fprintf(b, " %s, %s | of limit |", c.tier, results.Threads(c.threads))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|---|", len(columns)))
	for _, r := range machineRows(f) {
		if !slices.ContainsFunc(columns, func(c timed) bool { return r.cells[c][0] != "" && r.cells[c][0] != "–" }) {
			continue // nothing of it is steady
		}
		fmt.Fprintf(b, "| %s |", r.name)
		for _, c := range columns {
			fmt.Fprintf(b, " %s | %s |", r.cells[c][0], r.cells[c][1])
		}
		b.WriteString("\n")
	}
}

// date returns the day of a run.
func date(f *results.File) string { return f.Date[:min(10, len(f.Date))] }

// A machineRow is a call: the time and the share of its limit on tiers and threads.
type machineRow struct {
	name  string
	cells map[timed][2]string
}

// linearShapes are the layers of the page: the limit of the first is the FMA peak, of the second
// reading. The files have more.
var linearShapes = []string{"512 × 512 → 512", "1 × 4096 → 16384"}

func machineRows(f *results.File) (rows []*machineRow) {
	byName := map[string]*machineRow{}
	add := func(name, tier string, threads int, t *results.Timing, text, share string) {
		r := byName[name]
		if r == nil {
			r = &machineRow{name, map[timed][2]string{}}
			rows, byName[name] = append(rows, r), r
		}
		if t.Unsteady() {
			text, share = "–", "–"
		}
		r.cells[timed{tier, threads}] = [2]string{text, share}
	}
	for i := range f.Speed {
		s := &f.Speed[i]
		add(s.Alias+": "+s.Input, s.Tier, s.Threads, &s.Timing, tables.Duration(s.Ns), ofLimit(s.Share(f)))
	}
	for i := range f.Backward {
		r := &f.Backward[i]
		add("gradients of "+r.Alias, r.Tier, r.Threads, &r.Timing, tables.Duration(r.Ns), ofLimit(r.Share(f)))
	}
	for i := range f.Decode {
		d := &f.Decode[i]
		if d.Group != results.DecodeGroup {
			continue
		}
		read, readDoubt := d.ReadShare(f)
		peak, peakDoubt := d.PeakShare(f)
		share := ofLimit(peak, peakDoubt)
		if readDoubt == "" && (peakDoubt != "" || read > peak) {
			share = fmt.Sprintf("%.0f%% of reading", read)
		}
		add(fmt.Sprintf("decoding, %s from %s", d.Type, d.Level), d.Tier, d.Threads, &d.Timing, fmt.Sprintf("%s, %.1f GB/s", tables.Duration(d.Ns), d.GBs), share)
	}
	for _, shape := range linearShapes {
		for i := range f.Linear {
			if l := &f.Linear[i]; l.Shape() == shape {
				percent, doubt := l.Share(f)
				share := ofLimit(percent, doubt)
				if l.Limit == results.LimitRead {
					share = strings.Replace(share, "peak", "reading", 1)
				}
				add(fmt.Sprintf("linear %s, %s", shape, l.Weights), l.Tier, l.Threads, &l.Timing, tables.Duration(l.Ns), share)
			}
		}
	}
	for i := range f.Models {
		m := &f.Models[i]
		add(m.Name(), m.Tier, m.Threads, &m.Timing, fmt.Sprintf("%.1f %s", m.Rate, m.Unit()), "")
	}
	return rows
}

func ofLimit(percent float64, doubt string) string {
	if doubt != "" {
		return "–"
	}
	return fmt.Sprintf("%.0f%% of peak", percent)
}

// errorsMarkdown writes the errors of the newest contract: they are the same on every CPU.
func errorsMarkdown(b *strings.Builder, files []*results.File) {
	var from *results.File
	for _, f := range files {
		if len(f.Checks) > 0 && (from == nil || f.Contract > from.Contract) {
			from = f
		}
	}
	if from == nil {
		return
	}
	fmt.Fprintf(b, "\n## Accuracy\n\nErrors against float64 on activations of trained models, the same on every CPU, beside PyTorch's on the same numbers. Contract %d, %s.\n\n", from.Contract, link(from.Path))
	b.WriteString("| input | rms error | PyTorch's | largest error | PyTorch's |\n|---|---|---|---|---|\n")
	for _, c := range from.Checks {
		fmt.Fprintf(b, "| %s: %s | %s | %s | %s | %s |\n", c.Name, c.Input, tables.Error(c.Error.RMS), tables.Error(c.PyTorch.RMS), tables.Error(c.Error.Max), tables.Error(c.PyTorch.Max))
	}
}

// comparisonMarkdown writes a table of figures with how many times as long each program takes as
// the first one.
func comparisonMarkdown(b *strings.Builder, c *results.Comparison) {
	fmt.Fprintf(b, "\n## %s\n\n%s. %s `%s` · contract %d · %s · %s\n", c.Title, strings.ToUpper(c.Machine[:1])+c.Machine[1:], c.Note, strings.Join(c.Commands, "`, `"), c.Contract, c.Date, link(c.Path))
	if c.Disturbance != "" {
		fmt.Fprintf(b, "**Disturbed:** %s.\n", strings.TrimSuffix(c.Disturbance, "."))
	}
	if c.Unit != results.UnitNs {
		fmt.Fprintf(b, "In %s.\n", c.Unit)
	}
	if c.Chart != "" {
		fmt.Fprintf(b, "\n%s\n", picture(c.Chart, c.Title))
	}
	fmt.Fprintf(b, "\n| %s | %s |\n|%s\n", c.Of, strings.Join(c.Programs, " | "), strings.Repeat("---|", len(c.Programs)+1))
	for i, r := range c.Rows {
		fmt.Fprintf(b, "| %s |", r.Name)
		for k, v := range r.Values {
			switch {
			case v == nil:
				b.WriteString(" – |")
				continue
			case c.Unit == results.UnitNs:
				fmt.Fprintf(b, " %s", tables.Duration(*v))
			default:
				fmt.Fprintf(b, " %g", *v)
			}
			if ratio := c.Ratio(i, k); k > 0 && ratio > 0 {
				fmt.Fprintf(b, " · %.2f×", ratio)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
}

// picture shows a chart of folder docs, for light and for dark ground.
func picture(name, title string) string {
	return fmt.Sprintf(`<picture><source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg"><img alt="%s" src="%[1]s-light.svg"></picture>`, name, title)
}
