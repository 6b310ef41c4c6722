package regular

import "unicode/utf8"

// A ByteRange is a range of bytes.
type ByteRange struct{ Lo, Hi byte }

// UTF8 calls f with sequences of ranges of bytes that together are the UTF-8 of a class. There are
// no surrogates in it.
func UTF8(c Class, f func([]ByteRange)) {
	for _, s := range c {
		splitAt(s, 0xD7FF, func(s Span) {
			if s.Lo >= 0xD800 && s.Hi <= 0xDFFF {
				return
			}
			splitAt(s, 0xDFFF, func(s Span) {
				if s.Lo >= 0xD800 && s.Hi <= 0xDFFF {
					return
				}
				splitLengths(s, f)
			})
		})
	}
}

// splitAt calls f with the parts of s up to last and after it.
func splitAt(s Span, last rune, f func(Span)) {
	if s.Lo <= last && last < s.Hi {
		f(Span{s.Lo, last})
		f(Span{last + 1, s.Hi})
		return
	}
	f(s)
}

// splitLengths cuts a range where the number of bytes changes.
func splitLengths(s Span, f func([]ByteRange)) {
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if s.Lo <= last && last < s.Hi {
			splitBytes(Span{s.Lo, last}, f)
			s.Lo = last + 1
		}
	}
	splitBytes(s, f)
}

// splitBytes cuts a range of characters with equally many bytes until the first ones and the last
// ones differ in one byte alone, or in bytes after which all continuations follow.
func splitBytes(s Span, f func([]ByteRange)) {
	for shift := 6; shift <= 18; shift += 6 {
		low := rune(1)<<shift - 1
		if s.Lo&^low == s.Hi&^low {
			break // the same leading bytes from here on
		}
		if s.Lo&low != 0 {
			splitBytes(Span{s.Lo, s.Lo | low}, f)
			s.Lo = (s.Lo | low) + 1
			splitBytes(s, f)
			return
		}
		if s.Hi&low != low {
			splitBytes(Span{s.Lo, s.Hi&^low - 1}, f)
			splitBytes(Span{s.Hi &^ low, s.Hi}, f)
			return
		}
	}
	var lo, hi [utf8.UTFMax]byte
	n := utf8.EncodeRune(lo[:], s.Lo)
	utf8.EncodeRune(hi[:], s.Hi)
	ranges := make([]ByteRange, n)
	for i := range ranges {
		ranges[i] = ByteRange{lo[i], hi[i]}
	}
	f(ranges)
}
