package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/speed"
	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/kernel"
)

// A config is what the command line asks for.
type config struct {
	speed.Plan
	namedTiers  bool // by -tiers, not by default
	benchfmt    bool
	activations string
	causal      bool
	offset      int
	suites      []bool // which of suite.All to run
}

const usage = `usage: go run ./bench [flags]

Checks on real input that every tier computes the same bits, then measures
their speed. Exits with 1 if a bit differs, with 2 if the flags are wrong.

`

// parse reads the command line. If that asks for help, parse writes the usage to w and
// returns flag.ErrHelp.
func parse(args []string, w io.Writer) (*config, error) {
	c := &config{suites: make([]bool, len(suite.All))}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	shapes := fs.String("shapes", "", "shapes to measure: "+strings.Join(problem.ShapeNames(), ",")+"; none: only check\n(default all; with -activations "+problem.Real+")")
	tiers := fs.String("tiers", "", "tiers to measure: "+strings.Join(tierNames(), ",")+"\n(default all that run here, generic only on small shapes)")
	threads := fs.String("threads", "", "numbers of threads to measure; all means GOMAXPROCS\n(default 1,all)")
	fs.DurationVar(&c.Time, "time", 0, "time of each measurement, like 0.2s\n(default at most "+speed.DefaultTime.String()+", less if there are many)")
	fs.IntVar(&c.Count, "count", 1, "how often to repeat all measurements")
	fs.BoolVar(&c.benchfmt, "benchfmt", false, "print only lines in Go's benchmark format, for benchstat\n(compare two CPUs with benchstat -col cpu or -ignore cpu)")
	fs.StringVar(&c.activations, "activations", "", "safetensors `file` with q, k, v, out and perhaps lengths,\ninstead of the real input that comes with the command")
	fs.BoolVar(&c.causal, "causal", false, "the activations in the file are causal")
	fs.IntVar(&c.offset, "offset", 0, "with -causal: query i sees the keys up to offset+i")
	for i, s := range suite.All {
		fs.BoolVar(&c.suites[i], s.Name, false, s.Usage)
	}
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w, usage)
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	return c, c.resolve(fs, *shapes, *tiers, *threads)
}

// resolve checks the flags and fills in the defaults.
func (c *config) resolve(fs *flag.FlagSet, shapes, tiers, threads string) (err error) {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case set["time"] && c.Time <= 0:
		return fmt.Errorf("-time %v: want more than 0", c.Time)
	case c.Count < 1:
		return fmt.Errorf("-count %d: want 1 or more", c.Count)
	case set["activations"] && c.activations == "":
		return errors.New("-activations: want a file")
	case c.causal && c.activations == "":
		return errors.New("-causal needs -activations")
	case set["offset"] && !c.causal:
		return errors.New("-offset needs -causal")
	}
	if !set["shapes"] && c.activations != "" {
		shapes = problem.Real
	} else if !set["shapes"] {
		shapes = strings.Join(problem.ShapeNames(), ",")
	}
	if c.Shapes, err = parseShapes(shapes); err != nil {
		return err
	}
	c.namedTiers = set["tiers"]
	if !c.namedTiers {
		tiers = strings.Join(machine.Tiers(), ",")
	}
	if c.Tiers, err = parseTiers(tiers); err != nil {
		return err
	}
	c.Generic = c.namedTiers || set["shapes"] && len(c.Tiers) == 1
	if !set["threads"] {
		threads = "1,all"
	}
	c.Threads, err = parseThreads(threads)
	return err
}

func tierNames() []string {
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.Name)
	}
	return names
}

// parseShapes finds shapes by name, in the order of the list.
func parseShapes(list string) ([]*problem.Shape, error) {
	if list == "none" {
		return nil, nil
	}
	var found []*problem.Shape
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(problem.Shapes, func(s problem.Shape) bool { return strings.EqualFold(s.Name, name) })
		if i < 0 {
			return nil, fmt.Errorf("-shapes: unknown shape %q, want some of %s, or none", name, strings.Join(problem.ShapeNames(), ","))
		}
		if s := &problem.Shapes[i]; !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found, nil
}

// parseTiers checks that the tiers of the list run here.
func parseTiers(list string) ([]string, error) {
	var found []string
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(kernel.Tiers(), func(t kernel.TierInfo) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-tiers: unknown tier %q, want some of %s", name, strings.Join(tierNames(), ","))
		}
		if t := kernel.Tiers()[i]; !t.Runs {
			return nil, fmt.Errorf("-tiers: %s cannot run here: %s; want some of %s", name, t.Reason, strings.Join(machine.Tiers(), ","))
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// maxThreads makes an error of a typing mistake that would start millions of goroutines.
const maxThreads = 4096

func parseThreads(list string) ([]int, error) {
	var found []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if word == "all" {
			n, err = runtime.GOMAXPROCS(0), nil
		}
		if err != nil || n < 1 || n > maxThreads {
			return nil, fmt.Errorf("-threads: unknown number of threads %q, want numbers from 1 to %d, or all (%d here)", word, maxThreads, runtime.GOMAXPROCS(0))
		}
		if !slices.Contains(found, n) {
			found = append(found, n)
		}
	}
	return found, nil
}
