package tokenizer

import (
	"slices"
	"sync"

	"github.com/attn-go/attn/models/tokenizer/internal/decode"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
)

// Tokenizer is a vocabulary with its rules. It does not change and is safe for concurrent use.
type Tokenizer struct {
	config
	special map[int32]bool
	changed map[int32]string // added tokens that normalizing changes, as decoders see them
	exact   *finder          // added tokens as they are written
	normal  *finder          // added tokens after normalizing
	marks   *finder          // special tokens of any kind as they are written, for EncodeParts
	free    sync.Pool
	first   func() []string // by id: what decoders see, after the steps that change each token by itself
}

// config is what the files say.
type config struct {
	tokens    []string         // by id; "" where there is none
	ids       map[string]int32 // of all tokens
	added     []addedToken
	normalize normalize.Func // nil for none
	split     pretokenize.Step
	model     func() appender
	bytes     bool // texts need not be UTF-8
	chunks    bool // a text can be cut between a space and a letter of ASCII
	lower     bool // normalize has Lowercase
	left      bool // what is left out of a text that is too long is its beginning
	single    template
	pair      template
	decoder   []decode.Maker
	roles     map[string]int32
	unknown   int32 // the id of the token of unknown words in tokenizer.json, or -1
}

// appender appends the ids of a piece. One goroutine at a time uses it.
type appender interface {
	Append(ids []int32, piece string) []int32
}

// newTokenizer returns the tokenizer of what files say.
func newTokenizer(c config) (*Tokenizer, error) {
	t := &Tokenizer{config: c, special: map[int32]bool{}, changed: map[int32]string{}}
	var exact, normal, marks []addedToken
	for _, a := range c.added {
		if a.special {
			t.special[a.id] = true
			marks = append(marks, a)
		}
		if !a.normalized {
			exact = append(exact, a)
			continue
		}
		if c.normalize != nil {
			written := a.text
			if a.text = c.normalize(written); a.text != written {
				t.changed[a.id] = a.text
			}
		}
		if a.text != "" {
			normal = append(normal, a)
		}
	}
	var err error
	for _, f := range []struct {
		to  **finder
		all []addedToken
	}{{&t.exact, exact}, {&t.normal, normal}, {&t.marks, marks}} {
		if *f.to, err = newFinder(f.all); err != nil {
			return nil, err
		}
	}
	t.first = sync.OnceValue(func() []string {
		chain, all := decode.New(t.decoder), make([]string, t.Len())
		for id := range all {
			if text := t.written(int32(id)); text != "" {
				all[id] = chain.First(text)
			}
		}
		return all
	})
	t.free.New = func() any { return &run{t: t, model: c.model()} }
	return t, nil
}

// Lower returns a tokenizer that makes the letters of a text lower case before its normalizer sees
// them, unless this has a Lowercase. Tokens that are written in a text and are found before it is
// normalized, such as [SEP], stay. So does version 6 of sentence-transformers with do_lower_case.
func (t *Tokenizer) Lower() (*Tokenizer, error) {
	c := t.config
	switch {
	case c.lower:
		return t, nil
	case c.normalize == nil:
		c.normalize = normalize.Lowercase
	default:
		c.normalize = normalize.Sequence([]normalize.Func{normalize.Lowercase, c.normalize})
	}
	return newTokenizer(c)
}

// Len returns the number of ids: every id is below it. Some may have no token.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns the token with an id as the vocabulary has it, or "" if there is none.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// written returns a token as decoders see it, "" if there is none.
func (t *Tokenizer) written(id int32) string {
	if changed, ok := t.changed[id]; ok {
		return changed
	}
	return t.Token(id)
}

// TokenBytes returns the bytes that a token adds within a text, which may be a part of a character,
// or none for an id without a token. Special tokens add their names. Decoders may change more at
// the beginning of a text, as SentencePiece's, which leave out a space there.
func (t *Tokenizer) TokenBytes(id int32) []byte {
	text := t.written(id)
	if text == "" {
		return nil
	}
	return []byte(decode.New(t.decoder).Within(text))
}

// ID returns the id of a token as the vocabulary has it, such as <|im_end|>, and whether there is
// one.
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Role returns the id of the token with a role, such as BOS, and whether the files name one.
func (t *Tokenizer) Role(role string) (id int32, ok bool) {
	id, ok = t.roles[role]
	return id, ok
}

// Special returns whether an id is a special token: a mark between texts, such as <|im_end|>.
func (t *Tokenizer) Special(id int32) bool { return t.special[id] }

// Ends returns the ids that Encode puts before and after a text.
func (t *Tokenizer) Ends() (before, after []int32) {
	to := &before
	for _, p := range t.single {
		if p.text {
			to = &after
			continue
		}
		*to = append(*to, p.ids...)
	}
	return before, after
}

// Count returns the number of ids of a text, including the tokens around it.
func (t *Tokenizer) Count(text string) int { return len(t.Encode(text, Options{})) }

// Decode returns the text of ids, with or without special tokens. It is UTF-8: what a Stream gives
// for all of them. An id without a token is left out.
func (t *Tokenizer) Decode(ids []int32, special bool) string {
	s := t.Stream(special)
	var out []byte
	for _, id := range ids {
		out = append(out, s.Next(id)...)
	}
	return string(append(out, s.Flush()...))
}

// Stream turns ids into text one by one, as a model generates them. It holds back what the next id
// may change: the bytes of a character that is not complete. One goroutine at a time may use it.
type Stream struct {
	t       *Tokenizer
	special bool
	kept    []int32 // special tokens that are not left out
	chain   *decode.Chain
	first   []string
}

// Stream returns a stream. If special is not set, it leaves special tokens out, but for those that
// are kept.
func (t *Tokenizer) Stream(special bool, kept ...int32) *Stream {
	return &Stream{t, special, kept, decode.New(t.decoder), t.first()}
}

// Next takes an id and returns the text that is complete with it, which may be empty.
func (s *Stream) Next(id int32) string {
	if id < 0 || int(id) >= len(s.first) || s.t.tokens[id] == "" || !s.special && s.t.special[id] && !slices.Contains(s.kept, id) {
		return ""
	}
	return s.chain.Next(s.first[id])
}

// Flush returns what is left: U+FFFD for a character that is not complete. The stream can then be
// used for another text.
func (s *Stream) Flush() string { return s.chain.Flush() }
