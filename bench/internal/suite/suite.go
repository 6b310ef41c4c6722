// Package suite holds further measurements of the bench command. Each suite compares one
// part of attn with the limit of the machine that matters there, or with a plain call, and adds
// its rows to a results.File.
package suite

import (
	"context"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// A Suite is a set of measurements. A flag of its name runs it.
type Suite struct {
	Name    string
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

// All lists the suites in the order in which they run. To add one, add an entry.
var All = []Suite{
	{Name: "options", Usage: "measure what each option costs",
		Rows: optionRows, Shapes: optionShapeNames,
		Refuses: map[string]string{"threads": "options are measured on one thread"}},
	{Name: "linear", Usage: "measure linear layers",
		Rows: linearRows, Shapes: func() []string { return shapesOf(linearShapes) }},
	{Name: "backward", Usage: "measure the gradients of attention beside the forward call",
		Rows: backwardRows, Shapes: backwardShapeNames},
	{Name: "decode", Usage: "measure decoding in comparison with the bandwidth of caches and memory",
		Rows: decodeRows, Shapes: decodeShapeNames},
	{Name: "accuracy", Usage: "compare the errors against float64 with PyTorch's",
		Rows: accuracyRows, OneTier: true,
		Refuses: map[string]string{"shapes": "its cases are those of PyTorch's file", "benchfmt": noTimes, "time": noTimes,
			"count": "errors are the same each time", "threads": "errors are the same with any number of threads"}},
	{Name: "models", Usage: "measure whole models, if make models has fetched their weights",
		Rows: modelRows, Shapes: func() []string { return shapesOf(modelTasks) }},
}

// Why suites refuse flags.
const (
	noTimes = "it compares errors and times nothing"
)

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

// execs returns how calls are executed: on each of the tiers with each number of threads.
func (c *Config) execs(tiers []kernel.Tier) (all []kernel.Exec) {
	for _, t := range tiers {
		for _, n := range c.Threads {
			all = append(all, kernel.Exec{Tier: t, Threads: n})
		}
	}
	return all
}

// time returns how long to measure what takes d in a whole run.
func (c *Config) time(d time.Duration) time.Duration {
	switch {
	case c.Time > 0:
		return c.Time
	case c.Quick:
		return d / 5
	}
	return d
}

// some returns the first n elements of a list in a quick run, and all in a whole one.
func some[T any](c *Config, list []T, n int) []T {
	if c.Quick {
		return list[:min(n, len(list))]
	}
	return list
}

// vectorTiers returns the tiers to measure, without the generic one unless it was asked for.
func (c *Config) vectorTiers() []kernel.Tier {
	var tiers []kernel.Tier
	for _, t := range c.Tiers {
		if t != machine.Generic || c.Generic {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// noVectors says whether there is no tier to measure, and notes that in the file.
func (c *Config) noVectors(what string, f *results.File) bool {
	if len(c.vectorTiers()) > 0 {
		return false
	}
	f.NotRun = append(f.NotRun, what+": only the tier generic runs here, which takes long; -tiers generic measures it")
	return true
}
