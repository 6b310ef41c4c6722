package tokenizer

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
)

// Encode returns the ids of a text, and of the tokens that the model expects around it. It takes
// time in proportion to n log n for n bytes, whatever the files say.
//
// Bytes that are not UTF-8 are encoded like others if the vocabulary has bytes, and otherwise as
// U+FFFD, once for each beginning of a character that is broken off and each byte that begins none.
func (t *Tokenizer) Encode(text string, o Options) []int32 {
	return t.single.apply([2][]int32{t.text(text, o.Plain, t.single.room(o)), nil}, o, nil)
}

// EncodeParts returns the ids of a text of which only some parts may have special tokens, as
// package chattemplate makes it of a conversation. Between special tokens all parts are one text,
// so that the ids equal Encode's for texts in which no special tokens are written. Options.Plain
// has no effect.
func (t *Tokenizer) EncodeParts(parts []Part, o Options) []int32 {
	room := t.single.room(o)
	if text, plain, ok := asText(parts); ok {
		return t.single.apply([2][]int32{t.text(text, plain, room), nil}, o, nil)
	}
	return t.single.apply([2][]int32{t.parts(parts, room), nil}, o, nil)
}

// asText returns the text of parts of which all may have special tokens, or none: then it is plain.
func asText(parts []Part) (text string, plain, ok bool) {
	special := 0
	for _, p := range parts {
		if p.Special {
			special++
		}
	}
	if special != 0 && special != len(parts) {
		return "", false, false
	}
	return Join(parts), special == 0, true
}

// EncodePair returns the ids of two texts, as cross-encoders take them, and for every id the type
// that the model expects there: with BERT 0 for the first text and 1 for the second one.
func (t *Tokenizer) EncodePair(a, b string, o Options) (ids, types []int32) {
	return t.PairsOf(a, o)(b)
}

// PairsOf returns a function that is [Tokenizer.EncodePair] of a and another text. It encodes a
// once, not for every text. The function is for one goroutine at a time.
func (t *Tokenizer) PairsOf(a string, o Options) func(b string) (ids, types []int32) {
	room := t.pair.room(o)
	first := t.text(a, o.Plain, room)
	var whole []int32 // first without a limit
	return func(b string) (ids, types []int32) {
		x, y := first, t.text(b, o.Plain, room)
		if len(x) == room && len(y) == room && room%2 != 0 { // the longer one decides
			if whole == nil {
				whole = t.text(a, o.Plain, math.MaxInt)
			}
			x, y = whole, t.text(b, o.Plain, math.MaxInt)
		}
		x, y = t.cutPair(x, y, room)
		ids = t.pair.apply([2][]int32{x, y}, o, &types)
		return ids, types
	}
}

// cutPair cuts two texts to a number of ids, the longer one first, then both to half of them, as
// the reference implementation does.
func (t *Tokenizer) cutPair(x, y []int32, room int) (first, second []int32) {
	n1, n2 := len(x), len(y)
	if n1+n2 <= room {
		return x, y
	}
	swap := n1 > n2
	if swap {
		n1, n2 = n2, n1
	}
	if n2 = max(n1, room-n1); n1+n2 > room {
		n1 = room / 2
		n2 = room - n1
	}
	if swap {
		n1, n2 = n2, n1
	}
	return t.cut(x, n1), t.cut(y, n2)
}

// reach returns how many ids of a text are looked for to have so many of them: all if its beginning
// is what is left out.
func (t *Tokenizer) reach(room int) int {
	if t.left {
		return math.MaxInt
	}
	return room
}

// CutsBeginning tells whether a text of more than Options.Limit ids loses its beginning, as
// truncation_side "left" says, and not its end.
func (t *Tokenizer) CutsBeginning() bool { return t.left }

// cut returns so many ids of a text, or all.
func (t *Tokenizer) cut(ids []int32, n int) []int32 {
	if t.left {
		return ids[max(0, len(ids)-n):]
	}
	return ids[:min(len(ids), n)]
}

// text returns the first ids of a text without the tokens around it.
func (t *Tokenizer) text(text string, plain bool, room int) []int32 {
	r := t.run(t.reach(room), len(text))
	defer r.release()
	r.text(text, plain)
	return t.cut(r.result(), room)
}

// parts is text for parts of which some, but not all, may have special tokens.
func (t *Tokenizer) parts(parts []Part, room int) []int32 {
	r := t.run(t.reach(room), 0)
	defer r.release()
	r.parts(parts)
	return t.cut(r.result(), room)
}

// parts appends the ids of parts until there are enough.
func (r *run) parts(parts []Part) {
	var pending []string // before the next special token
	for _, p := range parts {
		if !p.Special {
			pending = append(pending, p.Text)
			continue
		}
		on := r.t.marks.find(p.Text, false, func(part string, id int32, special bool) bool {
			if id < 0 {
				pending = append(pending, part)
				return true
			}
			on := r.text(strings.Join(pending, ""), true)
			pending = pending[:0]
			return r.token(id) && on
		})
		if !on {
			return
		}
	}
	r.text(strings.Join(pending, ""), true)
}

// run is the encoding of one text.
type run struct {
	t      *Tokenizer
	model  appender
	ids    []int32
	room   int
	inside bool // the next text does not begin where all begins
	strict bool // with more than room-1 ids there is no use for any
	over   bool // so many are certain
	large  bool // the memory of the model is larger than is worth keeping
}

func (t *Tokenizer) run(room, size int) *run {
	r := t.free.Get().(*run)
	r.room, r.inside, r.strict, r.over = room, false, false, false
	r.ids = slices.Grow(r.ids[:0], min(size/4, room))
	return r
}

func (r *run) release() {
	if !r.large {
		r.t.free.Put(r)
	}
}

// mostKept is the longest piece, in bytes, whose encoder is used again: it has up to 60 times as
// much memory.
const mostKept = 1 << 16

func (r *run) result() []int32 {
	return slices.Clone(r.ids[:min(len(r.ids), r.room)])
}

// chunk is how much of a text is encoded before the limit is looked at, if the text can be cut.
const chunk = 4096

// text appends the ids of a text and returns whether there is room for more.
func (r *run) text(text string, plain bool) bool {
	if !r.t.bytes {
		text = normalize.Valid(text)
	}
	for r.t.chunks && r.room < math.MaxInt && len(text) > chunk {
		end := chunk + cut(text[chunk:])
		if !r.exact(text[:end], plain) {
			return false
		}
		text = text[end:]
	}
	return r.exact(text, plain)
}

// cut returns the least number of bytes after which a text has a space and then a letter of ASCII.
func cut(text string) int {
	for i := 1; i < len(text); i++ {
		if c := text[i] | 0x20; text[i-1] == ' ' && 'a' <= c && c <= 'z' {
			return i
		}
	}
	return len(text)
}

// removesFirst tells whether the normalizer removes the first character of a text. The next one
// stands behind it, as a pattern may merge both. Then comes a letter, as white space may go as the
// end of a text: once a and once b, as a pattern may merge the letter, too.
func (r *run) removesFirst(text string) bool {
	_, first := utf8.DecodeRuneInString(text)
	_, second := utf8.DecodeRuneInString(text[first:])
	for _, letter := range []string{"a", "b"} {
		with := text[:first+second] + letter
		if r.t.normalize(with) != r.t.normalize(with[first:]) {
			return false
		}
	}
	return true
}

// exact finds added tokens in a text.
func (r *run) exact(text string, plain bool) bool {
	return r.t.exact.find(text, plain, func(part string, id int32, _ bool) bool {
		if id >= 0 {
			return r.token(id)
		}
		if r.t.normalize != nil {
			if !r.inside && r.removesFirst(part) {
				r.inside = true // the text that is left does not begin where all begins
			}
			part = r.t.normalize(part)
		}
		return r.normal(part, plain)
	})
}

// normal finds added tokens in a text that has been normalized.
func (r *run) normal(text string, plain bool) bool {
	return r.t.normal.find(text, plain, func(part string, id int32, _ bool) bool {
		if id >= 0 {
			return r.token(id)
		}
		on := r.t.split(part, !r.inside, r.piece)
		r.inside = true
		return on
	})
}

func (r *run) token(id int32) bool {
	r.ids = append(r.ids, id)
	r.inside = true
	return len(r.ids) < r.room
}

func (r *run) piece(piece string, _ bool) bool {
	switch {
	case piece == "":
	case r.strict && r.exceeds(piece):
		r.over = true
		return false
	case len(piece) > chunk && r.room < math.MaxInt:
		r.large = r.large || len(piece) > mostKept
		return r.long(piece)
	default:
		r.large = r.large || len(piece) > mostKept
		r.ids = r.model.Append(r.ids, piece)
	}
	return len(r.ids) < r.room
}
