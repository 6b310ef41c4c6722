package decoder

import (
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/weights"
	"github.com/attn-go/attn/rope"
)

// Options are the settings of a model. Only Context, CacheType and Int8 change results.
type Options struct {
	// Exec says which tier computes, and with how many threads.
	kernel.Exec

	// Context is the number of tokens that a text may have, prompt included. It may be more
	// than the model was trained for, which rarely gives sense. The default, 0, is what it
	// was trained for, but at most 4096.
	Context int

	// CacheType is the type of the keys and values that are kept: kernel.Float32, which is
	// the default, Float16, BFloat16 or Int8 with a scale for each row. The others take a
	// half or a quarter of the memory, and change logits a little.
	CacheType kernel.DType

	// Int8 rounds the inputs of layers with quantized weights (Q8_0, Q4_0 or Q4_1) to 8 bits, in blocks
	// of 32, see [linear.Options]. A prompt takes about half of the time then. Logits change, and have
	// the same bits on every CPU, too. A model none of whose layers has such weights refuses it.
	Int8 bool

	// PageSize is the number of tokens of a page of the cache; 0 means 64.
	PageSize int
}

const (
	defaultContext = 4096
	mostContext    = 1 << 24
)

// A Model is a language model. It is immutable: any number of goroutines may use it at once.
type Model struct {
	*network
	options Options
}

// A network is what models with different options share.
type network struct {
	config    Config
	embedding *linear.Linear // whose rows are looked up
	blocks    []block
	norm      []float32
	head      projection
	rope      *rope.Rope
	vocabulary
}

// Load reads a model from a GGUF file, of which nothing is used afterwards: one with this path, or
// one that [weights.Resolve] finds by its name, such as SmolLM2-135M-Instruct. The error is an
// [*OptionError], or it names the file and is that of the system, one of package gguf if the file
// is damaged, or a [*gguf.KeyError] or a [*TensorError] if it does not have what the model needs
// or has more than this package computes.
func Load(model string, o Options) (*Model, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	path, err := weights.Resolve(model)
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := New(f, o)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// New is [Load] for a file that is open. The file may be closed afterwards.
func New(f *gguf.File, o Options) (*Model, error) {
	c, err := readConfig(f)
	if err != nil {
		return nil, err
	}
	n := &network{config: c}
	if err := n.load(f); err != nil {
		return nil, err
	}
	return (&Model{network: n}).With(o)
}

// load reads what belongs to the tokens, and the weights.
func (n *network) load(f *gguf.File) (err error) {
	if n.config.Vocab, err = vocabularySize(f); err != nil {
		return err
	}
	if err := n.vocabulary.load(f, n.config.Vocab); err != nil {
		return err
	}
	return n.loadTensors(f)
}

// loadTensors reads the weights.
func (n *network) loadTensors(f *gguf.File) (err error) {
	l, c := &loader{f: f, used: map[string]bool{}}, &n.config
	n.embedding, n.head = l.ends(c)
	n.norm = l.floats("output_norm.weight", c.Width)
	for i := 0; i < c.Layers && l.err == nil; i++ {
		n.blocks = append(n.blocks, l.block(c, i))
	}
	rotation := rope.Config{
		Dims: c.RopeDims, Base: c.RopeBase, Scaling: c.RopeScaling, Pairing: rope.Interleaved,
		Positions: min(c.Context, 1<<14, ropeTable/(4*c.RopeDims)),
	}
	if l.has(factorsName) {
		if x := l.floats(factorsName, c.RopeDims/2); l.err == nil {
			rotation.Frequencies = frequencies(c.RopeBase, c.RopeDims, x)
		}
	}
	if l.err != nil {
		return l.err
	}
	if n.rope, err = rope.New(rotation); err != nil {
		return err
	}
	return l.unused()
}

// ropeTable is the most bytes of the table of cosines and sines. Those of positions that it has
// no room for are computed when they are used.
const ropeTable = 1 << 25

// factorsName is the tensor of divisors of the frequencies, one for each pair, that models
// have whose context was extended as that of Llama 3.1.
const factorsName = "rope_freqs.weight"

// vocabularySize returns the number of tokens: the rows of the embedding.
func vocabularySize(f *gguf.File) (int, error) {
	t, ok := f.Tensor(embeddingName)
	if !ok {
		return 0, tensorError(embeddingName, "none", "a matrix [vocabulary, width]")
	}
	if len(t.Shape) != 2 || t.Shape[0] < 1 || t.Shape[0] > most {
		return 0, tensorError(embeddingName, fmt.Sprintf("shape %v", t.Shape), fmt.Sprintf("[vocabulary, width] with 1 to %d rows", most))
	}
	const key = "llama.vocab_size"
	if _, ok := f.Value(key); ok {
		if n, err := f.Int(key); err != nil {
			return 0, err
		} else if n != int64(t.Shape[0]) {
			return 0, keyError(key, fmt.Sprint(n), fmt.Sprintf("%d, the rows of %q", t.Shape[0], embeddingName))
		}
	}
	return t.Shape[0], nil
}

// With returns the model with other options. The weights are shared. The error is an
// [*OptionError].
func (m *Model) With(o Options) (*Model, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Int8 && !m.hasQuantized() {
		return nil, &OptionError{"Options.Int8", "a model without layers of quantized weights", "one with weights of Q8_0, Q4_0 or Q4_1"}
	}
	if o.Context == 0 {
		o.Context = min(m.config.Context, defaultContext)
	}
	if o.PageSize == 0 {
		o.PageSize = 64
	}
	return &Model{m.network, o}, nil
}

// hasQuantized reports whether a layer has quantized weights.
func (n *network) hasQuantized() bool {
	projections := []projection{n.head}
	for _, b := range n.blocks {
		projections = append(projections, b.qkv, b.output, b.gateUp, b.down)
	}
	return slices.ContainsFunc(projections, func(p projection) bool {
		return slices.ContainsFunc(p.parts, func(l *linear.Linear) bool { return l.Format() != 0 })
	})
}

// Check returns an [*OptionError] if an option is out of range, as [Load] would. Whether there is
// such a Tier is not checked.
func (o *Options) Check() error {
	switch {
	case o.Context < 0 || o.Context > mostContext:
		return &OptionError{"Options.Context", fmt.Sprint(o.Context), fmt.Sprintf("1 to %d, or 0", mostContext)}
	case o.PageSize < 0 || o.PageSize > mostContext:
		return &OptionError{"Options.PageSize", fmt.Sprint(o.PageSize), fmt.Sprintf("1 to %d, or 0", mostContext)}
	case o.CacheType > kernel.Int8:
		return &OptionError{"Options.CacheType", o.CacheType.String(), "float32, float16, bfloat16 or int8"}
	case o.Threads < 0:
		return &OptionError{"Options.Threads", fmt.Sprint(o.Threads), "0 or more"}
	}
	return nil
}

// Config returns the sizes and constants of the model.
func (m *Model) Config() Config { return m.config }

// Options returns the options of the model, with defaults filled in.
func (m *Model) Options() Options { return m.options }
