package added_test

import (
	"testing"

	_ "github.com/attn-go/attn/models/internal/testweights" // the flag -refs
	"github.com/attn-go/attn/models/tokenizer/internal/added"
)

// The leftmost token is found, and of several there the longest.
func TestCut(t *testing.T) {
	set := added.New([]added.Token{{Text: "<a", ID: 1}, {Text: "<a>", ID: 2}, {Text: "b<", ID: 3}})
	for _, test := range []struct {
		text, before, after string
		id                  int32
	}{
		{"x<a>y", "x", "y", 2},
		{"x<ay", "x", "y", 1},
		{"b<a>", "", "a>", 3},
		{"<<a><a>", "<", "<a>", 2},
		{"x<", "x<", "", 0},
		{"", "", "", 0},
	} {
		before, token, after, found := set.Cut(test.text)
		if before != test.before || token.ID != test.id || after != test.after || found != (test.id > 0) {
			t.Errorf("%q: got %q, %d, %q, %v", test.text, before, token.ID, after, found)
		}
	}
}
