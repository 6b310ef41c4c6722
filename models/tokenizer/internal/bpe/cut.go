package bpe

import "unicode/utf8"

// AtLeast tells whether a piece is sure to have n ids. Each known byte is in an id, and no id has
// more bytes than the longest token. What is unknown does not count: it may be left out, or become
// one token.
func (e *Encoder) AtLeast(piece string, n int) bool {
	longest := max(e.m.Longest, utf8.UTFMax)
	if len(piece)/longest < n {
		return false
	}
	want := n * longest
	known := 0
	for i := 0; i < len(piece) && known < want; {
		id, _, size := e.symbolAt(piece, i)
		if id >= 0 || e.m.hasBytes(piece[i:i+size]) {
			known += size
		}
		i += size
	}
	return known >= want
}

// Cut returns the first index at or after from at which a piece can be cut: no token has the
// characters before and after it beside each other, so that nothing is merged across it, and both
// are known, so that what is unknown is not fused.
func (e *Encoder) Cut(piece string, from int) int {
	within := e.m.within()
	for !e.m.Bytes && from < len(piece) && !utf8.RuneStart(piece[from]) {
		from++
	}
	for i := from; i < len(piece); {
		id, r, size := e.symbolAt(piece, i)
		before, last, _ := e.symbolBefore(piece, i)
		if id >= 0 && before >= 0 && !within[[2]rune{last, r}] {
			return i
		}
		i += size
	}
	return len(piece)
}

// symbolAt returns the character or byte at an index, with its id.
func (e *Encoder) symbolAt(piece string, i int) (id int32, r rune, size int) {
	if e.m.Bytes {
		return e.m.ByteIDs[piece[i]], rune(piece[i]), 1
	}
	r, _ = utf8.DecodeRuneInString(piece[i:])
	id, size = e.char(piece, i)
	return id, r, size
}

// symbolBefore returns the one that ends there.
func (e *Encoder) symbolBefore(piece string, i int) (id int32, r rune, size int) {
	size = 1
	if !e.m.Bytes {
		_, size = utf8.DecodeLastRuneInString(piece[:i])
	}
	return e.symbolAt(piece, i-size)
}

// AppendPart appends the ids of a part of a piece that ends and begins where it can be cut.
func (e *Encoder) AppendPart(ids []int32, part string, _ bool) []int32 { return e.merged(ids, part) }
