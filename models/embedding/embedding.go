// Package embedding makes vectors of texts: it has what comes before and after a model of states of
// tokens, the same for encoders, decoders and tables of vectors. Before it come the prompt and the
// tokenizer; after it the pooling, the modules of sentence-transformers (Dense, Normalize), and
// the cut to fewer dimensions.
//
// An [Embedder] is made by package encoder, decoder or static, or by models.OpenEmbedder, which
// finds out what a model needs. [Float16] and [Int8] make smaller numbers of vectors.
package embedding

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Model computes the states of tokens. It is for any number of goroutines at once.
type Model interface {
	// States calls each with the states of every text, [tokens, width], in any order. They are
	// valid during the call alone. The ids are checked. types are the types of tokens; nil for a
	// text, or for all, means type 0. It may leave out rows that the pooling does not look at; ""
	// looks at all. An error of each ends it, and so does ctx, with its error.
	States(ctx context.Context, ids, types [][]int32, o *Options, how Pooling, each func(text int, states []float32) error) error
}

// Parts are what an [Embedder] consists of.
type Parts struct {
	Model     Model
	Tokenizer *tokenizer.Tokenizer
	NoSpecial bool        // texts get no tokens around them
	Drop      int32       // a token that is left out of texts, or -1
	Modules   *Modules    // what else is done with a text
	Steps     []Step      // the modules after the pooling, see [ReadSteps]
	Sparse    *SparseHead // of models with weights of tokens, or nil
	Tokens    []Step      // layers that make vectors of tokens, as in bge-m3; see [Dense]
	Vocab     int         // ids that tokens may have
	Width     int         // of a state
	MaxTokens int         // to which a text is cut
	Positions int         // the most tokens that the model can take
	Empty     bool        // a text may be without tokens: its vector is zeros
}

// An Embedder is an embedding model that is loaded. It is immutable: any number of goroutines may
// use it at once.
type Embedder struct {
	p     *Parts
	late  *late // makes vectors of tokens, or nil
	width int   // of a vector, without Options.Dimensions
	opts  Options
}

// NewLate returns the Embedder of parts whose Modules have a Late. The error is a [*kernel.Error].
func NewLate(p Parts) (_ *Embedder, err error) {
	e := New(p)
	e.late, err = newLate(&p)
	return e, err
}

// New returns the Embedder of its parts.
func New(p Parts) *Embedder {
	e := &Embedder{p: &p, width: p.Width * len(p.Modules.Poolings)}
	for _, s := range p.Steps {
		if s.width > 0 {
			e.width = s.width
		}
	}
	if len(p.Tokens) > 0 {
		e.late = besideVectors(&p)
	}
	return e
}

// With returns an Embedder with other settings that shares the weights.
func (e *Embedder) With(opts Options) *Embedder {
	f := *e
	f.opts = opts
	return &f
}

// Options returns the settings.
func (e *Embedder) Options() Options { return e.opts }

// Width returns the number of elements of an embedding: Options.Dimensions, or else what the model
// has or is cut to.
func (e *Embedder) Width() int {
	if n := cmp.Or(e.opts.Dimensions, e.p.Modules.Dimensions); n > 0 {
		return min(n, e.width)
	}
	return e.width
}

// MaxTokens returns the number of tokens to which a text is cut, with the tokens around it.
func (e *Embedder) MaxTokens() int { return e.p.MaxTokens }

// Vocab returns the number of ids that tokens may have.
func (e *Embedder) Vocab() int { return e.p.Vocab }

// Tokenizer returns the tokenizer of the model.
func (e *Embedder) Tokenizer() *tokenizer.Tokenizer { return e.p.Tokenizer }

// Prompts returns the texts that may be put before a text, by their names, as
// config_sentence_transformers.json has them. Do not change them.
func (e *Embedder) Prompts() map[string]string { return e.p.Modules.Prompts }

// Embed returns the embeddings of texts, each of [Embedder.Width]: the pooling of the states of all
// tokens of a text, including the tokens around it, and what modules.json has after it. Of a text
// of more than [Embedder.MaxTokens] only the beginning counts, unless Options.Split pools all of it
// or Options.RefuseLong makes it an error: [Embedder.CountTokens] tells. Without texts the result
// is empty. Bytes that are not UTF-8 are left out.
//
// If ctx ends, its error is returned soon, without any embedding. Other errors are about Options: a
// [*kernel.Error], of the kind [ErrLong] if a text is too long.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all, err := e.cut(ctx, texts)
	if err != nil {
		return nil, err
	}
	vectors, err := e.vectors(ctx, all.ids, all.prompts)
	if err != nil {
		return nil, err
	}
	return e.joined(all, vectors), nil
}

// cut checks the options and returns the tokens of texts, as the model sees them.
func (e *Embedder) cut(ctx context.Context, texts []string) (*pieces, error) {
	if err := e.checkOptions(); err != nil {
		return nil, err
	}
	all := &pieces{}
	for i, text := range texts {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e.opts.RefuseLong && !e.opts.Split {
			if n := e.CountTokens(text); n > e.p.MaxTokens {
				return nil, &kernel.Error{Where: fmt.Sprintf("embedding: text %d", i), Got: fmt.Sprintf("%d tokens", n), Want: fmt.Sprintf("at most %d", e.p.MaxTokens), Kind: ErrLong}
			}
		}
		if e.opts.Split {
			e.split(all, text)
		} else {
			all.add(e.promptTokens(), e.Tokens(text))
		}
	}
	return all, nil
}

// CountTokens returns how many tokens a text has, with the tokens around it. Of more than
// [Embedder.MaxTokens] the model sees the first ones only, unless Options.Split is set.
func (e *Embedder) CountTokens(text string) int { return len(e.encode(text, 0)) }

// Tokens returns the ids of a text, with the tokens around it. It leaves out tokens at the text's
// end beyond [Embedder.MaxTokens]: [Embedder.CountTokens] tells.
func (e *Embedder) Tokens(text string) []int32 { return e.encode(text, e.p.MaxTokens) }

// Fits tells whether a text has at most [Embedder.MaxTokens] tokens, including the tokens around
// it. Unlike CountTokens it does not count the tokens of a text that is far longer.
func (e *Embedder) Fits(text string) bool {
	if e.p.Drop >= 0 { // how many tokens are left is known in the end
		return e.CountTokens(text) <= e.p.MaxTokens
	}
	_, fits := e.p.Tokenizer.EncodeWithin(e.Prompt()+text, tokenizer.Options{Limit: e.p.MaxTokens, NoSpecial: e.p.NoSpecial})
	return fits
}

// encode returns the ids of a text with its prompt, at most limit of them if that is not 0.
func (e *Embedder) encode(text string, limit int) []int32 {
	text = e.Prompt() + text
	ids := e.p.Tokenizer.Encode(text, tokenizer.Options{Limit: limit, NoSpecial: e.p.NoSpecial})
	if e.p.Drop >= 0 {
		ids = slices.DeleteFunc(ids, func(id int32) bool { return id == e.p.Drop })
	}
	return ids
}

// EmbedTokens is [Embedder.Embed] for texts that are tokens already. Their ids belong to the
// vocabulary, and a text has at least one token and at most as many as the model has positions,
// which may be more than MaxTokens. Otherwise the error is a [*kernel.Error].
func (e *Embedder) EmbedTokens(ctx context.Context, ids [][]int32) ([][]float32, error) {
	if err := e.checkOptions(); err != nil {
		return nil, err
	}
	return e.vectors(ctx, ids, nil)
}

// EmbedEncoded is EmbedTokens for the results of [Embedder.Tokens]: as in [Embedder.Embed], the
// prompt does not count in the pooling of models that leave it out.
func (e *Embedder) EmbedEncoded(ctx context.Context, ids [][]int32) ([][]float32, error) {
	if err := e.checkOptions(); err != nil {
		return nil, err
	}
	n := e.promptTokens()
	if n == 0 {
		return e.vectors(ctx, ids, nil)
	}
	return e.vectors(ctx, ids, slices.Repeat([]int{n}, len(ids)))
}

// vectors computes the embeddings of texts. The first tokens of each, as many as prompts has, do
// not count in the pooling; nil stands for zeros.
func (e *Embedder) vectors(ctx context.Context, ids [][]int32, prompts []int) ([][]float32, error) {
	if err := e.checkVector(); err != nil {
		return nil, err
	}
	if bad := e.checkAll(ids); bad != nil {
		return nil, bad
	}
	width := e.Width()
	all := make([]float32, len(ids)*width)
	out := make([][]float32, len(ids))
	for i := range out {
		out[i] = all[i*width : (i+1)*width : (i+1)*width]
	}
	poolings := e.p.Modules.Poolings
	v, how := make([]float64, e.p.Width*len(poolings)), Pooling("")
	if len(poolings) == 1 && (prompts == nil || poolings[0] == PoolLast) { // the first row that counts may be another one
		how = poolings[0]
	}
	err := e.p.Model.States(ctx, ids, nil, &e.opts, how, func(text int, states []float32) error {
		first := 0
		if prompts != nil && (how == "" || prompts[text] >= len(ids[text])) {
			first = prompts[text]
		}
		return e.finish(out[text], states, v, first)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// HasVector tells whether the model has a vector for a text, see [Embedder.Embed].
func (e *Embedder) HasVector() bool { return e.checkVector() == nil }

func (e *Embedder) checkVector() error {
	switch {
	case e.p.Modules.Late != nil:
		return ErrTokenVectors
	case e.p.Modules.Words:
		return ErrSparseOnly
	}
	return nil
}

// checkAll reports what is wrong with the tokens of texts, or returns nil.
func (e *Embedder) checkAll(ids [][]int32) error {
	for i, text := range ids {
		if bad := e.CheckTokens(text); bad != nil {
			bad.Where = fmt.Sprintf("ids[%d]", i) + bad.Arg()
			return bad
		}
	}
	return nil
}

// CheckTokens reports what is wrong with the tokens of a text, or returns nil. Its Arg is what
// follows the name of the text.
func (e *Embedder) CheckTokens(ids []int32) *kernel.Error {
	return CheckTokens(ids, e.p.Vocab, e.p.Positions, e.p.Empty)
}

// CheckTokens reports tokens beyond a vocabulary and texts of more tokens than positions, or
// without any, or returns nil. Its Arg is what follows the name of the text.
func CheckTokens(ids []int32, vocab, positions int, empty bool) *kernel.Error {
	if len(ids) < 1 && !empty || len(ids) > positions {
		return &kernel.Error{Got: fmt.Sprintf("%d tokens", len(ids)), Want: fmt.Sprintf("1 to %d", positions)}
	}
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return &kernel.Error{Where: fmt.Sprintf("[%d]", i), Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", vocab-1)}
		}
	}
	return nil
}

// Prompt returns the text that is put before every text: Options.Prompt's, or else the default of
// the model, which may be "".
func (e *Embedder) Prompt() string {
	name := e.opts.Prompt
	if name == "" {
		name = e.p.Modules.DefaultPrompt
	}
	return e.p.Modules.Prompts[name]
}

// checkOptions reports the first option that does not fit.
func (e *Embedder) checkOptions() error {
	o := &e.opts
	if err := o.Check(); err != nil {
		return err
	}
	bad := func(arg, got, want string) error {
		return &kernel.Error{Where: "Options." + arg, Got: got, Want: want}
	}
	if _, ok := e.p.Modules.Prompts[o.Prompt]; !ok && o.Prompt != "" {
		want := "none, as the model has no prompts"
		if len(e.p.Modules.Prompts) > 0 {
			want = fmt.Sprintf("one of %q", slices.Sorted(maps.Keys(e.p.Modules.Prompts)))
		}
		return bad("Prompt", fmt.Sprintf("%q", o.Prompt), want)
	}
	if o.Dimensions > e.width {
		return bad("Dimensions", fmt.Sprint(o.Dimensions), fmt.Sprintf("0 to %d", e.width))
	}
	if room := e.room(); o.Split && o.Overlap >= room {
		return bad("Overlap", fmt.Sprint(o.Overlap), fmt.Sprintf("less than %d, the tokens of a piece without those around it", room))
	}
	return nil
}
