package tokenizer

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
)

// Types of tokens in GGUF files.
const (
	typeNormal  = 1
	typeUnknown = 2 // stands for what has no token
	typeControl = 3 // a special token
	typeUser    = 4 // added to a vocabulary: found in texts before they are split
	typeUnused  = 5
	typeByte    = 6
)

// ggufFile is what a file says of tokens.
type ggufFile struct {
	*gguf.File
	tokens []string
	types  []int64 // nil for none
	roles  map[string]int32
	ids    map[string]int32
	start  bool // BOS before a text
	end    bool // EOS after it
	sep    bool // SEP after it
}

// ggufModels are the kinds of vocabularies, by their names in files.
var ggufModels = map[string]func(*ggufFile) (config, error){
	"bert":   (*ggufFile).bert,
	"gemma4": (*ggufFile).gemma,
	"gpt2":   (*ggufFile).byteLevel,
	"llama":  (*ggufFile).sentencePiece,
	"t5":     (*ggufFile).unigram,
}

// FromGGUF returns the tokenizer that a GGUF file has. Kinds of tokenizer.ggml.model are bert,
// gemma4 (BPE of characters), gpt2 (byte level BPE), llama (SentencePiece's BPE) and t5 (its
// unigram model). They have the meaning that Hugging Face's tokenizers have for the models that the
// files were made of, but that no text leads to a special token by merging.
//
// Errors are of type *kernel.Error.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	const key = "tokenizer.ggml."
	model, err := f.String(key + "model")
	if err != nil {
		return nil, err
	}
	read, ok := ggufModels[model]
	if !ok {
		return nil, &kernel.Error{Where: "tokenizer: " + key + "model", Got: fmt.Sprintf("%q", model), Want: "one of bert, gemma4, gpt2, llama, t5"}
	}
	g := &ggufFile{File: f, roles: map[string]int32{}}
	g.start, g.end, g.sep = model == "llama" || model == "bert", model == "t5", model == "bert"
	if err := g.read(); err != nil {
		return nil, err
	}
	c, err := read(g)
	if err != nil {
		return nil, err
	}
	if err := g.flags(); err != nil {
		return nil, err
	}
	if c.single, c.pair, err = g.templates(); err != nil {
		return nil, err
	}
	c.roles = g.roles
	return newTokenizer(c)
}

// read reads what all kinds have.
func (g *ggufFile) read() (err error) {
	tokens, err := g.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return &kernel.Error{Where: "tokenizer: tokenizer.ggml.tokens", Got: "none", Want: "at least one"}
	}
	g.tokens = slices.Clone(tokens)
	if g.types, err = g.ints("tokenizer.ggml.token_type"); err != nil {
		return err
	}
	g.ids = make(map[string]int32, len(tokens))
	for i, text := range tokens {
		if text == "" {
			return &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("token %d", i), Got: "an empty one", Want: "at least one character"}
		}
		if !utf8.ValidString(text) {
			return &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("token %d", i), Got: fmt.Sprintf("%q", text), Want: "text in UTF-8"}
		}
		if first, ok := g.ids[text]; ok {
			return &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("token %d", i), Got: fmt.Sprintf("%q as token %d", text, first), Want: "no token twice"}
		}
		g.ids[text] = int32(i)
		if t := g.kind(i); t < typeNormal || t > typeByte {
			return &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("type of token %d", i), Got: fmt.Sprint(t), Want: "1 to 6"}
		}
	}
	for key, role := range map[string]string{"bos": RoleBOS, "eos": RoleEOS, "eot": RoleEOT, "eom": RoleEOM, "unknown": RoleUnknown, "padding": RolePadding, "cls": RoleClass, "seperator": RoleSep, "mask": RoleMask} {
		if err := g.role("tokenizer.ggml."+key+"_token_id", role); err != nil {
			return err
		}
	}
	return nil
}

func (g *ggufFile) role(key, role string) error {
	if _, ok := g.Value(key); !ok {
		return nil
	}
	id, err := g.Int(key)
	if err != nil {
		return err
	}
	if id < 0 || id >= int64(len(g.tokens)) {
		return &kernel.Error{Where: "tokenizer: " + key, Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", len(g.tokens)-1)}
	}
	g.roles[role] = int32(id)
	return nil
}

// ints returns a value for each token, nil if the file has none.
func (g *ggufFile) ints(key string) ([]int64, error) {
	if _, ok := g.Value(key); !ok {
		return nil, nil
	}
	all, err := g.Ints(key)
	if err == nil && len(all) != len(g.tokens) {
		err = &kernel.Error{Where: "tokenizer: " + key, Got: fmt.Sprintf("%d values", len(all)), Want: fmt.Sprintf("%d, as there are tokens", len(g.tokens))}
	}
	return all, err
}

func (g *ggufFile) scores() ([]float64, error) {
	const key = "tokenizer.ggml.scores"
	all, err := g.Floats(key)
	if err == nil && len(all) != len(g.tokens) {
		err = &kernel.Error{Where: "tokenizer: " + key, Got: fmt.Sprintf("%d values", len(all)), Want: fmt.Sprintf("%d, as there are tokens", len(g.tokens))}
	}
	return all, err
}

// kind returns the type of a token.
func (g *ggufFile) kind(id int) int64 {
	if g.types == nil {
		return typeNormal
	}
	return g.types[id]
}

// bool returns a setting, or otherwise if the file does not have it.
func (g *ggufFile) bool(key string, otherwise bool) (bool, error) {
	if _, ok := g.Value(key); !ok {
		return otherwise, nil
	}
	return g.Bool(key)
}

// flags reads which tokens the model expects around a text.
func (g *ggufFile) flags() (err error) {
	for key, to := range map[string]*bool{"bos": &g.start, "eos": &g.end, "sep": &g.sep} {
		if *to, err = g.bool("tokenizer.ggml.add_"+key+"_token", *to); err != nil {
			return err
		}
	}
	return nil
}

// templates returns what stands around one text and two.
func (g *ggufFile) templates() (single, pair template, err error) {
	role := func(on bool, names ...string) (ids []int32) {
		for _, name := range names {
			if id, ok := g.roles[name]; ok && on {
				return []int32{id}
			}
		}
		if on && err == nil {
			err = &kernel.Error{Where: "tokenizer: tokenizer.ggml." + names[0] + "_token_id", Got: "none", Want: "one, as texts have this token around them"}
		}
		return nil
	}
	before := role(g.start, RoleBOS, RoleClass)
	after := role(g.end, RoleEOS)
	sep := role(g.sep, RoleSep, RoleEOS)
	single = around(before, slices.Concat(after, sep))
	first := templatePart{text: true}
	second := templatePart{text: true, second: true}
	model, _ := g.String("tokenizer.ggml.model")
	ends := slices.Concat(after, sep)
	pair = template{{ids: before}, first, {ids: ends}, second, {ids: ends}}
	switch {
	case model == "bert":
		pair[3].kind, pair[4].kind = 1, 1
	case len(ends) > 0 && (model == "t5" || g.sep): // as RoBERTa has it; EOS alone stands once, as llama.cpp joins the texts of a reranker
		pair = template{{ids: before}, first, {ids: ends}, {ids: ends}, second, {ids: ends}}
	}
	return single, pair, err
}

// added returns the special tokens and those that were added.
func (g *ggufFile) added() (all []addedToken) {
	for i, text := range g.tokens {
		switch g.kind(i) {
		case typeControl, typeUnknown:
			all = append(all, addedToken{text: text, id: int32(i), special: true})
		case typeUser:
			all = append(all, addedToken{text: text, id: int32(i)})
		}
	}
	return all
}

// normal returns the tokens that a text may have by being merged, by what change makes of them.
func (g *ggufFile) normal(change func(text string) string) map[string]int32 {
	ids := make(map[string]int32, len(g.tokens))
	for i, text := range g.tokens {
		switch g.kind(i) {
		case typeNormal, typeUser, typeUnused:
			ids[change(text)] = int32(i)
		}
	}
	return ids
}
