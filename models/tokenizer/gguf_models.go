package tokenizer

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer/internal/alphabet"
	"github.com/attn-go/attn/models/tokenizer/internal/bpe"
	"github.com/attn-go/attn/models/tokenizer/internal/charsmap"
	"github.com/attn-go/attn/models/tokenizer/internal/decode"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
	"github.com/attn-go/attn/models/tokenizer/internal/unigram"
)

// space is what SentencePiece writes for a space.
const space = "▁"

// bert returns WordPiece. Files mark tokens that begin a word, where BERT marks those that do not.
func (g *ggufFile) bert() (c config, err error) {
	if id, ok := g.roles[RoleBOS]; ok { // files name [CLS] and [SEP] in either way
		g.roles[RoleClass] = id
	}
	pieces := make([]string, len(g.tokens))
	for i, text := range g.tokens {
		rest, begins := strings.CutPrefix(text, space)
		switch {
		case g.kind(i) == typeControl || g.kind(i) == typeUnknown || bertRoles[text] != "":
			pieces[i] = text
		case begins:
			pieces[i] = rest
		default:
			pieces[i] = "##" + text
		}
	}
	lower := true
	for _, text := range pieces { // files do not say whether case matters; a vocabulary with capitals does
		lower = lower && (strings.HasPrefix(text, "[") || strings.ToLower(text) == text)
	}
	if lower, err = g.bool("tokenizer.ggml.normalizer.lowercase", lower); err != nil {
		return c, err
	}
	accents, err := g.bool("tokenizer.ggml.normalizer.strip_accents", lower)
	if err != nil {
		return c, err
	}
	c, err = bertConfig("tokenizer.ggml.tokens", g.tokens, pieces, normalize.Bert{Clean: true, CJK: true, Accents: accents, Lower: lower})
	if err != nil {
		return c, err
	}
	for role, id := range c.roles {
		if _, ok := g.roles[role]; !ok {
			g.roles[role] = id
		}
	}
	return c, nil
}

// byteLevel returns byte-level BPE.
func (g *ggufFile) byteLevel() (c config, err error) {
	merges, err := g.Strings("tokenizer.ggml.merges")
	if err != nil {
		return c, err
	}
	name, err := g.String("tokenizer.ggml.pre")
	if err != nil {
		return c, err
	}
	rule, ok := ggufRules[name]
	if !ok {
		return c, &kernel.Error{Where: "tokenizer: tokenizer.ggml.pre", Got: fmt.Sprintf("%q", name), Want: "one of " + ruleNames()}
	}
	if c.split, err = rule.step(); err != nil {
		return c, err
	}
	g.start, g.sep = rule.start, rule.sep
	if rule.nfc {
		c.normalize, _ = normalize.Form("NFC")
	}
	x := bpe.Config{Unknown: -1, Bytes: true, Whole: rule.whole}
	x.IDs = g.normal(func(text string) string {
		bytes, _ := alphabet.Bytes(text)
		return bytes
	})
	for i := range x.ByteIDs {
		id, ok := x.IDs[string([]byte{byte(i)})]
		if !ok {
			id = -1
		}
		x.ByteIDs[i] = id
	}
	if x.Merges, err = g.merges(merges); err != nil {
		return c, err
	}
	x.Longest = g.longest()
	m := bpe.New(x, len(g.tokens))
	c.model = func() appender { return m.Encoder() }
	c.bytes = true
	c.tokens, c.ids = g.tokens, g.ids
	c.added = g.added()
	c.decoder = []decode.Maker{decode.Each(g.bytes()), decode.Bytes()}
	return c, err
}

// longest returns the length of the longest token in bytes.
func (g *ggufFile) longest() (n int) {
	for _, text := range g.tokens {
		n = max(n, len(text))
	}
	return n
}

// bytes returns the function that turns a token into its bytes: what was added is written as it is.
func (g *ggufFile) bytes() func(token string) string {
	added := map[string]bool{}
	for i, text := range g.tokens {
		if g.kind(i) != typeNormal {
			added[text] = true
		}
	}
	return func(token string) string {
		if added[token] {
			return token
		}
		bytes, _ := alphabet.Bytes(token)
		return bytes
	}
}

func (g *ggufFile) merges(list []string) ([]bpe.Merge, error) {
	out := make([]bpe.Merge, len(list))
	for i, text := range list {
		left, right := text, ""
		if at := strings.Index(text[min(1, len(text)):], " ") + 1; at > 0 {
			left, right = text[:at], text[at+1:]
		}
		l, ok1 := g.ids[left]
		r, ok2 := g.ids[right]
		to, ok3 := g.ids[left+right]
		if !ok1 || !ok2 || !ok3 {
			return nil, &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("merge %d", i), Got: fmt.Sprintf("%q", text), Want: "two tokens with a space between them that together are a token"}
		}
		out[i] = bpe.Merge{Left: l, Right: r, To: to}
	}
	return out, nil
}

// sentencePiece returns SentencePiece's BPE, which merges what has the highest score.
func (g *ggufFile) sentencePiece() (c config, err error) {
	scores, err := g.scores()
	if err != nil {
		return c, err
	}
	prefix, err := g.bool("tokenizer.ggml.add_space_prefix", true)
	if err != nil {
		return c, err
	}
	var x bpe.Config
	for _, s := range scores {
		x.Scores = append(x.Scores, float32(s))
	}
	return g.characters(x, prefix), nil
}

// gemma returns the BPE of Gemma 4, which has a list of merges, and no pre-tokenizer:
// tokenizer.ggml.pre says nothing more. Merges that another program would make only within a line
// lead to the same tokens, as none has a line break beside something else.
func (g *ggufFile) gemma() (c config, err error) {
	merges, err := g.Strings("tokenizer.ggml.merges")
	if err != nil {
		return c, err
	}
	var x bpe.Config
	if x.Merges, err = g.merges(merges); err != nil {
		return c, err
	}
	prefix, err := g.bool("tokenizer.ggml.add_space_prefix", false)
	return g.characters(x, prefix), err
}

// characters returns a config of BPE whose pieces begin as characters, unknown ones as bytes, and
// in which a space is written as another character. x has merges or scores.
func (g *ggufFile) characters(x bpe.Config, prefix bool) (c config) {
	x.Unknown, x.FuseUnknown, x.ByteFallback, x.ByteIDs = -1, true, true, byteTokens(g.ids)
	if id, ok := g.roles[RoleUnknown]; ok {
		x.Unknown = id
	}
	x.IDs = g.normal(func(text string) string { return text })
	x.Longest = g.longest()
	m := bpe.New(x, len(g.tokens))
	c.model = func() appender { return m.Encoder() }
	c.tokens, c.ids = g.tokens, g.ids
	c.split = pretokenize.Sequence(nil)
	c.normalize = normalize.Replace(" ", space)
	if prefix {
		c.normalize = normalize.Sequence([]normalize.Func{normalize.Prepend(space), c.normalize})
	}
	c.added = g.added()
	c.decoder = []decode.Maker{decode.Each(func(token string) string { return strings.ReplaceAll(token, space, " ") }), decode.ByteFallback()}
	if prefix {
		c.decoder = append(c.decoder, decode.StripText(" ", 1, 0))
	}
	return c
}

// unigram returns SentencePiece's unigram model.
func (g *ggufFile) unigram() (c config, err error) {
	scores, err := g.scores()
	if err != nil {
		return c, err
	}
	id, ok := g.roles[RoleUnknown]
	if !ok {
		return c, &kernel.Error{Where: "tokenizer: tokenizer.ggml.unknown_token_id", Got: "none", Want: "one"}
	}
	x := unigram.Config{Tokens: g.tokens, Scores: scores, Unknown: id}
	for i, text := range g.tokens {
		if len(text) > unigram.MaxToken {
			return c, &kernel.Error{Where: "tokenizer: " + fmt.Sprintf("token %d", i), Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("at most %d", unigram.MaxToken)}
		}
	}
	x.Worst = func(id int32) bool { return g.kind(int(id)) == typeNormal }
	x.Matches = func(id int32) bool {
		k := g.kind(int(id))
		return k == typeNormal || k == typeUser || k == typeUnused
	}
	m := unigram.New(x)
	c.model = func() appender { return m.Encoder() }
	c.tokens, c.ids = g.tokens, g.ids
	prefix, err := g.bool("tokenizer.ggml.add_space_prefix", true)
	if err != nil {
		return c, err
	}
	if c.normalize, err = g.rules(prefix); err != nil {
		return c, err
	}
	c.split = pretokenize.Sequence(nil)
	c.added = g.added()
	c.decoder = []decode.Maker{decode.Metaspace(space, prefix)}
	return c, err
}

// rules returns how SentencePiece normalizes texts.
func (g *ggufFile) rules(prefix bool) (normalize.Func, error) {
	const key = "tokenizer.ggml.precompiled_charsmap"
	var all []normalize.Func
	if _, ok := g.Value(key); ok {
		ints, err := g.Ints(key)
		if err != nil {
			return nil, err
		}
		data := make([]byte, len(ints))
		for i, b := range ints {
			data[i] = byte(b)
		}
		m, err := charsmap.New(data)
		if err != nil {
			return nil, &kernel.Error{Where: "tokenizer: " + key, Got: err.Error(), Want: "rules that SentencePiece has compiled"}
		}
		all = append(all, m.Prefixes)
	}
	merge, err := g.bool("tokenizer.ggml.remove_extra_whitespaces", false)
	if merge {
		all = append(all, mergeSpaces)
	}
	all = append(all, normalize.Replace(" ", space))
	if merge {
		all = append(all, func(text string) string { return strings.TrimRight(text, space) })
	}
	if prefix {
		all = append(all, normalize.Prepend(space))
	}
	return normalize.Sequence(all), err
}

// mergeSpaces makes one space of those after each other, and drops those at the ends.
func mergeSpaces(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' }), " ")
}
