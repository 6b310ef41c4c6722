package encoder

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/embedding"
)

// TestLong: CountTokens tells which texts are cut, and RefuseLong makes these an error.
func TestLong(t *testing.T) {
	e := loadSmall(t, newSmall(""), "F32") // sees 8 tokens
	for text, want := range map[string]int{"": 2, "a b c": 5, "a b c a b c": 8, "a b c a b c a": 9, strings.Repeat("abc ", 100): 302} {
		if got := e.CountTokens(text); got != want || len(e.Tokens(text)) != min(want, 8) {
			t.Errorf("%q: %d tokens, want %d; the model sees %d", text, got, want, len(e.Tokens(text)))
		}
	}
	fits, long := "a b c a b c", "a b c a b c a b"
	same, err := e.Embed(t.Context(), []string{fits, long})
	if err != nil || !slices.Equal(same[0], same[1]) {
		t.Errorf("a text that is cut has another vector than its beginning: %v", err)
	}
	strict := e.With(Options{RefuseLong: true})
	if got, err := strict.Embed(t.Context(), []string{fits}); err != nil || !slices.Equal(got[0], same[0]) {
		t.Errorf("a text that fits: %v", err)
	}
	if _, err := strict.Embed(t.Context(), []string{fits, long}); !errors.Is(err, embedding.ErrLong) || !strings.Contains(err.Error(), "text 1: 10 tokens, want at most 8") {
		t.Errorf("a text that is too long: %v", err)
	}
}
