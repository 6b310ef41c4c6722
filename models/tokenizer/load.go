package tokenizer

import (
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/tokenizer/bpe"
	"github.com/attn-go/attn/models/tokenizer/wordpiece"
)

// Load reads the tokenizer of a folder as Hugging Face has it.
//
// Errors are of type *ConfigError or, if a file cannot be read, *fs.PathError.
func Load(dir string) (*Tokenizer, error) {
	t, err := wordpiece.Load(dir)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{pieces{t}}, nil
}

// FromGGUF returns the tokenizer that a GGUF file has. Errors are of type *ConfigError or
// *gguf.KeyError.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	t, err := bpe.FromGGUF(f)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{bytePairs{t}}, nil
}

type pieces struct{ *wordpiece.Tokenizer }

func (p pieces) encode(parts []Part, limit int) []int32 {
	ids := p.Encode(Join(parts), limit)
	return ids[1 : len(ids)-1]
}
func (p pieces) ends() (before, after []int32) {
	ids := p.Encode("", 0)
	return ids[:1], ids[1:]
}
func (p pieces) ID(text string) (int32, bool) {
	for id := range int32(p.Len()) {
		if p.Token(id) == text {
			return id, true
		}
	}
	return 0, false
}
func (p pieces) Role(role string) (int32, bool) {
	return p.ID(map[string]string{Unknown: "[UNK]", Padding: "[PAD]", Class: "[CLS]", Sep: "[SEP]", Mask: "[MASK]"}[role])
}
func (p pieces) Special(id int32) bool {
	switch p.Token(id) {
	case "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]":
		return true
	}
	return false
}
func (p pieces) Stream(special bool) *Stream {
	return &Stream{func(id int32) string { return " " + p.Token(id) }, func() string { return "" }}
}

type bytePairs struct{ *bpe.Tokenizer }

func (p bytePairs) encode(parts []Part, limit int) []int32 { return p.EncodeParts(parts) }
func (p bytePairs) ends() (before, after []int32) {
	if id, ok := p.Tokenizer.ID(BOS); ok && p.AddBOS() {
		before = []int32{id}
	}
	if id, ok := p.Tokenizer.ID(EOS); ok && p.AddEOS() {
		after = []int32{id}
	}
	return before, after
}
func (p bytePairs) ID(text string) (int32, bool) {
	for id := range int32(p.Len()) {
		if p.Token(id) == text {
			return id, true
		}
	}
	return 0, false
}
func (p bytePairs) Role(role string) (int32, bool) { return p.Tokenizer.ID(role) }
func (p bytePairs) Special(id int32) bool          { return p.Type(id) == bpe.Control }
func (p bytePairs) Stream(special bool) *Stream {
	s := p.Tokenizer.Stream(special)
	return &Stream{s.Next, s.Flush}
}
