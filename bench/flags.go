package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/speed"
	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

// A config is what the command line asks for.
type config struct {
	speed.Plan
	args        []string
	namedTiers  bool // by -tiers, not by default
	all         bool // every measurement, by -all or -quick
	json        string
	note        string
	peers       string
	benchfmt    bool
	activations string
	causal      bool
	offset      int
	suites      []bool   // which of suite.All to run
	suiteShapes []string // what they measure, by -shapes; nil: everything
}

const usage = `usage: go run ./bench [flags]                        check, then measure
       go run ./bench report [flags] [FILE...]       draw a page from results
       go run ./bench compare [flags] OLD NEW        compare the speed of two versions
       go run ./bench -tune [flags]                  find the tuning numbers of this CPU
       go run ./bench -kernels [flags]               list the kernels of the tiers: assembly or Go

Checks on real input that every tier computes the same bits, then measures
their speed. Exits with 1 if a bit differs, with 2 if the flags are wrong.

`

// parse reads the command line. If that asks for help, parse writes the usage to w and
// returns flag.ErrHelp.
func parse(args []string, w io.Writer) (*config, error) {
	c := &config{args: args, suites: make([]bool, len(suite.All))}
	fs := newFlags("bench", usage)
	shapes := fs.String("shapes", "", "shapes to measure, by `names` or letters:\n"+table.Wrap(problem.ShapeNames(), 68, "")+"\nnone: only check (default all; with -activations "+problem.Real+")"+suiteShapes())
	tiers := fs.String("tiers", "", "`tiers` to measure, with commas between, some of "+fmt.Sprint(kernel.Tiers())+"\n(default all that run here, generic only on small shapes)")
	threads := fs.String("threads", "", "numbers of threads to measure; all means GOMAXPROCS\n(default 1,all; with -all 1,2,4,... and all)")
	fs.DurationVar(&c.Time, "time", 0, "time of each measurement, like 0.2s; a few calls are made in any case\n(default at most "+speed.DefaultTime.String()+", less if there are many)")
	fs.IntVar(&c.Count, "count", 1, "how often to repeat all measurements but that of -accuracy")
	fs.BoolVar(&c.benchfmt, "benchfmt", false, "print only lines in Go's benchmark format, for benchstat\n(compare two CPUs with benchstat -col cpu or -ignore cpu)")
	fs.StringVar(&c.activations, "activations", "", "safetensors `file` with q, k, v, out and perhaps lengths,\ninstead of the real input that comes with the command")
	fs.BoolVar(&c.causal, "causal", false, "the activations in the file are causal")
	fs.IntVar(&c.offset, "offset", 0, "with -causal: query i sees the keys up to offset+i")
	fs.BoolVar(&c.all, "all", false, "measure everything: all shapes and sequence lengths, and what the flags\nof single measurements below do")
	fs.BoolVar(&c.Quick, "quick", false, "measure less of everything, or of the measurements that are named;\nin total it takes less than a minute")
	fs.StringVar(&c.json, "json", "", "write all results to a `file` (-: print them instead of tables)")
	fs.StringVar(&c.note, "note", "", "a `text` about the machine or its load, kept in the file of -json")
	fs.StringVar(&c.peers, "peers", "", "take other programs' times into the file of -json from a `file` of\nbench/peers/attention.py or backward.py --json, or of models/peers, or\nseveral with commas")
	for i, s := range suite.All {
		fs.BoolVar(&c.suites[i], s.Name, false, s.Usage)
	}
	if err := command.Parse(fs, args, w); err != nil {
		return nil, err
	}
	if err := cmp.Or(noArguments(fs), c.resolve(fs, *shapes, *tiers, *threads)); err != nil {
		return nil, command.Usage(err)
	}
	return c, nil
}

// resolve checks the flags and fills in the defaults.
func (c *config) resolve(fs *flag.FlagSet, shapes, tiers, threads string) (err error) {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
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
	case set["json"] && c.json == "":
		return errors.New("-json: want a file")
	case set["peers"] && c.peers == "":
		return errors.New("-peers: want a file")
	case (set["note"] || set["peers"]) && c.json == "":
		return errors.New("-note and -peers need -json: they are kept in its file")
	}
	if err := command.CheckOutput("-json", c.json); err != nil {
		return err
	}
	if err := c.conflicts(set); err != nil {
		return err
	}
	if c.Quick && !slices.Contains(c.suites, true) && !c.benchfmt && c.activations == "" {
		c.all = true
	}
	if err := c.resolveShapes(shapes, set["shapes"]); err != nil {
		return err
	}
	c.namedTiers = set["tiers"]
	if c.Tiers, err = parseTiers(tiers); err != nil {
		return err
	}
	for i, s := range suite.All {
		if c.suites[i] && s.OneTier && c.namedTiers && len(c.Tiers) > 1 {
			return fmt.Errorf("-tiers: %d tiers, want one for -%s, which is measured on one tier", len(c.Tiers), s.Name)
		}
	}
	c.Generic = c.namedTiers || set["shapes"] && len(c.Tiers) == 1
	if !set["threads"] {
		threads = "1,all"
		for n := 2; c.all && !c.Quick && n < runtime.GOMAXPROCS(0); n *= 2 {
			threads = strings.Replace(threads, "all", strconv.Itoa(n)+",all", 1)
		}
	}
	if c.Threads, err = parseThreads(threads); err != nil {
		return err
	}
	if len(c.Shapes) == 0 && !slices.Contains(c.suites, true) {
		for _, flag := range []string{"time", "count", "tiers", "threads", "quick"} {
			if set[flag] {
				return fmt.Errorf("-shapes none does not go with -%s: it only checks, on all tiers and several numbers of threads", flag)
			}
		}
	}
	return nil
}

// conflicts refuses flags that do not go together. Nothing is ignored silently.
func (c *config) conflicts(set map[string]bool) error {
	refuse := func(flag, why string, others ...string) error {
		for _, o := range others {
			if set[o] {
				return fmt.Errorf("-%s does not go with -%s: %s", flag, o, why)
			}
		}
		return nil
	}
	var errs []error
	named := slices.Contains(c.suites, true)
	for i, s := range suite.All {
		if !c.suites[i] {
			continue
		}
		errs = append(errs, refuse(s.Name, "they are about attention's checks", "activations", "causal", "offset"))
		if c.all {
			errs = append(errs, refuse("all", "-all measures everything", s.Name))
		}
		for _, flag := range slices.Sorted(maps.Keys(s.Refuses)) {
			errs = append(errs, refuse(s.Name, s.Refuses[flag], flag))
		}
	}
	if c.all {
		errs = append(errs, refuse("all", "-all measures everything", "shapes", "activations"),
			refuse("all", "errors and hashes are no benchmarks; name some of the measurements, such as -options -linear", "benchfmt"))
	}
	if c.Quick && !c.benchfmt && c.activations == "" && !named {
		errs = append(errs, refuse("quick", "it measures less of everything; give -time instead", "shapes"))
	}
	if c.benchfmt && c.json == "-" {
		errs = append(errs, errors.New("-benchfmt does not go with -json -: both print to standard output"))
	}
	return cmp.Or(errs...)
}

// parseTiers returns the tiers of a list, all if it is empty. They must run here, with the numbers that
// ATTN_TUNING gives them.
func parseTiers(list string) ([]kernel.Tier, error) {
	found := kernel.Tiers()
	if list != "" {
		found = nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if list == "" {
			break
		}
		t, bad := tier.Named(name, "-tiers")
		if bad != nil {
			return nil, fmt.Errorf("%s: tier %s, want %s", bad.Where, bad.Got, bad.Want)
		}
		if t := kernel.Tier(t.Handle()); !slices.Contains(found, t) {
			found = append(found, t)
		}
	}
	for _, t := range found {
		if why := inside(t).Mistuned; why != "" {
			return nil, fmt.Errorf("ATTN_TUNING: %s: %s", t, why)
		}
	}
	return found, nil
}

// inside returns what a tier of parseTiers is made of.
func inside(x kernel.Tier) *tier.Tier {
	t, _ := tier.Handle(x).Tier()
	return t
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
