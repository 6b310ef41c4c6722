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

	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/tuning"
)

// A Sweep is how the numbers of a tier are measured.
type Sweep struct {
	Tier   string
	Groups []string      // the groups of numbers to measure, see Groups
	Rounds int           // the times of a candidate are the best of so many
	Time   time.Duration // how long each of them takes at least
	Out    io.Writer
}

// An Entry is what was found for a tier on this CPU.
type Entry struct {
	CPU, Tier string
	Source    string // on what the numbers were measured
	Numbers   string // as tuning.Numbers returns them
}

// margin is how much less time a candidate must take to replace the numbers at hand.
const margin = 0.015

// Run measures the candidates of each group with those chosen before it, prints their times and
// then the entry. It changes the numbers of the tier while it runs.
func (s *Sweep) Run(ctx context.Context) (*Entry, error) {
	before, err := tuning.Numbers(s.Tier)
	if err != nil {
		return nil, err
	}
	defer tuning.Set(s.Tier, before) // they fitted before
	for _, g := range groups {
		if !slices.Contains(s.Groups, g.name) {
			continue
		}
		if err := s.group(ctx, &g); err != nil {
			return nil, err
		}
	}
	e := &Entry{CPU: tuning.CPU(), Tier: s.Tier, Source: "measured by bench -tune"}
	if e.Numbers, err = tuning.Numbers(s.Tier); err != nil {
		return nil, err
	}
	fmt.Fprintf(s.Out, "\n%s\n", e.Literal())
	if e.CPU == tuning.AnyCPU {
		fmt.Fprintf(s.Out, "internal/tier/cpu.go knows no name for this CPU: give it one, in place of %q.\n", e.CPU)
	}
	return e, nil
}

// group leaves the tier with the best candidate of a group.
func (s *Sweep) group(ctx context.Context, g *group) error {
	candidates, err := s.candidates(g)
	if err != nil || len(candidates) == 1 {
		return err
	}
	calls, err := g.workloads(s.Tier)
	if err != nil {
		return err
	}
	times, err := s.measure(ctx, candidates, calls)
	if err != nil {
		return err
	}
	best := 0
	for c := range candidates {
		if score(times[c], times[0]) < min(score(times[best], times[0]), 1-margin) {
			best = c
		}
	}
	s.print(g, candidates, calls, times, best)
	return tuning.Set(s.Tier, candidates[best])
}

// candidates returns the numbers at hand and those of the group's candidates that the tier can
// do with. It leaves the numbers as they are.
func (s *Sweep) candidates(g *group) ([]string, error) {
	now, err := tuning.Numbers(s.Tier)
	if err != nil {
		return nil, err
	}
	changes, err := g.candidates(s.Tier)
	if err != nil {
		return nil, err
	}
	all := []string{now}
	for _, c := range changes {
		if tuning.Set(s.Tier, c) != nil {
			continue
		}
		x, err := tuning.Numbers(s.Tier)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
		if err := tuning.Set(s.Tier, now); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure returns the best times of all calls with each candidate, in nanoseconds. The
// candidates alternate, as the speed of a shared machine varies.
func (s *Sweep) measure(ctx context.Context, candidates []string, calls []workload) ([][]float64, error) {
	times := make([][]float64, len(candidates))
	for round := range s.Rounds {
		for w, call := range calls {
			for c := range candidates {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := tuning.Set(s.Tier, candidates[c]); err != nil {
					return nil, err
				}
				ns, err := s.time(call.call)
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

// time returns the time of a call, on average after a first one.
func (s *Sweep) time(call func() error) (ns float64, err error) {
	if err := call(); err != nil {
		return 0, err
	}
	n, start := 0, time.Now()
	for n == 0 || time.Since(start) < s.Time {
		if err := call(); err != nil {
			return 0, err
		}
		n++
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n), nil
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
func (s *Sweep) print(g *group, candidates []string, calls []workload, times [][]float64, best int) {
	head := g.name + "\t"
	for _, c := range calls {
		head += c.name + "\t"
	}
	rows := []string{head + "ratio\t"}
	for c := range candidates {
		row := g.describe(candidates[c]) + "\t"
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
