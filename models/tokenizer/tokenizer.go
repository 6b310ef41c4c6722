package tokenizer

// Tokenizer is a vocabulary with its rules. It does not change and is safe for concurrent use.
type Tokenizer struct{ engine }

// engine is what a kind of tokenizer does.
type engine interface {
	encode(parts []Part, limit int) []int32 // without the tokens around it
	ends() (before, after []int32)
	Len() int
	Token(id int32) string
	ID(text string) (id int32, ok bool)
	Role(role string) (id int32, ok bool)
	Special(id int32) bool
	Stream(special bool) *Stream
}

// Encode returns the ids of a text, with those of the tokens that the model expects around it.
func (t *Tokenizer) Encode(text string, o Options) []int32 {
	return t.EncodeParts([]Part{{Text: text, Special: !o.Plain}}, o)
}

// EncodeParts returns the ids of a text of which only some parts may have special tokens. Between
// special tokens all parts are one text. Options.Plain has no effect.
func (t *Tokenizer) EncodeParts(parts []Part, o Options) []int32 {
	before, after := t.Ends()
	if o.NoSpecial {
		before, after = nil, nil
	}
	ids := t.encode(parts, o.Limit)
	if o.Limit > 0 {
		ids = ids[:min(len(ids), max(o.Limit-len(before)-len(after), 0))]
	}
	return append(append(append([]int32(nil), before...), ids...), after...)
}

// EncodePair returns the ids of two texts, as cross-encoders take them, and for every id the type
// that the model expects there: with BERT 0 for the first text and 1 for the second one.
func (t *Tokenizer) EncodePair(a, b string, o Options) (ids, types []int32) {
	x, y := t.Encode(a, Options{NoSpecial: true, Plain: o.Plain}), t.Encode(b, Options{NoSpecial: true, Plain: o.Plain})
	before, after := t.Ends()
	if o.NoSpecial {
		before, after = nil, nil
	}
	if o.Limit > 0 {
		n := max(o.Limit-len(before)-2*len(after), 0)
		for len(x)+len(y) > n {
			if len(x) > len(y) {
				x = x[:len(x)-1]
			} else {
				y = y[:len(y)-1]
			}
		}
	}
	ids = append(append(append(ids, before...), x...), after...)
	types = make([]int32, len(ids))
	ids = append(append(ids, y...), after...)
	for len(types) < len(ids) {
		types = append(types, 1)
	}
	return ids, types
}

// Ends returns the ids that Encode puts before and after a text. Do not change them.
func (t *Tokenizer) Ends() (before, after []int32) { return t.ends() }

// Count returns the number of ids of a text, with those of the tokens around it.
func (t *Tokenizer) Count(text string) int { return len(t.Encode(text, Options{})) }

// Decode returns the text of ids, with or without special tokens. It is UTF-8: what a Stream gives
// for all of them.
func (t *Tokenizer) Decode(ids []int32, special bool) string {
	s := t.Stream(special)
	var out []byte
	for _, id := range ids {
		out = append(out, s.Next(id)...)
	}
	return string(append(out, s.Flush()...))
}

// Stream turns ids into text one by one, as a model generates them. One goroutine at a time may use
// it.
type Stream struct {
	next  func(id int32) string
	flush func() string
}

// Next takes an id and returns the text that is complete with it, which may be empty.
func (s *Stream) Next(id int32) string { return s.next(id) }

// Flush returns what is left. The stream can then be used for another text.
func (s *Stream) Flush() string { return s.flush() }
