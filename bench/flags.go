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

	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

// A config is what the command line asks for.
type config struct {
	suite.Config
	args              []string
	suites            []*suite.Suite // to run
	count             int            // how often
	all               bool           // every measurement, by -all or -quick
	json, note, peers string
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
	c := new(config)
	fs := newFlags("bench", usage)
	shapes := fs.String("shapes", "", "shapes to measure, by `names` or letters:\n"+table.Wrap(suite.Attention.Shapes(), 68, "")+"\nnone: only check (default all)"+suiteShapes())
	tiers := fs.String("tiers", "", "`tiers` to measure, with commas between, some of "+fmt.Sprint(kernel.Tiers())+"\n(default all that run here, generic only on small shapes)")
	threads := fs.String("threads", "", "numbers of threads to measure; all means GOMAXPROCS\n(default 1,all; with -all 1,2,4,... and all)")
	fs.DurationVar(&c.Time, "time", 0, "time of each measurement, like 0.2s; a few calls are made in any case\n(default at most 0.5s, less if there are many)")
	fs.IntVar(&c.count, "count", 1, "how often to repeat all measurements of times but -cliffs")
	fs.BoolVar(&c.all, "all", false, "measure everything: all shapes, and what the flags of single measurements\nbelow do")
	fs.BoolVar(&c.Quick, "quick", false, "measure less of everything, or of the measurements that are named;\nin total it takes less than a minute")
	fs.StringVar(&c.json, "json", "", "write all results to a `file` (-: print them instead of tables)")
	fs.StringVar(&c.note, "note", "", "a `text` about the machine or its load, kept in the file of -json")
	fs.StringVar(&c.peers, "peers", "", "take other programs' times into the file of -json from a `file` of\nbench/peers/attention.py or backward.py --json, or of models/peers, or\nseveral with commas")
	named := make([]bool, len(suite.All))
	for i, s := range suite.All {
		fs.BoolVar(&named[i], s.Name, false, s.Usage)
	}
	if err := command.Parse(fs, args, w); err != nil {
		return nil, err
	}
	c.args = asked(fs)
	for i := range named {
		if named[i] {
			c.suites = append(c.suites, &suite.All[i])
		}
	}
	if err := cmp.Or(noArguments(fs), c.resolve(fs, *shapes, *tiers, *threads)); err != nil {
		return nil, command.Usage(err)
	}
	return c, nil
}

// asked returns the flags that were set. Names of files and notes change no figure, so it leaves
// them out.
func asked(fs *flag.FlagSet) (args []string) {
	fs.Visit(func(f *flag.Flag) {
		switch value := f.Value.String(); {
		case slices.Contains([]string{"json", "note", "peers"}, f.Name):
		case value == "true":
			args = append(args, "-"+f.Name)
		default:
			args = append(args, "-"+f.Name+"="+value)
		}
	})
	return args
}

// resolve checks the flags and fills in the defaults.
func (c *config) resolve(fs *flag.FlagSet, shapes, tiers, threads string) (err error) {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case set["time"] && c.Time <= 0:
		return fmt.Errorf("-time %v: want more than 0", c.Time)
	case c.count < 1:
		return fmt.Errorf("-count %d: want 1 or more", c.count)
	case set["json"] && c.json == "":
		return errors.New("-json: want a file")
	case set["peers"] && c.peers == "":
		return errors.New("-peers: want a file")
	case (set["note"] || set["peers"]) && c.json == "":
		return errors.New("-note and -peers need -json: they are kept in its file")
	}
	if err := cmp.Or(command.CheckOutput("-json", c.json), c.conflicts(set)); err != nil {
		return err
	}
	if err := c.chooseSuites(shapes, set); err != nil {
		return err
	}
	if c.Tiers, err = parseTiers(tiers); err != nil {
		return err
	}
	c.Generic = set["tiers"] || set["shapes"] && len(c.Tiers) == 1
	for _, s := range c.suites {
		if s.OneTier && set["tiers"] && len(c.Tiers) > 1 {
			return fmt.Errorf("-tiers: %d tiers, want one for -%s, which is measured on one tier", len(c.Tiers), s.Name)
		}
	}
	if !set["threads"] {
		threads = "1,all"
		for n := 2; c.all && !c.Quick && n < runtime.GOMAXPROCS(0); n *= 2 {
			threads = strings.Replace(threads, "all", strconv.Itoa(n)+",all", 1)
		}
	}
	c.Threads, err = parseThreads(threads)
	return err
}

// chooseSuites adds the suites that no flag names, and finds the shapes.
func (c *config) chooseSuites(shapes string, set map[string]bool) error {
	c.all = c.all || c.Quick && len(c.suites) == 0
	checked := []*suite.Suite{&suite.Checks, &suite.Attention}
	switch {
	case c.all:
		c.suites = checked
		for i := range suite.All {
			c.suites = append(c.suites, &suite.All[i])
		}
	case len(c.suites) == 0 && shapes == "none":
		for _, flag := range []string{"time", "count", "tiers", "threads"} {
			if set[flag] {
				return fmt.Errorf("-shapes none does not go with -%s: it only checks, on all tiers and several numbers of threads", flag)
			}
		}
		c.suites = checked[:1]
		return nil
	case len(c.suites) == 0:
		c.suites = checked
	}
	if !set["shapes"] {
		return nil
	}
	c.Shapes = strings.Split(shapes, ",")
	return c.checkShapes(shapes)
}

// checkShapes checks that some suite has each shape of the list, and that each suite with shapes
// has at least one.
func (c *config) checkShapes(list string) error {
	var all []string
	for _, s := range c.suites {
		if s.Shapes == nil {
			continue
		}
		names := s.Shapes()
		if !slices.ContainsFunc(c.Shapes, func(shape string) bool { return isShape(names, shape) }) {
			return fmt.Errorf("-shapes: none of %q is a shape of -%s, want some of %s", list, s.Name, strings.Join(names, ", "))
		}
		all = append(all, names...)
	}
	for _, shape := range c.Shapes {
		if !isShape(all, shape) {
			return fmt.Errorf("-shapes: unknown shape %q, want some of %s", shape, strings.Join(all, ", "))
		}
	}
	return nil
}

// isShape says whether a word is a name, or an alias in brackets behind a name.
func isShape(names []string, word string) bool {
	return word != "" && slices.ContainsFunc(names, func(name string) bool {
		name, alias, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
		return strings.EqualFold(name, word) || strings.EqualFold(alias, word)
	})
}

// suiteShapes lists the shapes of suites for the usage.
func suiteShapes() string {
	text := "; with"
	for _, s := range suite.All {
		if s.Shapes != nil {
			text += "\n-" + s.Name + ": " + table.Wrap(s.Shapes(), 68, "  ")
		}
	}
	return text
}

// conflicts refuses flags that do not go together. Nothing is ignored silently.
func (c *config) conflicts(set map[string]bool) (err error) {
	refuse := func(flag, why string, others ...string) {
		for _, o := range others {
			if set[o] && err == nil {
				err = fmt.Errorf("-%s does not go with -%s: %s", flag, o, why)
			}
		}
	}
	for _, s := range c.suites {
		for _, flag := range slices.Sorted(maps.Keys(s.Refuses)) {
			refuse(s.Name, s.Refuses[flag], flag)
		}
		if c.all {
			refuse("all", "-all measures everything", s.Name)
		}
	}
	if c.all {
		refuse("all", "-all measures everything", "shapes")
	} else if c.Quick && len(c.suites) == 0 {
		refuse("quick", "it measures less of everything; give -time instead", "shapes")
	}
	return err
}

// parseTiers returns the tiers of a list, all if it is empty. They must run here, with the numbers
// that ATTN_TUNING gives them.
func parseTiers(list string) (found []kernel.Tier, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if list == "" {
			found = kernel.Tiers()
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
