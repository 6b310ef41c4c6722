package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/attn-go/attn/kernel"
	modules "github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/numeric"
)

// reportLayers prints how fast what is above kernel is: the multi-head module beside the FMA
// peak, and additive attention beside a loop that takes tanh of as many numbers and does
// nothing else.
func reportLayers(ctx context.Context, c *config, out io.Writer) error {
	for _, t := range []struct {
		title, heading string
		rows           func(ctx context.Context, tier string, threads int) ([]string, error)
	}{
		{"Multi-head self-attention with its four projections", "batch × tokens × width, heads\ttier\tthreads\ttime\tGFLOP/s\tpeak\t% of peak", multiHeadRows},
		{"Additive attention, queries and keys projected: time for each tanh, beside a loop over a\nslice in L1 that takes tanh alone. A query by itself also waits for memory", "queries [B, Lq, hidden], keys, values\ttier\tthreads\ttime\tns/tanh\ttanh alone\t% of its rate", additiveRows},
	} {
		rows := []string{t.heading}
		for _, tier := range c.tiers {
			if tier == reference && !c.tiersAsked {
				continue
			}
			for _, threads := range c.threads {
				more, err := t.rows(ctx, tier, threads)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
		}
		fmt.Fprintf(out, "\n%s\n\n", t.title)
		table(out, rows...)
	}
	return nil
}

// A multiHead is a module of self-attention to time.
type multiHead struct{ batch, tokens, width, heads int }

var multiHeads = []multiHead{{1, 128, 768, 12}, {8, 128, 768, 12}, {1, 1024, 768, 12}}

func (m multiHead) String() string {
	return fmt.Sprintf("%d × %d × %d, %d", m.batch, m.tokens, m.width, m.heads)
}

func (m multiHead) flops() float64 {
	n, l, w := float64(m.batch), float64(m.tokens), float64(m.width)
	return 2 * n * (4*l*w*w + 2*l*l*w)
}

// module makes it, with a bias everywhere.
func (m multiHead) module() (*modules.MultiHead, error) {
	w := normals(3 * m.width * m.width)
	for i := range w {
		w[i] /= float32(math.Sqrt(float64(m.width)))
	}
	return modules.FromTorch(m.width, m.heads, modules.TorchWeights{
		InProjWeight: w, InProjBias: normals(3 * m.width),
		OutProjWeight: w[:m.width*m.width], OutProjBias: normals(m.width),
	})
}

func multiHeadRows(ctx context.Context, tier string, threads int) (rows []string, err error) {
	p := newProbes().of(tier)
	for _, m := range multiHeads {
		module, err := m.module()
		if err != nil {
			return nil, err
		}
		size := m.batch * m.tokens * m.width
		x := kernel.BLHD(normals(size), m.batch, m.tokens, 1, m.width)
		y := kernel.BLHD(make([]float32, size), m.batch, m.tokens, 1, m.width)
		ns, peak, err := besides(ctx, func() error {
			return module.Attend(y, x, x, x, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
		}, func() float64 { return median(p.sample()) })
		if err != nil {
			return nil, err
		}
		rate, peak := m.flops()/ns, peak*float64(threads)
		rows = append(rows, fmt.Sprintf("%v\t%s\t%d\t%s\t%.1f\t%.1f\t%.1f%%", m, tier, threads, duration(ns), rate, peak, 100*rate/peak))
	}
	return rows, nil
}

// An additive is additive attention to time: batch rows with queries and keys of a hidden
// size, and the size of values.
type additive struct{ batch, queries, keys, hidden, values int }

// The first is a decoder's step for a batch of texts: it has 64 MiB of keys and values to
// read, which takes longer than its tanh. In the second the values are few numbers; the third
// is a whole text at once.
var additives = []additive{{32, 1, 512, 512, 512}, {32, 1, 512, 512, 64}, {1, 128, 512, 512, 512}}

func (a additive) String() string {
	return fmt.Sprintf("[%d, %d, %d], %d, %d", a.batch, a.queries, a.hidden, a.keys, a.values)
}

func (a additive) tanhs() float64 {
	return float64(a.batch) * float64(a.queries) * float64(a.keys) * float64(a.hidden)
}

func additiveRows(ctx context.Context, tier string, threads int) (rows []string, err error) {
	alone := tanhProbe(tier)
	for _, a := range additives {
		tensor := func(l, d int) kernel.Tensor { return kernel.BHLD(normals(a.batch*l*d), a.batch, 1, l, d) }
		q, k, v, y := tensor(a.queries, a.hidden), tensor(a.keys, a.hidden), tensor(a.keys, a.values), tensor(a.queries, a.values)
		weights := normals(a.hidden)
		ns, limit, err := besides(ctx, func() error {
			return kernel.Additive(y, q, k, v, weights, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scale: 0.125})
		}, alone)
		if err != nil {
			return nil, err
		}
		each := ns / a.tanhs()
		limit /= float64(threads)
		rows = append(rows, fmt.Sprintf("%v\t%s\t%d\t%s\t%.3f\t%.3f\t%.1f%%", a, tier, threads, duration(ns), each, limit, 100*limit/each))
	}
	return rows, nil
}

// tanhProbe returns what measures the nanoseconds that a tier takes for one tanh.
func tanhProbe(tier string) func() float64 {
	tanh := vectorTanh(tier)
	if tanh == nil {
		tanh = func(dst, src []float32) {
			for i, x := range src {
				dst[i] = numeric.Tanh(x)
			}
		}
	}
	src := normals(2048)
	dst := make([]float32, len(src))
	return func() float64 {
		const calls = 20
		times := make([]float64, calls)
		for i := range times {
			start := time.Now()
			tanh(dst, src)
			times[i] = float64(time.Since(start).Nanoseconds()) / float64(len(src))
		}
		return median(times)
	}
}

// layerTime is the time of a measurement, which takes at least layerRounds calls.
var layerTime = 200 * time.Millisecond

const layerRounds = 5

// besides makes calls, and before each measures the limit that they are compared with. It
// returns the medians.
func besides(ctx context.Context, call func() error, limit func() float64) (ns, limits float64, err error) {
	var times, all []float64
	for start := time.Now(); len(times) <= layerRounds || time.Since(start) < layerTime && ctx.Err() == nil; {
		all = append(all, limit())
		before := time.Now()
		if err := call(); err != nil {
			return 0, 0, err
		}
		times = append(times, float64(time.Since(before).Nanoseconds()))
	}
	return median(times[1:]), median(all), nil // the first warms up
}
