package results

import (
	"fmt"
	"strings"
)

// A Time is that of one row, as comparisons and Go's benchmark format have it.
type Time struct {
	Kind string      // such as Attention or Linear
	Keys [][2]string // names and values that tell it from others of its kind
	Timing
	Values []Value
}

// A Value is another figure of the row, such as its rate.
type Value struct {
	X    float64
	Unit string
}

// Name returns the name of the figure in comparisons.
func (t *Time) Name() string {
	words := []string{strings.ToLower(t.Kind)}
	if t.Kind == "Attention" {
		words = nil
	}
	for _, k := range t.Keys {
		if k[0] == "threads" || k[0] == "group" {
			k[1] = k[0] + "=" + k[1]
		}
		words = append(words, k[1])
	}
	return strings.Join(words, " ")
}

// share returns a percentage if it can be relied on.
func share(unit string, percent float64, ok bool) []Value {
	if !ok {
		return nil
	}
	return []Value{{percent, unit}}
}

// Times returns the times of all rows.
func (f *File) Times() (all []Time) {
	add := func(kind string, t Timing, values []Value, keys ...any) {
		row := Time{Kind: kind, Timing: t, Values: values}
		for i := 0; i < len(keys); i += 2 {
			row.Keys = append(row.Keys, [2]string{keys[i].(string), fmt.Sprint(keys[i+1])})
		}
		all = append(all, row)
	}
	rate := func(x float64, unit string, more ...Value) []Value { return append([]Value{{x, unit}}, more...) }
	for _, rows := range [][]Speed{f.Speed, f.Lengths} {
		for _, s := range rows {
			percent, ok := s.Share()
			add("Attention", s.Timing, rate(s.GFLOPs, "GFLOP/s", share("%peak", percent, ok)...), "shape", s.Shape, "tier", s.Tier, "threads", s.Threads)
		}
	}
	for _, l := range f.Linear {
		percent, ok := l.Share()
		units := map[string][2]string{LimitPeak: {"GFLOP/s", "%peak"}, LimitRead: {"GB/s", "%read"}}[l.Limit]
		add("Linear", l.Timing, rate(l.Rate, units[0], share(units[1], percent, ok)...), "shape", fmt.Sprintf("%dx%dx%d", l.Rows, l.Inputs, l.Outputs), "weights", l.Weights, "tier", l.Tier, "threads", l.Threads)
	}
	for _, b := range f.Backward {
		percent, ok := b.Share()
		add("Backward", b.Timing, rate(b.GFLOPs, "GFLOP/s", share("%peak", percent, ok)...), "shape", b.Shape, "tier", b.Tier, "threads", b.Threads)
	}
	for i, rows := range [][]Decode{f.Decode, f.Groups} {
		for _, d := range rows {
			read, readOK := d.ReadShare()
			bound, boundOK := d.BoundShare()
			values := append(share("%read", read, readOK), share("%bound", bound, boundOK)...)
			add([]string{"Decode", "Groups"}[i], d.Timing, rate(d.GBs, "GB/s", append(values, Value{d.Tokens, "tokens/s"})...), "from", d.Level, "type", d.Type, "group", d.Group, "tier", d.Tier, "threads", d.Threads)
		}
	}
	for _, o := range f.Options {
		add("Option", Timing{Ns: o.With, Samples: o.Samples, Runs: o.Runs}, rate(o.Cost, "%cost"), "option", o.Option, "shape", o.Shape, "tier", o.Tier)
	}
	for _, q := range f.Queries {
		add("Queries", Timing{Ns: q.Ns, Samples: 1, Runs: q.Runs}, nil, "queries", q.Queries, "tier", q.Tier)
	}
	for i := range f.Models {
		m := &f.Models[i]
		add("Model", m.Timing, rate(m.Rate, m.Unit()), "model", m.Model, "task", m.Task, "size", fmt.Sprintf("%dx%d", m.Texts, m.Tokens), "tier", m.Tier, "threads", m.Threads)
	}
	return all
}
