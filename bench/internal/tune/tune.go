// Package tune measures on the machine at hand which tuning numbers make a tier the fastest, and
// prints the entry for them in internal/ukernel/tunings.go.
package tune

import (
	"context"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/internal/tier"
)

// A Sweep is how the numbers of a tier are measured.
type Sweep struct {
	Tier   string
	Groups []string      // the groups of numbers to measure, see Groups
	Rounds int           // the times of a candidate are the best of so many
	Time   time.Duration // how long each of them takes at least
	Out    io.Writer
}

// margin is how much less time a candidate must take to replace the numbers at hand.
const margin = 0.015

// Run measures the candidates of each group with those chosen before it, prints their times and
// then the entry. It changes the numbers of the tier while it runs.
func (s *Sweep) Run(ctx context.Context) (tier.TuningEntry, error) {
	t, unavailable := tier.Select(s.Tier, "-tiers")
	if unavailable != nil {
		return tier.TuningEntry{}, fmt.Errorf("%s: tier %s: %s", unavailable.Source, unavailable.Tier, unavailable.Reason)
	}
	before := t.Tuning
	defer t.Tune(before) // it fitted before
	for _, g := range groups {
		if !slices.Contains(s.Groups, g.name) {
			continue
		}
		if err := s.group(ctx, t, &g); err != nil {
			return tier.TuningEntry{}, err
		}
	}
	e := tier.TuningEntry{CPU: tier.HostCPU(), Tier: t.Name, Source: "measured by bench -tune", Tuning: t.Tuning}
	fmt.Fprintf(s.Out, "\n%s\n", Literal(&e))
	if e.CPU == tier.AnyCPU {
		fmt.Fprintf(s.Out, "internal/ukernel/cpu.go knows no name for this CPU: give it one, in place of %q.\n", e.CPU)
	}
	return e, nil
}

// group leaves the tier with the best candidate of a group.
func (s *Sweep) group(ctx context.Context, t *tier.Tier, g *group) error {
	candidates := []tier.Tuning{t.Tuning}
	for _, x := range g.candidates(t) {
		if !slices.Contains(candidates, x) && t.Check(&x) == nil {
			candidates = append(candidates, x)
		}
	}
	if len(candidates) == 1 {
		return nil
	}
	calls, err := g.workloads(t.Name)
	if err != nil {
		return err
	}
	times, err := s.measure(ctx, t, candidates, calls)
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
	return t.Tune(candidates[best])
}

// measure returns the best times of all calls with each candidate, in nanoseconds. The
// candidates alternate, as the speed of a shared machine varies.
func (s *Sweep) measure(ctx context.Context, t *tier.Tier, candidates []tier.Tuning, calls []workload) ([][]float64, error) {
	times := make([][]float64, len(candidates))
	for round := range s.Rounds {
		for w, call := range calls {
			for c := range candidates {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := t.Tune(candidates[c]); err != nil {
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
func (s *Sweep) print(g *group, candidates []tier.Tuning, calls []workload, times [][]float64, best int) {
	head := g.name + "\t"
	for _, c := range calls {
		head += c.name + "\t"
	}
	rows := []string{head + "ratio\t"}
	for c := range candidates {
		row := g.describe(&candidates[c]) + "\t"
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

// Literal writes an entry as internal/ukernel/tunings.go has it.
func Literal(e *tier.TuningEntry) string {
	v := reflect.ValueOf(e.Tuning)
	fields := ""
	for i := range v.NumField() {
		if n := v.Field(i).Int(); n != 0 {
			fields += fmt.Sprintf(", %s: %d", v.Type().Field(i).Name, n)
		}
	}
	return fmt.Sprintf("{%q, %q, %q,\n\tTuning{%s}},", e.CPU, e.Tier, e.Source, fields[min(2, len(fields)):])
}
