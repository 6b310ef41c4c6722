package bpe

import (
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/part"
)

// Encode returns the ids of a text. If special is set, special tokens that are written in it, such
// as <|im_end|>, become those tokens; otherwise they are text like all other. Set it for what a
// program has written itself, not for what a user has. BOS and EOS are not added.
//
// A byte without a token, as rare control characters have none in some vocabularies, is left out.
// Bytes that are not UTF-8 are encoded like others.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	return t.EncodeParts([]part.Part{{Text: text, Special: special}})
}

// EncodeParts returns the ids of a text of which only some parts may have special tokens, as
// package chattemplate makes it of a conversation. Between special tokens all parts are one text,
// so that the ids are those of Encode for texts in which no special tokens are written.
func (t *Tokenizer) EncodeParts(parts []part.Part) []int32 {
	size := 0
	for _, p := range parts {
		size += len(p.Text)
	}
	m := merger{t: t, ids: make([]int32, 0, size/3+1)}
	var pending []string // before the next special token
	for _, p := range parts {
		rest := p.Text
		for p.Special {
			before, token, after, found := t.special.Cut(rest)
			if !found {
				break
			}
			m.text(strings.Join(append(pending, before), ""))
			m.ids = append(m.ids, token.ID)
			pending, rest = pending[:0], after
		}
		pending = append(pending, rest)
	}
	m.text(strings.Join(pending, ""))
	return m.ids
}

// text appends the ids of a text without special tokens.
func (m *merger) text(text string) {
	for {
		before, token, after, found := m.t.always.Cut(text)
		m.t.split(before, m.piece)
		if !found {
			return
		}
		m.ids = append(m.ids, token.ID)
		text = after
	}
}
