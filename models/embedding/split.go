package embedding

import (
	"slices"

	"github.com/attn-go/attn/models/tokenizer"
)

// pieces are the pieces of texts, one text after the other.
type pieces struct {
	ids     [][]int32
	prompts []int // how many tokens of each piece, its first ones, do not count in the pooling
	counts  []int // of the pieces of each text
}

// add adds the pieces of a text, whose first tokens do not count in the pooling.
func (p *pieces) add(prompt int, ids ...[]int32) {
	p.ids, p.counts = append(p.ids, ids...), append(p.counts, len(ids))
	for range ids {
		p.prompts = append(p.prompts, prompt)
	}
}

// promptTokens returns how many tokens of a text do not count in the pooling: the tokens of its
// prompt and before it, if the model leaves them out. As in sentence-transformers, these are as
// many as the prompt has as a text alone, but for a special token at its end.
func (e *Embedder) promptTokens() int {
	if !e.p.Modules.WithoutPrompt || e.Prompt() == "" {
		return 0
	}
	ids := e.Tokens("")
	if n := len(ids); n > 0 && e.p.Tokenizer.Special(ids[n-1]) {
		return n - 1
	}
	return len(ids)
}

// room returns how many tokens of a text a piece has, its prompt included.
func (e *Embedder) room() int {
	if e.p.NoSpecial {
		return e.p.MaxTokens
	}
	before, after := e.p.Tokenizer.Ends()
	return e.p.MaxTokens - len(before) - len(after)
}

// split adds the pieces of a text: one if it fits.
func (e *Embedder) split(to *pieces, text string) {
	if whole := e.encode(text, 0); len(whole) <= e.p.MaxTokens {
		to.add(e.promptTokens(), whole)
		return
	}
	plain := tokenizer.Options{NoSpecial: true}
	ids := e.p.Tokenizer.Encode(e.Prompt()+text, plain)
	if e.p.Drop >= 0 {
		ids = slices.DeleteFunc(ids, func(id int32) bool { return id == e.p.Drop })
	}
	var before, after []int32
	if !e.p.NoSpecial {
		before, after = e.p.Tokenizer.Ends()
	}
	// The tokens of the prompt are those that it has alone and before the text: its last one may be
	// another before the text.
	prompt := e.p.Tokenizer.Encode(e.Prompt(), plain)
	n := 0
	for n < len(prompt) && n < len(ids) && prompt[n] == ids[n] {
		n++
	}
	room := e.room() - n
	if room <= e.opts.Overlap { // no room for the prompt in every piece
		n, room = 0, e.room()
	}
	before, ids = slices.Concat(before, ids[:n]), ids[n:]
	skip := 0
	if e.p.Modules.WithoutPrompt && n > 0 {
		skip = len(before)
	}
	var all [][]int32
	for at := 0; ; at += room - e.opts.Overlap {
		end := min(at+room, len(ids))
		all = append(all, slices.Concat(before, ids[at:end], after))
		if end == len(ids) {
			to.add(skip, all...)
			return
		}
	}
}

// joined returns a vector for each text.
func (e *Embedder) joined(p *pieces, vectors [][]float32) [][]float32 {
	out, at := make([][]float32, len(p.counts)), 0
	for i, n := range p.counts {
		if out[i] = vectors[at]; n > 1 {
			out[i] = e.join(p.ids[at:at+n], vectors[at:at+n])
		}
		at += n
	}
	return out
}

// join returns the mean of vectors, with the numbers of tokens as weights. Sums are of float64,
// from the first piece to the last.
func (e *Embedder) join(ids [][]int32, vectors [][]float32) []float32 {
	v, tokens := make([]float64, len(vectors[0])), 0.0
	for i, x := range vectors {
		weight := float64(len(ids[i]))
		tokens += weight
		for j, y := range x {
			v[j] += float64(weight * float64(y))
		}
	}
	for j := range v {
		v[j] /= tokens
	}
	if e.normalises() {
		normalise(v)
	}
	out := make([]float32, len(v))
	for j, y := range v {
		out[j] = float32(y)
	}
	return out
}
