package server

import (
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// infills are the tokens that stand before what precedes a gap, before what follows it, and before
// what fills it, by families of models, which all want them in this order.
var infills = [][3]string{
	{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},    // Qwen, CodeGemma
	{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},          // StarCoder, SmolLM, Granite
	{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},          // SantaCoder
	{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},          // DeepSeek
	{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}, // GLM
}

// infillEnds are tokens that end what fills a gap, beside those that end every text.
var infillEnds = []string{"<|fim_pad|>", "<fim_pad>", "<|file_sep|>", "<file_sep>", "<|file_separator|>", "<|repo_name|>"}

// special returns the id of a token that is no text.
func special(tok *tokenizer.Tokenizer, name string) (id int32, ok bool) {
	id, ok = tok.ID(name)
	return id, ok && tok.Special(id)
}

// infillOf returns the tokens with which a vocabulary fills gaps, nil for none.
func infillOf(tok *tokenizer.Tokenizer) *[3]string {
	for i := range infills {
		all := true
		for _, name := range infills[i] {
			_, ok := special(tok, name)
			all = all && ok
		}
		if all {
			return &infills[i]
		}
	}
	return nil
}

// infill checks a request that wants a gap filled, and adds what ends that.
func (g *generator) infill(w *request.Generate) error {
	if w.Suffix == nil {
		return nil
	}
	tok, err := g.m.Tokenizer()
	switch {
	case err != nil || infillOf(tok) == nil:
		return badParam("suffix", "suffix: got one, want none, as %q has no tokens to fill a gap with", g.name)
	case w.Echo:
		return badParam("suffix", "suffix: got one with echo, want one of them")
	case len(w.Tokens) > 0:
		return badParam("suffix", "suffix: got one with tokens as the prompt, want a text")
	}
	for _, name := range infillEnds {
		if id, ok := special(tok, name); ok {
			w.Stop = append(w.Stop, id)
		}
	}
	return nil
}

// encode returns the tokens of a text that goes on, or of one with a gap behind it.
func (g *generator) encode(w *request.Generate, text string, most int) (ids []int32, fits bool, err error) {
	if w.Suffix == nil {
		return g.m.EncodeWithin(text, true, most)
	}
	tok, err := g.m.Tokenizer()
	if err != nil {
		return nil, false, err
	}
	marks := infillOf(tok)
	return g.m.EncodeParts([]tokenizer.Part{{Text: marks[0], Special: true}, {Text: text}, {Text: marks[1], Special: true}, {Text: *w.Suffix}, {Text: marks[2], Special: true}}, most)
}
