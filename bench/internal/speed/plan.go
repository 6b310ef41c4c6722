// Package speed times attention: every shape on every tier and number of threads, each as
// a share of the FMA peak that is measured at the same time.
package speed

import (
	"fmt"
	"slices"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/kernel"
)

// DefaultTime is how long one cell is measured unless the user says otherwise or the whole
// run would last longer than runTime.
const DefaultTime = 500 * time.Millisecond

// How long a run lasts by default: a whole one, and a quick one.
const (
	runTime   = 36 * time.Second
	quickTime = 8 * time.Second
)

// A Plan says what to measure.
type Plan struct {
	Shapes  []*problem.Shape
	Tiers   []kernel.Tier
	Threads []int
	Time    time.Duration // for each cell; 0: the default
	Count   int           // how often each cell is measured
	Quick   bool          // by default take a quarter of the time
	Generic bool          // time the generic tier on large shapes, too
}

// A Cell is one figure to measure.
type Cell struct {
	Shape   *problem.Shape
	Tier    kernel.Tier
	Threads int
}

// String returns shape, tier and threads.
func (c Cell) String() string {
	return fmt.Sprintf("%s %s threads=%d", c.Shape.Label(), c.Tier, c.Threads)
}

// cells returns what to measure, shape by shape.
func (p *Plan) cells(activations []*problem.Problem) []Cell {
	var all []Cell
	for _, s := range p.Shapes {
		for _, tier := range p.Tiers {
			if p.skips(s, tier, activations) {
				continue
			}
			for _, threads := range p.Threads {
				all = append(all, Cell{s, tier, threads})
			}
		}
	}
	return all
}

// skips says whether a tier is not timed on a shape because it would take long.
func (p *Plan) skips(s *problem.Shape, tier kernel.Tier, activations []*problem.Problem) bool {
	return tier == machine.Generic && !p.Generic && s.Flops(activations) > machine.GenericFlops
}

// Skipped returns the names of the shapes that the generic tier is not timed on.
func (p *Plan) Skipped(activations []*problem.Problem) []string {
	var names []string
	for _, s := range p.Shapes {
		if slices.Contains(p.Tiers, machine.Generic) && p.skips(s, machine.Generic, activations) {
			names = append(names, s.Name)
		}
	}
	return names
}

// cellTime returns how long each of n cells is measured.
func (p *Plan) cellTime(n int) time.Duration {
	if p.Time > 0 || n == 0 {
		return p.Time
	}
	if p.Quick {
		return min(DefaultTime, quickTime/time.Duration(n))
	}
	return min(DefaultTime, runTime/time.Duration(n))
}
