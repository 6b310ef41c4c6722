package wordpiece

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/added"
)

// file is what matters of tokenizer.json.
type file struct {
	Model struct {
		Type    string           `json:"type"`
		Unknown string           `json:"unk_token"`
		Prefix  string           `json:"continuing_subword_prefix"`
		MaxWord int              `json:"max_input_chars_per_word"`
		Vocab   map[string]int64 `json:"vocab"`
	} `json:"model"`
	Normalizer struct {
		Type    string `json:"type"`
		Clean   bool   `json:"clean_text"`
		CJK     bool   `json:"handle_chinese_chars"`
		Accents *bool  `json:"strip_accents"`
		Lower   bool   `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor *struct {
		Type   string `json:"type"`
		Single []struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
		} `json:"single"`
		Cls []any `json:"cls"`
		Sep []any `json:"sep"`
	} `json:"post_processor"`
	Added []struct {
		ID         int64  `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		Left       bool   `json:"lstrip"`
		Right      bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
	} `json:"added_tokens"`
}

// parse returns the tokenizer that tokenizer.json describes.
func parse(data []byte, change func(*Options)) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, &ConfigError{"tokenizer.json", err.Error(), "a tokenizer"}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	vocab, err := f.vocab()
	if err != nil {
		return nil, err
	}
	opts := options(f.Normalizer.Lower, f.Normalizer.Accents, f.Normalizer.CJK)
	opts.MaxWord = f.Model.MaxWord
	change(&opts)
	t, _, err := newTokenizer(vocab, opts)
	if err != nil {
		return nil, err
	}
	special := make([]added.Token, len(f.Added))
	for i, a := range f.Added {
		special[i] = added.Token{Text: a.Content, ID: int32(a.ID)}
	}
	t.parse(special)
	return t, nil
}

// check returns an error if the file describes another kind of tokenizer.
func (f *file) check() error {
	for _, c := range [...]struct{ item, got, want string }{
		{"model.type", f.Model.Type, "WordPiece"},
		{"model.unk_token", f.Model.Unknown, unknown},
		{"model.continuing_subword_prefix", f.Model.Prefix, continuation},
		{"normalizer.type", f.Normalizer.Type, "BertNormalizer"},
		{"normalizer.clean_text", fmt.Sprint(f.Normalizer.Clean), "true"},
		{"pre_tokenizer.type", f.PreTokenizer.Type, "BertPreTokenizer"},
		{"post_processor", f.ends(), start + " text " + end},
	} {
		if c.got != c.want {
			return unexpected(c.item, fmt.Sprintf("%q", c.got), fmt.Sprintf("%q", c.want))
		}
	}
	if f.Model.MaxWord < 1 || f.Model.MaxWord > maxWord {
		return unexpected("model.max_input_chars_per_word", f.Model.MaxWord, fmt.Sprintf("1 to %d", maxWord))
	}
	return nil
}

// ends says what surrounds a text.
func (f *file) ends() string {
	p := f.PostProcessor
	if p == nil {
		return "text"
	}
	if p.Type == "BertProcessing" && len(p.Cls) > 0 && len(p.Sep) > 0 {
		return fmt.Sprintf("%v text %v", p.Cls[0], p.Sep[0])
	}
	var parts []string
	for _, part := range p.Single {
		if part.Special != nil {
			parts = append(parts, part.Special.ID)
		} else {
			parts = append(parts, "text")
		}
	}
	return strings.Join(parts, " ")
}

// vocab returns the tokens by their ids: those of the model and those added to it, which may have
// further ids.
func (f *file) vocab() ([]string, error) {
	if f.Model.Vocab == nil {
		f.Model.Vocab = map[string]int64{}
	}
	ids := f.Model.Vocab
	for _, a := range f.Added {
		id, known := ids[a.Content]
		switch {
		case a.Content == "":
			return nil, unexpected("added_tokens", "an empty token", "at least one character")
		case len(a.Content) > added.MaxLength:
			return nil, unexpected("added_tokens", fmt.Sprintf("a token of %d bytes", len(a.Content)), fmt.Sprintf("at most %d", added.MaxLength))
		case known && id != a.ID:
			return nil, unexpected("added_tokens", fmt.Sprintf("%q with id %d", a.Content, a.ID), fmt.Sprintf("id %d, as in the vocabulary", id))
		case a.SingleWord || a.Left || a.Right || a.Normalized:
			return nil, unexpected("added_tokens", fmt.Sprintf("%q with single_word, lstrip, rstrip or normalized", a.Content), "none of them")
		case !known:
			ids[a.Content] = a.ID
		}
	}
	vocab := make([]string, len(ids))
	for token, id := range ids {
		if id < 0 || id >= int64(len(vocab)) || vocab[id] != "" {
			return nil, unexpected("model.vocab", fmt.Sprintf("token %q with id %d", token, id), fmt.Sprintf("ids 0 to %d, each once", len(vocab)-1))
		}
		vocab[id] = token
	}
	return vocab, nil
}
