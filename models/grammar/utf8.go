package grammar

import "unicode/utf8"

// byteRange is a range of bytes.
type byteRange struct{ lo, hi byte }

// utf8Ranges calls f with sequences of ranges of bytes that together are the UTF-8 of a class. There are
// no surrogates in it.
func utf8Ranges(c class, f func([]byteRange)) {
	for _, s := range c {
		splitAt(s, 0xD7FF, func(s span) {
			if s.lo >= 0xD800 && s.hi <= 0xDFFF {
				return
			}
			splitAt(s, 0xDFFF, func(s span) {
				if s.lo >= 0xD800 && s.hi <= 0xDFFF {
					return
				}
				splitLengths(s, f)
			})
		})
	}
}

// splitAt calls f with the parts of s up to last and after it.
func splitAt(s span, last rune, f func(span)) {
	if s.lo <= last && last < s.hi {
		f(span{s.lo, last})
		f(span{last + 1, s.hi})
		return
	}
	f(s)
}

// splitLengths cuts a range where the number of bytes changes.
func splitLengths(s span, f func([]byteRange)) {
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if s.lo <= last && last < s.hi {
			splitBytes(span{s.lo, last}, f)
			s.lo = last + 1
		}
	}
	splitBytes(s, f)
}

// splitBytes cuts a range of characters with equally many bytes until the first ones and the last ones
// differ in one byte alone, or in bytes after which all continuations follow.
func splitBytes(s span, f func([]byteRange)) {
	for shift := 6; shift <= 18; shift += 6 {
		low := rune(1)<<shift - 1
		if s.lo&^low == s.hi&^low {
			break // the same leading bytes from here on
		}
		if s.lo&low != 0 {
			splitBytes(span{s.lo, s.lo | low}, f)
			s.lo = (s.lo | low) + 1
			splitBytes(s, f)
			return
		}
		if s.hi&low != low {
			splitBytes(span{s.lo, s.hi&^low - 1}, f)
			splitBytes(span{s.hi &^ low, s.hi}, f)
			return
		}
	}
	var lo, hi [utf8.UTFMax]byte
	n := utf8.EncodeRune(lo[:], s.lo)
	utf8.EncodeRune(hi[:], s.hi)
	ranges := make([]byteRange, n)
	for i := range ranges {
		ranges[i] = byteRange{lo[i], hi[i]}
	}
	f(ranges)
}
