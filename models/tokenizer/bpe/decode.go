package bpe

// Decode returns the bytes of tokens, special ones included: the text that they stand for, which
// is not UTF-8 if they begin or end within a character. An id that no token has gives U+FFFD.
func (t *Tokenizer) Decode(ids []int32) []byte {
	var out []byte
	for _, id := range ids {
		out = t.appendToken(out, id)
	}
	return out
}

// Text returns the text of tokens, with or without those of type Control. It is UTF-8: what Stream
// gives for all of them.
func (t *Tokenizer) Text(ids []int32, special bool) string {
	s := t.Stream(special)
	var out []byte
	for _, id := range ids {
		out = append(out, s.Next(id)...)
	}
	return string(append(out, s.Flush()...))
}

func (t *Tokenizer) appendToken(out []byte, id int32) []byte {
	if t.unknown(id) {
		return append(out, "\ufffd"...)
	}
	return append(out, t.bytes[id]...)
}
