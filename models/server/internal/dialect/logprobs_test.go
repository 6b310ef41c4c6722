package dialect

import (
	"slices"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/server/internal/request"
)

// TestTokenBytes: the bytes of a token are there, also if it is a part of a character, where its text does
// not tell them.
func TestTokenBytes(t *testing.T) {
	for _, c := range []struct {
		of         string
		token      string
		bytes      []int
		written    string
		characters int
	}{
		{"\xf0", "\uFFFD", []int{0xf0}, `bytes:\xf0`, 1},
		{"\x9f", "\uFFFD", []int{0x9f}, `bytes:\x9f`, 0},
		{"a", "a", []int{'a'}, "a", 1},
		{" ", " ", []int{' '}, " ", 1},
	} {
		l := logprobsOf([]request.Logprob{{Bytes: []byte(c.of), Logprob: -1}})[0]
		if l.Token != c.token || !slices.Equal(l.Bytes, c.bytes) || l.written() != c.written || l.characters() != c.characters {
			t.Errorf("%q: %+v, %q, %d characters, want %+v", c.of, l, l.written(), l.characters(), c)
		}
	}
	top := []request.Logprob{{Bytes: []byte{0xf0}}, {Bytes: []byte{0x9f}}, {Bytes: []byte{0xf0}}}
	e := &request.Event{Logprobs: []request.Logprob{{Bytes: []byte{0xf0}, Top: top}, {Bytes: []byte{0x9f}, Top: top}, {Bytes: []byte(" "), Top: top}}}
	if l := completionLogprobsOf(e); !slices.Equal(l.Tokens, []string{`bytes:\xf0`, `bytes:\x9f`, " "}) || len(l.Top[0]) != 2 || !slices.Equal(l.Offsets, []int{0, 1, 1}) {
		t.Errorf("%+v", l)
	}
}
