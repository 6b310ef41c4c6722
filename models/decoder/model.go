package decoder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/decoder/internal/ranking"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/precision"
)

// Options are the settings of a model. Only Context, CacheType, CacheValueType,
// Unrotated, DynamicInt12, Precision and LoRA change results.
type Options struct {
	// Exec says which tier computes, and with how many threads.
	kernel.Exec

	// Context is the number of tokens that a text may have, prompt included. It may be
	// more than the model was trained for, which rarely gives sense. The default, 0, is
	// what it was trained for, but at most 4096.
	Context int

	// CacheType is the type of the keys and values that are kept: kernel.Float32, which
	// is the default, Float16, BFloat16, Int8 with a scale for each row, or Int4 with one
	// for 32 numbers, as with llama.cpp's -ctk q4_0. The others take a half, little more
	// than a quarter and 5/32 of the memory, and change logits a little, keys of Int4
	// more than a little in small models.
	CacheType kernel.DType

	// CacheValueType is the type of the values that are kept, if they have another one
	// than the keys. 0, which is kernel.Float32, means CacheType.
	CacheValueType kernel.DType

	// Unrotated rounds keys and values as they are. Without it, if keys or values are Int4,
	// [numeric.Hadamard] rotates keys and values of Int4 and Int8 before they are rounded, in
	// blocks of the largest power of two that divides the size of a head, and also queries and what
	// attention returns. Rounding then loses less, as no number of a group is much larger than the
	// others. A cache without Int4 is never rotated, nor are heads without such a block of 16 or
	// more.
	Unrotated bool

	// DynamicInt12 rounds queries and weights of attention, too, so that its products
	// with a cache of Int8 or Int4, without which it is refused, are sums of integers,
	// see [kernel.Options]. Logits change a little, and have the same bits on every CPU,
	// too.
	DynamicInt12 bool

	// Precision is what the products of linear layers are computed with; the zero value is float32.
	// Logits change with it, and have the same bits on every CPU.
	//
	// precision.BFloat16 rounds weights of 16 and 32 bits when they are read, and their inputs, to
	// bfloat16, see [linear.RoundBFloat16]. Embeddings that are the weights of the last layer are
	// rounded with them. Layers with quantized weights stay as they are. A model with quantized
	// layers alone refuses it, and so does [Model.With] unless the model was loaded with it.
	//
	// precision.Int8 rounds the inputs of layers with quantized weights (Q2_K to Q8_0) to 8
	// bits, in blocks of 32, see [linear.Options]. A prompt takes about half of the time
	// then. A model none of whose layers has such weights refuses it.
	Precision precision.Precision

	// LoRA are adapters that are merged into the weights, in their order, see package lora.
	// [Model.With] takes the model's own, for which nil stands, too.
	LoRA []lora.Adapter

	// MTP reads the layer that guesses further tokens (multi-token prediction), of models that
	// bring one: DeepSeek V3, GLM-4 with experts, Qwen3-Next and Qwen3.5, whose GGUF files call
	// its tensors nextn, and folders of Nemotron H. GenerateOptions.Draft then is how many tokens
	// it guesses. It changes no result.
	MTP bool

	// PageSize is the number of tokens of a page of the cache; 0 means 64.
	PageSize int

	// KeepPacked keeps the weights as kernels read them in a file beside the model, NAME.packed,
	// which later programs map in place of packing them again: so a model opens in a fraction of
	// the time, and programs share its memory. The file takes as much space as the weights do in
	// memory. It is written if there is none, or if the model's files, MTP, or the settings that
	// change weights differ from what it was made of. It changes no result.
	//
	// Where the system keeps the file in large pages, as new versions of Linux do on ext4, tokens
	// are generated as fast as without KeepPacked. In pages of 4 KiB, weights that do not fit a
	// cache are read more slowly, and a token takes up to a third longer. They are not copied into
	// larger pages, as each program would need memory of its own for them.
	KeepPacked bool

	// Progress, if not nil, is told how many bytes of the tensors are read while a model
	// is loaded, from 0 to all of them, by the goroutine that loads.
	Progress func(done, total int64)
}

const (
	// DefaultContext is the most that Options.Context is by default.
	DefaultContext = 4096

	mostContext = 1 << 24
	defaultPage = 64 // tokens
)

// A Model is a language model. It is immutable: any number of goroutines may use it at
// once.
type Model struct {
	*network
	options Options
	ropes   []engine.Rotation
	layout  layout
	ahead   *Model // with Options.MTP
}

// A network is what models with different options share.
type network struct {
	arch   *arch.Model
	config Config
	layers *engine.Network

	checkpoint int      // see checkpointOf
	adapters   string   // that are merged into the weights, see Options.LoRA
	rounded    bool     // Options.Precision is bfloat16
	ahead      *network // of the layer of Options.MTP, or nil
	head       engine.Head
	ranking    *ranking.Ranking // of rerankers
	vocabulary
}

// Load reads a model from a GGUF file or a folder as Hugging Face has it, of which nothing is used
// afterwards: one with this path, or one that [weights.Resolve] finds by its name, such as
// SmolLM2-135M-Instruct. The error is a [*kernel.Error], also of a file that is damaged or has more
// than this package computes, or it names the path and comes from the system, or from package
// encoding/json if a file is no JSON.
func Load(model string, o Options) (*Model, error) {
	_, m, err := load(model, generates, o)
	return m, err
}

// New is [Load] for a file that is open. The file may be closed afterwards.
func New(f *gguf.File, o Options) (*Model, error) {
	x, err := openFile(f, "", generates, o)
	if err != nil {
		return nil, err
	}
	return x.load(o)
}

// model reads the weights.
func (n *network) model(l *loader, head headSource, o Options) (*Model, error) {
	words, logits := l.ends(&n.config, head, n.arch.Logits.Bias)
	n.head = engine.Head{Linear: logits, Scale: n.config.LogitScale, Softcap: n.config.LogitSoftcap}
	n.layers = engine.Read(n.arch, l.Reader, engine.Packed{Linear: words.One()})
	if o.MTP {
		n.readAhead(l, words, logits)
	}
	l.rank(n.ranking, n.config.Width)
	if l.Dry != nil {
		return nil, cmp.Or(l.Err(), errDry)
	}
	if err := l.Done(); err != nil {
		return nil, err
	}
	if err := l.End(); err != nil {
		return nil, err
	}
	n.checkpoint = n.checkpointOf()
	n.rounded = l.Pack.Precision == precision.BFloat16
	if n.rounded && l.Rounded == 0 {
		return nil, &kernel.Error{Where: "decoder: Options.Precision", Got: "bf16 of a model all of whose layers have quantized weights", Want: "one with weights of 16 or 32 bits"}
	}
	return (&Model{network: n, options: Options{LoRA: o.LoRA}}).With(o)
}

// With returns the model with other options. The weights are shared. The error is a
// [*kernel.Error].
func (m *Model) With(o Options) (*Model, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if m.rounded != (o.Precision == precision.BFloat16) {
		return nil, &kernel.Error{Where: "decoder: Options.Precision", Got: o.Precision.String() + " of a model that was loaded with another one", Want: "bf16 when a model is loaded, and then always"}
	}
	if o.Precision == precision.Int8 && !m.head.Quantized() && !m.layers.Quantized() {
		return nil, &kernel.Error{Where: "decoder: Options.Precision", Got: "int8 of a model without layers of quantized weights", Want: "one with weights of Q8_0, Q4_0 or another type with blocks"}
	}
	if t := o.ValueType(); m.config.InKeys > 0 && t != o.CacheType {
		return nil, &kernel.Error{Where: "decoder: Options.CacheValueType", Got: t.String(), Want: o.CacheType.String() + " as the keys, which hold the values of latent attention"}
	}
	if o.LoRA == nil {
		o.LoRA = m.options.LoRA
	} else if !slices.Equal(o.LoRA, m.options.LoRA) {
		return nil, &kernel.Error{Where: "decoder: Options.LoRA", Got: "other adapters than when the model was loaded", Want: "the same, or nil"}
	}
	if o.Context == 0 {
		o.Context = min(m.config.Context, DefaultContext)
	}
	if o.Context > m.config.Context && ropeOf(m.arch).Dynamic {
		return nil, &kernel.Error{Where: "decoder: Options.Context", Got: fmt.Sprint(o.Context), Want: fmt.Sprintf("at most %d, beyond which dynamic rotations would change with each token", m.config.Context)}
	}
	if o.PageSize == 0 {
		o.PageSize = defaultPage
	}
	if o.MTP && m.network.ahead == nil {
		return nil, &kernel.Error{Where: "decoder: Options.MTP", Got: "true of a model that was loaded without", Want: "true when a model is loaded"}
	}
	with, err := m.network.with(o)
	if err == nil && o.MTP {
		with.ahead, err = m.network.ahead.with(o)
	}
	return with, err
}

// with returns a model of the network.
func (n *network) with(o Options) (*Model, error) {
	ropes, err := n.layers.Rotations(o.Context, n.config.Context)
	return &Model{network: n, options: o, ropes: ropes, layout: n.layoutOf(&o)}, err
}

// cacheTypes are the types of caches.
var cacheTypes = []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8, kernel.Int4}

// Check returns a [*kernel.Error] if an option is out of range, as [Load] would, or the
// error of [kernel.Exec.Check].
func (o *Options) Check() error {
	if err := o.Precision.Check("decoder: Options.Precision"); err != nil {
		return err
	}
	switch {
	case o.Context < 0 || o.Context > mostContext:
		return &kernel.Error{Where: "decoder: Options.Context", Got: fmt.Sprint(o.Context), Want: fmt.Sprintf("1 to %d, or 0", mostContext)}
	case o.PageSize < 0 || o.PageSize > mostContext:
		return &kernel.Error{Where: "decoder: Options.PageSize", Got: fmt.Sprint(o.PageSize), Want: fmt.Sprintf("1 to %d, or 0", mostContext)}
	case !slices.Contains(cacheTypes, o.CacheType):
		return &kernel.Error{Where: "decoder: Options.CacheType", Got: o.CacheType.String(), Want: "float32, float16, bfloat16, int8 or int4"}
	case !slices.Contains(cacheTypes, o.CacheValueType):
		return &kernel.Error{Where: "decoder: Options.CacheValueType", Got: o.CacheValueType.String(), Want: "float16, bfloat16, int8 or int4, or 0"}
	case o.DynamicInt12 && !o.cachesIntegers():
		return &kernel.Error{Where: "decoder: Options.DynamicInt12", Got: "true and a cache of " + o.CacheType.String(), Want: "keys and values of int8 or int4, or false"}
	case o.Threads < 0:
		return &kernel.Error{Where: "decoder: Options.Threads", Got: fmt.Sprint(o.Threads), Want: "0 or more"}
	}
	return o.Exec.Check()
}

// cachesIntegers reports whether keys and values are integers.
func (o *Options) cachesIntegers() bool {
	return isInteger(o.CacheType) && isInteger(o.ValueType())
}

// Config returns the sizes and constants of the model.
func (m *Model) Config() Config { return m.config }

// Options returns the options of the model, with defaults filled in.
func (m *Model) Options() Options { return m.options }

// leastBlock is the least that numeric.Hadamard takes.
const leastBlock = 16

// hadamardOf returns what is rotated for a model with caches, in blocks that divide the heads of
// all: also values that are the first elements of keys.
func (o *Options) hadamardOf(all []kvcache.Config) engine.Hadamard {
	sizes := 0
	for _, c := range all {
		sizes |= c.HeadSize | c.ValueSize
	}
	block := sizes & -sizes
	if o.Unrotated || !o.CachesInt4() || block < leastBlock {
		return engine.Hadamard{}
	}
	return engine.Hadamard{Block: block, Keys: isInteger(o.CacheType), Values: isInteger(o.ValueType())}
}

// ValueType returns the type of the values that are kept: CacheValueType, or CacheType without one.
func (o *Options) ValueType() kernel.DType {
	if o.CacheValueType == kernel.Float32 {
		return o.CacheType
	}
	return o.CacheValueType
}

func isInteger(t kernel.DType) bool { return t == kernel.Int8 || t == kernel.Int4 }

// CachesInt4 reports whether keys or values that are kept are Int4, to which Unrotated applies.
func (o *Options) CachesInt4() bool {
	return o.CacheType == kernel.Int4 || o.ValueType() == kernel.Int4
}
