package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/charsmap"
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
	"github.com/attn-go/attn/models/tokenizer/internal/regex"
)

func (p *jsonPart) normalizer(item string) (normalize.Func, error) {
	if f, ok := normalize.Form(p.Type); ok {
		return f, nil
	}
	switch p.Type {
	case "BertNormalizer":
		yes := func(b *bool) bool { return b == nil || *b }
		accents := yes(p.Lower)
		if p.Accents != nil {
			accents = *p.Accents
		}
		return normalize.Bert{Clean: yes(p.CleanText), CJK: yes(p.CJK), Accents: accents, Lower: yes(p.Lower)}.Normalize, nil
	case "Lowercase":
		return normalize.Lowercase, nil
	case "StripAccents":
		return normalize.StripAccents, nil
	case "Nmt":
		return normalize.Nmt, nil
	case "Strip":
		return normalize.Strip(p.Left, p.Right), nil
	case "Prepend":
		return normalize.Prepend(p.Prepend), nil
	case "Replace":
		return p.replace(item)
	case "Precompiled":
		return p.precompiled(item)
	}
	return nil, unexpected(item+".type", fmt.Sprintf("%q", p.Type), "one of BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents")
}

func (p *jsonPart) precompiled(item string) (normalize.Func, error) {
	if p.Charsmap == nil || *p.Charsmap == "" {
		return func(text string) string { return text }, nil
	}
	data, err := base64.StdEncoding.DecodeString(*p.Charsmap)
	if err != nil {
		return nil, unexpected(item+".precompiled_charsmap", err.Error(), "base64")
	}
	m, err := charsmap.New(data)
	if err != nil {
		return nil, unexpected(item+".precompiled_charsmap", err.Error(), "rules that SentencePiece has compiled")
	}
	return m.Graphemes, nil
}

// replace is for normalizers and decoders.
func (p *jsonPart) replace(item string) (normalize.Func, error) {
	var to string
	if err := json.Unmarshal(p.Content, &to); err != nil {
		return nil, unexpected(item+".content", err.Error(), "a text")
	}
	if p.Pattern != nil && p.Pattern.String != nil && *p.Pattern.String != "" {
		return normalize.Replace(*p.Pattern.String, to), nil
	}
	re, err := p.regex(item)
	if err != nil {
		return nil, err
	}
	return normalize.ReplaceMatches(re, to), nil
}

func (p *jsonPart) regex(item string) (*regex.Regex, error) {
	if p.Pattern == nil || p.Pattern.Regex == nil {
		return nil, unexpected(item+".pattern", "neither Regex nor a String of at least one character", "one of them")
	}
	re, err := regex.Compile(*p.Pattern.Regex)
	if err != nil {
		return nil, unexpected(item+".pattern", err.Error(), "an expression that one pass over a text can match")
	}
	return re, nil
}

// preTokenizer returns the step of a pre-tokenizer, nil if it changes nothing.
func (p *jsonPart) preTokenizer(item string) (pretokenize.Step, error) {
	switch p.Type {
	case "BertPreTokenizer":
		return pretokenize.Bert(), nil
	case "ByteLevel":
		prefix, err := p.addPrefix(item)
		split := p.UseRegex == nil || *p.UseRegex
		if !prefix && !split {
			return nil, err
		}
		return pretokenize.ByteLevel(prefix, split), err
	case "Digits":
		return pretokenize.Digits(p.Single), nil
	case "Metaspace":
		return p.metaspace(item)
	case "Punctuation":
		b, err := p.behavior(item, pretokenize.Isolated)
		return pretokenize.Punctuation(b), err
	case "Split":
		return p.splitter(item)
	case "CharDelimiterSplit":
		c, n := utf8.DecodeRuneInString(p.Delimiter)
		if n == 0 || n < len(p.Delimiter) {
			return nil, unexpected(item+".delimiter", fmt.Sprintf("%q", p.Delimiter), "one character")
		}
		return pretokenize.Char(c), nil
	case "Whitespace":
		return pretokenize.Whitespace(), nil
	case "WhitespaceSplit":
		return pretokenize.WhitespaceSplit(), nil
	}
	return nil, unexpected(item+".type", fmt.Sprintf("%q", p.Type), "one of BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit")
}

// addPrefix reads add_prefix_space, which ByteLevel has and Metaspace had.
func (p *jsonPart) addPrefix(item string) (bool, error) {
	if len(p.Prefix) == 0 || string(p.Prefix) == "null" {
		return true, nil
	}
	var prefix bool
	if err := json.Unmarshal(p.Prefix, &prefix); err != nil {
		return false, unexpected(item+".add_prefix_space", err.Error(), "true or false")
	}
	return prefix, nil
}

func (p *jsonPart) behavior(item string, otherwise pretokenize.Behavior) (pretokenize.Behavior, error) {
	b := pretokenize.Behavior(p.Behavior)
	if b == "" {
		b = otherwise
	}
	if !slices.Contains(pretokenize.Behaviors, b) {
		return b, unexpected(item+".behavior", fmt.Sprintf("%q", b), fmt.Sprint("one of ", pretokenize.Behaviors))
	}
	return b, nil
}

func (p *jsonPart) splitter(item string) (pretokenize.Step, error) {
	b, err := p.behavior(item, "")
	if err != nil {
		return nil, err
	}
	if p.Pattern != nil && p.Pattern.String != nil && *p.Pattern.String != "" {
		return pretokenize.Text(*p.Pattern.String, b, p.Invert), nil
	}
	re, err := p.regex(item)
	if err != nil {
		return nil, err
	}
	return pretokenize.Regex(re, b, p.Invert), nil
}

func (p *jsonPart) metaspace(item string) (pretokenize.Step, error) {
	scheme, err := p.scheme(item)
	if err != nil {
		return nil, err
	}
	return pretokenize.Metaspace(p.Space, scheme, p.Split == nil || *p.Split), nil
}

// scheme checks the settings of Metaspace, which pre-tokenizers and decoders have.
func (p *jsonPart) scheme(item string) (pretokenize.Scheme, error) {
	if utf8.RuneCountInString(p.Space) != 1 {
		return "", unexpected(item+".replacement", fmt.Sprintf("%q", p.Space), "one character")
	}
	prefix, err := p.addPrefix(item)
	if err != nil {
		return "", err
	}
	scheme := pretokenize.Always
	if p.Scheme != nil {
		scheme = pretokenize.Scheme(strings.ToLower(*p.Scheme))
	}
	if !prefix {
		if p.Scheme != nil && scheme != pretokenize.Never {
			return "", unexpected(item+".prepend_scheme", fmt.Sprintf("%q without add_prefix_space", scheme), `"never"`)
		}
		scheme = pretokenize.Never
	}
	switch scheme {
	case pretokenize.Always, pretokenize.First, pretokenize.Never:
		return scheme, nil
	}
	return "", unexpected(item+".prepend_scheme", fmt.Sprintf("%q", scheme), "one of always, first, never")
}
