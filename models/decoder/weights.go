package decoder

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
)

// loader takes tensors out of a file. The first error stays; after it, results are not used.
type loader struct {
	f      *gguf.File
	used   map[string]bool
	joined []byte // the tensors of a layer, one after the other
	err    error
}

// fail records an error.
func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// has tells whether the file has a tensor.
func (l *loader) has(name string) bool {
	_, ok := l.f.Tensor(name)
	return ok
}

// tensor returns a tensor of a shape.
func (l *loader) tensor(name string, shape ...int) (gguf.Tensor, bool) {
	l.used[name] = true
	t, ok := l.f.Tensor(name)
	switch {
	case !ok:
		l.fail(tensorError(name, "none", fmt.Sprintf("one of shape %v", shape)))
	case !slices.Equal(t.Shape, shape):
		l.fail(tensorError(name, fmt.Sprintf("shape %v", t.Shape), fmt.Sprint(shape)))
		ok = false
	}
	return t, ok
}

func tensorError(name, got, want string) error {
	return &TensorError{Tensor: name, Got: got, Want: want}
}

// floats returns the numbers of a tensor.
func (l *loader) floats(name string, shape ...int) []float32 {
	t, ok := l.tensor(name, shape...)
	if !ok {
		return nil
	}
	x, err := t.Float32()
	if err != nil {
		l.fail(fmt.Errorf("decoder: tensor %q: %w", name, err))
	}
	return x
}

// unused reports a tensor that nothing has asked for: the model would not be the file's.
func (l *loader) unused() error {
	for _, t := range l.f.Tensors() {
		if !l.used[t.Name] {
			return tensorError(t.Name, fmt.Sprintf("shape %v", t.Shape), "no such tensor: what it is for is not known")
		}
	}
	return nil
}

// A source is the weights, and the bias if there is one, of a layer with n outputs.
type source struct {
	name string // without .weight and .bias
	n    int
}

// A projection is linear layers of one input, whose outputs lie side by side.
type projection struct {
	parts []*linear.Linear
	n     int // outputs of all parts
}

// projection joins layers with k inputs. Those of one type become one layer, as one large
// product is faster than several.
func (l *loader) projection(k int, sources ...source) (p projection) {
	var tensors []gguf.Tensor
	var bias []float32
	flush := func() {
		if len(tensors) > 0 && l.err == nil {
			part, err := l.newLinear(tensors, k, bias)
			if err != nil {
				l.fail(fmt.Errorf("decoder: tensor %q: %w", tensors[0].Name, err))
			}
			p.parts = append(p.parts, part)
		}
		tensors, bias = nil, nil
	}
	for _, s := range sources {
		t, ok := l.tensor(s.name+".weight", s.n, k)
		if !ok {
			return p
		}
		biased := l.has(s.name + ".bias")
		if len(tensors) > 0 && (storage(t.Type) != storage(tensors[0].Type) || biased != (bias != nil)) {
			flush()
		}
		tensors = append(tensors, t)
		if biased {
			bias = append(bias, l.floats(s.name+".bias", s.n)...)
		}
		p.n += s.n
	}
	flush()
	return p
}

// formats are the types of quantized weights that are computed from as they are.
var formats = map[gguf.Type]linear.Format{gguf.Q8_0: linear.Q8_0, gguf.Q4_0: linear.Q4_0, gguf.Q4_1: linear.Q4_1}

// storage returns the type in which weights of a type are kept.
func storage(t gguf.Type) gguf.Type {
	if _, ok := formats[t]; ok || t == gguf.F16 || t == gguf.BF16 {
		return t
	}
	return gguf.F32
}

// newLinear makes one layer with k inputs of weights of one storage type, one tensor below
// the other.
func (l *loader) newLinear(tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	switch kind := storage(tensors[0].Type); kind {
	case gguf.F16:
		return newHalf[kernel.F16](tensors, k, bias)
	case gguf.BF16:
		return newHalf[kernel.BF16](tensors, k, bias)
	case gguf.F32:
		return newFloat(tensors, k, bias)
	default:
		return l.newQuantized(formats[kind], tensors, k, bias)
	}
}

// newQuantized is newLinear for weights of 8 or 4 bits.
func (l *loader) newQuantized(format linear.Format, tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	n := 0
	for _, t := range tensors {
		n += t.Shape[0]
	}
	if len(tensors) == 1 {
		return linear.NewQuantized(format, tensors[0].Data, n, k, bias)
	}
	l.joined = l.joined[:0]
	for _, t := range tensors {
		l.joined = append(l.joined, t.Data...)
	}
	return linear.NewQuantized(format, l.joined, n, k, bias)
}

// newFloat is newLinear for weights of float32 and all that are converted to it.
func newFloat(tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	var all []float32
	for _, t := range tensors {
		x, err := t.Float32()
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else {
			all = append(all, x...)
		}
	}
	return linear.New(linear.DenseMatrix(all, len(all)/k, k), bias)
}

// newHalf is newLinear for weights of 16 bits.
func newHalf[E kernel.F16 | kernel.BF16](tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	var all []E
	for _, t := range tensors {
		all = slices.Grow(all, len(t.Data)/2)
		for at := 0; at+1 < len(t.Data); at += 2 {
			all = append(all, E(binary.LittleEndian.Uint16(t.Data[at:])))
		}
	}
	return linear.New(linear.DenseMatrix(all, len(all)/k, k), bias)
}

// A block is the weights of a layer of the decoder.
type block struct {
	attnNorm, ffnNorm []float32
	qkv, output       projection // queries, keys and values side by side
	gateUp, down      projection
}

// block loads layer i.
func (l *loader) block(c *Config, i int) block {
	at := func(name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }
	queries, keys := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize
	return block{
		attnNorm: l.floats(at("attn_norm.weight"), c.Width),
		ffnNorm:  l.floats(at("ffn_norm.weight"), c.Width),
		qkv:      l.projection(c.Width, source{at("attn_q"), queries}, source{at("attn_k"), keys}, source{at("attn_v"), keys}),
		output:   l.projection(queries, source{at("attn_output"), c.Width}),
		gateUp:   l.projection(c.Width, source{at("ffn_gate"), c.FFN}, source{at("ffn_up"), c.FFN}),
		down:     l.projection(c.FFN, source{at("ffn_down"), c.Width}),
	}
}

// ends loads the embedding, and the output matrix: that of the file, or the embedding again.
func (l *loader) ends(c *Config) (embedding *linear.Linear, head projection) {
	p := l.projection(c.Width, source{strings.TrimSuffix(embeddingName, ".weight"), c.Vocab})
	head = p
	if l.has("output.weight") {
		head = l.projection(c.Width, source{"output", c.Vocab})
	}
	if l.err != nil {
		return nil, head
	}
	return p.parts[0], head
}

const embeddingName = "token_embd.weight"
