package tokenizer

import "math"

// EncodeWithin is Encode for a text that may have at most o.Limit ids, those around it included,
// and is of no use if it has more: then ok is false, and there are no ids. It stops where more are
// certain, at the latest with the first id that is too much, and before a piece of which so many
// bytes are left that the longest tokens cannot make fewer ids. Without a limit ok is true.
func (t *Tokenizer) EncodeWithin(text string, o Options) (ids []int32, ok bool) {
	return t.within(o, func(r *run) { r.text(text, o.Plain) })
}

// EncodePartsWithin is EncodeParts as EncodeWithin is Encode.
func (t *Tokenizer) EncodePartsWithin(parts []Part, o Options) (ids []int32, ok bool) {
	if text, plain, one := asText(parts); one {
		return t.within(o, func(r *run) { r.text(text, plain) })
	}
	return t.within(o, func(r *run) { r.parts(parts) })
}

// within encodes a text that must fit.
func (t *Tokenizer) within(o Options, encode func(r *run)) (ids []int32, ok bool) {
	room := t.single.room(o)
	r := t.run(room, 0)
	defer r.release()
	if room < math.MaxInt {
		r.room, r.strict = room+1, true
	}
	if encode(r); r.over || len(r.ids) > room {
		return nil, false
	}
	return t.single.apply([2][]int32{r.result(), nil}, o, nil), true
}

// A counter is an appender that knows how few ids a piece can have, without making them.
type counter interface {
	// AtLeast tells whether a piece is sure to have n ids.
	AtLeast(piece string, n int) bool
}

// A cutter is an appender that can append the ids of a long piece part by part.
type cutter interface {
	// Cut returns the first index from which on the ids of a piece do not depend on what is before
	// it, and the other way round, at or after from: the piece's length if there is none.
	Cut(piece string, from int) int
	// AppendPart appends the ids of a part between such places, one after another. first says that
	// it begins the piece.
	AppendPart(ids []int32, part string, first bool) []int32
}

// exceeds tells whether a piece is sure to have more ids than there may be.
func (r *run) exceeds(piece string) bool {
	c, ok := r.model.(counter)
	return ok && c.AtLeast(piece, r.room-len(r.ids))
}

// long appends the ids of a long piece until there are enough.
func (r *run) long(piece string) bool {
	c, ok := r.model.(cutter)
	if !ok {
		r.ids = r.model.Append(r.ids, piece)
		return len(r.ids) < r.room
	}
	for from := 0; from < len(piece) && len(r.ids) < r.room; {
		end := len(piece)
		if from+chunk < len(piece) {
			end = c.Cut(piece, from+chunk)
		}
		if from == 0 && end == len(piece) {
			r.ids = r.model.Append(r.ids, piece)
		} else {
			r.ids = c.AppendPart(r.ids, piece[from:end], from == 0)
		}
		from = end
	}
	return len(r.ids) < r.room
}
