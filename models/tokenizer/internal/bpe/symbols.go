package bpe

import (
	"slices"
	"unicode/utf8"
)

// symbol is a token of the piece, in a list of neighbours.
type symbol struct {
	id         int32 // -1 if there is none of its text
	prev, next int32 // indices of neighbours, or -1
	from, size int32 // its text; size is -1 after it has become part of its left neighbour
}

// start makes the symbols that a piece begins as.
func (e *Encoder) start(piece string) {
	e.symbols, e.text = e.symbols[:0], piece
	switch {
	case e.m.Bytes:
		e.startBytes(piece)
	case e.m.merges == nil:
		e.startChars(piece)
	default:
		e.startKnown(piece)
	}
	if n := len(e.symbols); n > 0 {
		e.symbols[n-1].next = -1
	}
}

func (e *Encoder) add(id int32, from, size int) {
	n := int32(len(e.symbols))
	e.symbols = append(e.symbols, symbol{id, n - 1, n + 1, int32(from), int32(size)})
}

func (e *Encoder) startBytes(piece string) {
	unknown := -1 // where bytes begin that have no token
	for i := range len(piece) {
		id := e.m.ByteIDs[piece[i]]
		if id < 0 {
			if unknown >= 0 && !e.m.FuseUnknown {
				e.addUnknown(unknown, i)
				unknown = -1
			}
			if unknown < 0 {
				unknown = i
			}
			continue
		}
		if unknown >= 0 {
			e.addUnknown(unknown, i)
			unknown = -1
		}
		e.add(id, i, 1)
	}
	if unknown >= 0 {
		e.addUnknown(unknown, len(piece))
	}
}

func (e *Encoder) addUnknown(from, to int) {
	if e.m.Unknown >= 0 {
		e.add(e.m.Unknown, from, to-from)
	}
}

func (e *Encoder) char(piece string, i int) (id int32, size int) {
	if c := piece[i]; c < utf8.RuneSelf {
		return e.m.ascii[c], 1
	}
	_, size = utf8.DecodeRuneInString(piece[i:])
	return e.m.token(piece[i : i+size]), size
}

// startChars makes a symbol of every character, known or not.
func (e *Encoder) startChars(piece string) {
	for i := 0; i < len(piece); {
		id, size := e.char(piece, i)
		e.add(id, i, size)
		i += size
	}
}

// startKnown makes symbols of characters, and of bytes where a character has no token. An unknown
// character becomes a symbol when the next known one comes, as in the reference implementation:
// behind the bytes of others.
func (e *Encoder) startKnown(piece string) {
	unknown := -1
	for i := 0; i < len(piece); {
		id, size := e.char(piece, i)
		switch {
		case id >= 0:
			if unknown >= 0 {
				e.addUnknown(unknown, i)
				unknown = -1
			}
			e.add(id, i, size)
		case e.m.hasBytes(piece[i : i+size]):
			for j := i; j < i+size; j++ {
				e.add(e.m.ByteIDs[piece[j]], j, 1)
			}
		default:
			if unknown >= 0 && !e.m.FuseUnknown {
				e.addUnknown(unknown, i)
				unknown = -1
			}
			if unknown < 0 {
				unknown = i
			}
		}
		i += size
	}
	if unknown >= 0 {
		e.addUnknown(unknown, len(piece))
	}
}

// hasBytes returns whether a text can become tokens of its bytes.
func (m *Model) hasBytes(text string) bool {
	if !m.ByteFallback {
		return false
	}
	for i := range len(text) {
		if m.ByteIDs[text[i]] < 0 {
			return false
		}
	}
	return true
}

// appendSymbol appends the token of a symbol, or the tokens of its bytes.
func (m *Model) appendSymbol(ids []int32, s *symbol, piece string) []int32 {
	if s.id >= 0 {
		return append(ids, s.id)
	}
	text := piece[s.from : s.from+s.size]
	if !m.hasBytes(text) {
		if m.Unknown < 0 {
			return ids
		}
		return append(ids, m.Unknown)
	}
	ids = slices.Grow(ids, len(text))
	for i := range len(text) {
		ids = append(ids, m.ByteIDs[text[i]])
	}
	return ids
}
