package wordpiece

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/models/tokenizer/internal/added"
)

// Names of the special tokens in the vocabulary.
const (
	unknown = "[UNK]"
	start   = "[CLS]"
	end     = "[SEP]"
	padding = "[PAD]"
	mask    = "[MASK]"
)

// continuation is what tokens begin with that do not begin a word.
const continuation = "##"

// Tokenizer is a vocabulary with its settings. It does not change and is safe for concurrent use.
type Tokenizer struct {
	opts     Options
	vocab    []string
	words    vocabulary // tokens that begin a word
	rests    vocabulary // tokens that continue a word, without ##
	special  *added.Set // what is parsed in texts
	unk      int32
	cls, sep int32
}

// New returns a tokenizer with a vocabulary: a token's index is its id. The vocabulary has the
// tokens [UNK], [CLS] and [SEP], and no token twice. New keeps the slice. Errors are of type
// *ConfigError.
func New(vocab []string, opts Options) (*Tokenizer, error) {
	t, ids, err := newTokenizer(vocab, opts)
	if err != nil {
		return nil, err
	}
	var special []added.Token
	for _, text := range [...]string{unknown, start, end, padding, mask} {
		if id, ok := ids[text]; ok {
			special = append(special, added.Token{Text: text, ID: id})
		}
	}
	t.parse(special)
	return t, nil
}

// newTokenizer returns a tokenizer that parses no special tokens yet, and the ids of all tokens.
func newTokenizer(vocab []string, opts Options) (*Tokenizer, map[string]int32, error) {
	if opts.MaxWord < 0 || opts.MaxWord > maxWord {
		return nil, nil, &ConfigError{"Options.MaxWord", fmt.Sprint(opts.MaxWord), fmt.Sprintf("0 to %d", maxWord)}
	}
	if opts.MaxWord == 0 {
		opts.MaxWord = 100
	}
	if len(vocab) == 0 || len(vocab) > math.MaxInt32 {
		return nil, nil, &ConfigError{"the vocabulary", fmt.Sprintf("%d tokens", len(vocab)), "1 to 2147483647"}
	}
	t := &Tokenizer{opts: opts, vocab: vocab}
	ids := make(map[string]int32, len(vocab))
	for i, token := range vocab {
		if token == "" {
			return nil, nil, &ConfigError{fmt.Sprintf("token %d", i), "an empty one", "at least one character"}
		}
		if first, ok := ids[token]; ok {
			return nil, nil, &ConfigError{fmt.Sprintf("token %d", i), fmt.Sprintf("%q as token %d", token, first), "no token twice"}
		}
		ids[token] = int32(i)
	}
	t.words, t.rests = vocabularies(vocab)
	for _, s := range [...]struct {
		token string
		id    *int32
	}{{unknown, &t.unk}, {start, &t.cls}, {end, &t.sep}} {
		id, ok := ids[s.token]
		if !ok {
			return nil, nil, &ConfigError{"the vocabulary", "no token " + s.token, "one, for the ends of texts and unknown words"}
		}
		*s.id = id
	}
	return t, ids, nil
}

func (t *Tokenizer) parse(special []added.Token) {
	if t.opts.PlainText {
		special = nil
	}
	t.special = added.New(special)
}

// Encode returns the ids of a text: that of [CLS], those of its tokens, and that of [SEP]. If these
// were more than maxTokens, tokens at the text's end are left out. A maxTokens below 1 sets no
// limit; 1 has the effect of 2, as [CLS] and [SEP] are always there. Bytes that are not UTF-8 are
// left out, as U+FFFD is.
func (t *Tokenizer) Encode(text string, maxTokens int) []int32 {
	limit := math.MaxInt
	if maxTokens > 0 {
		limit = max(maxTokens-1, 1)
	}
	e := encoder{t: t, limit: limit, ids: []int32{t.cls}}
	e.text(text)
	return append(e.ids[:min(len(e.ids), limit)], t.sep)
}

// Len returns the number of tokens of the vocabulary. Ids are below it.
func (t *Tokenizer) Len() int { return len(t.vocab) }

// Token returns the token with an id as the vocabulary has it, or "" if there is none.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.vocab) {
		return ""
	}
	return t.vocab[id]
}
