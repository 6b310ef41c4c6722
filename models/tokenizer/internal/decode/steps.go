package decode

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/alphabet"
)

// each is a step that changes each token by itself.
type each func(token string) string

func (f each) next(token string, out func(string)) { out(f(token)) }
func (f each) flush(func(string))                  {}
func (f each) within(token string) string          { return f(token) }

// Each makes a step that changes each token by itself.
func Each(f func(token string) string) Maker { return func() Step { return each(f) } }

// first is a step that changes the first token in another way than those after it.
type first struct {
	change func(token string, first bool) string
	later  bool
}

func (f *first) next(token string, out func(string)) {
	out(f.change(token, !f.later))
	f.later = true
}

func (f *first) flush(func(string))         { f.later = false }
func (f *first) within(token string) string { return f.change(token, false) }

// Metaspace makes spaces of a character. If drop is set, spaces of the first token are left out.
func Metaspace(space string, drop bool) Maker {
	return func() Step {
		return &first{change: func(token string, first bool) string {
			if first && drop {
				return strings.ReplaceAll(token, space, "")
			}
			return strings.ReplaceAll(token, space, " ")
		}}
	}
}

// Join puts spaces between tokens.
func Join() Maker {
	return func() Step {
		return &first{change: func(token string, first bool) string {
			if first {
				return token
			}
			return " " + token
		}}
	}
}

// WordPiece puts spaces before tokens that do not continue a word, which the prefix marks. If clean
// is set, it takes some spaces out again, such as those before punctuation.
func WordPiece(prefix string, clean bool) Maker {
	return func() Step {
		return &first{change: func(token string, first bool) string {
			if rest, ok := strings.CutPrefix(token, prefix); ok && !first {
				token = rest
			} else if !first {
				token = " " + token
			}
			if clean {
				token = cleaner(token)
			}
			return token
		}}
	}
}

// cleaner applies its rules one after another, as the reference implementation does.
func cleaner(token string) string {
	for _, r := range [...][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
		{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		token = strings.ReplaceAll(token, r[0], r[1])
	}
	return token
}

// Strip takes up to some characters c off both ends of each token.
func Strip(c string, start, stop int) Maker {
	return Each(func(token string) string {
		for i := 0; i < start && strings.HasPrefix(token, c); i++ {
			token = token[len(c):]
		}
		for i := 0; i < stop && strings.HasSuffix(token, c); i++ {
			token = token[:len(token)-len(c)]
		}
		return token
	})
}

// stripText is Strip for a whole text.
type stripText struct {
	c           string
	start, stop int
	left        int // how many may still be taken off the start
	held        int // characters c at the end so far
}

// StripText takes up to some characters c off both ends of the whole text.
func StripText(c string, start, stop int) Maker {
	return func() Step { return &stripText{c: c, start: start, stop: stop, left: start} }
}

func (s *stripText) next(token string, out func(string)) {
	for s.left > 0 && strings.HasPrefix(token, s.c) {
		token = token[len(s.c):]
		s.left--
	}
	if token == "" {
		return
	}
	s.left = 0
	body := token
	for strings.HasSuffix(body, s.c) {
		body = body[:len(body)-len(s.c)]
	}
	if body != "" {
		out(strings.Repeat(s.c, s.held) + body)
		s.held = 0
	}
	s.held += (len(token) - len(body)) / len(s.c)
	if s.held > s.stop {
		out(strings.Repeat(s.c, s.held-s.stop))
		s.held = s.stop
	}
}

func (s *stripText) flush(func(string))         { s.left, s.held = s.start, 0 }
func (s *stripText) within(token string) string { return token }

// replaceText is a replacement in a whole text.
type replaceText struct {
	from, to string
	held     string // the end of the text so far that from may begin with
}

// ReplaceText puts a text in the place of another one, also where tokens meet within that.
func ReplaceText(from, to string) Maker {
	return func() Step { return &replaceText{from: from, to: to} }
}

func (r *replaceText) next(token string, out func(string)) {
	text, done := r.held+token, ""
	if parts := strings.Split(text, r.from); len(parts) > 1 {
		text = parts[len(parts)-1]
		done = strings.Join(parts[:len(parts)-1], r.to) + r.to
	}
	n := min(len(r.from)-1, len(text))
	for !strings.HasPrefix(r.from, text[len(text)-n:]) {
		n--
	}
	r.held = text[len(text)-n:]
	if done += text[:len(text)-n]; done != "" {
		out(done)
	}
}

func (r *replaceText) flush(out func(string)) {
	if r.held != "" {
		out(r.held)
	}
	r.held = ""
}

func (r *replaceText) within(token string) string { return strings.ReplaceAll(token, r.from, r.to) }

// bytes is a step for tokens that are bytes. It holds back the bytes of a character until the
// character is complete.
type bytes struct{ pending []byte }

// Bytes makes UTF-8 of tokens that are bytes: of what is not, U+FFFD, once for each beginning of a
// character that is broken off and each byte that begins none.
func Bytes() Maker { return func() Step { return &bytes{} } }

func (b *bytes) within(token string) string { return token }

func (b *bytes) next(token string, out func(string)) {
	if len(b.pending) == 0 && utf8.ValidString(token) {
		if token != "" {
			out(token)
		}
		return
	}
	b.pending = append(b.pending, token...)
	b.take(false, out)
}

func (b *bytes) flush(out func(string)) { b.take(true, out) }

func (b *bytes) take(all bool, out func(string)) {
	var text []byte
	rest := b.pending
	for len(rest) > 0 && (all || utf8.FullRune(rest)) {
		r, n := utf8.DecodeRune(rest)
		for r == utf8.RuneError && n < len(rest) && !utf8.FullRune(rest[:n+1]) {
			n++ // what a character could begin with
		}
		text = utf8.AppendRune(text, r)
		rest = rest[n:]
	}
	b.pending = append(b.pending[:0], rest...)
	if len(text) > 0 {
		out(string(text))
	}
}

// ByteLevel are the makers for tokens that are written in GPT-2's alphabet of bytes. A token that
// is not is its own bytes.
func ByteLevel() []Maker {
	return []Maker{Each(func(token string) string {
		bytes, _ := alphabet.Bytes(token)
		return bytes
	}), Bytes()}
}

// byteFallback holds tokens of bytes back until another token follows.
type byteFallback struct{ pending []byte }

// ByteFallback makes characters of tokens such as <0xE2>. Those after each other are UTF-8
// together, or each becomes U+FFFD.
func ByteFallback() Maker { return func() Step { return &byteFallback{} } }

func (b *byteFallback) next(token string, out func(string)) {
	if c, ok := Byte(token); ok {
		b.pending = append(b.pending, c)
		return
	}
	b.flush(out)
	out(token)
}

func (b *byteFallback) within(token string) string {
	if c, ok := Byte(token); ok {
		return string([]byte{c})
	}
	return token
}

func (b *byteFallback) flush(out func(string)) {
	text := string(b.pending)
	if !utf8.ValidString(text) {
		text = strings.Repeat("\ufffd", len(text))
	}
	if text != "" {
		out(text)
	}
	b.pending = b.pending[:0]
}

// Byte returns the byte of a token such as <0xE2>, and whether it is one.
func Byte(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' || token[3] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}
