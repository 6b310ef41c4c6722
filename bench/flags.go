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
	"time"

	"github.com/attn-go/attn/kernel"
)

// config is what the command line asks for.
type config struct {
	shapes      []*shape
	shapesAsked bool
	tiers       []string
	tiersAsked  bool
	threads     []int
	time        time.Duration // of each measurement; 0: as the budget allows
	count       int
	benchfmt    bool
	activations string
	causal      bool
	offset      int
	reports     []bool // which of reports
}

const usage = `usage: go run ./bench [flags]

Checks on real input that every tier computes the same bits, then measures
their speed. Exits with 1 if a bit differs, with 2 if the flags are wrong.

`

// parse reads the command line. It writes the usage to w when it is asked for
// it, and then returns flag.ErrHelp.
func parse(args []string, w io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	names := fs.String("shapes", "", "shapes to measure: "+strings.Join(shapeNames(), ",")+"; none only checks\n(default all; with -activations "+realShape+")")
	tiers := fs.String("tiers", "", "tiers to measure: "+strings.Join(tierNames(), ",")+"\n(default all that run here, generic on small shapes only)")
	threads := fs.String("threads", "", "numbers of threads to measure, all means GOMAXPROCS\n(default 1,all)")
	fs.DurationVar(&c.time, "time", 0, "time of each measurement, like 0.2s\n(default at most "+maxTime.String()+", less where the whole would last long)")
	fs.IntVar(&c.count, "count", 1, "repeat all measurements")
	fs.BoolVar(&c.benchfmt, "benchfmt", false, "print only lines in Go's benchmark format, for benchstat\n(compare two CPUs with benchstat -col cpu or -ignore cpu)")
	fs.StringVar(&c.activations, "activations", "", "safetensors `file` with q, k, v, out and perhaps lengths,\ninstead of the real input that comes with the command")
	fs.BoolVar(&c.causal, "causal", false, "the activations in the file are causal")
	fs.IntVar(&c.offset, "offset", 0, "with -causal: query i sees the keys up to offset+i")
	addReports(fs, c)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w, usage)
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	return c, c.resolve(fs, *names, *tiers, *threads)
}

// resolve checks what was asked for and fills in the defaults.
func (c *config) resolve(fs *flag.FlagSet, names, tiers, threads string) (err error) {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case set["time"] && c.time <= 0:
		return fmt.Errorf("-time %v: want more than 0", c.time)
	case c.count < 1:
		return fmt.Errorf("-count %d: want 1 or more", c.count)
	case set["activations"] && c.activations == "":
		return errors.New("-activations: want a file")
	case c.causal && c.activations == "":
		return errors.New("-causal goes with -activations")
	case set["offset"] && !c.causal:
		return errors.New("-offset goes with -causal")
	}
	c.shapesAsked, c.tiersAsked = set["shapes"], set["tiers"]
	if !set["shapes"] && c.activations != "" {
		names = realShape
	} else if !set["shapes"] {
		names = strings.Join(shapeNames(), ",")
	}
	if c.shapes, err = parseShapes(names); err != nil {
		return err
	}
	if !set["tiers"] {
		tiers = strings.Join(runnable(), ",")
	}
	if c.tiers, err = parseTiers(tiers); err != nil {
		return err
	}
	if !set["threads"] {
		threads = "1,all"
	}
	c.threads, err = parseThreads(threads)
	return err
}

func shapeNames() []string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return names
}

func tierNames() []string {
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.Name)
	}
	return names
}

// parseShapes finds shapes by name, in the order of the list.
func parseShapes(list string) ([]*shape, error) {
	if list == "none" {
		return nil, nil
	}
	var found []*shape
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(shapes, func(s shape) bool { return strings.EqualFold(s.name, name) })
		if i < 0 {
			return nil, fmt.Errorf("-shapes: unknown shape %q, want some of %s, or none", name, strings.Join(shapeNames(), ","))
		}
		if !slices.Contains(found, &shapes[i]) {
			found = append(found, &shapes[i])
		}
	}
	return found, nil
}

// parseTiers finds tiers that run here.
func parseTiers(list string) ([]string, error) {
	var found []string
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(kernel.Tiers(), func(t kernel.TierInfo) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-tiers: unknown tier %q, want some of %s", name, strings.Join(tierNames(), ","))
		}
		if t := kernel.Tiers()[i]; !t.Runs {
			return nil, fmt.Errorf("-tiers: %s cannot run here: %s; want some of %s", name, t.Reason, strings.Join(runnable(), ","))
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// maxThreads keeps a slip of the finger from starting millions of goroutines.
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
