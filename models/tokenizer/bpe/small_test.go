package bpe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// small returns a vocabulary for tests that need no model: all bytes but 0x04, some merges of a
// to d, and tokens of other types.
func small() bpe.Config {
	c := bpe.Config{Pre: "gpt-2", IDs: map[string]int32{bpe.EOS: 0}}
	add := func(t bpe.Type, tokens ...string) {
		for _, s := range tokens {
			c.Tokens = append(c.Tokens, s)
			c.Types = append(c.Types, t)
		}
	}
	add(bpe.Control, "<|end|>", "<|")
	add(bpe.Unknown, "<unk>")
	add(bpe.UserDefined, "<tool>")
	next := rune(256)
	for b := range rune(256) {
		c := b
		if b <= ' ' || 0x7f <= b && b <= 0xa0 || b == 0xad {
			c = next
			next++
		}
		if b != 4 {
			add(bpe.Normal, string(c))
		}
	}
	c.Merges = []string{"a b", "b c", "ab c", "c d", "a a", "aa aa", "! !"}
	for _, m := range c.Merges {
		add(bpe.Normal, strings.Replace(m, " ", "", 1))
	}
	return c
}

func newSmall(t testing.TB) *bpe.Tokenizer {
	t.Helper()
	tok, err := bpe.New(small())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// written returns the tokens of ids with spaces between them.
func written(tok *bpe.Tokenizer, ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = tok.Token(id)
	}
	return strings.Join(texts, " ")
}

func TestEncode(t *testing.T) {
	tok := newSmall(t)
	for _, test := range []struct {
		text, want string
		special    bool
	}{
		{"abcd", "abc d", false},
		{"bcd", "bc d", false},
		{"aaaaaaa", "aaaa aa a", false},
		{"abab<|end|>", "ab ab < | e n d | >", false},
		{"abab<|end|>", "ab ab <|end|>", true},
		{"<|en<unk>", "<| e n <unk>", true},
		{"<unk><tool>", "< u n k > <tool>", false},
		{"a\x04b", "a b", false},
		{"!\x04!", "!!", false}, // what has no token is dropped before merging
		{"\xffa\x80", "ÿ a Ģ", false},
	} {
		if got := written(tok, tok.Encode(test.text, test.special)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// Special tokens are found within parts that may have them. All else is one text.
func TestEncodeParts(t *testing.T) {
	tok := newSmall(t)
	part := func(s string, special bool) tokenizer.Part { return tokenizer.Part{Text: s, Special: special} }
	for _, test := range []struct {
		want  string
		parts []tokenizer.Part
	}{
		{"", nil},
		{"<|end|> abc <|end|>", []tokenizer.Part{part("<|end|>a", true), part("b", false), part("c<|end|>", true)}},
		{"< | e n d | > <|end|>", []tokenizer.Part{part("<|end|>", false), part("<|end|>", true)}},
		{"< | e n d | > a", []tokenizer.Part{part("<", true), part("|en", false), part("d|>a", true)}},
		{"<tool> a <|end|>", []tokenizer.Part{part("<to", false), part("ol>a<|end|>", true)}},
	} {
		ids := tok.EncodeParts(test.parts)
		if got := written(tok, ids); got != test.want {
			t.Errorf("%v: got %q, want %q", test.parts, got, test.want)
		}
		if got, want := string(tok.Decode(ids)), tokenizer.Join(test.parts); got != want {
			t.Errorf("%v: got text %q, want %q", test.parts, got, want)
		}
	}
}

// Time grows with the length of a piece, not with its square.
func TestLongPiece(t *testing.T) {
	tok := newSmall(t)
	text := strings.Repeat("a", 1<<20)
	start := time.Now()
	if got := len(tok.Encode(text, false)); got != len(text)/4 {
		t.Errorf("got %d ids, want %d", got, len(text)/4)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("1 MiB took %v", d)
	}
}

func TestTokens(t *testing.T) {
	tok := newSmall(t)
	n := int32(tok.Len())
	if eos, ok := tok.ID(bpe.EOS); !ok || tok.Token(eos) != "<|end|>" || tok.Type(eos) != bpe.Control {
		t.Errorf("EOS: got %d, %v", eos, ok)
	}
	if bos, ok := tok.ID(bpe.BOS); ok {
		t.Errorf("BOS: got %d, want none", bos)
	}
	for _, id := range [...]int32{-1, n} {
		if tok.Token(id) != "" || tok.Type(id) != 0 || string(tok.Decode([]int32{id})) != "\ufffd" {
			t.Errorf("id %d: got %q, %d, %q", id, tok.Token(id), tok.Type(id), tok.Decode([]int32{id}))
		}
	}
}

func checkError(t *testing.T, err error, item, got string) {
	t.Helper()
	var e *bpe.ConfigError
	if !errors.As(err, &e) || !strings.Contains(e.Item, item) || !strings.Contains(e.Got, got) || e.Want == "" {
		t.Errorf("got error %v, want one of %s with %s", err, item, got)
	}
}

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		item, got string
		change    func(c *bpe.Config)
	}{
		{"Config.Tokens", "0 tokens", func(c *bpe.Config) { c.Tokens = nil }},
		{"Config.Types", "1 types", func(c *bpe.Config) { c.Types = c.Types[:1] }},
		{"Config.Pre", `"llama-spm"`, func(c *bpe.Config) { c.Pre = "llama-spm" }},
		{"IDs of eos", "-1", func(c *bpe.Config) { c.IDs[bpe.EOS] = -1 }},
		{"IDs of bos", "1000", func(c *bpe.Config) { c.IDs[bpe.BOS] = 1000 }},
		{"token 3", "257 bytes", func(c *bpe.Config) { c.Tokens[3] = strings.Repeat("<", 257) }},
		{"token 9", "empty", func(c *bpe.Config) { c.Tokens[9] = "" }},
		{"token 9", `"<unk>" as token 2`, func(c *bpe.Config) { c.Tokens[9] = "<unk>" }},
		{"merge 1", `"a  b"`, func(c *bpe.Config) { c.Merges[1] = "a  b" }},
		{"merge 1", `"ab"`, func(c *bpe.Config) { c.Merges[1] = "ab" }},
		{"merge 0", `"d d"`, func(c *bpe.Config) { c.Merges[0] = "d d" }},
	} {
		c := small()
		test.change(&c)
		_, err := bpe.New(c)
		checkError(t, err, test.item, test.got)
	}
}

// file returns a GGUF file with metadata: strings, uint32s, bools, and slices of strings and int32s.
func file(t *testing.T, metadata map[string]any) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	text := func(s string) {
		put(uint64(len(s)))
		b.WriteString(s)
	}
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(0))
	put(uint64(len(metadata)))
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		text(key)
		switch v := metadata[key].(type) {
		case string:
			put(uint32(8))
			text(v)
		case uint32:
			put(uint32(4))
			put(v)
		case bool:
			put(uint32(7))
			put(v)
		case []string:
			put([2]uint32{9, 8})
			put(uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		case []int32:
			put([2]uint32{9, 5})
			put(uint64(len(v)))
			put(v)
		}
	}
	b.Write(make([]byte, 64)) // the data begin at a multiple of 32
	f, err := gguf.New(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func metadata() map[string]any {
	c := small()
	types := make([]int32, len(c.Types))
	for i, k := range c.Types {
		types[i] = int32(k)
	}
	return map[string]any{
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": c.Tokens, "tokenizer.ggml.merges": c.Merges,
		"tokenizer.ggml.token_type": types, "tokenizer.ggml.eos_token_id": uint32(0), "tokenizer.ggml.add_bos_token": true,
	}
}

func TestFromGGUF(t *testing.T) {
	tok, err := bpe.FromGGUF(file(t, metadata()))
	if err != nil {
		t.Fatal(err)
	}
	if eos, ok := tok.ID(bpe.EOS); eos != 0 || !ok || !tok.AddBOS() || tok.AddEOS() || tok.Type(3) != bpe.UserDefined {
		t.Errorf("EOS %d, %v, AddBOS %v, AddEOS %v, type of token 3: %d", eos, ok, tok.AddBOS(), tok.AddEOS(), tok.Type(3))
	}
	for _, test := range []struct {
		key   string
		value any
		got   string
	}{
		{"tokenizer.ggml.model", "llama", `"llama"`},
		{"tokenizer.ggml.pre", "viking", `"viking"`},
		{"tokenizer.ggml.eos_token_id", uint32(1 << 31), "2147483648"},
		{"tokenizer.ggml.token_type", []int32{3, 7}, "7"},
	} {
		m := metadata()
		m[test.key] = test.value
		_, err := bpe.FromGGUF(file(t, m))
		checkError(t, err, "", test.got)
	}
	for _, key := range [...]string{"model", "pre", "tokens", "merges"} {
		m := metadata()
		delete(m, "tokenizer.ggml."+key)
		checkKey(t, m, "tokenizer.ggml."+key)
	}
	for _, key := range [...]string{"tokens", "merges", "token_type", "eos_token_id", "add_bos_token"} {
		m := metadata()
		m["tokenizer.ggml."+key] = "a string"
		checkKey(t, m, "tokenizer.ggml."+key)
	}
}

func checkKey(t *testing.T, m map[string]any, key string) {
	t.Helper()
	_, err := bpe.FromGGUF(file(t, m))
	var e *gguf.KeyError
	if !errors.As(err, &e) || e.Key != key {
		t.Errorf("%s: got error %v, want a *gguf.KeyError", key, err)
	}
}
