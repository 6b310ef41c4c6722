package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/decode"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
)

// jsonTemplate is TemplateProcessing, BertProcessing or RobertaProcessing.
type jsonTemplate struct {
	Single  []jsonTemplatePart `json:"single"`
	Pair    []jsonTemplatePart `json:"pair"`
	Special map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	Class jsonToken `json:"cls"`
	Sep   jsonToken `json:"sep"`
}

type jsonTemplatePart struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	} `json:"Sequence"`
	Special *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	} `json:"SpecialToken"`
}

// jsonToken is an array of a token and its id.
type jsonToken struct {
	text string
	id   int64
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonToken) UnmarshalJSON(data []byte) error {
	list := []any{&t.text, &t.id}
	return json.Unmarshal(data, &list)
}

func (b *jsonBuilder) postProcessor(data json.RawMessage) error {
	b.single, b.pair = around(nil, nil), plainPair
	p, err := readPart("post_processor", data)
	if p == nil || err != nil {
		return err
	}
	found := false
	raw := data
	return sequence("post_processor", p, 0, func(item string, p *jsonPart, _ bool) error {
		switch p.Type {
		case "ByteLevel": // changes offsets alone
			return nil
		case "TemplateProcessing", "BertProcessing", "RobertaProcessing":
		default:
			return unexpected(item+".type", fmt.Sprintf("%q", p.Type), "one of BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing")
		}
		if found {
			return unexpected(item+".type", p.Type+" after another one", "one that adds tokens")
		}
		found = true
		return b.template(item, p.Type, raw)
	})
}

// template reads the template of a post-processor, which may stand in a sequence.
func (b *jsonBuilder) template(item, kind string, data json.RawMessage) error {
	t, err := findTemplate(kind, data)
	if err != nil {
		return unexpected(item, err.Error(), "a template")
	}
	if kind == "TemplateProcessing" {
		if b.single, err = t.parts(b, item+".single", t.Single, false); err != nil {
			return err
		}
		b.pair, err = t.parts(b, item+".pair", t.Pair, true)
		return err
	}
	class, err1 := b.id(item+".cls", t.Class.id)
	sep, err2 := b.id(item+".sep", t.Sep.id)
	if err1 != nil {
		return err1
	}
	if err2 != nil {
		return err2
	}
	text, second := templatePart{text: true}, templatePart{text: true, second: true}
	first, last := templatePart{ids: []int32{class}}, templatePart{ids: []int32{sep}}
	b.single = template{first, text, last}
	if kind == "RobertaProcessing" {
		b.pair = template{first, text, last, last, second, last}
		return nil
	}
	second.kind = 1
	end := last
	end.kind = 1
	b.pair = template{first, text, last, second, end}
	return nil
}

// findTemplate returns the first post-processor of a kind.
func findTemplate(kind string, data json.RawMessage) (*jsonTemplate, error) {
	var list struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if list.Type == kind {
		t := &jsonTemplate{}
		return t, json.Unmarshal(data, t)
	}
	for _, p := range list.Processors {
		if t, err := findTemplate(kind, p); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

func (b *jsonBuilder) id(item string, id int64) (int32, error) {
	if id < 0 || id >= int64(len(b.tokens)) {
		return 0, unexpected(item, fmt.Sprintf("id %d", id), fmt.Sprintf("0 to %d", len(b.tokens)-1))
	}
	return int32(id), nil
}

func (t *jsonTemplate) parts(b *jsonBuilder, item string, list []jsonTemplatePart, pair bool) (template, error) {
	if len(list) > maxParts {
		return nil, unexpected(item, fmt.Sprintf("%d parts", len(list)), fmt.Sprintf("at most %d", maxParts))
	}
	var out template
	texts := ""
	for i, p := range list {
		item := fmt.Sprintf("%s[%d]", item, i)
		switch {
		case p.Sequence != nil:
			texts += p.Sequence.ID
			out = append(out, templatePart{text: true, second: p.Sequence.ID == "B", kind: p.Sequence.Type})
		case p.Special != nil:
			part := templatePart{kind: p.Special.Type}
			for _, id := range t.Special[p.Special.ID].IDs {
				x, err := b.id(item, id)
				if err != nil {
					return nil, err
				}
				part.ids = append(part.ids, x)
			}
			if len(part.ids) == 0 || len(part.ids) > maxParts {
				return nil, unexpected(item, fmt.Sprintf("the token %q with %d ids", p.Special.ID, len(part.ids)), fmt.Sprintf("1 to %d in special_tokens", maxParts))
			}
			out = append(out, part)
		default:
			return nil, unexpected(item, "neither Sequence nor SpecialToken", "one of them")
		}
	}
	want := map[bool]string{false: "A", true: "AB"}[pair]
	if texts != want && !(pair && texts == "BA") {
		return nil, unexpected(item, fmt.Sprintf("the texts %q", texts), fmt.Sprintf("%q", want))
	}
	return out, nil
}

func (b *jsonBuilder) decoder(data json.RawMessage) error {
	p, err := readPart("decoder", data)
	if err != nil {
		return err
	}
	if p == nil {
		b.config.decoder = []decode.Maker{decode.Join()}
		return nil
	}
	fused, growth := false, 1
	return sequence("decoder", p, 0, func(item string, p *jsonPart, _ bool) error {
		b.settings.change(p)
		makers, err := p.decoder(item, &fused)
		b.config.decoder = append(b.config.decoder, makers...)
		return errors.Join(err, p.grow(item, &growth))
	})
}

// decoder returns the steps of a decoder. fused says whether what they take is one text.
func (p *jsonPart) decoder(item string, fused *bool) ([]decode.Maker, error) {
	if *fused && p.Type != "Strip" && p.Type != "Fuse" && p.Type != "Replace" {
		return nil, unexpected(item+".type", fmt.Sprintf("%q after Fuse or ByteLevel", p.Type), "Replace, Strip or none")
	}
	switch p.Type {
	case "ByteLevel":
		*fused = true
		return decode.ByteLevel(), nil
	case "ByteFallback":
		return []decode.Maker{decode.ByteFallback()}, nil
	case "Fuse":
		*fused = true
		return nil, nil
	case "Metaspace":
		scheme, err := p.scheme(item)
		return []decode.Maker{decode.Metaspace(p.Space, scheme != pretokenize.Never)}, err
	case "WordPiece":
		return []decode.Maker{decode.WordPiece(p.WordPrefix, p.Cleanup)}, nil
	case "Replace":
		if *fused {
			return p.replaceText(item)
		}
		f, err := p.replace(item)
		return []decode.Maker{decode.Each(normalize.Func(f))}, err
	case "Strip":
		return p.strip(item, *fused)
	}
	return nil, unexpected(item+".type", fmt.Sprintf("%q", p.Type), strings.Join([]string{"one of ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "Sequence", "Strip", "WordPiece"}, ", "))
}

// maxReplaced is the most bytes of a text that is replaced after Fuse or ByteLevel: fewer are held
// back.
const maxReplaced = 256

// replaceText is a Replace of one text, after Fuse or ByteLevel.
func (p *jsonPart) replaceText(item string) ([]decode.Maker, error) {
	var to string
	if err := json.Unmarshal(p.Content, &to); err != nil {
		return nil, unexpected(item+".content", err.Error(), "a text")
	}
	if p.Pattern == nil || p.Pattern.String == nil || *p.Pattern.String == "" || len(*p.Pattern.String) > maxReplaced {
		return nil, unexpected(item+".pattern", "another pattern after Fuse or ByteLevel", fmt.Sprintf("a String of 1 to %d bytes", maxReplaced))
	}
	return []decode.Maker{decode.ReplaceText(*p.Pattern.String, to)}, nil
}

func (p *jsonPart) strip(item string, fused bool) ([]decode.Maker, error) {
	var c string
	if err := json.Unmarshal(p.Content, &c); err != nil || c == "" {
		return nil, unexpected(item+".content", string(p.Content), "a character")
	}
	if p.Start < 0 || p.Stop < 0 || p.Start > maxAdded || p.Stop > maxAdded {
		return nil, unexpected(item, fmt.Sprintf("start %d and stop %d", p.Start, p.Stop), fmt.Sprintf("0 to %d", maxAdded))
	}
	if fused {
		return []decode.Maker{decode.StripText(c, p.Start, p.Stop)}, nil
	}
	return []decode.Maker{decode.Strip(c, p.Start, p.Stop)}, nil
}
