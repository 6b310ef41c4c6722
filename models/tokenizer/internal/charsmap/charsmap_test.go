package charsmap

import (
	"testing"
	"unicode/utf8"
)

// No bytes make a map that panics, or a text that is longer than rules may make it.
func FuzzNew(f *testing.F) {
	f.Add([]byte("\x08\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00b\x00"), "ab e\u0301\u0323 \r\n")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := New(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		for _, got := range []string{m.Graphemes(text), m.Prefixes(text)} {
			if len(got) > maxText*len(text) {
				t.Fatalf("%q becomes %d bytes", text, len(got))
			}
		}
	})
}

func TestErrors(t *testing.T) {
	for _, data := range []string{"", "\x01\x00\x00\x00a", "\x00\x00\x00\x00", "\xff\xff\xff\xfc", "\x04\x00\x00\x00\x00\x00\x00\x00a", "\x04\x00\x00\x00\x00\x00\x00\x00\xff\x00"} {
		if _, err := New([]byte(data)); err == nil {
			t.Errorf("%q: got no error", data)
		}
	}
}
