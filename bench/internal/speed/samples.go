package speed

import (
	"context"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
)

const (
	// rounds is how often the peak is measured between the samples of a cell.
	rounds = 5
	// sampleTime is the least time of one sample: it takes several calls if they are short.
	sampleTime = 200 * time.Microsecond
	// minSamples are taken even if the calls are slow.
	minSamples = 3
	// shortCall bounds the calls that warmUp repeats, to estimate their time.
	shortCall = 10 * time.Millisecond
)

// samples are the measurements of one cell.
type samples struct {
	ns    []float64 // of a call
	peaks []float64 // GFLOP/s of as many threads, between the calls
	reads []float64 // GB/s of reading the keys and values on as many threads, between the calls
	runs  []float64 // medians of the runs before
	calls int
}

// timeCell measures a cell for about d, and the peak before, between and after the calls.
// When it returns, the workload holds the results of the last call.
func timeCell(ctx context.Context, w *workload, c Cell, p *machine.Probe, d time.Duration) (samples, error) {
	perCall, err := warmUp(w, c)
	if err != nil {
		return samples{}, err
	}
	batch := max(1, int(sampleTime/max(perCall, 1)))
	var s samples
	start := time.Now()
	for range rounds {
		s.limits(w, c, p)
		if err := s.round(ctx, w, c, batch, d/rounds); err != nil {
			return s, err
		}
		if ctx.Err() != nil || time.Since(start) >= d && len(s.ns) >= minSamples {
			break
		}
	}
	s.limits(w, c, p)
	return s, nil
}

// limits measures what limits the calls, between them.
func (s *samples) limits(w *workload, c Cell, p *machine.Probe) {
	s.peaks = append(s.peaks, p.Sample(c.Threads)...)
	if rate := w.read(c.Threads); rate > 0 {
		s.reads = append(s.reads, rate)
	}
}

// warmUp makes the first calls and estimates the time of one.
func warmUp(w *workload, c Cell) (time.Duration, error) {
	start := time.Now()
	if err := w.call(c.Tier, c.Threads); err != nil {
		return 0, err
	}
	if first := time.Since(start); first >= shortCall {
		return first, nil
	}
	n := 0
	for start = time.Now(); n == 0 || time.Since(start) < sampleTime; n++ {
		if err := w.call(c.Tier, c.Threads); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / time.Duration(n), nil
}

// round takes samples for about d or until the context ends, but at least one.
func (s *samples) round(ctx context.Context, w *workload, c Cell, batch int, d time.Duration) error {
	for start := time.Now(); ; {
		before := time.Now()
		for range batch {
			if err := w.call(c.Tier, c.Threads); err != nil {
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

// merge adds a run of the same cell.
func (s *samples) merge(run samples) {
	s.ns = append(s.ns, run.ns...)
	s.peaks = append(s.peaks, run.peaks...)
	s.reads = append(s.reads, run.reads...)
	s.runs = append(s.runs, stats.Median(run.ns))
	s.calls += run.calls
}

// row sums up the samples of a cell of a workload.
func (s *samples) row(c Cell, w *workload) results.Speed {
	r := results.Speed{Shape: c.Shape.Name, Alias: c.Shape.Alias, Input: w.input, Length: c.Shape.Lq, Tier: c.Tier.String(), Threads: c.Threads,
		Timing: results.NewTiming(s.ns), Calls: s.calls, Flops: w.flops, Bytes: w.bytes, Peak: stats.Median(s.peaks), SHA256: w.hash,
		PeakSpread: stats.Spread(s.peaks), Read: stats.Median(s.reads), ReadSpread: stats.Spread(s.reads)}
	r.Runs = s.runs
	if r.Ns > 0 {
		r.GFLOPs = w.flops / r.Ns
	}
	if r.Peak > 0 {
		r.Percent = 100 * r.GFLOPs / r.Peak
	}
	return r
}
