package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A layer is a linear layer to time: rows of k numbers times weights [n, k].
type layer struct{ rows, n, k int }

// layers have many rows, which are bound by FMAs, or few, which are bound by reading the
// weights; those of the latter are larger than most caches, in 16 bits too.
var layers = []layer{
	{128, 768, 768}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
	{1, 768, 768}, {1, 16384, 4096}, {2, 16384, 4096}, {4, 16384, 4096}, {8, 16384, 4096},
}

func (l layer) String() string { return fmt.Sprintf("%d × %d → %d", l.rows, l.k, l.n) }

func (l layer) flops() float64 { return 2 * float64(l.rows) * float64(l.n) * float64(l.k) }

// isFew tells that the weights' bandwidth is what counts.
func (l layer) isFew() bool { return l.rows < 16 }

// linearTime is the time of a measurement, which takes at least linearRounds calls.
var linearTime = 200 * time.Millisecond

const linearRounds = 5

// reportLinear prints how fast layers are, as a share of the FMA peak or of the bandwidth
// of reading, each measured between the calls.
func reportLinear(ctx context.Context, c *config, out io.Writer) error {
	ps := newProbes()
	many := []string{"rows × inputs → outputs\tweights\ttier\tthreads\ttime\tGFLOP/s\tpeak\t% of peak"}
	few := []string{"rows × inputs → outputs\tweights\ttier\tthreads\ttime\tGB/s\tread\t% of read"}
	for _, l := range layers {
		rows := &many
		if l.isFew() {
			rows = &few
		}
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			more, err := layerRows(ctx, c, l, dtype, ps)
			if err != nil {
				return err
			}
			*rows = append(*rows, more...)
		}
	}
	fmt.Fprintf(out, "\nLinear layers with many rows\n\n")
	table(out, many...)
	fmt.Fprintf(out, "\nLinear layers with few rows: the weights that are read a second, beside a loop that only\nreads as much\n\n")
	table(out, few...)
	return nil
}

// layerRows measures a layer on all tiers and numbers of threads.
func layerRows(ctx context.Context, c *config, l layer, dtype kernel.DType, ps probes) ([]string, error) {
	run, err := newLayerRun(l, dtype)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, tier := range c.tiers {
		if tier == reference && !c.tiersAsked && l.flops() > smallFlops {
			continue
		}
		for _, threads := range c.threads {
			if ctx.Err() != nil {
				return rows, nil
			}
			row, err := run.measure(tier, threads, ps.of(tier))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// A layerRun is a layer with its data.
type layerRun struct {
	layer
	dtype  kernel.DType
	linear *linear.Linear
	x, out linear.Matrix
	reader *reader // of a layer with few rows
	bytes  int     // of weights
}

func newLayerRun(l layer, dtype kernel.DType) (*layerRun, error) {
	run := &layerRun{layer: l, dtype: dtype, bytes: 4 * l.n * l.k}
	w, bias := normals(l.n*l.k), normals(l.n)
	weights := linear.DenseMatrix(w, l.n, l.k)
	if dtype == kernel.Float16 {
		halves := make([]kernel.F16, len(w))
		for i, x := range w {
			halves[i] = numeric.ToF16(x)
		}
		weights, run.bytes = linear.DenseMatrix(halves, l.n, l.k), 2*l.n*l.k
	}
	var err error
	if run.linear, err = linear.New(weights, bias); err != nil {
		return nil, err
	}
	run.x, run.out = linear.DenseMatrix(normals(l.rows*l.k), l.rows, l.k), linear.DenseMatrix(make([]float32, l.rows*l.n), l.rows, l.n)
	if l.isFew() {
		run.reader = newReader(run.bytes)
	}
	return run, nil
}

// measure returns the row of the table.
func (r *layerRun) measure(tier string, threads int, p *probe) (string, error) {
	var ns, limits []float64
	call := func() (float64, error) {
		start := time.Now()
		err := r.linear.Apply(r.out, r.x, linear.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
		return float64(time.Since(start).Nanoseconds()), err
	}
	if _, err := call(); err != nil { // warms up
		return "", err
	}
	for start := time.Now(); len(ns) < linearRounds || time.Since(start) < linearTime; {
		if r.isFew() {
			limits = append(limits, r.reader.sample(threads))
		} else {
			limits = append(limits, p.sample()...)
		}
		t, err := call()
		if err != nil {
			return "", err
		}
		ns = append(ns, t)
	}
	rate, limit := r.flops()/median(ns), median(limits)*float64(threads)
	if r.isFew() {
		rate, limit = float64(r.bytes)/median(ns), median(limits)
	}
	return fmt.Sprintf("%v\t%v\t%s\t%d\t%s\t%.1f\t%.1f\t%.1f%%", r.layer, r.dtype, tier, threads, duration(median(ns)),
		rate, limit, math.Round(1000*rate/limit)/10), nil
}
