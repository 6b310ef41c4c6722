package main

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// texts are sequences on workers that begin with the same tokens, and what they should be.
type texts struct {
	client    *shard.Client
	from      *sample
	k, v      kernel.Tensor // of all tokens of from, as workers hold them
	sequences []*shard.Sequence
	checks    bool // compare results with attention in this process
}

// modelConfig is the form of the keys and values of the model.
var modelConfig = shard.Config{Heads: kvHeads, HeadSize: headSize}

// appendKeys is how many keys are appended at once.
const appendKeys = 4096

// newTexts returns as many new sequences as lengths says, with the first tokens of a.
func newTexts(ctx context.Context, c *shard.Client, a *sample, kind kernel.DType, lengths []int) (*texts, error) {
	sequences := make([]*shard.Sequence, len(lengths))
	for i := range sequences {
		sequences[i] = c.NewSequence()
	}
	return fillTexts(ctx, c, a, kind, sequences, lengths)
}

// fillTexts appends tokens of a to sequences that begin with them already, until they are as
// long as lengths says. If it fails, those that only this client knows are freed.
func fillTexts(ctx context.Context, c *shard.Client, a *sample, kind kernel.DType, sequences []*shard.Sequence, lengths []int) (*texts, error) {
	x := &texts{client: c, from: a, checks: true, sequences: sequences}
	var err error
	if x.k, err = convert(a.K, kind); err != nil {
		return nil, err
	}
	if x.v, err = convert(a.V, kind); err != nil {
		return nil, err
	}
	for i, n := range lengths {
		for at := sequences[i].Len(); at < n; at += appendKeys {
			if err := x.append(ctx, sequences[i], at, min(n, at+appendKeys)); err != nil {
				x.free(ctx)
				return nil, err
			}
		}
	}
	return x, nil
}

// append appends tokens lo to hi-1 to a sequence.
func (x *texts) append(ctx context.Context, s *shard.Sequence, lo, hi int) error {
	between := []int{lo, hi}
	return x.client.Append(ctx, []*shard.Sequence{s}, x.k.Ragged(between), x.v.Ragged(between))
}

// convert returns rows of [tokens, KVHeads, HeadSize] as a tensor of another type. Int8 has a
// scale for every row.
func convert(x []float32, kind kernel.DType) (kernel.Tensor, error) {
	tokens := len(x) / (kvHeads * headSize)
	switch kind {
	case kernel.Float16:
		return view(mapped(x, numeric.ToF16), tokens, headSize), nil
	case kernel.BFloat16:
		return view(mapped(x, numeric.ToBF16), tokens, headSize), nil
	case kernel.Int8:
		elements, scales := make([]int8, len(x)), make([]float32, len(x)/headSize)
		err := numeric.QuantizeInt8(elements, scales, x, headSize, kernel.Exec{})
		s := view(scales, tokens, 1)
		return view(elements, tokens, headSize).Scaled(&s), err
	}
	return view(x, tokens, headSize), nil
}

func view[E kernel.Element](x []E, tokens, d int) kernel.Tensor {
	return kernel.BLHD(x, 1, tokens, kvHeads, d)
}

func mapped[E any](x []float32, f func(float32) E) []E {
	y := make([]E, len(x))
	for i := range x {
		y[i] = f(x[i])
	}
	return y
}

// decode takes some steps in which every sequence gets one token and attends to all of its
// keys.
func (x *texts) decode(ctx context.Context, steps int) (shard.Stats, error) {
	var stats shard.Stats
	n := len(x.sequences)
	const queries = queryHeads * headSize
	q, out := make([]float32, n*queries), make([]float32, n*queries)
	for step := range steps {
		for i, s := range x.sequences {
			token := s.Len()
			if err := x.append(ctx, s, token, token+1); err != nil {
				return stats, err
			}
			copy(q[i*queries:(i+1)*queries], x.from.Q[token*queries:])
		}
		took, err := x.client.Attention(ctx, heads(out, n), heads(q, n), x.sequences, &shard.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
		if err != nil {
			return stats, err
		}
		stats.Add(took)
		for i := 0; i < n && x.checks; i++ {
			if err := x.check(i, q[i*queries:(i+1)*queries], out[i*queries:(i+1)*queries]); err != nil {
				return stats, fmt.Errorf("step %d: %w", step, err)
			}
		}
	}
	return stats, nil
}

// heads returns a view of one query of each of n texts.
func heads(x []float32, n int) kernel.Tensor {
	return kernel.BHLD(x, n, queryHeads, 1, headSize)
}

// check compares a result with attention in this process.
func (x *texts) check(i int, q, got []float32) error {
	n := x.sequences[i].Len()
	want := make([]float32, len(got))
	all := []int{0, n}
	if err := kernel.Attention(heads(want, 1), heads(q, 1), x.k.Ragged(all), x.v.Ragged(all), nil); err != nil {
		return err
	}
	if !sameBits(got, want) {
		return fmt.Errorf("text %d of %d keys: the bits differ from those of one machine", i, n)
	}
	return nil
}

// free asks the workers to forget the sequences, even if ctx has ended, but not the directory's.
func (x *texts) free(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, s := range x.sequences {
		if s.Shared() {
			continue
		}
		s.Free(ctx) // a worker that does not hear it forgets when it ends
	}
}
