// Package suite holds the measurements of the bench command. Each suite compares one
// part of attn with the limit of the machine that matters there, or with a plain call, and adds
// its rows to a results.File.
package suite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// A Suite is a set of measurements.
type Suite struct {
	Name    string // of the flag that runs it
	Usage   string
	Rows    func(c *Config, f *results.File) []row // what it measures and adds to f, where it notes what cannot be measured
	Shapes  func() []string                        // names for Config.Shapes, with their aliases; nil: it has none
	OneTier bool                                   // only the first tier is measured
	Refuses map[string]string                      // flags that say nothing to it, and why
}

// A row is one that a suite measures. It makes its input when it is first needed.
type row struct {
	name    string // for the display of progress
	measure func(ctx context.Context) error
}

// Steps returns how many rows Run measures.
func (s *Suite) Steps(c *Config) int { return len(s.Rows(c, &results.File{})) }

// Run measures all rows. After an error f has those that were measured before it.
func (s *Suite) Run(ctx context.Context, c *Config, f *results.File) error {
	rows := s.Rows(c, f)
	for i := range rows {
		if ctx.Err() != nil {
			break
		}
		if c.Progress != nil {
			c.Progress(rows[i].name)
		}
		if err := rows[i].measure(ctx); err != nil {
			return err
		}
		rows[i].measure = nil // with the last row of an input its memory is free
	}
	return ctx.Err()
}

// appended returns a measurement whose result is appended to a list.
func appended[T any](to *[]T, measure func(ctx context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		r, err := measure(ctx)
		if err == nil {
			*to = append(*to, r)
		}
		return err
	}
}

// Repeats says whether the suite is measured again for -count.
func (s *Suite) Repeats() bool { return s.Refuses["count"] == "" }

// Checks compares the bits of all tiers on activations of trained models. It always runs before
// Attention.
var Checks = Suite{Name: "checks", Rows: checkRows, Refuses: map[string]string{"count": "bits are the same each time"}}

// Attention times calls of attention. It runs if no other suite is named.
var Attention = Suite{Name: "attention", Rows: attentionRows, Shapes: func() []string { return names(problem.Shapes, (*problem.Shape).Label) }}

// All lists the suites that flags name, in the order in which they run. To add one, add an entry.
var All = []Suite{
	{Name: "options", Usage: "measure what each option costs",
		Rows: optionRows, Shapes: func() []string { return names(optionShapes, (*problem.Shape).Label) },
		Refuses: map[string]string{"threads": "options are measured on one thread"}},
	{Name: "linear", Usage: "measure linear layers",
		Rows: linearRows, Shapes: func() []string { return names(linearShapes, (*linearShape).shape) }},
	{Name: "backward", Usage: "measure the gradients of attention beside the forward call",
		Rows: backwardRows, Shapes: func() []string { return names(backwardShapes, (*problem.Shape).Label) }},
	{Name: "decode", Usage: "measure decoding in comparison with the bandwidth of caches and memory",
		Rows: decodeRows, Shapes: func() []string {
			return append(names(cacheLevels(), func(l *cacheLevel) string { return l.name }), groupsShape)
		}},
	{Name: "cliffs", Usage: "measure curves over rows, sizes, lengths, pages and magnitudes, to find the points\nthat take too long",
		Rows: cliffRows, Shapes: func() []string { return results.CurveKinds },
		Refuses: map[string]string{"threads": "curves are measured on one thread", "count": "each point is the least of several times"}},
	{Name: "accuracy", Usage: "compare the errors against float64 with PyTorch's",
		Rows: accuracyRows, OneTier: true,
		Refuses: map[string]string{"shapes": "its cases are those of PyTorch's file", "time": "it compares errors and times nothing",
			"count": "errors are the same each time", "threads": "errors are the same with any number of threads"}},
	{Name: "models", Usage: "measure whole models, if make models has fetched their weights",
		Rows: modelRows, Shapes: func() []string { return names(modelTasks, func(t *modelTask) string { return t.name }) }},
}

// A Config says what the suites measure.
type Config struct {
	Tiers    []kernel.Tier
	Threads  []int
	Shapes   []string         // names or aliases of what is measured; nil: everything
	Time     time.Duration    // of each measurement, unless a few calls take longer; 0: the suite's own
	Generic  bool             // the user has named the tiers, so time the generic one if it is there
	Quick    bool             // fewer shapes, and a fifth of the time for each
	Progress func(row string) // is called before each row is measured; may be nil
}

// takes says whether something of this name, and perhaps of a short name, is measured: if -shapes
// names it or, if that names nothing, in a whole run and perhaps in a quick one.
func (c *Config) takes(quick bool, names ...string) bool {
	if c.Shapes == nil {
		return quick || !c.Quick
	}
	return slices.ContainsFunc(c.Shapes, func(s string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.EqualFold(s, name) })
	})
}

// names returns the names of a list.
func names[T any](list []T, name func(x *T) string) (all []string) {
	for i := range list {
		all = append(all, name(&list[i]))
	}
	return all
}

// execs returns how calls are executed: on each of the tiers with each number of threads.
func (c *Config) execs(tiers []kernel.Tier) (all []kernel.Exec) {
	for _, t := range tiers {
		for _, n := range c.Threads {
			all = append(all, kernel.Exec{Tier: t, Threads: n})
		}
	}
	return all
}

// vectorTiers returns the tiers to measure, without the generic one unless it was asked for.
func (c *Config) vectorTiers() []kernel.Tier {
	return slices.DeleteFunc(slices.Clone(c.Tiers), func(t kernel.Tier) bool { return t == machine.Generic && !c.Generic })
}

// noVectors says whether there is no tier to measure, and notes that in the file.
func (c *Config) noVectors(what string, f *results.File) bool {
	if len(c.vectorTiers()) > 0 {
		return false
	}
	f.NotRun = append(f.NotRun, what+": only the tier generic runs here, which takes long; -tiers generic measures it")
	return true
}

// skips says whether a tier is not timed on so much work because it would take long.
func (c *Config) skips(t kernel.Tier, flops float64) bool {
	return t == machine.Generic && !c.Generic && flops > machine.GenericFlops
}

// checkRows compare all tiers.
func checkRows(_ *Config, f *results.File) (rows []row) {
	activations, err := problem.Activations()
	if err != nil {
		return []row{{"activations", func(context.Context) error { return err }}}
	}
	for _, p := range activations {
		rows = append(rows, row{"check " + p.Name, appended(&f.Checks, func(context.Context) (results.Check, error) { return check.Bits(p) })})
	}
	return rows
}
