package dialect

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/server/internal/request"
)

// TestTokenBytes: the bytes of a token are there, also if it is a part of a character, where its
// text does not tell them.
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
		l := newTokenLogprob([]byte(c.of), -1)
		if l.Token != c.token || !slices.Equal(l.Bytes, c.bytes) || l.written() != c.written || l.characters() != c.characters {
			t.Errorf("%q: %+v, %q, %d characters, want %+v", c.of, l, l.written(), l.characters(), c)
		}
	}
	bytesOf := func(id int32) []byte { return []byte{byte(id)} }
	top := []decoder.TokenLogprob{{ID: 0xf0}, {ID: 0x9f}, {ID: 0xf0}}
	e := &request.Event{Bytes: bytesOf, Tokens: []decoder.Token{{ID: 0xf0, Top: top}, {ID: 0x9f, Top: top}, {ID: ' ', Top: top}}}
	if l := completionLogprobsOf(e); !slices.Equal(l.Tokens, []string{`bytes:\xf0`, `bytes:\x9f`, " "}) || len(l.Top[0]) != 2 || !slices.Equal(l.Offsets, []int{0, 1, 1}) {
		t.Errorf("%+v", l)
	}
}
