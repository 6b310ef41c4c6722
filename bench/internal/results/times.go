package results

import (
	"fmt"
	"strings"
)

// A Time is the time of one row, as comparisons have it.
type Time struct {
	Name string
	Timing
}

// Times returns the times of all rows.
func (f *File) Times() (all []Time) {
	add := func(t Timing, words ...any) {
		all = append(all, Time{strings.TrimSpace(fmt.Sprintln(words...)), t})
	}
	on := func(threads int) string { return fmt.Sprintf("threads=%d", threads) }
	for _, s := range f.Speed {
		add(s.Timing, s.Shape, s.Tier, on(s.Threads))
	}
	for _, l := range f.Linear {
		add(l.Timing, "linear", fmt.Sprintf("%dx%dx%d", l.Rows, l.Inputs, l.Outputs), l.Weights, l.Tier, on(l.Threads))
	}
	for _, b := range f.Backward {
		add(b.Timing, "backward", b.Shape, b.Tier, on(b.Threads))
	}
	for _, d := range f.Decode {
		add(d.Timing, "decode", d.Level, d.Type, fmt.Sprintf("group=%d", d.Group), d.Tier, on(d.Threads))
	}
	for _, o := range f.Options {
		add(Timing{Ns: o.With, Samples: o.Samples, Runs: o.Runs}, "option", o.Option, o.Shape, o.Tier)
	}
	for i := range f.Models {
		m := &f.Models[i]
		add(m.Timing, "model", m.Model, m.Task, fmt.Sprintf("%dx%d", m.Texts, m.Tokens), m.Tier, on(m.Threads))
	}
	for i := range f.Curves {
		c := &f.Curves[i]
		for k, x := range c.X {
			add(Timing{Ns: c.Ns[k], Samples: 1}, c.Name(), c.Tier, fmt.Sprintf("at=%g", x))
		}
	}
	return all
}
