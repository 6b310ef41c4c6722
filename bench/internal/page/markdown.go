package page

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
)

// markdownHead is the text of the page that no file determines but the contract's version.
const markdownHead = `# Benchmarks

` + "`make report`" + ` writes this page from the files in [bench/results](../bench/results/README.md); nobody edits it. Your CPU: ` + "`go run ./bench -all -json FILE`" + `,
or ` + "`-quick`" + ` for less than a minute, then ` + "`go run ./bench report FILE`" + `. The page of ` + "`bench report`" + ` has more: threads, what options cost, accuracy in
42 cases, curves. ` + "`.ci/step mca`" + ` predicts the speed of CPUs that are not at hand.

- **A time** is the median of calls that follow each other without a pause. It is –, and its share, if the middle half of its samples
  spreads over more than %.0f%% of the median: something else ran. Rows without any time are left out.
- **of peak** is the share of the FMA peak, a loop of independent multiply-adds on as many threads, measured between the calls.
  **of reading** is the share of a loop that only reads as much memory. The page has the larger one; products of integers exceed the peak.
- Compare shares, not times: shares depend much less on the machine. A contract before %d, today's, means: kernels of an earlier state.
- **1.50×** beside a figure: that program takes 1.5 times as long as attn for the same work.
`

// WriteMarkdown writes the page of benchmarks: a table for each file that nothing disturbed, one of
// errors, and the comparisons that no other page shows. Links lead from folder docs to paths below
// bench/results.
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
	b.WriteString("\n## Beside other programs\n")
	errorsMarkdown(&b, files)
	for _, c := range comparisons {
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

// comparisonMarkdown writes a table of figures with how many times as long each program takes as
// the first one.
func comparisonMarkdown(b *strings.Builder, c *results.Comparison) {
	fmt.Fprintf(b, "\n**%s**. %s. %s `%s` · contract %d · %s · %s", c.Title, strings.ToUpper(c.Machine[:1])+c.Machine[1:], c.Note, strings.Join(c.Commands, "`, `"), c.Contract, c.Date, link(c.Path))
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
