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

	"github.com/attn-go/attn/examples/heat"
	"github.com/attn-go/attn/examples/internal/program"
)

func main() {
	program.Exit("dates", run(os.Args[1:], os.Stdout, os.Stderr))
}

// config is what the command line asks for.
type config struct {
	texts    []string
	pictures program.Pictures
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
	c.pictures.Flags(fs, "dates")
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
func run(args []string, out, report io.Writer) error {
	c, err := parse(args, report)
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
	return c.pictures.Write(figure(translations), report)
}

// figure returns the alignments as heat maps.
func figure(translations []translation) *heat.Figure {
	f := heat.Figure{
		Title:     "Attention weights of the dates model",
		QueryAxis: "query (character of the date)", KeyAxis: "key (character of the text)",
	}
	for _, t := range translations {
		f.Maps = append(f.Maps, heat.Map{
			Title:   fmt.Sprintf("%q → %s", string(t.text), string(t.date)),
			Queries: heat.CharacterLabels(string(t.date)), Keys: heat.CharacterLabels(string(t.text)),
			Weights: t.alignment,
		})
	}
	return &f
}
