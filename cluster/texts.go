package main

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/cluster/internal/sample"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// texts are sequences on workers that begin with the same tokens, and what they should be.
type texts struct {
	client    *shard.Client
	from      *sample.Activations
	sequences []*shard.Sequence
}

// appendKeys is how many keys are appended at once.
const appendKeys = 4096

// newTexts appends the first tokens of a to new sequences, as many as lengths says.
func newTexts(ctx context.Context, c *shard.Client, a *sample.Activations, lengths []int) (*texts, error) {
	x := &texts{client: c, from: a}
	for _, n := range lengths {
		s := c.NewSequence()
		for at := 0; at < n; at += appendKeys {
			k, v := a.Keys(at, min(n, at+appendKeys))
			if err := c.Append(ctx, []*shard.Sequence{s}, k, v); err != nil {
				return nil, err
			}
		}
		x.sequences = append(x.sequences, s)
	}
	return x, nil
}

// decode takes some steps in which every sequence gets one token and attends to all of its
// keys, and compares each with attention in this process.
func (x *texts) decode(ctx context.Context, steps int) (shard.Stats, error) {
	var stats shard.Stats
	n := len(x.sequences)
	const queries = sample.Heads * sample.HeadSize
	q, out := make([]float32, n*queries), make([]float32, n*queries)
	for step := range steps {
		for i, s := range x.sequences {
			token := s.Len()
			k, v := x.from.Keys(token, token+1)
			if err := x.client.Append(ctx, []*shard.Sequence{s}, k, v); err != nil {
				return stats, err
			}
			copy(q[i*queries:(i+1)*queries], x.from.Q[token*queries:])
		}
		took, err := x.client.Attention(ctx, heads(out, n), heads(q, n), x.sequences, shard.Options{Mask: shard.Causal()})
		if err != nil {
			return stats, err
		}
		stats.Add(took)
		for i := range n {
			if err := x.check(i, q[i*queries:(i+1)*queries], out[i*queries:(i+1)*queries]); err != nil {
				return stats, fmt.Errorf("step %d: %w", step, err)
			}
		}
	}
	return stats, nil
}

// heads returns a view of one query of each of n texts.
func heads(x []float32, n int) kernel.Tensor {
	return kernel.BHLD(x, n, sample.Heads, 1, sample.HeadSize)
}

// check compares a result with attention in this process.
func (x *texts) check(i int, q, got []float32) error {
	n := x.sequences[i].Len()
	want := make([]float32, len(got))
	k, v := x.from.Keys(0, n)
	if err := kernel.Attention(heads(want, 1), heads(q, 1), k, v, kernel.Options{}); err != nil {
		return err
	}
	if !sameBits(got, want) {
		return fmt.Errorf("text %d of %d keys: the bits differ from those of one machine", i, n)
	}
	return nil
}
