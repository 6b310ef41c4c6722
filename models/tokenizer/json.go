package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
)

// file is tokenizer.json. Its parts have many forms.
type file struct {
	Model         json.RawMessage `json:"model"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Added         []jsonAdded     `json:"added_tokens"`
	Truncation    *struct {
		Direction string `json:"direction"`
	} `json:"truncation"`
}

type jsonAdded struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"`
	Right      bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// FromJSON returns the tokenizer that tokenizer.json describes. settings is tokenizer_config.json,
// which names the roles of tokens, or nil.
//
// Its parts have the meaning that Hugging Face's tokenizers 0.23 give them. Models are WordPiece,
// BPE and Unigram; other models are an error that lists these. do_lower_case, strip_accents,
// tokenize_chinese_chars and add_prefix_space of settings count as they do in transformers 5.24: in
// place of tokenizer.json's if tokenizer_class reads them. truncation_side counts too. Errors are
// of type *kernel.Error.
func FromJSON(data, settings []byte) (*Tokenizer, error) {
	return fromJSON(data, settings, modelSettings{})
}

// fromJSON is FromJSON with what config.json says of the class.
func fromJSON(data, settings []byte, m modelSettings) (*Tokenizer, error) {
	s, err := readSettings(settings, m)
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, &kernel.Error{Where: "tokenizer: tokenizer.json", Got: filemap.JSONError(err, data).Error(), Want: "a tokenizer"}
	}
	c, err := f.config(s)
	if err != nil {
		return nil, err
	}
	c.left = s.left
	if !s.side && f.Truncation != nil {
		c.left = strings.EqualFold(f.Truncation.Direction, "left")
	}
	if err := c.readRoles(settings); err != nil {
		return nil, err
	}
	t, err := newTokenizer(c)
	if err == nil && s.lower {
		return t.Lower()
	}
	return t, err
}

func (f *file) config(s *settings) (c config, err error) {
	c.unknown = -1
	b := jsonBuilder{config: &c, settings: s}
	for _, step := range []func() error{
		func() error { return b.normalizer(f.Normalizer) },
		func() error { return b.preTokenizer(f.PreTokenizer) },
		func() error { return b.model(f.Model) },
		func() error { return b.added(f.Added) },
		func() error { return b.postProcessor(f.PostProcessor) },
		func() error { return b.decoder(f.Decoder) },
	} {
		if err := step(); err != nil {
			return c, err
		}
	}
	c.ids = b.names
	c.chunks = b.bert && b.words
	for _, a := range c.added {
		c.chunks = c.chunks && !strings.Contains(a.text, " ")
	}
	return c, nil
}

// jsonBuilder makes a config of the parts of a file.
type jsonBuilder struct {
	*config
	settings  *settings
	byteLevel bool // the pre-tokenizer ends in ByteLevel
	bert      bool // the normalizer is none or BertNormalizer
	words     bool // the pre-tokenizer is BertPreTokenizer
	names     map[string]int32
}

// jsonPart is what normalizers, pre-tokenizers, post-processors and decoders have, each some of it.
type jsonPart struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`

	CleanText  *bool           `json:"clean_text"`
	CJK        *bool           `json:"handle_chinese_chars"`
	Accents    *bool           `json:"strip_accents"`
	Lower      *bool           `json:"lowercase"`
	Left       bool            `json:"strip_left"`
	Right      bool            `json:"strip_right"`
	Pattern    *jsonPattern    `json:"pattern"`
	Content    json.RawMessage `json:"content"`
	Prepend    string          `json:"prepend"`
	Charsmap   *string         `json:"precompiled_charsmap"`
	Behavior   string          `json:"behavior"`
	Invert     bool            `json:"invert"`
	Single     bool            `json:"individual_digits"`
	Delimiter  string          `json:"delimiter"`
	Prefix     json.RawMessage `json:"add_prefix_space"`
	UseRegex   *bool           `json:"use_regex"`
	Space      string          `json:"replacement"`
	Scheme     *string         `json:"prepend_scheme"`
	Split      *bool           `json:"split"`
	WordPrefix string          `json:"prefix"`
	Cleanup    bool            `json:"cleanup"`
	Start      int             `json:"start"`
	Stop       int             `json:"stop"`
}

type jsonPattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// readPart reads a part, which may be absent or null.
func readPart(item string, data json.RawMessage) (*jsonPart, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	p := &jsonPart{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, unexpected(item, err.Error(), "a part of a tokenizer")
	}
	return p, nil
}

// maxParts bounds the parts of a sequence, and maxDepth sequences within each other.
const (
	maxParts = 64
	maxDepth = 8
)

// sequence calls f for the part, or for the parts of a sequence.
func sequence(item string, p *jsonPart, depth int, f func(item string, p *jsonPart, last bool) error) error {
	if p.Type != "Sequence" {
		return f(item, p, true)
	}
	list, name := p.Normalizers, "normalizers"
	for _, l := range []struct {
		list []json.RawMessage
		name string
	}{{p.PreTokenizers, "pretokenizers"}, {p.Processors, "processors"}, {p.Decoders, "decoders"}} {
		if l.list != nil {
			list, name = l.list, l.name
		}
	}
	if len(list) > maxParts || depth == maxDepth {
		return unexpected(item, fmt.Sprintf("%d parts at depth %d", len(list), depth), fmt.Sprintf("at most %d parts and depth %d", maxParts, maxDepth-1))
	}
	for i, data := range list {
		item := fmt.Sprintf("%s.%s[%d]", item, name, i)
		q, err := readPart(item, data)
		if err != nil {
			return err
		}
		if q == nil {
			return unexpected(item, "null", "a part of a tokenizer")
		}
		if err := sequence(item, q, depth+1, func(item string, p *jsonPart, last bool) error {
			return f(item, p, last && i == len(list)-1)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (b *jsonBuilder) normalizer(data json.RawMessage) error {
	p, err := readPart("normalizer", data)
	if p == nil || err != nil {
		b.bert = true
		return err
	}
	b.bert = p.Type == "BertNormalizer"
	var all []normalize.Func
	growth := 1
	b.settings.change(p) // in a sequence a BertNormalizer stays: version 4 of transformers changes none there, and 5 drops the sequence
	err = sequence("normalizer", p, 0, func(item string, p *jsonPart, _ bool) error {
		b.lower = b.lower || p.Type == "Lowercase"
		f, err := p.normalizer(item)
		all = append(all, f)
		return errors.Join(err, p.grow(item, &growth))
	})
	if len(all) > 0 {
		b.normalize = normalize.Sequence(all)
	}
	return err
}

// maxGrowth is how much longer all normalizers, or all decoders, of a file may make a text. Without
// such a limit, each of a sequence could make it hundreds of times as long.
const maxGrowth = 1024

// grow counts how much longer the part can make a text.
func (p *jsonPart) grow(item string, growth *int) error {
	factor := 1
	switch {
	case p.Type == "Precompiled":
		factor = 128
	case p.Type == "Replace" && p.Pattern != nil && p.Pattern.String != nil:
		factor = len(p.Content) / max(len(*p.Pattern.String), 1)
	case p.Type == "Replace":
		factor = len(p.Content)
	}
	if factor > 1 {
		*growth *= min(factor, maxGrowth+1)
	}
	if *growth > maxGrowth || len(p.Prepend) > maxAdded {
		return unexpected(item, fmt.Sprintf("%s that makes a text %d times as long", p.Type, *growth), fmt.Sprintf("%d times at most", maxGrowth))
	}
	return nil
}

func (b *jsonBuilder) preTokenizer(data json.RawMessage) error {
	p, err := readPart("pre_tokenizer", data)
	if p == nil || err != nil {
		b.split = pretokenize.Sequence(nil)
		return err
	}
	b.words = p.Type == "BertPreTokenizer"
	var all, letters []pretokenize.Step // before ByteLevel, and after it
	err = sequence("pre_tokenizer", p, 0, func(item string, p *jsonPart, last bool) error {
		if splits := []string{"Digits", "Punctuation", "Split"}; b.byteLevel && !slices.Contains(splits, p.Type) {
			return unexpected(item+".type", p.Type+" after ByteLevel", "ByteLevel as the last one, or one of "+strings.Join(splits, ", ")+" after it")
		}
		b.settings.change(p)
		step, err := p.preTokenizer(item)
		switch {
		case step == nil:
		case b.byteLevel:
			letters = append(letters, step)
		default:
			all = append(all, step)
		}
		b.byteLevel = b.byteLevel || p.Type == "ByteLevel"
		return err
	})
	if letters != nil {
		all = append(all, pretokenize.Letters(pretokenize.Sequence(letters)))
	}
	b.split = pretokenize.Sequence(all)
	return err
}

// added reads the added tokens. Their ids are the model's, or further ones.
func (b *jsonBuilder) added(list []jsonAdded) error {
	most := int64(4*(len(b.tokens)+len(list)) + 1<<16) // which bounds the memory for ids without a token
	for _, a := range list {
		id, known := b.names[a.Content]
		switch {
		case a.Content == "":
			return unexpected("added_tokens", "an empty token", "at least one character")
		case known && int64(id) != a.ID:
			return unexpected("added_tokens", fmt.Sprintf("%q with id %d", a.Content, a.ID), fmt.Sprintf("id %d, as in the vocabulary", id))
		case a.ID < 0 || a.ID > most:
			return unexpected("added_tokens", fmt.Sprintf("%q with id %d", a.Content, a.ID), fmt.Sprintf("0 to %d", most))
		}
		for int64(len(b.tokens)) <= a.ID {
			b.tokens = append(b.tokens, "")
		}
		if old := b.tokens[a.ID]; old != "" && old != a.Content {
			return unexpected("added_tokens", fmt.Sprintf("%q with the id %d of %q", a.Content, a.ID, old), "an id of its own")
		}
		b.tokens[a.ID] = a.Content
		b.names[a.Content] = int32(a.ID)
		b.config.added = append(b.config.added, addedToken{a.Content, int32(a.ID), a.Special, a.Normalized, a.SingleWord, a.Left, a.Right})
	}
	return nil
}

// readRoles reads tokenizer_config.json. The token of unknown words comes from tokenizer.json
// unless it says so.
func (c *config) readRoles(data []byte) error {
	c.roles = map[string]int32{}
	if c.unknown >= 0 {
		c.roles[RoleUnknown] = c.unknown
	}
	if data == nil {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return &kernel.Error{Where: "tokenizer: tokenizer_config.json", Got: err.Error(), Want: "the settings of a tokenizer"}
	}
	for key, role := range map[string]string{"bos_token": RoleBOS, "eos_token": RoleEOS, "unk_token": RoleUnknown, "pad_token": RolePadding, "cls_token": RoleClass, "sep_token": RoleSep, "mask_token": RoleMask} {
		var text string
		var long struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(all[key], &text) != nil && json.Unmarshal(all[key], &long) == nil {
			text = long.Content
		}
		if id, ok := c.ids[text]; ok && text != "" {
			c.roles[role] = id
		}
	}
	return nil
}

func unexpected(item string, got any, want string) error {
	return &kernel.Error{Where: "tokenizer: tokenizer.json: " + item, Got: fmt.Sprint(got), Want: want}
}
