package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// How long a cell of a shape, a tier and a number of threads is measured at most, and all of them
// together.
const cellTime, allCells = 500 * time.Millisecond, 36 * time.Second

// attentionRows time attention: every shape on every tier and number of threads, each as
// a share of the FMA peak that is measured at the same time.
func attentionRows(c *Config, f *results.File) (rows []row) {
	probes := sync.OnceValue(machine.NewProbes)
	limits := sync.OnceValue(func() *machine.Limits {
		threads := append([]int{1}, c.Threads...)
		slices.Sort(threads)
		return machine.NewLimits(probes(), slices.Compact(threads))
	})
	measureLimits := row{"peaks and bandwidths", func(context.Context) error {
		limits().Measure()
		f.Peaks, f.Bandwidths = limits().Peaks(), limits().Bandwidths()
		return nil
	}}
	rows = append(rows, measureLimits)
	for i := range problem.Shapes {
		s := &problem.Shapes[i]
		if !c.takes(true, s.Name, s.Alias) {
			continue
		}
		input := sync.OnceValues(func() (*workload, error) { return newWorkload(s) })
		skipped := false
		for _, e := range c.execs(c.Tiers) {
			if flops, err := s.Flops(); err == nil && c.skips(e.Tier, flops) {
				skipped = true
				continue
			}
			rows = append(rows, row{fmt.Sprintf("%s %s threads=%d", s.Label(), e.Tier, e.Threads), appended(&f.Speed, func(ctx context.Context) (r results.Speed, err error) {
				w, err := input()
				if err != nil {
					return r, err
				}
				probe := probes().For(e.Tier)
				r, peaks, err := c.attentionRow(ctx, w, e, probe, min(cellTime, allCells/time.Duration(len(rows))))
				limits().Add(machine.PeakOf{Vectors: probe.Name, Threads: e.Threads}, peaks)
				return r, err
			})})
		}
		if skipped {
			f.Skipped = append(f.Skipped, s.Name)
		}
	}
	return append(rows, measureLimits)
}

// A workload is what one timed call computes: the problems of a shape.
type workload struct {
	shape        *problem.Shape
	problems     []*problem.Problem
	outs         []problem.Array
	flops, bytes float64 // of one call; bytes of queries, keys, values and outputs
}

func newWorkload(s *problem.Shape) (*workload, error) {
	problems, err := s.Problems()
	w := &workload{shape: s, problems: problems}
	for _, p := range problems {
		w.outs = append(w.outs, p.NewOut())
		w.flops += p.Flops()
		w.bytes += p.Bytes()
	}
	return w, err
}

// attentionRow measures a workload, and what limits it.
func (c *Config) attentionRow(ctx context.Context, w *workload, e kernel.Exec, probe *machine.Probe, d time.Duration) (r results.Speed, peaks []float64, err error) {
	limits := []func() []float64{func() []float64 { return probe.Sample(e.Threads) }}
	if w.waitsForReading() {
		limits = append(limits, func() []float64 { return []float64{w.read(e.Threads)} })
	}
	rates, times, err := c.measure(ctx, d, limits, func() error { return w.call(e) })
	if err != nil {
		return r, nil, err
	}
	s := w.shape
	r = results.Speed{Shape: s.Name, Alias: s.Alias, Input: s.Describe(), Tier: e.Tier.String(), Threads: e.Threads, Timing: results.NewTiming(times[0]),
		Flops: w.flops, Bytes: w.bytes, Peak: stats.Median(rates[0]), PeakSpread: stats.Spread(rates[0]), SHA256: w.sum()}
	if len(rates) > 1 {
		r.Read, r.ReadSpread = stats.Median(rates[1]), stats.Spread(rates[1])
	}
	r.GFLOPs = w.flops / r.Ns
	r.Percent = 100 * r.GFLOPs / r.Peak
	return r, rates[0], nil
}

// call computes the workload once.
func (w *workload) call(e kernel.Exec) error {
	for i, p := range w.problems {
		if err := p.Attend(&w.outs[i], e.Tier, e.Threads); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// A workload of which each number that is read takes part in few operations waits for reading, if
// it has many numbers.
const (
	fewFlops    = 8 // for each byte
	leastBytes  = 1 << 20
	leastToRead = 4 << 20 // floats that are read at once, the same ones several times if they are less
)

func (w *workload) waitsForReading() bool {
	return len(w.problems) == 1 && w.bytes >= leastBytes && w.flops <= fewFlops*w.bytes
}

// read returns the GB/s of so many threads that only read the keys and values. The calls have the
// same ones, so that caches hold what they held before.
func (w *workload) read(threads int) float64 {
	k, v := w.problems[0].K.Data, w.problems[0].V.Data
	floats, seconds := 0.0, 0.0
	for pass := range 1 + max(1, leastToRead/(len(k)+len(v))) {
		for _, data := range [...][]float32{k, v} { // one after the other, as they are read by a call
			rate := machine.NewReader(data).Rate(1, threads)
			if pass > 0 { // the first pass brings each thread's part into its caches
				floats, seconds = floats+float64(len(data)), seconds+float64(len(data))/rate
			}
		}
	}
	return floats / seconds
}

// sum returns the SHA-256 of all outputs: of the one output or, if there are several, of their
// hashes.
func (w *workload) sum() string {
	var hashes string
	for _, out := range w.outs {
		hashes += out.SHA256()
	}
	if len(w.outs) == 1 {
		return hashes
	}
	sum := sha256.Sum256([]byte(hashes))
	return hex.EncodeToString(sum[:])
}
