// Package tune measures on the machine at hand which tuning numbers make a tier the fastest, and
// prints the entry for them in internal/tier/tunings.go.
package tune

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// A Sweep is how the numbers of a tier are measured.
type Sweep struct {
	Tier   kernel.Tier
	Groups []string      // the groups of numbers to measure, see Groups
	Rounds int           // the times of a candidate are the best of so many
	Time   time.Duration // how long each of them takes at least
	Out    io.Writer
}

// An Entry is what was found for a tier on this CPU.
type Entry struct {
	CPU, Tier string
	Source    string // on what the numbers were measured
	Numbers   string // as kernel.Tier.Tuning returns them
}

// margin is how much less time a candidate must take to replace the numbers at hand.
const margin = 0.015

// Run measures the candidates of each group with those chosen before it, prints their times and
// then the entry.
func (s *Sweep) Run(ctx context.Context) (*Entry, error) {
	best := s.Tier
	for _, g := range groups {
		if !slices.Contains(s.Groups, g.name) {
			continue
		}
		var err error
		if best, err = s.group(ctx, &g, best); err != nil {
			return nil, err
		}
	}
	e := &Entry{CPU: tier.HostCPU().Name, Tier: best.String(), Source: "measured by bench -tune", Numbers: best.Tuning()}
	fmt.Fprintf(s.Out, "\n%s\n", e.Literal())
	if e.CPU == tier.AnyCPU {
		fmt.Fprintf(s.Out, "internal/tier/cpu_known.go knows no name for this CPU: give it one, in place of %q.\n", e.CPU)
	}
	return e, nil
}

// group returns the best of a tier and the candidates of a group that differ from it.
func (s *Sweep) group(ctx context.Context, g *group, now kernel.Tier) (kernel.Tier, error) {
	all := candidates(g, now)
	if len(all) == 1 {
		return now, nil
	}
	workloads, err := g.workloads()
	if err != nil {
		return now, err
	}
	times, err := s.measure(ctx, all, workloads)
	if err != nil {
		return now, err
	}
	best := 0
	for c := range all {
		if score(times[c], times[0]) < min(score(times[best], times[0]), 1-margin) {
			best = c
		}
	}
	s.print(g, all, workloads, times, best)
	return all[best], nil
}

// candidates returns a tier, and variants of it with the group's candidates that it can do with.
func candidates(g *group, now kernel.Tier) []kernel.Tier {
	all := []kernel.Tier{now}
	t, unavailable := tier.Handle(now).Tier()
	if unavailable != nil {
		return all
	}
	for _, c := range g.candidates(t) {
		x, err := now.Tuned(c)
		same := func(y kernel.Tier) bool { return y.Tuning() == x.Tuning() }
		if err == nil && !slices.ContainsFunc(all, same) {
			all = append(all, x)
		}
	}
	return all
}

// measure returns the best times of all calls on each candidate, in nanoseconds. The
// candidates alternate, as the speed of a shared machine varies.
func (s *Sweep) measure(ctx context.Context, candidates []kernel.Tier, workloads []workload) ([][]float64, error) {
	times := make([][]float64, len(candidates))
	for round := range s.Rounds {
		for w, call := range workloads {
			for c, tier := range candidates {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				ns, err := calls.Time(func() error { return call.call(tier) }, s.Time)
				if err != nil {
					return nil, err
				}
				if round == 0 {
					times[c] = append(times[c], ns)
				}
				times[c][w] = min(times[c][w], ns)
			}
		}
	}
	return times, nil
}

// score is the geometric mean of the ratios of times.
func score(times, to []float64) float64 {
	sum := 0.0
	for i, x := range times {
		sum += math.Log(x / to[i])
	}
	return math.Exp(sum / float64(len(times)))
}

// print prints the times of all candidates, the numbers at hand first.
func (s *Sweep) print(g *group, candidates []kernel.Tier, workloads []workload, times [][]float64, best int) {
	head := g.name + "\t"
	for _, c := range workloads {
		head += c.name + "\t"
	}
	rows := []string{head + "ratio\t"}
	for c := range candidates {
		row := g.describe(candidates[c].Tuning()) + "\t"
		for _, ns := range times[c] {
			row += table.Duration(ns) + "\t"
		}
		row += fmt.Sprintf("%.3f\t", score(times[c], times[0]))
		if c == best {
			row += "*"
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(s.Out)
	table.Write(s.Out, rows...)
}

// Literal writes an entry as internal/tier/tunings.go has it.
func (e *Entry) Literal() string {
	var fields []string
	for item := range strings.SplitSeq(e.Numbers, ",") {
		if name, n, _ := strings.Cut(item, "="); n != "0" {
			fields = append(fields, name+": "+n)
		}
	}
	return fmt.Sprintf("{%q, %q, %q,\n\tTuning{%s}},", e.CPU, e.Tier, e.Source, strings.Join(fields, ", "))
}
