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

` + "`make report`" + ` writes this page from the files in [bench/results](../bench/results/README.md). Your CPU: ` + "`go run ./bench -all -json FILE`" + `,
or ` + "`-quick`" + ` for less than a minute, then ` + "`go run ./bench report FILE`" + `, whose page has more rows, the other tiers, accuracy in 42 cases, and curves.
` + "`.ci/step mca`" + ` predicts the speed of CPUs that are not at hand.

- **A time** is the median of calls that follow each other without a pause. It is –, and its share, if the middle half of its samples
  spreads over more than %.0f%% of the median: something else ran. Rows without any time are left out.
- **of peak** is the share of the FMA peak, a loop of independent multiply-adds on as many threads, measured between the calls.
  **of reading** is the share of a loop that only reads as much memory. The page has the larger one; products of integers exceed the peak.
- Compare shares, not times: shares depend much less on the machine. A contract before %d, today's, means: kernels of an earlier state.
- **1.50×** beside a figure: that program takes 1.5 times as long as attn for the same work.
`

// WriteMarkdown writes the page of benchmarks: a table of the files that nothing disturbed, a
// table of errors, and the newest comparisons that no other page shows. Links lead from folder docs
// to paths below bench/results.
func WriteMarkdown(w io.Writer, files []*results.File, comparisons []*results.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, markdownHead, 100*results.MostSpread, kernel.Contract)
	machinesMarkdown(&b, slices.DeleteFunc(slices.Clone(files), func(f *results.File) bool { return len(f.Disturbed()) > 0 }))
	for _, f := range files {
		if reasons := f.Disturbed(); len(reasons) > 0 {
			fmt.Fprintf(&b, "\nLeft out: %s, %s: %s.\n", f.Machine.Name(), link(f.Path), strings.Join(reasons, "; "))
		}
	}
	b.WriteString("\n## Beside other programs\n")
	errorsMarkdown(&b, files)
	for _, c := range results.Newest(comparisons) {
		if c.Page == "" {
			comparisonMarkdown(&b, c)
		}
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

// command returns the command that wrote a file.
func command(f *results.File) string {
	return strings.Join(append([]string{"go run ./bench"}, f.Args...), " ")
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
	fmt.Fprintf(b, "\n**Errors against float64** on activations of trained models, the same on every CPU, / PyTorch's on the same numbers · contract %d · %s\n\n", from.Contract, link(from.Path))
	b.WriteString("| error |")
	rms, largest := "| rms |", "| largest |"
	for _, c := range from.Checks {
		fmt.Fprintf(b, " %s: %s |", c.Name, c.Input)
		rms += fmt.Sprintf(" %s / %s |", tables.Error(c.Error.RMS), tables.Error(c.PyTorch.RMS))
		largest += fmt.Sprintf(" %s / %s |", tables.Error(c.Error.Max), tables.Error(c.PyTorch.Max))
	}
	fmt.Fprintf(b, "\n|---|%s\n%s\n%s\n", strings.Repeat("---|", len(from.Checks)), rms, largest)
}

// comparisonMarkdown writes figures, with how many times as long each program takes as the first
// one. If there is a chart, the table has its rows alone.
func comparisonMarkdown(b *strings.Builder, c *results.Comparison) {
	fmt.Fprintf(b, "\n**%s**. %s. %s `%s` · contract %d · %s · %s", c.Title, capital(c.Machine), c.Note, strings.Join(c.Commands, "`, `"), c.Contract, c.Date, link(c.Path))
	if c.Unit != results.UnitNs {
		fmt.Fprintf(b, " · in %s", c.Unit)
	}
	if c.Disturbance != "" {
		fmt.Fprintf(b, " · **Disturbed:** %s.", strings.TrimSuffix(c.Disturbance, "."))
	}
	b.WriteString("\n")
	if c.Chart != "" {
		fmt.Fprintf(b, "%s\n", picture(c.Chart, c.Title))
	}
	lines := [][]string{append([]string{c.Of}, c.Programs...)}
	for i, r := range c.Rows {
		if c.Chart != "" && !r.Chart {
			continue
		}
		line := []string{r.Name}
		for k := range r.Values {
			line = append(line, comparisonCell(c, i, k))
		}
		lines = append(lines, line)
	}
	if len(lines) > len(lines[0]) && len(lines) <= mostColumns {
		lines = transpose(lines)
	}
	b.WriteString("\n")
	for i, line := range lines {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(line)))
		}
	}
}

// mostColumns is how many columns a reader's screen has room for.
const mostColumns = 9

// transpose swaps rows and columns.
func transpose(lines [][]string) [][]string {
	columns := make([][]string, len(lines[0]))
	for _, line := range lines {
		for k, cell := range line {
			columns[k] = append(columns[k], cell)
		}
	}
	return columns
}

// comparisonCell is the figure of a program in a row, with its ratio to the first program.
func comparisonCell(c *results.Comparison, row, program int) string {
	v := c.Rows[row].Values[program]
	if v == nil {
		return "–"
	}
	text := fmt.Sprintf("%g", *v)
	if c.Unit == results.UnitNs {
		text = tables.Duration(*v)
	}
	if ratio := c.Ratio(row, program); program > 0 && ratio > 0 {
		text += fmt.Sprintf(" · %.2f×", ratio)
	}
	return text
}

// picture shows a chart of folder docs, for light and for dark ground.
func picture(name, title string) string {
	return fmt.Sprintf(`<picture><source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg"><img alt="%s" src="%[1]s-light.svg"></picture>`, name, title)
}
