package dialect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/request"
)

// TestHeldTokens: tokens without text open no item. They belong to the next text, or at the end to
// the last one.
func TestHeldTokens(t *testing.T) {
	tokens := func(ids ...int32) (list []decoder.Token) {
		for _, id := range ids {
			list = append(list, decoder.Token{ID: id})
		}
		return list
	}
	var s itemStream
	for _, e := range []request.Event{
		{Thought: true, Tokens: tokens(1)}, {Thought: true, Reasoning: "a", Tokens: tokens(2)}, {Thought: true, Tokens: tokens(3)}, {Thought: true, Reasoning: "b", Tokens: tokens(4)},
		{Thought: true, Tokens: tokens(5)}, {Tokens: tokens(6)}, {Text: "x", Tokens: tokens(7)}, {Tokens: tokens(8)}, {Text: "y", Tokens: tokens(9)},
		{Tokens: tokens(10)}, {Calls: []request.CallPart{{ID: "i", Name: "f", Arguments: "{}"}}, Tokens: tokens(11)}, {Text: "z", Tokens: tokens(12)}, {Tokens: tokens(13)}, {End: decoder.EndToken, Tokens: tokens(14)},
	} {
		s.add(silent{}, &e)
	}
	var got []string
	for _, it := range s.items {
		ids := []int32{}
		for _, token := range it.tokens {
			ids = append(ids, token.ID)
		}
		got = append(got, fmt.Sprint(it.itemKind, it.text, ids))
	}
	if want := []string{"1ab[]", "0xy[6 7 8 9]", "2{}[]", "0z[12 13 14]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
