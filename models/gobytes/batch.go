package gobytes

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/linear"
)

// Settings say how a [Batch] computes. They do not change a bit of the results.
type Settings struct {
	// Tier and Threads are as in kernel.Options.
	Tier    kernel.Tier
	Threads int
}

// A Batch is several texts that a model reads side by side, with a cache of their keys
// and values. A token is a byte. A Batch must not be used by several goroutines at once.
type Batch struct {
	*Model
	Settings

	// Observe, if not nil, is called by Forward with the attention weights of each
	// layer, of shape [texts, Heads, steps, keys]. steps is the largest number of new
	// tokens of a text, and keys is the length of the longest text after them. The
	// weights of a text with fewer tokens or keys are padded with zeros. They are valid
	// until Observe returns. A Batch that is observed needs more time and memory.
	Observe func(layer int, weights []float32, shape [4]int)

	// Attend, if not nil, is called by Forward instead of package kernel: it computes out,
	// the attention of the new tokens' queries q over the keys and values of all tokens, of
	// which k and v are the new ones. All are [texts, heads, steps, HeadSize] and valid until
	// it returns. The rows of a text after its own new tokens are padding. Tokens that were
	// read with Attend are not in the cache, so that Forward needs it from then on.
	Attend func(layer int, out, q, k, v kernel.Tensor) error

	texts []*kvcache.Sequence
	cache *kvcache.Batch // of the texts

	// Of one call of Forward:
	counts []int // the number of new tokens of each text
	steps  int   // the largest of them
	rows   int   // the number of texts times steps
	scratch
	results [][]float32
}

// scratch has the activations of one call of Forward. There is a row for each token, and
// all texts have the same number of rows.
type scratch struct {
	x, normed      []float32 // [rows, Width]
	q, attended    []float32 // [rows, Heads·HeadSize]
	k, v           []float32 // [rows, KVHeads·HeadSize]
	gate, up, exps []float32 // [rows, FFN]
	logits         []float32 // [rows, Vocab]
	weights        []float32 // [texts, Heads, steps, keys], for Observe
}

// pageSize is the number of tokens in a page of the cache.
const pageSize = 64

// NewBatch returns a batch of empty texts.
func (m *Model) NewBatch(texts int, s Settings) (*Batch, error) {
	pages := (m.Context + pageSize - 1) / pageSize
	cache, err := kvcache.New(kvcache.Config{
		Layers: m.Layers, Heads: m.KVHeads, HeadSize: m.HeadSize, PageSize: pageSize, Pages: pages * texts,
	})
	if err != nil {
		return nil, err
	}
	b := &Batch{Model: m, Settings: s, counts: make([]int, texts), results: make([][]float32, texts)}
	for range texts {
		b.texts = append(b.texts, cache.NewSequence())
	}
	b.cache, err = cache.NewBatch(b.texts...)
	return b, err
}

// Len returns the number of tokens in text i.
func (b *Batch) Len(i int) int { return b.texts[i].Len() }

// Truncate removes all tokens of text i after the first n.
func (b *Batch) Truncate(i, n int) error { return b.texts[i].Truncate(n) }

// Forward appends tokens[i] to text i, for each text; tokens[i] may be empty. It returns
// the logits of each text after each new token, [tokens, 256]. They are valid until the
// next call. If it returns an error, the texts are unchanged.
func (b *Batch) Forward(tokens [][]byte) (logits [][]float32, err error) {
	if err := b.begin(tokens); err != nil {
		return nil, err
	}
	if err := b.forward(); err != nil {
		for i, s := range b.texts {
			err = errors.Join(err, s.Truncate(s.Len()-b.counts[i]))
		}
		return nil, err
	}
	for i, n := range b.counts {
		b.results[i] = b.logits[i*b.steps*b.Vocab:][:n*b.Vocab]
	}
	return b.results, nil
}

// begin makes room for the tokens and fills the rows with their embeddings.
func (b *Batch) begin(tokens [][]byte) error {
	if len(tokens) != len(b.texts) {
		return fmt.Errorf("got tokens for %d texts, want %d", len(tokens), len(b.texts))
	}
	b.steps = 0
	for i, t := range tokens {
		if n := b.texts[i].Len() + len(t); n > b.Context {
			return fmt.Errorf("text %d would have %d tokens, but the model's context has room for %d", i, n, b.Context)
		}
		b.counts[i] = len(t)
		b.steps = max(b.steps, len(t))
	}
	if err := b.cache.Extend(b.counts...); err != nil {
		return err
	}
	b.rows = b.steps * len(tokens)
	b.fit()
	for i, t := range tokens {
		for j := range b.steps {
			row := b.x[(i*b.steps+j)*b.Width:][:b.Width]
			if j < len(t) {
				copy(row, b.Embed[int(t[j])*b.Width:])
			} else {
				clear(row) // padding: its results are not used
			}
		}
	}
	return nil
}

// fit makes room for the activations of all rows.
func (b *Batch) fit() {
	queries, keys := b.Heads*b.HeadSize, b.KVHeads*b.HeadSize
	for _, s := range [...]struct {
		slice *[]float32
		width int
	}{
		{&b.x, b.Width}, {&b.normed, b.Width}, {&b.q, queries}, {&b.attended, queries}, {&b.k, keys}, {&b.v, keys},
		{&b.gate, b.FFN}, {&b.up, b.FFN}, {&b.exps, b.FFN}, {&b.logits, b.Vocab},
	} {
		n := b.rows * s.width
		if cap(*s.slice) < n {
			*s.slice = make([]float32, n)
		}
		*s.slice = (*s.slice)[:n]
	}
}

// forward runs the model on the rows.
func (b *Batch) forward() error {
	for i := range b.Blocks {
		if err := b.layer(i); err != nil {
			return err
		}
	}
	rmsNorm(b.normed, b.x, b.Norm, b.Epsilon)
	return b.apply(b.Head, b.logits, b.normed)
}

// layer runs one layer of the decoder on all rows.
func (b *Batch) layer(i int) error {
	l := &b.Blocks[i]
	rmsNorm(b.normed, b.x, l.AttnNorm, b.Epsilon)
	if err := b.project(l); err != nil {
		return err
	}
	if err := b.attend(i); err != nil {
		return err
	}
	if err := b.apply(l.O, b.normed, b.attended); err != nil {
		return err
	}
	add(b.x, b.normed)
	rmsNorm(b.normed, b.x, l.FFNNorm, b.Epsilon)
	if err := b.feedForward(l); err != nil {
		return err
	}
	add(b.x, b.normed)
	return nil
}

// project computes queries, keys and values, and applies the rotary position embedding.
func (b *Batch) project(l *Block) error {
	for _, p := range [...]struct {
		linear *linear.Linear
		out    []float32
	}{{l.Q, b.q}, {l.K, b.k}, {l.V, b.v}} {
		if err := b.apply(p.linear, p.out, b.normed); err != nil {
			return err
		}
	}
	if err := b.Rope.Apply(b.heads(b.q, b.Heads), b.cache.Positions(), kernel.Exec{}); err != nil {
		return err
	}
	return b.Rope.Apply(b.heads(b.k, b.KVHeads), b.cache.Positions(), kernel.Exec{})
}

// heads returns the view of rows that are heads side by side.
func (b *Batch) heads(x []float32, heads int) kernel.Tensor {
	return kernel.BLHD(x, len(b.texts), b.steps, heads, b.HeadSize)
}

// attend stores the new keys and values in the cache, and attends to all keys of each text.
func (b *Batch) attend(layer int) error {
	out, q := b.heads(b.attended, b.Heads), b.heads(b.q, b.Heads)
	k, v := b.heads(b.k, b.KVHeads), b.heads(b.v, b.KVHeads)
	if b.Attend != nil {
		return b.Attend(layer, out, q, k, v)
	}
	if err := b.cache.Store(layer, k, v); err != nil {
		return err
	}
	k, v = b.cache.View(layer)
	o := kernel.Options{Scoring: b.cache.Scoring()}
	o.Tier, o.Threads = b.Tier, b.Threads
	shape := [4]int{len(b.texts), b.Heads, b.steps, k.Shape()[2]}
	if b.Observe != nil {
		b.fitWeights(shape)
		o.Weights = kernel.BHLD(b.weights, shape[0], shape[1], shape[2], shape[3])
	}
	if err := kernel.Attention(out, q, k, v, &o); err != nil {
		return err
	}
	if b.Observe != nil {
		b.Observe(layer, b.weights, shape)
	}
	return nil
}

// fitWeights makes room for attention weights of a shape.
func (b *Batch) fitWeights(shape [4]int) {
	n := shape[0] * shape[1] * shape[2] * shape[3]
	if cap(b.weights) < n {
		b.weights = make([]float32, n)
	}
	b.weights = b.weights[:n]
}

// feedForward computes the gated feed-forward network. It replaces its input, normed.
func (b *Batch) feedForward(l *Block) error {
	if err := b.apply(l.Gate, b.gate, b.normed); err != nil {
		return err
	}
	if err := b.apply(l.Up, b.up, b.normed); err != nil {
		return err
	}
	if err := silu(b.gate, b.up, b.exps); err != nil {
		return err
	}
	return b.apply(l.Down, b.normed, b.gate)
}

// apply runs a linear layer on all rows.
func (b *Batch) apply(l *linear.Linear, out, x []float32) error {
	n, k := l.Shape()
	return l.Apply(linear.DenseMatrix(out, b.rows, n), linear.DenseMatrix(x, b.rows, k), linear.Options{Exec: kernel.Exec{Tier: b.Tier, Threads: b.Threads}})
}
