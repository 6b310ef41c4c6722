// Package alphabet has the characters in which byte-level vocabularies are written.
package alphabet

// GPT-2 writes tokens, which are bytes, in characters that can be seen: printable bytes of Latin-1
// as themselves, the others as the characters from U+0100 on, in their order.
var chars, bytesOf = func() (chars [256]rune, bytes [256 + 68]int16) {
	next := rune(256)
	for c := range bytes {
		bytes[c] = -1
	}
	for b := range chars {
		c := rune(b)
		if c <= ' ' || 0x7f <= c && c <= 0xa0 || c == 0xad {
			c = next
			next++
		}
		chars[b], bytes[c] = c, int16(b)
	}
	return chars, bytes
}()

// Char returns the character of a byte.
func Char(b byte) rune { return chars[b] }

// Letters returns a text with the character of each byte.
func Letters(text string) string {
	out := make([]rune, len(text))
	for i := range len(text) {
		out[i] = chars[text[i]]
	}
	return string(out)
}

// Bytes returns the bytes that a token is written for, and whether it is written in the alphabet.
func Bytes(token string) (string, bool) {
	bytes := make([]byte, 0, len(token))
	for _, c := range token {
		if int(c) >= len(bytesOf) || bytesOf[c] < 0 {
			return token, false
		}
		bytes = append(bytes, byte(bytesOf[c]))
	}
	return string(bytes), true
}
