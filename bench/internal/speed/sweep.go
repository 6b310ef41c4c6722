package speed

import (
	"context"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
)

// A Sweep measures the cells of a plan. It also compares the results of the cells of each
// shape: bits that differ are failures.
type Sweep struct {
	Started  func(c Cell)                  // is called before each measurement
	Measured func(c Cell, r results.Speed) // is called after it, with the result of this run alone
	Failures []string
	Peaks    map[machine.PeakOf][]float64 // all measurements of peaks, GFLOP/s

	cells       []Cell
	time        time.Duration // for each cell
	count       int
	activations []*problem.Problem
	probes      machine.Probes

	samples map[Cell]*samples
	rows    map[Cell]results.Speed // of all runs so far
}

// NewSweep prepares the measurements of a plan.
func NewSweep(p *Plan, activations []*problem.Problem, probes machine.Probes) *Sweep {
	cells := p.cells(activations)
	return &Sweep{
		Started: func(Cell) {}, Measured: func(Cell, results.Speed) {},
		cells: cells, time: p.cellTime(len(cells)), count: p.Count, activations: activations, probes: probes,
		samples: map[Cell]*samples{}, rows: map[Cell]results.Speed{}, Peaks: map[machine.PeakOf][]float64{},
	}
}

// Len returns the number of measurements.
func (s *Sweep) Len() int { return len(s.cells) * s.count }

// Run measures all cells, or stops when the context ends.
func (s *Sweep) Run(ctx context.Context) error {
	for range s.count {
		var w *workload
		for _, c := range s.cells {
			if ctx.Err() != nil {
				return nil
			}
			if w == nil || w.shape != c.Shape {
				w = newWorkload(c.Shape, s.activations)
			}
			if err := s.measure(ctx, w, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sweep) measure(ctx context.Context, w *workload, c Cell) error {
	s.Started(c)
	probe := s.probes.For(c.Tier)
	run, err := timeCell(ctx, w, c, probe, s.time)
	if err != nil {
		return err
	}
	of := machine.PeakOf{Vectors: probe.Name, Threads: c.Threads}
	s.Peaks[of] = append(s.Peaks[of], run.peaks...)
	s.Failures = append(s.Failures, w.compare(c.String())...)
	if s.samples[c] == nil {
		s.samples[c] = &samples{}
	}
	s.samples[c].merge(run)
	s.rows[c] = s.samples[c].row(c, w)
	s.Measured(c, run.row(c, w))
	return nil
}

// Results returns the results of all measurements of each cell together, in the order of
// the plan.
func (s *Sweep) Results() []results.Speed {
	var rows []results.Speed
	for _, c := range s.cells {
		if r, ok := s.rows[c]; ok {
			rows = append(rows, r)
		}
	}
	return rows
}
