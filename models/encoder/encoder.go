// Package encoder computes embeddings of texts with encoders such as all-MiniLM-L6-v2 (see [Load] for the
// architectures), and scores passages for a query with cross-encoders, see [LoadReranker].
//
// [Load] reads a model from a folder as Hugging Face has it or from a GGUF file, or finds one that was fetched. [Encoder.Embed] turns texts into
// unit vectors, whose scalar product is the cosine of two texts.
//
// An embedding has the same bits on every CPU, with any number of threads, and whatever other
// texts are in the call. The texts of a batch follow one another without padding.
package encoder

import (
	"context"
	"slices"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
)

// An Encoder is a model that is loaded. It is immutable: any number of goroutines may use it
// at once.
type Encoder struct {
	*embedding.Embedder
	net  *network
	opts Options
}

// Options are the settings of an Encoder, those of an [embedding.Embedder].
type Options = embedding.Options

// A network is a model with the memory that calls compute in.
type network struct {
	*model
	free sync.Pool // of *scratch
}

// A runner computes with the settings of a call.
type runner struct {
	*model
	exec kernel.Exec
}

// scratch returns memory for a call, which the caller puts back.
func (n *network) scratch() *scratch {
	if s, ok := n.free.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

// With returns an Encoder with other settings that shares the weights.
func (e *Encoder) With(opts Options) *Encoder {
	return &Encoder{e.Embedder.With(opts), e.net, opts}
}

// States computes the outputs of the last layer for batches of texts, see [embedding.Model].
func (n *network) States(ctx context.Context, ids [][]int32, o *Options, _ bool, each func(text int, states []float32) error) error {
	return n.batches(ctx, ids, nil, o, func(batch []int, x []float32, starts []int) error {
		for i, text := range batch {
			if err := each(text, x[starts[i]*n.Width:starts[i+1]*n.Width]); err != nil {
				return err
			}
		}
		return nil
	})
}

// batches computes the outputs of the last layer for all texts, and calls each with those of every
// batch: row starts[i] is the first one of text batch[i]. types may be nil.
func (n *network) batches(ctx context.Context, ids, types [][]int32, o *Options, each func(batch []int, x []float32, starts []int) error) error {
	s := n.scratch()
	defer n.free.Put(s)
	r := &runner{n.model, o.Exec}
	for batch := range embedding.Batches(ids, o.Tokens()) {
		x, err := r.forward(ctx, s, batch, ids, types, nil)
		if err == nil {
			n.restore(x)
			err = each(batch, x, s.starts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HiddenStates returns what the model computes for one text: the output of the embedding block
// and then that of each layer, [tokens, width of a state]. The errors are those of EmbedTokens.
func (e *Encoder) HiddenStates(ctx context.Context, ids []int32) ([][]float32, error) {
	if bad := e.CheckTokens(ids); bad != nil {
		bad.Where = "ids" + bad.Where
		return nil, bad
	}
	var states [][]float32
	s := e.net.scratch()
	defer e.net.free.Put(s)
	_, err := (&runner{e.net.model, e.opts.Exec}).forward(ctx, s, []int{0}, [][]int32{ids}, nil, func(x []float32) {
		x = slices.Clone(x)
		e.net.restore(x)
		states = append(states, x)
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}
