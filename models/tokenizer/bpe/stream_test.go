package bpe_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Text comes as soon as its characters are complete, and broken ones give U+FFFD as in Rust's
// String::from_utf8_lossy.
func TestStream(t *testing.T) {
	tok := newSmall(t)
	for _, test := range []struct{ bytes, want string }{
		{"aé€😀", "a||é|||€||||😀|"},
		{"\xe2\x82", "||\ufffd"},
		{"\xe2\x82a", "||\ufffda|"},
		{"\xe2\x28\xa1", "|\ufffd(|\ufffd|"},
		{"\xf0\x90\x28\xbc", "||\ufffd(|\ufffd|"},
		{"\xf0\x90\xf0\x90", "||\ufffd||\ufffd"},
		{"\xed\xa0\x80", "|\ufffd\ufffd|\ufffd|"},
		{"\xc0\xaf\xff", "\ufffd|\ufffd|\ufffd|"},
	} {
		var got []string
		var all []int32
		s := tok.Stream(true)
		for i := range len(test.bytes) {
			ids := tok.Encode(test.bytes[i:i+1], false)
			if len(ids) != 1 {
				t.Fatalf("byte %#x: ids %v", test.bytes[i], ids)
			}
			all = append(all, ids[0])
			got = append(got, s.Next(ids[0]))
		}
		got = append(got, s.Flush())
		if text := strings.Join(got, "|"); text != test.want {
			t.Errorf("%q: got %q, want %q", test.bytes, text, test.want)
		}
		if text := tok.Text(all, true); text != strings.ReplaceAll(test.want, "|", "") || !utf8.ValidString(text) {
			t.Errorf("%q: got text %q", test.bytes, text)
		}
		if s.Next(all[0]) != tok.Stream(true).Next(all[0]) {
			t.Errorf("%q: a stream is not new after Flush", test.bytes)
		}
	}
}

// Control tokens can be left out, within a character too. Others remain.
func TestStreamSpecial(t *testing.T) {
	tok := newSmall(t)
	ids := tok.Encode("é", false)
	ids = append([]int32{0, ids[0], 0}, ids[1], 2, 3)
	if got, want := tok.Text(ids, false), "é<unk><tool>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := tok.Text(ids, true), "<|end|>\ufffd<|end|>\ufffd<unk><tool>"; got != want {
		t.Errorf("with special tokens: got %q, want %q", got, want)
	}
}
