package wordpiece

// vocabulary finds the longest token that a word begins with.
type vocabulary struct {
	ids     map[string]int32
	longest int // of the tokens, in bytes
}

func newVocabulary(size int) vocabulary { return vocabulary{ids: make(map[string]int32, size)} }

func (v *vocabulary) add(token string, id int32) {
	v.ids[token] = id
	v.longest = max(v.longest, len(token))
}

// prefix returns the longest token that word begins with and its length in bytes, which is 0 if
// there is none. A token ends where a character ends.
func (v *vocabulary) prefix(word []byte) (id int32, length int) {
	for n := min(v.longest, len(word)); n > 0; n-- {
		if n < len(word) && word[n]&0xc0 == 0x80 {
			continue // within a character
		}
		if id, ok := v.ids[string(word[:n])]; ok {
			return id, n
		}
	}
	return 0, 0
}
