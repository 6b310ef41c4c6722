package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// backwardShapes are the shapes of attention that training has, so none of decoding, and one
// whose heads share keys.
var backwardShapes = []problem.Shape{
	{Name: "prefill-1k-d64", Alias: "A", Heads: 8, KVHeads: 8, Lq: 1024, Lk: 1024, D: 64},
	{Name: "prefill-2k-d128-causal", Alias: "B", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128, Causal: true},
	{Name: "encoder-128-d64", Alias: "D", Heads: 12, KVHeads: 12, Lq: 128, Lk: 128, D: 64},
	{Name: "prefill-2k-d128", Alias: "E", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128},
	{Name: "encoder-128-d32", Alias: "M", Heads: 12, KVHeads: 12, Lq: 128, Lk: 128, D: 32},
	{Name: "prefill-1k-d64-gqa", Alias: "G", Heads: 8, KVHeads: 2, Lq: 1024, Lk: 1024, D: 64},
}

// backwardFlops is the work of the gradients, as a multiple of the forward call's: five products
// of a query and a key in place of two, as the scores are computed again.
const backwardFlops = 2.5

// attentionBackward is what is timed. A test replaces it by a faulty one.
var attentionBackward = kernel.AttentionBackward

// backwardRows measure the gradients of attention in comparison with the FMA peak, and beside the
// forward call, in turns with it.
func backwardRows(c *Config, f *results.File) (rows []row) {
	if c.noVectors("gradients", f) {
		return nil
	}
	probes := sync.OnceValue(machine.NewProbes)
	for i := range backwardShapes {
		s := &backwardShapes[i]
		if !c.takes(s.Alias == "A" || s.Alias == "D", s.Name, s.Alias) {
			continue
		}
		input := sync.OnceValue(func() *gradients { return newGradients(s) })
		for _, e := range c.execs(c.vectorTiers()) {
			rows = append(rows, row{fmt.Sprintf("gradients %s %s threads=%d", s.Label(), e.Tier, e.Threads), appended(&f.Backward, func(ctx context.Context) (results.Backward, error) {
				return c.backwardRow(ctx, input(), e, probes().For(e.Tier))
			})})
		}
	}
	return rows
}

// gradients are the inputs and outputs of a forward call and of its backward call.
type gradients struct {
	p                          *problem.Problem
	alias                      string
	out, lse, dout, dq, dk, dv problem.Array
}

func newGradients(s *problem.Shape) *gradients {
	p := s.Random()
	g := &gradients{p: p, alias: s.Alias, out: p.NewOut(), lse: problem.NewArray([4]int{1, p.Heads(), p.Lq(), 1}), dout: p.NewOut(),
		dq: problem.NewArray(p.Q.Shape), dk: problem.NewArray(p.K.Shape), dv: problem.NewArray(p.V.Shape)}
	copy(g.dout.Data, numbers.Portable(1, len(g.dout.Data)))
	return g
}

// calls returns the forward call, which gives the LSE, and the backward call, which takes it.
func (g *gradients) calls(exec kernel.Exec) (forward, backward func() error) {
	o, lse := kernel.BackwardOptions{Exec: exec}, g.lse.Tensor()
	if g.p.Causal {
		o.Mask = kernel.Causal(0)
	}
	q, k, v := g.p.Q.Tensor(), g.p.K.Tensor(), g.p.V.Tensor()
	grads := kernel.Gradients{Q: g.dq.Tensor(), K: g.dk.Tensor(), V: g.dv.Tensor()}
	attention := kernel.Options{Exec: exec, Scoring: o.Scoring, Outputs: kernel.Outputs{LSE: lse}}
	return func() error { return kernel.Attention(g.out.Tensor(), q, k, v, &attention) },
		func() error { return attentionBackward(grads, g.dout.Tensor(), q, k, v, lse, &o) }
}

// backwardRow measures the FMA peak and both calls in turns.
func (c *Config) backwardRow(ctx context.Context, g *gradients, exec kernel.Exec, probe *machine.Probe) (r results.Backward, err error) {
	forward, backward := g.calls(exec)
	peaks, times, err := c.measure(ctx, defaultTime, []func() []float64{func() []float64 { return probe.Sample(exec.Threads) }}, forward, backward)
	if err != nil {
		return r, err
	}
	r = results.Backward{Shape: g.p.Name, Alias: g.alias, Input: g.p.Describe(), Tier: exec.Tier.String(), Threads: exec.Threads,
		Timing: results.NewTiming(times[1]), Flops: backwardFlops * g.p.Flops(), Peak: stats.Median(peaks[0]), PeakSpread: stats.Spread(peaks[0]),
		Forward: stats.Median(times[0]), SHA256: g.sum()}
	r.GFLOPs = r.Flops / r.Ns
	r.Percent = 100 * r.GFLOPs / r.Peak
	r.ForwardPercent = 100 * g.p.Flops() / r.Forward / r.Peak
	return r, nil
}

// sum returns the SHA-256 of the hashes of dq, dk and dv.
func (g *gradients) sum() string {
	h := sha256.New()
	for _, a := range []*problem.Array{&g.dq, &g.dk, &g.dv} {
		io.WriteString(h, a.SHA256())
	}
	return hex.EncodeToString(h.Sum(nil))
}
