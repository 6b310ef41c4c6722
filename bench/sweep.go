package main

import (
	"context"
	"slices"
	"time"
)

// budget is the time that the default run may spend on measuring.
const budget = 36 * time.Second

// maxTime is the default time of one measurement where the budget allows it.
const maxTime = 500 * time.Millisecond

// cells lists what to measure, shape by shape.
func (c *config) cells(groups []*group) []cell {
	var all []cell
	for _, s := range c.shapes {
		for _, tier := range c.tiers {
			if c.skips(s, tier, groups) {
				continue
			}
			for _, threads := range c.threads {
				all = append(all, cell{s, tier, threads})
			}
		}
	}
	return all
}

// skips tells whether a tier is not timed on a shape: generic on the large
// ones, unless it was asked for.
func (c *config) skips(s *shape, tier string, groups []*group) bool {
	asked := c.tiersAsked || c.shapesAsked && len(c.tiers) == 1
	return tier == reference && !asked && s.flops(groups) > smallFlops
}

// skipped returns the names of the shapes that generic is not timed on.
func (c *config) skipped(groups []*group) []string {
	var names []string
	for _, s := range c.shapes {
		if slices.Contains(c.tiers, reference) && c.skips(s, reference, groups) {
			names = append(names, s.name)
		}
	}
	return names
}

// cellTime is the time of each of n measurements.
func (c *config) cellTime(n int) time.Duration {
	if c.time > 0 || n == 0 {
		return c.time
	}
	return min(maxTime, budget/time.Duration(n))
}

// sweep measures all cells count times and reports each result as it comes.
// What the cells of a shape computed is compared: bits that differ are failures.
type sweep struct {
	cells   []cell
	time    time.Duration
	count   int
	groups  []*group
	probes  probes
	starts  func(c cell)   // called before a cell
	reports func(r result) // called after it

	failures []string
	samples  map[cell]*samples
	whats    map[*shape]string
	flops    map[*shape]float64
}

// run measures until all is done or the context ends.
func (s *sweep) run(ctx context.Context) error {
	s.samples = map[cell]*samples{}
	s.whats, s.flops = map[*shape]string{}, map[*shape]float64{}
	for range s.count {
		var w *workload
		for _, c := range s.cells {
			if ctx.Err() != nil {
				return nil
			}
			if w == nil || w.name != c.shape.name {
				w = c.shape.load(s.groups)
				s.whats[c.shape], s.flops[c.shape] = w.what, w.flops
			}
			if err := s.cell(ctx, w, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sweep) cell(ctx context.Context, w *workload, c cell) error {
	s.starts(c)
	m, err := timeCell(ctx, w, c, s.probes.of(c.tier), s.time)
	if err != nil {
		return err
	}
	s.failures = append(s.failures, w.compare(c.String())...)
	if s.samples[c] == nil {
		s.samples[c] = &samples{}
	}
	s.samples[c].merge(m)
	s.reports(m.result(c, w.what, w.flops))
	return nil
}

// results are the results over all rounds, in the order of the cells.
func (s *sweep) results() []result {
	var rs []result
	for _, c := range s.cells {
		if m := s.samples[c]; m != nil {
			rs = append(rs, m.result(c, s.whats[c.shape], s.flops[c.shape]))
		}
	}
	return rs
}
