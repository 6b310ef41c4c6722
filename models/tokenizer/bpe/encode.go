package bpe

// Encode returns the ids of a text. If special is set, special tokens that are written in it, such
// as <|im_end|>, become those tokens; otherwise they are text like all other. Set it for what a
// program has written itself, not for what a user has. BOS and EOS are not added.
//
// A byte without a token, as rare control characters have none in some vocabularies, is left out.
// Bytes that are not UTF-8 are encoded like others.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	set := t.always
	if special {
		set = t.special
	}
	m := merger{t: t, ids: make([]int32, 0, len(text)/3+1)}
	for {
		before, token, after, found := set.Cut(text)
		t.split(before, m.piece)
		if !found {
			return m.ids
		}
		m.ids = append(m.ids, token.ID)
		text = after
	}
}
