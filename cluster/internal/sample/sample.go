// Package sample makes real queries, keys and values: what a trained model computes while it
// reads Go sources. The model is that of package gobytes, whose weights are in the program.
package sample

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gobytes"
)

// The form of the model's attention.
const (
	Heads    = 6 // of queries
	KVHeads  = 2
	HeadSize = 32
)

// Layer is the layer whose queries, keys and values [Read] returns.
const Layer = 2

// Activations are the queries, keys and values of a layer for each token of a text, after
// rotary positions.
type Activations struct {
	Tokens int
	Q      []float32 // [Tokens, Heads, HeadSize]
	K, V   []float32 // [Tokens, KVHeads, HeadSize]
}

// Read returns the activations of n tokens. The model reads the text in parts as long as its
// context, each for itself, and begins the text again when it ends.
func Read(m *gobytes.Model, text string, n int) (*Activations, error) {
	if text == "" || n < 0 {
		return nil, fmt.Errorf("sample: %d tokens of a text of %d bytes", n, len(text))
	}
	a := &Activations{Tokens: n}
	for at := 0; at < n; {
		part := text[at%len(text):]
		part = part[:min(len(part), m.Context, n-at)]
		if err := a.read(m, part); err != nil {
			return nil, err
		}
		at += len(part)
	}
	return a, nil
}

// read appends the activations of a part.
func (a *Activations) read(m *gobytes.Model, part string) error {
	b, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	b.Attend = func(layer int, out, q, k, v kernel.Tensor) error {
		if layer == Layer {
			a.Q, a.K, a.V = appendRows(a.Q, q), appendRows(a.K, k), appendRows(a.V, v)
		}
		return kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
	}
	_, err = b.Forward([][]byte{[]byte(part)})
	return err
}

// appendRows appends the rows of a float32 tensor of one batch row, token by token.
func appendRows(dst []float32, t kernel.Tensor) []float32 {
	shape := t.Shape()
	for l := range shape[2] {
		for h := range shape[1] {
			dst = append(dst, kernel.Row[float32](t, 0, h, l)...)
		}
	}
	return dst
}

// Queries returns the queries of tokens lo to hi-1 as [1, Heads, hi-lo, HeadSize].
func (a *Activations) Queries(lo, hi int) kernel.Tensor { return rows(a.Q, Heads, lo, hi) }

// Keys returns the keys and values of tokens lo to hi-1 as [1, KVHeads, hi-lo, HeadSize].
func (a *Activations) Keys(lo, hi int) (k, v kernel.Tensor) {
	return rows(a.K, KVHeads, lo, hi), rows(a.V, KVHeads, lo, hi)
}

func rows(x []float32, heads, lo, hi int) kernel.Tensor {
	return kernel.BLHD(x[lo*heads*HeadSize:hi*heads*HeadSize], 1, hi-lo, heads, HeadSize)
}
