// Package encoder computes embeddings of texts with encoders such as all-MiniLM-L6-v2 (see [Load] for the
// architectures), and scores passages for a query with cross-encoders, see [LoadReranker].
//
// [Load] reads a model from a folder as Hugging Face has it, or finds one that was fetched. [Encoder.Embed] turns texts into
// unit vectors, whose scalar product is the cosine of two texts.
//
// An embedding has the same bits on every CPU, with any number of threads, and whatever other
// texts are in the call. The texts of a batch follow one another without padding.
package encoder

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/tokenizer"
)

// An Encoder is a model that is loaded. It is immutable: any number of goroutines may use it
// at once.
type Encoder struct {
	*model
	tokenizer *tokenizer.Tokenizer
	modules   *folder.Modules
	dir       string
	after     []after
	width     int // of an embedding
	maxTokens int
	opts      Options
	free      *sync.Pool // of *scratch
}

// Options are the settings of an Encoder. None but Prompt changes a bit of a result.
type Options struct {
	// Exec says how every call of a kernel is executed: on which tier, with how many threads.
	kernel.Exec

	// BatchTokens is how many tokens texts have that are computed together; 0 means 512. A
	// longer text is computed alone. With more tokens threads find more work, with fewer the
	// activations stay in the cache: a token of MiniLM takes 9 KiB.
	BatchTokens int

	// RefuseLong makes [Encoder.Embed] return a [*LengthError] for a text of more than
	// [Encoder.MaxTokens]. Otherwise it sees only the beginning of such a text.
	RefuseLong bool

	// Prompt is the name of a text of [Encoder.Prompts] that is put before every text, such as
	// query. "" means the default of the model, which may be none.
	Prompt string
}

// With returns an Encoder with other settings that shares the weights.
func (e *Encoder) With(opts Options) *Encoder {
	f := *e
	f.opts = opts
	return &f
}

// Width returns the number of elements of an embedding.
func (e *Encoder) Width() int { return e.width }

// MaxTokens returns the number of tokens to which a text is cut, [CLS] and [SEP] included.
func (e *Encoder) MaxTokens() int { return e.maxTokens }

// Vocab returns the number of ids that tokens may have.
func (e *Encoder) Vocab() int { return e.model.Vocab }

// Embed returns the embeddings of texts: the pooling of the outputs of the model for all tokens
// of a text, those around it included, and what modules.json has after it. Of a text of more than
// [Encoder.MaxTokens] only the beginning counts, unless Options.RefuseLong makes it an error:
// [Encoder.CountTokens] tells. Without texts the result is empty. Bytes that are not UTF-8
// are left out.
//
// If ctx ends, its error is returned soon, without any embedding. Other errors are those of
// Options: a [*kernel.ArgumentError], a [*kernel.TierError] or a [*LengthError].
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ids := make([][]int32, len(texts))
	for i, text := range texts {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ids[i] = e.Tokens(text); e.opts.RefuseLong {
			if n := e.CountTokens(text); n > e.maxTokens {
				return nil, &LengthError{Text: i, Tokens: n, Max: e.maxTokens}
			}
		}
	}
	return e.EmbedTokens(ctx, ids)
}

// CountTokens returns how many tokens a text has, [CLS] and [SEP] included. If these are more than
// [Encoder.MaxTokens], the model sees the first of them only.
func (e *Encoder) CountTokens(text string) int {
	return len(e.tokenizer.Encode(e.prompted(text), tokenizer.Options{}))
}

// Tokens returns the ids of a text, [CLS] and [SEP] included. If these were more than
// [Encoder.MaxTokens], tokens at the text's end are left out: [Encoder.CountTokens] tells.
func (e *Encoder) Tokens(text string) []int32 {
	return e.tokenizer.Encode(e.prompted(text), tokenizer.Options{Limit: e.maxTokens})
}

// EmbedTokens is [Encoder.Embed] for texts that are tokens already. Their ids are those of the
// vocabulary, and a text has at least one of them and at most as many as the model has
// positions, which may be more than MaxTokens. Otherwise the error is a
// [*kernel.ArgumentError].
func (e *Encoder) EmbedTokens(ctx context.Context, ids [][]int32) ([][]float32, error) {
	if err := e.opts.check(); err != nil {
		return nil, err
	}
	for i, text := range ids {
		if bad := e.checkTokens(text); bad != nil {
			bad.Arg = fmt.Sprintf("ids[%d]", i) + bad.Arg
			return nil, bad
		}
	}
	if err := e.checkPrompt(); err != nil {
		return nil, err
	}
	width := e.model.Width
	all := make([]float32, len(ids)*e.width)
	out := make([][]float32, len(ids))
	for i := range out {
		out[i] = all[i*e.width : (i+1)*e.width : (i+1)*e.width]
	}
	s := e.free.Get().(*scratch)
	defer e.free.Put(s)
	for batch := range batches(ids, e.opts.batchTokens()) {
		x, err := e.forward(ctx, s, batch, ids, nil, nil)
		if err != nil {
			return nil, err
		}
		for i, text := range batch {
			if err := e.finish(out[text], x[s.starts[i]*width:s.starts[i+1]*width], s); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// HiddenStates returns what the model computes for one text: the output of the embedding block
// and then that of each layer, [tokens, Width]. The errors are those of EmbedTokens.
func (e *Encoder) HiddenStates(ctx context.Context, ids []int32) ([][]float32, error) {
	if bad := e.checkTokens(ids); bad != nil {
		bad.Arg = "ids" + bad.Arg
		return nil, bad
	}
	var states [][]float32
	s := e.free.Get().(*scratch)
	defer e.free.Put(s)
	_, err := e.forward(ctx, s, []int{0}, [][]int32{ids}, nil, func(x []float32) {
		states = append(states, append([]float32(nil), x...))
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// Prompts returns the texts that may be put before a text, by their names, as
// config_sentence_transformers.json has them. Do not change them.
func (e *Encoder) Prompts() map[string]string { return e.modules.Prompts }

// prompted returns a text with its prompt.
func (e *Encoder) prompted(text string) string {
	name := e.opts.Prompt
	if name == "" {
		name = e.modules.DefaultPrompt
	}
	return e.modules.Prompts[name] + text
}

func (e *Encoder) checkPrompt() error {
	if _, ok := e.modules.Prompts[e.opts.Prompt]; !ok && e.opts.Prompt != "" {
		return &kernel.ArgumentError{Arg: "Options.Prompt", Got: fmt.Sprintf("%q", e.opts.Prompt), Want: fmt.Sprintf("one of %q", slices.Sorted(maps.Keys(e.modules.Prompts)))}
	}
	return nil
}

func (o *Options) batchTokens() int {
	if o.BatchTokens == 0 {
		return 512
	}
	return o.BatchTokens
}

func (o *Options) check() error {
	if o.BatchTokens < 0 {
		return &kernel.ArgumentError{Arg: "Options.BatchTokens", Got: fmt.Sprint(o.BatchTokens), Want: "0 or more"}
	}
	return nil
}

// checkTokens reports what is wrong with the tokens of a text. Its Arg is what follows the name
// of the text.
func (e *Encoder) checkTokens(ids []int32) *kernel.ArgumentError {
	if len(ids) < 1 || len(ids) > e.longest() {
		return &kernel.ArgumentError{Got: fmt.Sprintf("%d tokens", len(ids)), Want: fmt.Sprintf("1 to %d", e.longest())}
	}
	for i, id := range ids {
		if id < 0 || int(id) >= e.model.Vocab {
			return &kernel.ArgumentError{Arg: fmt.Sprintf("[%d]", i), Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", e.model.Vocab-1)}
		}
	}
	return nil
}
