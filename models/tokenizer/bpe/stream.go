package bpe

import "unicode/utf8"

// Stream turns tokens into text one by one, as a model generates them. It holds back the bytes of
// a character until the character is complete. Bytes that are not UTF-8 give U+FFFD, once for each
// beginning of a character that is broken off and each byte that begins none, as in Rust.
type Stream struct {
	t       *Tokenizer
	special bool
	pending []byte
}

// Stream returns a stream, which one goroutine at a time may use. If special is not set, it leaves
// tokens of type Control out.
func (t *Tokenizer) Stream(special bool) *Stream {
	return &Stream{t: t, special: special}
}

// Next takes a token and returns the text that is complete with it, which may be empty.
func (s *Stream) Next(id int32) string {
	if !s.special && s.t.Type(id) == Control {
		return ""
	}
	s.pending = s.t.appendToken(s.pending, id)
	return s.take(false)
}

// Flush returns what is left, as U+FFFD: the beginning of a character that is not complete. The
// stream can then be used for another text.
func (s *Stream) Flush() string { return s.take(true) }

// take returns the pending text up to an incomplete character, or all of it.
func (s *Stream) take(all bool) string {
	var out []byte
	rest := s.pending
	for len(rest) > 0 {
		if !all && !utf8.FullRune(rest) {
			break
		}
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			n = broken(rest)
		}
		out = utf8.AppendRune(out, r)
		rest = rest[n:]
	}
	s.pending = append(s.pending[:0], rest...)
	return string(out)
}

// broken returns the number of bytes that U+FFFD replaces where bytes are not UTF-8: those that a
// character could begin with, at least one.
func broken(bytes []byte) int {
	n := 1
	for n < len(bytes) && !utf8.FullRune(bytes[:n+1]) {
		n++
	}
	return n
}
