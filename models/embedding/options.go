package embedding

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/precision"
)

// Options are the settings of an [Embedder]. None but Prompt, Dimensions and Split with Overlap
// changes a bit of a result.
type Options struct {
	// Exec says how every call of a kernel is executed: on which tier, with how many threads.
	kernel.Exec

	// BatchTokens is how many tokens are computed together, of several texts; 0 means 512. A longer
	// text is computed alone. More tokens give threads more work; fewer keep the activations in the
	// cache: a token of MiniLM takes 9 KiB.
	BatchTokens int

	// RefuseLong makes [Embedder.Embed] return an error of the kind [ErrLong] for a text of more
	// than [Embedder.MaxTokens]. Otherwise it sees only the beginning of such a text.
	RefuseLong bool

	// Prompt is the name of a text of [Embedder.Prompts] that is put before every text, such as
	// query. "" means the default of the model, which may be none.
	Prompt string

	// Dimensions is how many numbers of a vector are kept, the first ones, which then are divided
	// by their L2 norm again if the model does so; 0 means all, or truncate_dim of the model.
	// Models that were trained for that (Matryoshka representation learning, Kusupati et al. 2022)
	// lose little by it.
	Dimensions int

	// Split cuts a text of more than [Embedder.MaxTokens] tokens into pieces of at most that, each
	// with the prompt and the tokens around a text. The vector of the text is the mean of the
	// pieces' vectors, weighted by their numbers of tokens, and divided by its L2 norm if the model
	// does so. RefuseLong has no effect then.
	Split bool

	// Overlap is how many tokens at the end of a piece begin the next piece, too, with Split: 0 or
	// more, and fewer than a piece has.
	Overlap int
}

// Tokens returns BatchTokens with its default.
func (o *Options) Tokens() int {
	if o.BatchTokens == 0 {
		return 512
	}
	return o.BatchTokens
}

// Check returns a [*kernel.Error] for an option that no model takes.
func (o *Options) Check() error {
	for _, x := range []struct {
		name string
		n    int
	}{{"BatchTokens", o.BatchTokens}, {"Dimensions", o.Dimensions}, {"Overlap", o.Overlap}, {"Threads", o.Exec.Threads}} {
		if x.n < 0 {
			return &kernel.Error{Where: "Options." + x.name, Got: fmt.Sprint(x.n), Want: "0 or more"}
		}
	}
	return nil
}

// LoadOptions are settings of a model that change its results.
type LoadOptions struct {
	// Precision is what the products of linear layers are computed with; the zero value is float32.
	// Embeddings have the same bits on every CPU; another precision has other bits.
	//
	// With precision.BFloat16 weights take half of the memory of float32, and the cosine of an
	// embedding of MiniLM with float32's is 0.9999 or more. Decoders keep weights in blocks as they
	// are.
	//
	// The head of SPLADE that predicts words stays float32 with any of them.
	//
	// With precision.Int8 weights and inputs are rounded to 8 bits in blocks of 32, see
	// [linear.QuantizeInt8] and [linear.Options]. These weights take a quarter of the memory, and
	// texts less time: for MiniLM the cosine is 0.9993 or more from 10 tokens on, and 0.9985 or
	// more below. Columns of the states are sorted by size, so that large ones share blocks, unless
	// the file has quantized weights, which keep their blocks. The widths of the model and its
	// inner layers are multiples of 32. In decoders it rounds inputs alone, of layers with
	// quantized weights, see the Options of package decoder.
	Precision precision.Precision

	// Unit divides vectors by their L2 norms also if modules.json does not ask for that.
	Unit bool

	// Context is the most tokens of a text for a decoder; 0 means what it was trained for, but at
	// most 4096, as its cache of keys and values has room for them. Encoders ignore it.
	Context int

	// LoRA are adapters that are merged into the weights, in their order, see package lora. A
	// static table takes none.
	LoRA []lora.Adapter

	// KeepPacked keeps the weights in a file beside the model, as in the Options of package
	// decoder. A static table has none to keep.
	KeepPacked bool

	// Progress, if not nil, is told how many bytes of the tensors are read, from 0 to all of them,
	// by the goroutine that loads. It changes no result.
	Progress func(done, total int64)
}
