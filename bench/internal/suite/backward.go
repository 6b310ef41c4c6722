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

// A backwardShape is a call of attention whose gradients are timed.
type backwardShape struct{ problem.Shape }

// backwardShapes are the shapes of attention that training has, so none of decoding, and one
// whose heads share keys.
var backwardShapes = []backwardShape{
	{problem.Shape{Name: "prefill-1k-d64", Alias: "A", Heads: 8, KVHeads: 8, Lq: 1024, Lk: 1024, D: 64}},
	{problem.Shape{Name: "prefill-2k-d128-causal", Alias: "B", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128, Causal: true}},
	{problem.Shape{Name: "encoder-128-d64", Alias: "D", Heads: 12, KVHeads: 12, Lq: 128, Lk: 128, D: 64}},
	{problem.Shape{Name: "prefill-2k-d128", Alias: "E", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128}},
	{problem.Shape{Name: "encoder-128-d32", Alias: "M", Heads: 12, KVHeads: 12, Lq: 128, Lk: 128, D: 32}},
	{problem.Shape{Name: "prefill-1k-d64-gqa", Alias: "G", Heads: 8, KVHeads: 2, Lq: 1024, Lk: 1024, D: 64}},
}

func (s backwardShape) isQuick() bool { return s.Alias == "A" || s.Alias == "D" }

func backwardShapeNames() (names []string) {
	for i := range backwardShapes {
		names = append(names, backwardShapes[i].Label())
	}
	return names
}

// chosenBackward returns the shapes to measure.
func (c *Config) chosenBackward() (found []backwardShape) {
	for _, s := range backwardShapes {
		if c.takes(s.isQuick(), s.Name, s.Alias) {
			found = append(found, s)
		}
	}
	return found
}

// backwardFlops is the work of the gradients, as a multiple of the forward call's: five products
// of a query and a key in place of two, as the scores are computed again.
const backwardFlops = 2.5

// attentionBackward is what is timed. A test replaces it by a faulty one.
var attentionBackward = kernel.AttentionBackward

// backwardRows measure the gradients of attention in comparison with the FMA peak, and beside the
// forward call, in turns with it. Gradients whose bits differ are an error.
func backwardRows(c *Config, f *results.File) (rows []row) {
	if c.noVectors("gradients", f) {
		return nil
	}
	probes := sync.OnceValue(machine.NewProbes)
	for _, s := range c.chosenBackward() {
		input := sync.OnceValue(func() *gradients { return newGradients(s) })
		for _, e := range c.execs(c.vectorTiers()) {
			rows = append(rows, row{fmt.Sprintf("gradients %s %s threads=%d", s.Label(), e.Tier, e.Threads), func(ctx context.Context) error {
				r, err := c.backwardRow(ctx, input(), e, probes().For(e.Tier))
				if err != nil {
					return err
				}
				f.Backward = append(f.Backward, r)
				return input().compare(r)
			}})
		}
	}
	return rows
}

// gradients are the inputs and outputs of a forward call and of its backward call.
type gradients struct {
	p                          *problem.Problem
	alias                      string
	out, lse, dout, dq, dk, dv problem.Array
	first                      *results.Backward // whose bits the others must have
}

func newGradients(s backwardShape) *gradients {
	p := s.Random()
	g := &gradients{p: p, alias: s.Alias, out: p.NewOut(), lse: problem.NewArray(p.Batch(), p.Heads(), p.Lq(), 1), dout: p.NewOut()}
	copy(g.dout.Data, numbers.Portable(1, len(g.dout.Data)))
	for to, like := range map[*problem.Array]*problem.Array{&g.dq: &p.Q, &g.dk: &p.K, &g.dv: &p.V} {
		*to = problem.NewArray(like.Shape[0], like.Shape[1], like.Shape[2], like.Shape[3])
	}
	return g
}

// calls returns the forward call, which gives the LSE, and the backward call, which takes it.
func (g *gradients) calls(exec kernel.Exec) (forward, backward func() error) {
	o, lse := kernel.BackwardOptions{Exec: exec}, g.lse.Tensor()
	if g.p.Causal {
		o.Mask = kernel.Causal(g.p.Offset)
	}
	q, k, v := g.p.Q.Tensor(), g.p.K.Tensor(), g.p.V.Tensor()
	grads := kernel.Gradients{Q: g.dq.Tensor(), K: g.dk.Tensor(), V: g.dv.Tensor()}
	attention := kernel.Options{Exec: exec, Scoring: o.Scoring, Outputs: kernel.Outputs{LSE: lse}}
	return func() error { return kernel.Attention(g.out.Tensor(), q, k, v, &attention) },
		func() error { return attentionBackward(grads, g.dout.Tensor(), q, k, v, lse, &o) }
}

// backwardRow measures the FMA peak and both calls in turns.
func (c *Config) backwardRow(ctx context.Context, g *gradients, exec kernel.Exec, probe *machine.Probe) (row results.Backward, err error) {
	forward, backward := g.calls(exec)
	var peaks []float64
	times, _, err := c.alternate(ctx, []func() error{func() error {
		peaks = append(peaks, probe.Sample(exec.Threads)...)
		return nil
	}, forward, backward})
	if err != nil {
		return row, err
	}
	row = results.Backward{Shape: g.p.Name, Alias: g.alias, Input: g.p.Describe(), Tier: exec.Tier.String(), Threads: exec.Threads,
		Timing: times[2], Flops: backwardFlops * g.p.Flops(), Peak: stats.Median(peaks), PeakSpread: stats.Spread(peaks), Forward: times[1].Ns, SHA256: g.sum()}
	row.GFLOPs = row.Flops / row.Ns
	row.Percent = 100 * row.GFLOPs / row.Peak
	row.ForwardPercent = 100 * g.p.Flops() / row.Forward / row.Peak
	return row, nil
}

// sum returns the SHA-256 of the hashes of dq, dk and dv.
func (g *gradients) sum() string {
	h := sha256.New()
	for _, a := range []*problem.Array{&g.dq, &g.dk, &g.dv} {
		io.WriteString(h, a.SHA256())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// compare returns an error if the bits of a row are not those of the first one.
func (g *gradients) compare(row results.Backward) error {
	if g.first == nil {
		g.first = &row
	}
	if row.SHA256 != g.first.SHA256 {
		return fmt.Errorf("the gradients of %s DIFFER: %s threads=%d gives other bits (SHA-256 %.8s) than %s threads=%d (%.8s)",
			row.Shape, row.Tier, row.Threads, row.SHA256, g.first.Tier, g.first.Threads, g.first.SHA256)
	}
	return nil
}
