package main

import (
	"context"
	"flag"
	"io"
)

// A report is a table of its own, asked for by a flag of its name, that is
// printed instead of the shapes'.
type report struct {
	name, usage string
	run         func(ctx context.Context, c *config, out io.Writer) error
}

// reports lists them; to add one, add an entry.
var reports = []report{
	{"options", "measure what each option costs", reportOptions},
	{"linear", "measure linear layers", reportLinear},
	{"layer", "measure the multi-head module and additive attention", reportLayers},
	{"decode", "measure decoding beside the bandwidth of caches and memory", reportDecode},
	{"cache", "measure attention on pages, and how a cache grows and forks", reportCache},
}

// addReports defines their flags.
func addReports(fs *flag.FlagSet, c *config) {
	c.reports = make([]bool, len(reports))
	for i, r := range reports {
		fs.BoolVar(&c.reports[i], r.name, false, r.usage)
	}
}

// runReports prints the reports that were asked for, and tells whether there
// were any.
func runReports(ctx context.Context, c *config, out io.Writer) (any bool, err error) {
	for i, r := range reports {
		if !c.reports[i] {
			continue
		}
		if !any {
			describeMachine(out)
		}
		any = true
		if err := r.run(ctx, c, out); err != nil {
			return true, err
		}
		if err := interrupted(ctx); err != nil {
			return true, err
		}
	}
	return any, nil
}
