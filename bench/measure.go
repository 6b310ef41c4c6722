package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// rounds is how often the peak is probed between the samples of a cell.
	rounds = 5
	// sampleTime is the least time of one sample: shorter calls are batched.
	sampleTime = 200 * time.Microsecond
	// minSamples are taken of slow calls too.
	minSamples = 3
	// shortCall is a call that is worth repeating to estimate its time.
	shortCall = 10 * time.Millisecond
)

// cell is one figure to measure.
type cell struct {
	shape   *shape
	tier    string
	threads int
}

func (c cell) String() string {
	return fmt.Sprintf("%s %s threads=%d", c.shape.name, c.tier, c.threads)
}

// samples are the measurements of one cell.
type samples struct {
	ns    []float64 // per call
	peaks []float64 // GFLOP/s of one core, in between
	calls int
}

// timeCell measures one cell for about d, the peak before, between and after.
// The workload holds the results of a call when it returns.
func timeCell(ctx context.Context, w *workload, c cell, p *probe, d time.Duration) (samples, error) {
	perCall, err := warmUp(w, c)
	if err != nil {
		return samples{}, err
	}
	batch := max(1, int(sampleTime/max(perCall, 1)))
	var s samples
	start := time.Now()
	for range rounds {
		s.peaks = append(s.peaks, p.sample()...)
		if err := s.round(ctx, w, c, batch, d/rounds); err != nil {
			return s, err
		}
		if ctx.Err() != nil || time.Since(start) >= d && len(s.ns) >= minSamples {
			break
		}
	}
	s.peaks = append(s.peaks, p.sample()...)
	return s, nil
}

// warmUp makes the first calls and estimates the time of one.
func warmUp(w *workload, c cell) (time.Duration, error) {
	start := time.Now()
	if err := w.call(c.tier, c.threads); err != nil {
		return 0, err
	}
	if first := time.Since(start); first >= shortCall {
		return first, nil
	}
	n := 0
	for start = time.Now(); n == 0 || time.Since(start) < sampleTime; n++ {
		if err := w.call(c.tier, c.threads); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / time.Duration(n), nil
}

// round takes samples for about d or until the context ends, at least one.
func (s *samples) round(ctx context.Context, w *workload, c cell, batch int, d time.Duration) error {
	for start := time.Now(); ; {
		before := time.Now()
		for range batch {
			if err := w.call(c.tier, c.threads); err != nil {
				return err
			}
		}
		now := time.Now()
		s.ns = append(s.ns, float64(now.Sub(before).Nanoseconds())/float64(batch))
		s.calls += batch
		if now.Sub(start) >= d || ctx.Err() != nil {
			return nil
		}
	}
}

// result is what the samples of a cell amount to.
type result struct {
	cell
	what    string  // of the shape
	ns      float64 // median of a call
	spread  float64 // relative
	gflops  float64
	peak    float64 // GFLOP/s of one core
	percent float64 // of the peak of as many cores as threads
	calls   int
}

func (s *samples) result(c cell, what string, flops float64) result {
	r := result{cell: c, what: what, ns: median(s.ns), spread: spread(s.ns), peak: median(s.peaks), calls: s.calls}
	if r.ns > 0 {
		r.gflops = flops / r.ns
	}
	if r.peak > 0 {
		r.percent = 100 * r.gflops / (r.peak * float64(c.threads))
	}
	return r
}

// merge adds the samples of another run of the same cell.
func (s *samples) merge(t samples) {
	s.ns = append(s.ns, t.ns...)
	s.peaks = append(s.peaks, t.peaks...)
	s.calls += t.calls
}
