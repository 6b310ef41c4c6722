package shard

import (
	"context"
	"fmt"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Attention computes attention of queries over the keys and values of sequences: q [B, H, Lq,
// D] and out [B, H, Lq, Dv], where batch row b is for sequence b; the number of key heads
// divides H. Every element of out and LSE has the bits of kernel.Attention over all keys of
// the sequence. q may be ragged, and out and LSE then are, too: steps of many sequences,
// of any length each, are one call.
//
// The error is a [*kernel.ArgumentError] or [*kernel.TierError]; a [*BlocksError] if blocks
// cannot be had from any worker that holds them, with a [*ConflictError] if another client has
// cut the sequence off meanwhile; or that of ctx. Then out and LSE are untouched.
func (c *Client) Attention(ctx context.Context, out, q kernel.Tensor, sequences []*Sequence, options Options) (Stats, error) {
	started := time.Now()
	a := &call{client: c, out: (*view.Tensor)(&out), q: (*view.Tensor)(&q), sequences: sequences, options: &options}
	if f := a.check(); f != nil {
		return Stats{}, (*kernel.ArgumentError)(f)
	}
	if err := a.checkOptions(); err != nil {
		return Stats{}, err
	}
	for {
		known := movesOf(sequences)
		err := a.run(ctx)
		if err == nil {
			break
		}
		if err := lookAgain(ctx, err, sequences, known); err != nil {
			return a.stats, err
		}
	}
	a.copyOut()
	a.stats.Wall = time.Since(started)
	return a.stats, nil
}

// run computes all results.
func (a *call) run(ctx context.Context) error {
	a.merged = a.merged[:0]
	units, err := a.units()
	if err != nil {
		return err
	}
	for len(units) > 0 {
		wave := a.wave(units)
		if err := a.gather(ctx, units[:wave]); err != nil {
			return err
		}
		if err := a.merge(units[:wave]); err != nil {
			return err
		}
		units = units[wave:]
	}
	return nil
}

// call is one call of attention.
type call struct {
	client    *Client
	out, q    *view.Tensor
	sequences []*Sequence
	options   *Options
	merged    []merged
	stats     Stats
}

// lse returns the tensor for the log-sum-exps.
func (a *call) lse() *view.Tensor { return (*view.Tensor)(&a.options.LSE) }

// check reports the first argument that does not fit.
func (a *call) check() *check.Failure {
	if f := a.client.checkSequences(a.sequences); f != nil {
		return f
	}
	if f := a.q.Check("q"); f != nil {
		return f
	}
	s, g := a.q.Shape(), &a.client.geometry
	if !a.q.IsFloat() {
		return &check.Failure{Arg: "q", Got: a.q.Describe(), Want: "float32, float16 or bfloat16, not paged"}
	}
	if s[0] != len(a.sequences) || s[1] < 1 || s[1]%g.Heads != 0 || s[1] > wire.MaxHeads || s[3] != g.KeySize {
		return &check.Failure{Arg: "q", Got: a.q.Describe(),
			Want: fmt.Sprintf("batch %d as there are sequences, a multiple of %d heads up to %d, head size %d", len(a.sequences), g.Heads, wire.MaxHeads, g.KeySize)}
	}
	if f := a.checkOutput("out", a.out, g.ValueSize); f != nil {
		return f
	}
	if !a.lse().IsSet() {
		return nil
	}
	if a.lse().DType() != view.Float32 {
		return &check.Failure{Arg: "Options.LSE", Got: a.lse().Describe(), Want: "float32"}
	}
	if a.lse().Memory().Overlaps(a.out.Memory()) {
		return &check.Failure{Arg: "Options.LSE", Got: "memory that overlaps out", Want: "memory of its own"}
	}
	return a.checkOutput("Options.LSE", a.lse(), 1)
}

// checkOutput reports an output that does not fit q.
func (a *call) checkOutput(arg string, t *view.Tensor, d int) *check.Failure {
	if f := t.Check(arg); f != nil {
		return f
	}
	if f := t.CheckWritable(arg); f != nil {
		return f
	}
	want := a.q.Shape()
	want[3] = d
	if t.Shape() != want {
		return &check.Failure{Arg: arg, Got: t.Describe(), Want: fmt.Sprintf("shape %v", want)}
	}
	if t.Memory().OverlapsTensor(a.q) {
		return &check.Failure{Arg: arg, Got: "memory that overlaps q", Want: "memory of its own"}
	}
	return t.CheckLengths(arg, a.q, "q")
}

// checkOptions has the kernel check the options, by a call without queries and keys.
func (a *call) checkOptions() error {
	o, g := a.options, &a.client.geometry
	if n := len(o.QueryStart); n > 1 && n != len(a.sequences) {
		return &kernel.ArgumentError{Arg: "Options.QueryStart", Got: fmt.Sprintf("%d positions", n), Want: fmt.Sprintf("none, one, or one for each of %d batch rows", len(a.sequences))}
	}
	for _, start := range o.QueryStart {
		if start < -maxKeys || start > maxKeys-a.q.Dim(2) {
			return &kernel.ArgumentError{Arg: "Options.QueryStart", Got: fmt.Sprint(start), Want: "positions of queries from -2^30+1 to 2^30-1"}
		}
	}
	none := []float32{}
	empty := func(heads, d int) kernel.Tensor { return kernel.BHLD(none, 1, heads, 0, d) }
	h := a.q.Dim(1)
	return kernel.Attention(empty(h, g.ValueSize), empty(h, g.KeySize), empty(g.Heads, g.KeySize), empty(g.Heads, g.ValueSize), kernel.Options{
		Exec: o.Exec, Scale: o.Scale, Softcap: o.Softcap, Mask: o.Mask.kernel(), ALiBi: o.ALiBi, Sinks: o.Sinks,
	})
}
