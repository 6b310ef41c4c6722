package kernel

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/view"
)

// Contract is the version of the numeric contract, which package contract has in full.
// Whoever changes a bit of any result raises it.
const Contract = 4

// Attention computes out = softmax(q·kᵀ·scale, masked)·v, head by head:
//
//	q   [B, H, Lq, D]     queries
//	k   [B, Hkv, Lk, D]   keys; Hkv divides H (GQA, MQA): query head h uses key head h/(H/Hkv)
//	v   [B, Hkv, Lk, Dv]  values; may share memory with k
//	out [B, H, Lq, Dv]    overwritten; between its first and its last element
//	                      there is no memory of the others
//
// Each may have its own element type, that of q and out a [Float]. The arithmetic is
// float32.
//
// D and Dv are at least 1, the other dimensions at least 0. A row that sees no key is
// zeros. A NaN that a row can see, or that arises in it, makes the whole row NaN,
// always with the same bits.
//
// The bits of a row depend on that row, on the keys and values that it sees, and on the
// options. They do not depend on the tier, threads, batch or tiling, see the package
// documentation.
//
// In the steady state, where calls repeat, a call allocates nothing, see [ReleaseMemory].
// It may be made from many goroutines at once. The race detector knows what it reads and
// writes: a program that writes to an input, or reads an output, before the call has
// returned, gets a report.
//
// Its workspace is O(threads), never O(Lq·Lk). Workers of the pool end soon after it,
// see [Exec].
//
// Bad input gets an [*Error], and out stays untouched.
func Attention(out, q, k, v Tensor, opts Options) error {
	t, err := selectTier("kernel.Attention", &opts.Exec)
	if err != nil {
		return err
	}
	c := newCall(&out, &q, &k, &v, &opts)
	if f := c.check(); f != nil {
		return (*Error)(f.In("kernel.Attention"))
	}
	if c.isEmpty() {
		return nil
	}
	if view.Races {
		c.announce()
	}
	j := engine.New()
	c.resolve(&j.Call)
	j.Run(t, opts.Threads, opts.ParallelFor)
	j.Release()
	return nil
}

// A call is the arguments of a call of Attention, or of another function like it.
type call struct {
	out, q, k, v *view.Tensor

	opts   *Options
	used   optionSet   // the options that have an effect
	scores view.Scores // shape
}

func newCall(out, q, k, v *Tensor, opts *Options) (c call) {
	c.out, c.q, c.k, c.v, c.opts = out.view(), q.view(), k.view(), v.view(), opts
	c.used = opts.used()
	c.scores = view.Scores{Batch: c.q.Dim(0), Heads: c.q.Dim(1), Queries: c.q.Dim(2), Keys: c.k.Dim(2)}
	return c
}

// isEmpty tells whether there is no query, and so nothing to compute.
func (c *call) isEmpty() bool { return min(c.scores.Batch, c.scores.Heads, c.scores.Queries) == 0 }
