package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/alphabet"
	"github.com/attn-go/attn/models/tokenizer/internal/bpe"
	"github.com/attn-go/attn/models/tokenizer/internal/unigram"
	"github.com/attn-go/attn/models/tokenizer/internal/wordpiece"
)

// jsonModel is what models have, each some of it.
type jsonModel struct {
	Type         *string         `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Unknown      *string         `json:"unk_token"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	MaxWord      *int            `json:"max_input_chars_per_word"`
	Merges       []jsonMerge     `json:"merges"`
	Dropout      *float64        `json:"dropout"`
	Suffix       *string         `json:"end_of_word_suffix"`
	FuseUnknown  bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	UnknownID    *int64          `json:"unk_id"`
}

// jsonMerge is a pair of tokens: an array, or a text with a space between them.
type jsonMerge struct{ left, right string }

// UnmarshalJSON implements json.Unmarshaler.
func (m *jsonMerge) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		m.left, m.right, _ = strings.Cut(text, " ")
		return nil
	}
	var pair []string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a merge of %d tokens", len(pair))
	}
	m.left, m.right = pair[0], pair[1]
	return nil
}

func (b *jsonBuilder) model(data json.RawMessage) error {
	if len(data) == 0 {
		return unexpected("model", "none", "one")
	}
	var m jsonModel
	if err := json.Unmarshal(data, &m); err != nil {
		return unexpected("model", err.Error(), "a model")
	}
	kind := m.untagged()
	if m.Type != nil {
		kind = *m.Type
	}
	if b.byteLevel && kind != "BPE" {
		return unexpected("model.type", fmt.Sprintf("%q after the pre-tokenizer ByteLevel", kind), "BPE")
	}
	switch kind {
	case "WordPiece":
		return b.wordPiece(&m)
	case "BPE":
		return b.bpe(&m)
	case "Unigram":
		return b.unigram(&m)
	}
	return unexpected("model.type", fmt.Sprintf("%q", kind), "one of BPE, Unigram, WordPiece")
}

// untagged returns the type of a model that has none, as the files of bert-base-uncased, gpt2 and
// t5, which are older than the key: the first one, in this order, of which all that it cannot do
// without is there.
func (m *jsonModel) untagged() string {
	hasIDs := len(m.Vocab) > 0 && m.Vocab[0] == '{'
	switch {
	case hasIDs && m.Merges != nil:
		return "BPE"
	case hasIDs && m.Unknown != nil && m.Prefix != nil && m.MaxWord != nil:
		return "WordPiece"
	case hasIDs && m.Unknown != nil:
		return "WordLevel"
	case len(m.Vocab) > 0 && m.Vocab[0] == '[':
		return "Unigram"
	}
	return ""
}

// vocab reads a vocabulary with ids.
func (b *jsonBuilder) vocab(m *jsonModel) error {
	var ids map[string]int64
	if err := json.Unmarshal(m.Vocab, &ids); err != nil {
		return unexpected("model.vocab", err.Error(), "tokens with their ids")
	}
	most := 4*len(ids) + 1<<16 // which bounds the memory for ids without a token
	b.names = make(map[string]int32, len(ids))
	for text, id := range ids {
		if id < 0 || id > int64(most) {
			return unexpected("model.vocab", fmt.Sprintf("token %q with id %d", text, id), fmt.Sprintf("0 to %d", most))
		}
		b.names[text] = int32(id)
		for int64(len(b.tokens)) <= id {
			b.tokens = append(b.tokens, "")
		}
		if b.tokens[id] != "" {
			return unexpected("model.vocab", fmt.Sprintf("the id %d of both %q and %q", id, text, b.tokens[id]), "each id once")
		}
		b.tokens[id] = text
	}
	return nil
}

// unknown returns the id of the unknown token, or -1 if the model has none.
func (b *jsonBuilder) unknown(m *jsonModel) (int32, error) {
	if m.Unknown == nil || *m.Unknown == "" { // as gpt2 says that it has none
		return -1, nil
	}
	id, ok := b.names[*m.Unknown]
	if !ok {
		return -1, unexpected("model.unk_token", fmt.Sprintf("%q", *m.Unknown), "a token of the vocabulary")
	}
	b.config.unknown = id
	return id, nil
}

func (b *jsonBuilder) wordPiece(m *jsonModel) error {
	if err := b.vocab(m); err != nil {
		return err
	}
	unknown, err := b.unknown(m)
	if err != nil {
		return err
	}
	if unknown < 0 {
		return unexpected("model.unk_token", "none", "a token of the vocabulary")
	}
	prefix, most := "##", 100
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	if m.MaxWord != nil {
		most = *m.MaxWord
	}
	if most < 1 || most > wordpiece.MaxWord {
		return unexpected("model.max_input_chars_per_word", most, fmt.Sprintf("1 to %d", wordpiece.MaxWord))
	}
	w := wordpiece.New(maps.Clone(b.names), prefix, unknown, most) // without added tokens
	b.config.model = func() appender { return w }
	return nil
}

func (b *jsonBuilder) bpe(m *jsonModel) error {
	switch {
	case m.Dropout != nil && *m.Dropout != 0:
		return unexpected("model.dropout", *m.Dropout, "null or 0")
	case m.Prefix != nil && *m.Prefix != "":
		return unexpected("model.continuing_subword_prefix", fmt.Sprintf("%q", *m.Prefix), "none")
	case m.Suffix != nil && *m.Suffix != "":
		return unexpected("model.end_of_word_suffix", fmt.Sprintf("%q", *m.Suffix), "none")
	}
	if err := b.vocab(m); err != nil {
		return err
	}
	unknown, err := b.unknown(m)
	if err != nil {
		return err
	}
	c := bpe.Config{Unknown: unknown, FuseUnknown: m.FuseUnknown, Whole: m.IgnoreMerges, Bytes: b.byteLevel, ByteFallback: m.ByteFallback}
	if c.Merges, err = b.merges(m); err != nil {
		return err
	}
	b.bytes = b.byteLevel
	if !b.byteLevel {
		c.ByteIDs = byteTokens(b.names)
		c.IDs = maps.Clone(b.names) // without the tokens that are added later
	} else if err := b.byteLevelIDs(&c); err != nil {
		return err
	}
	for _, text := range b.tokens {
		c.Longest = max(c.Longest, len(text))
	}
	x := bpe.New(c, len(b.tokens))
	b.config.model = func() appender { return x.Encoder() }
	return nil
}

// byteLevelIDs sets the tokens by their bytes.
func (b *jsonBuilder) byteLevelIDs(c *bpe.Config) error {
	c.IDs = make(map[string]int32, len(b.names))
	for text, id := range b.names {
		if bytes, ok := alphabet.Bytes(text); ok && bytes != "" {
			c.IDs[bytes] = id
		}
	}
	for i := range c.ByteIDs {
		id, ok := c.IDs[string([]byte{byte(i)})]
		if !ok {
			id = -1
		}
		if !ok && c.ByteFallback {
			return unexpected("model.byte_fallback", "true, and a byte-level vocabulary that lacks bytes", "false")
		}
		c.ByteIDs[i] = id
	}
	return nil
}

// byteTokens returns the ids of tokens such as <0xE2>, or -1.
func byteTokens(ids map[string]int32) (out [256]int32) {
	for i := range out {
		id, ok := ids[fmt.Sprintf("<0x%02X>", i)]
		if !ok {
			id = -1
		}
		out[i] = id
	}
	return out
}

func (b *jsonBuilder) merges(m *jsonModel) ([]bpe.Merge, error) {
	out := make([]bpe.Merge, len(m.Merges))
	for i, x := range m.Merges {
		left, ok1 := b.names[x.left]
		right, ok2 := b.names[x.right]
		to, ok3 := b.names[x.left+x.right]
		if !ok1 || !ok2 || !ok3 {
			return nil, unexpected(fmt.Sprintf("model.merges[%d]", i), fmt.Sprintf("%q and %q", x.left, x.right), "two tokens that together are a token")
		}
		out[i] = bpe.Merge{Left: left, Right: right, To: to}
	}
	return out, nil
}

// jsonScored is an array of a token and its score.
type jsonScored struct {
	text  string
	score float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *jsonScored) UnmarshalJSON(data []byte) error {
	list := []any{&s.text, &s.score}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("an array of %d, not of a token and its score", len(list))
	}
	return nil
}

func (b *jsonBuilder) unigram(m *jsonModel) error {
	var vocab []jsonScored
	if err := json.Unmarshal(m.Vocab, &vocab); err != nil {
		return unexpected("model.vocab", err.Error(), "tokens with their scores")
	}
	if m.UnknownID == nil || *m.UnknownID < 0 || *m.UnknownID >= int64(len(vocab)) {
		got := "none"
		if m.UnknownID != nil {
			got = fmt.Sprint(*m.UnknownID)
		}
		return unexpected("model.unk_id", got, fmt.Sprintf("0 to %d", len(vocab)-1))
	}
	b.config.unknown = int32(*m.UnknownID)
	c := unigram.Config{Unknown: int32(*m.UnknownID), ByteFallback: m.ByteFallback}
	b.names = make(map[string]int32, len(vocab))
	for i, v := range vocab {
		if len(v.text) > unigram.MaxToken {
			return unexpected(fmt.Sprintf("model.vocab[%d]", i), fmt.Sprintf("%d bytes", len(v.text)), fmt.Sprintf("at most %d", unigram.MaxToken))
		}
		c.Tokens = append(c.Tokens, v.text)
		c.Scores = append(c.Scores, v.score)
		b.names[v.text] = int32(i)
	}
	b.tokens = append([]string(nil), c.Tokens...)
	c.ByteIDs = byteTokens(b.names)
	x := unigram.New(c)
	b.config.model = func() appender { return x.Encoder() }
	return nil
}
