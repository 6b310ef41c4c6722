package llama

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// loadTemplate reads the template of conversations, if the file has one.
func (v *vocabulary) loadTemplate(f *gguf.File) {
	var source string
	if source, v.templateErr = f.String("tokenizer.chat_template"); v.templateErr == nil {
		v.template, v.templateErr = chattemplate.New(source)
	}
}

// EncodeChat returns the tokens of a conversation as the file's template writes it, up to
// where the assistant's answer begins. Special tokens that are written in a message are text
// like all other: no message can end its turn or begin another one.
//
// The error is that of [Model.Tokenizer], that there is no template or none that package
// chattemplate can read, or that of the template.
func (v *vocabulary) EncodeChat(messages []chattemplate.Message) ([]int32, error) {
	if err := errors.Join(v.tokenizerErr, v.templateErr); err != nil {
		return nil, err
	}
	special := v.specialTokens()
	hidden, hide := hideIn(messages, special)
	text, err := v.template.Render(hidden, true)
	if err != nil {
		return nil, err
	}
	return v.encodeParts(text, special, hide), nil
}

// encodeParts encodes text with special tokens, between which there are texts with hidden ones.
func (v *vocabulary) encodeParts(text string, special []string, hide *strings.Replacer) (ids []int32) {
	if hide == nil {
		return v.tokenizer.Encode(text, true)
	}
	for text != "" {
		at, found := firstOf(text, special)
		ids = append(ids, v.tokenizer.Encode(hide.Replace(text[:at]), false)...)
		ids = append(ids, v.tokenizer.Encode(found, true)...)
		text = text[at+len(found):]
	}
	return ids
}

// firstOf returns the place of the first of some strings in text, and which one it is: the
// longest of several at that place. Without one the place is the end.
func firstOf(text string, list []string) (at int, found string) {
	at = len(text)
	for _, s := range list {
		if i := strings.Index(text, s); i >= 0 && (i < at || i == at && len(s) > len(found)) {
			at, found = i, s
		}
	}
	return at, found
}

// specialTokens returns the tokens that [bpe.Tokenizer.Encode] finds in texts, the longest
// first.
func (v *vocabulary) specialTokens() (list []string) {
	for id := range int32(v.tokenizer.Len()) {
		switch v.tokenizer.Type(id) {
		case bpe.Control, bpe.UserDefined, bpe.Unknown:
			list = append(list, v.tokenizer.Token(id))
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// hideIn replaces special tokens in messages by stand-ins that a template does not know, and
// returns what puts them back, nil if there are none.
func hideIn(messages []chattemplate.Message, special []string) ([]chattemplate.Message, *strings.Replacer) {
	if !slices.ContainsFunc(messages, func(m chattemplate.Message) bool {
		_, found := firstOf(m.Content, special)
		return found != ""
	}) {
		return messages, nil
	}
	mark := string(unused(messages))
	there, back := make([]string, 0, 2*len(special)), make([]string, 0, 2*len(special))
	for i, s := range special {
		standIn := fmt.Sprint(mark, i, mark)
		there, back = append(there, s, standIn), append(back, standIn, s)
	}
	hide := strings.NewReplacer(there...)
	hidden := slices.Clone(messages)
	for i := range hidden {
		hidden[i].Content = hide.Replace(hidden[i].Content)
	}
	return hidden, strings.NewReplacer(back...)
}

// unused returns a character for private use that no message has.
func unused(messages []chattemplate.Message) rune {
	mark := rune(0xf0000)
	for slices.ContainsFunc(messages, func(m chattemplate.Message) bool { return strings.ContainsRune(m.Content, mark) }) {
		mark++
	}
	return mark
}
