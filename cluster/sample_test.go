package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gobytes"
)

// queryHeads is how many heads of queries the model has.
const queryHeads = 6

// sampleLayer is the layer whose queries, keys and values readSample returns.
const sampleLayer = 2

// A sample is real queries, keys and values of a layer, for each token of a text, after rotary
// positions, as the model of package gobytes computes them.
type sample struct {
	Tokens int
	Q      []float32 // [Tokens, queryHeads, headSize]
	K, V   []float32 // [Tokens, kvHeads, headSize]
}

// readSample returns the activations of n tokens. The model reads the text in parts as long as its
// context, each for itself, and begins the text again when it ends.
func readSample(m *gobytes.Model, text string, n int) (*sample, error) {
	if text == "" || n < 0 {
		return nil, fmt.Errorf("sample: %d tokens of a text of %d bytes", n, len(text))
	}
	a := &sample{Tokens: n}
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
func (a *sample) read(m *gobytes.Model, part string) error {
	b, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	b.Attend = func(layer int, out, q, k, v kernel.Tensor) error {
		if layer == sampleLayer {
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

// A text that is longer than the model's context, or shorter than what is asked for, goes on.
func TestReadSample(t *testing.T) {
	m, err := gobytes.Default()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("func f() {}\n", 50) // 600 bytes
	a, err := readSample(m, text, 700)
	if err != nil {
		t.Fatal(err)
	}
	if a.Tokens != 700 || len(a.Q) != 700*queryHeads*headSize || len(a.K) != 700*kvHeads*headSize || len(a.V) != len(a.K) {
		t.Fatalf("%d tokens, %d, %d and %d numbers", a.Tokens, len(a.Q), len(a.K), len(a.V))
	}
	one := kvHeads * headSize
	for _, at := range []int{0, 60, 99} {
		if !slices.Equal(a.K[(600+at)*one:(601+at)*one], a.K[at*one:(at+1)*one]) {
			t.Errorf("token %d differs from token %d", 600+at, at)
		}
	}
	if slices.Equal(a.K[512*one:513*one], a.K[511*one:512*one]) || slices.Max(a.Q) < 0.5 {
		t.Error("the activations are not those of a model")
	}
	if _, err := readSample(m, "", 1); err == nil {
		t.Error("a text without tokens")
	}
}
