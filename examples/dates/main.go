// Command dates translates dates as people write them into ISO 8601, by a small
// trained encoder-decoder with additive attention, on attn alone, and draws what its
// attention looked at.
//
//	go run ./examples/dates 'Saturday, November 21, 2026'
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/attn-go/attn/examples/internal/heat"
	"github.com/attn-go/attn/examples/internal/program"
)

func main() {
	program.Exit("dates", run(os.Args[1:], os.Stdout, os.Stderr))
}

// config is what the command line asks for.
type config struct {
	texts    []string
	svg, png string
	settings settings
}

func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("dates", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "usage: dates [flags] TEXT...\n")
		fs.PrintDefaults()
	}
	fs.StringVar(&c.svg, "svg", "dates.svg", "`file` for the heat map as SVG; none if empty")
	fs.StringVar(&c.png, "png", "dates.png", "`file` for the heat map as PNG; none if empty")
	fs.StringVar(&c.settings.tier, "tier", "", "implementation, like generic or avx2 (default the best here)")
	fs.IntVar(&c.settings.threads, "threads", 1, "threads; 0 means all")
	err := fs.Parse(args)
	c.texts = fs.Args()
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(help)
		fs.Usage()
		return nil, err
	case err != nil:
		return nil, program.Usage(err)
	case len(c.texts) == 0:
		return nil, program.Usage(errors.New("no text: want a date, such as 'Saturday, November 21, 2026'"))
	case c.settings.threads < 0:
		return nil, program.Usage(errors.New("-threads: want 0 or more"))
	}
	return c, nil
}

// run is the command: dates go to out, one a line.
func run(args []string, out, help io.Writer) error {
	c, err := parse(args, help)
	if err != nil {
		return err
	}
	m, err := loadDefault()
	if err != nil {
		return err
	}
	translations, err := m.translate(c.texts, c.settings)
	if err != nil {
		return err
	}
	for _, t := range translations {
		if len(t.date) == 0 {
			return fmt.Errorf("%q: the model makes no date of it", string(t.text))
		}
		if _, err := fmt.Fprintln(out, string(t.date)); err != nil {
			return err
		}
	}
	return c.draw(translations)
}

// draw writes the alignments as heat maps.
func (c *config) draw(translations []translation) error {
	f := heat.Figure{Across: "text", Down: "date"}
	for _, t := range translations {
		m := heat.Map{Title: string(t.text) + " → " + string(t.date), Weights: t.alignment}
		for _, r := range t.text {
			m.Columns = append(m.Columns, heat.Label(r))
		}
		for _, r := range t.date {
			m.Rows = append(m.Rows, heat.Label(r))
		}
		f.Maps = append(f.Maps, m)
	}
	for _, name := range []string{c.svg, c.png} {
		if name != "" {
			if err := f.WriteFile(name); err != nil {
				return err
			}
		}
	}
	return nil
}
