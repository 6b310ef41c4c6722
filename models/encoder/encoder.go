// Package encoder computes embeddings of texts with encoders such as all-MiniLM-L6-v2
// (see [Load] for the architectures), and scores passages for a query with
// cross-encoders, see [LoadReranker].
//
//	e, err := encoder.Load("all-MiniLM-L6-v2", encoder.LoadOptions{})
//	vectors, err := e.Embed(ctx, []string{"The cat sits on the mat.", "A cat is on a rug."})
//
// [Load] takes a folder as Hugging Face has it, a GGUF file, or the name of a downloaded model. The
// vectors of [Encoder.Embed] have length 1: the dot product of two is the cosine of their texts.
//
// An embedding has the same bits on every CPU, with any number of threads, and whatever
// other texts are in the call. The texts of a batch follow one another without padding.
package encoder

import (
	"context"
	"slices"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// An Encoder is a model that is loaded. It is immutable: any number of goroutines may use
// it at once.
type Encoder struct {
	*embedding.Embedder
	net  *runner
	opts Options
}

// Options are the settings of an Encoder, and of an [embedding.Embedder].
type Options = embedding.Options

// A runner is a model with the memory that calls compute in.
type runner struct {
	*model
	free sync.Pool // of *network.Pass
}

// pass returns a pass for a call, which the caller puts back.
func (r *runner) pass(exec kernel.Exec) *network.Pass {
	p, ok := r.free.Get().(*network.Pass)
	if !ok {
		p = &network.Pass{Cache: network.Whole{}}
	}
	p.Settings = network.Settings{Exec: exec, Int8: r.int8, Ropes: r.ropes}
	return p
}

// With returns an Encoder with other settings that shares the weights.
func (e *Encoder) With(opts Options) *Encoder {
	return &Encoder{e.Embedder.With(opts), e.net, opts}
}

// States computes the outputs of the last layer for batches of texts, see
// [embedding.Model].
func (r *runner) States(ctx context.Context, ids, types [][]int32, o *Options, how embedding.Pooling, each func(text int, states []float32) error) error {
	return r.states(ctx, ids, types, nil, o, how, each)
}

// ExpandedStates implements [embedding.Expander].
func (r *runner) ExpandedStates(ctx context.Context, ids [][]int32, seen []int, o *Options, each func(text int, states []float32) error) error {
	return r.states(ctx, ids, nil, seen, o, "", each)
}

func (r *runner) states(ctx context.Context, ids, types [][]int32, seen []int, o *Options, how embedding.Pooling, each func(text int, states []float32) error) error {
	p := r.pass(o.Exec)
	defer r.free.Put(p)
	p.All = how != embedding.PoolFirst && how != embedding.PoolLast
	for batch := range embedding.Batches(ids, o.Tokens()) {
		p.Reset()
		for _, text := range batch {
			var of []int32
			if types != nil {
				of = types[text]
			}
			p.Add(ids[text], of, 0)
			if seen != nil {
				p.Seen = append(p.Seen, seen[text])
			}
			at := len(p.Tokens) - 1
			if how == embedding.PoolFirst {
				at = len(p.Tokens) - len(ids[text])
			}
			p.Wanted = append(p.Wanted, at)
		}
		x, err := r.network.Run(ctx, p)
		if err != nil {
			return err
		}
		r.inOrder(x)
		for i, text := range batch {
			from, to := i, i+1
			if p.All {
				from, to = p.Starts[i], p.Starts[i+1]
			}
			if err := each(text, x[from*r.Outputs():to*r.Outputs()]); err != nil {
				return err
			}
		}
	}
	return nil
}

// HiddenStates returns what the model computes for one text: the output of the embedding block and
// then of each layer, [tokens, width of a state], the last one as the model gives it. It returns
// the errors of EmbedTokens.
func (e *Encoder) HiddenStates(ctx context.Context, ids []int32) (states [][]float32, err error) {
	if bad := e.CheckTokens(ids); bad != nil {
		bad.Where = "ids" + bad.Where
		return nil, bad
	}
	p := e.net.pass(e.opts.Exec)
	p.All = true
	p.Reset()
	p.Add(ids, nil, 0)
	p.See = func(name string, layer int, x []float32) {
		if name == "embd" || name == "hidden" && layer+1 < len(e.net.Layers) || name == "norm" {
			x = slices.Clone(x)
			if name == "norm" {
				e.net.inOrder(x)
			} else {
				tensors.PermuteColumns(x, e.net.inverse)
			}
			states = append(states, x)
		}
	}
	if _, err := e.net.network.Run(ctx, p); err != nil {
		return nil, err
	}
	return states, nil
}
