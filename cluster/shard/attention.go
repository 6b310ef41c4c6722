package shard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Attention computes attention of queries over the keys and values of sequences: q [B, H, Lq,
// D] and out [B, H, Lq, Dv], where batch row b is for sequence b; the number of key heads
// divides H. Every element of out and LSE has the bits of kernel.Attention over all keys of
// the sequence. q may be ragged, and out and LSE then are, too: steps of many sequences,
// of any length each, are one call.
//
// The error is a [*kernel.Error]; a [*BlocksError] if blocks cannot be had from any worker that
// holds them, with a [*ConflictError] if another client has cut the sequence off meanwhile; or the
// error of ctx. Then out and LSE are untouched.
func (c *Client) Attention(ctx context.Context, out, q kernel.Tensor, sequences []*Sequence, options *Options) (Stats, error) {
	started := time.Now()
	if options == nil {
		options = new(Options)
	}
	a := &call{client: c, out: out, q: q, sequences: sequences, options: options}
	if err := a.check(); err != nil {
		return Stats{}, err
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
	out, q    kernel.Tensor
	sequences []*Sequence
	options   *Options
	merged    []merged
	stats     Stats
}

// heads returns the number of query heads.
func (a *call) heads() int { return a.q.Shape()[1] }

// check returns an error about the first argument that does not fit.
func (a *call) check() error {
	if err := a.client.checkSequences(a.sequences); err != nil {
		return err
	}
	if err := a.q.Check("q"); err != nil {
		return err
	}
	s, g := a.q.Shape(), &a.client.geometry
	if a.q.IsPaged() || !slices.Contains([]kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16}, a.q.DType()) {
		return &kernel.Error{Where: "q", Got: a.q.String(), Want: "float32, float16 or bfloat16, not paged"}
	}
	if s[0] != len(a.sequences) || s[1] < 1 || s[1]%g.Heads != 0 || s[1] > wire.MaxHeads || s[3] != g.KeySize {
		return &kernel.Error{Where: "q", Got: a.q.String(),
			Want: fmt.Sprintf("batch %d as there are sequences, a multiple of %d heads up to %d, head size %d", len(a.sequences), g.Heads, wire.MaxHeads, g.KeySize)}
	}
	if err := a.checkOutput("out", a.out, g.ValueSize); err != nil {
		return err
	}
	lse := a.options.LSE
	switch {
	case lse.IsZero():
		return nil
	case lse.DType() != kernel.Float32:
		return &kernel.Error{Where: "Options.LSE", Got: lse.String(), Want: "float32"}
	case lse.Overlaps(a.out):
		return &kernel.Error{Where: "Options.LSE", Got: "memory that overlaps out", Want: "memory of its own"}
	}
	return a.checkOutput("Options.LSE", lse, 1)
}

// checkOutput returns an error about an output that does not fit q.
func (a *call) checkOutput(arg string, t kernel.Tensor, d int) error {
	if err := t.CheckOutput(arg); err != nil {
		return err
	}
	want := a.q.Shape()
	want[3] = d
	switch {
	case t.Shape() != want:
		return &kernel.Error{Where: arg, Got: t.String(), Want: fmt.Sprintf("shape %v", want)}
	case t.Overlaps(a.q):
		return &kernel.Error{Where: arg, Got: "memory that overlaps q", Want: "memory of its own"}
	}
	return checkLengths(arg, t, "q", a.q)
}

// checkOptions has the kernel check the options, by a call without queries and keys.
func (a *call) checkOptions() error {
	o, g := a.options, &a.client.geometry
	for _, start := range o.QueryStart {
		if start < -maxKeys || start > maxKeys-a.q.Shape()[2] {
			return &kernel.Error{Where: "Options.QueryStart", Got: fmt.Sprint(start), Want: "positions of queries from -2^30+1 to 2^30-1"}
		}
	}
	if err := wire.CheckScoring(&o.Scoring); err != nil {
		return err
	}
	none := []float32{}
	empty := func(heads, d int) kernel.Tensor { return kernel.BHLD(none, len(a.sequences), heads, 0, d) }
	h := a.heads()
	return kernel.Attention(empty(h, g.ValueSize), empty(h, g.KeySize), empty(g.Heads, g.KeySize), empty(g.Heads, g.ValueSize), &kernel.Options{Exec: o.Exec, Scoring: o.Scoring})
}

// Options are the settings of one call, as in kernel.Options. The zero value is plain
// attention over all keys.
type Options struct {
	// Exec says how this program merges. The workers have their own.
	kernel.Exec

	// Scoring has Scale, Softcap, ALiBi, Sinks, QueryStart and a Mask that is a window, as
	// [kernel.Mask.Window] tells: [kernel.Causal] or [kernel.Window]. The other fields must not be
	// set.
	//
	// QueryStart holds the position of the first query: one for all batch rows or one for each.
	// None means that the queries belong to the last keys: the position is the sequence's length
	// minus the number of queries.
	kernel.Scoring

	// LSE, if not the zero Tensor, receives the log-sum-exp of each row, [B, H, Lq, 1].
	LSE kernel.Tensor
}

// visible returns the keys lo to hi-1, of n, that queries from first to last may see under a
// window.
func visible(m *kernel.Mask, first, last, n int) (lo, hi int) {
	left, right, _ := m.Window()
	low, high := int64(0), int64(n)
	if left >= 0 {
		low = max(low, int64(first)-int64(min(left, math.MaxInt32)))
	}
	if right >= 0 {
		high = min(high, int64(last)+int64(min(right, math.MaxInt32))+1)
	}
	return int(min(low, int64(n))), int(max(high, 0))
}

// Stats is what a call took.
type Stats struct {
	Wall  time.Duration // of the whole call
	Merge time.Duration // of merging, a part of Wall

	// Compute is the time that workers spent on the arithmetic of the answers that were used,
	// Slowest the sum, over the parts of the call, of the slowest worker's time.
	Compute, Slowest time.Duration

	Blocks   int   // of 256 keys that were asked for, all batch rows together
	Requests int   // messages to workers
	Retries  int   // of them, those to a replica because another worker failed or was late
	Sent     int64 // bytes of the messages' contents
	Received int64
}

// Add adds the numbers of another call.
func (s *Stats) Add(x Stats) {
	s.Wall += x.Wall
	s.Merge += x.Merge
	s.Compute += x.Compute
	s.Slowest += x.Slowest
	s.Blocks += x.Blocks
	s.Requests += x.Requests
	s.Retries += x.Retries
	s.Sent += x.Sent
	s.Received += x.Received
}
