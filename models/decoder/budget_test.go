package decoder

import (
	"errors"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/grammar"
)

// TestBudget: thinking ends after as many tokens as it may have, with guesses and a grammar or
// without, and elsewhere the text is the same.
func TestBudget(t *testing.T) {
	m := talking(t, Options{})
	p, err := m.Encode("hello", false)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Parse(`root ::= %until("</th>") %json {"type": "string"}`)
	if err != nil {
		t.Fatal(err)
	}
	generate := func(o GenerateOptions) (text string, tokens []Token) {
		t.Helper()
		for token, err := range m.Generate(t.Context(), p, o) {
			if err != nil {
				t.Fatal(err)
			}
			text += token.Text
			tokens = append(tokens, token)
		}
		return text, tokens
	}
	sampler := Sampler{Temperature: 1, Seed: 3}
	free, plain := generate(GenerateOptions{MaxTokens: 60, Stop: []int32{}, Sampler: sampler})
	for _, draft := range []int{0, 4} {
		for n := range 12 {
			o := GenerateOptions{MaxTokens: 60, Stop: []int32{}, Sampler: sampler, Draft: draft, Budget: &Budget{Open: true, End: "</th>", Tokens: n}}
			text, tokens := generate(o)
			before, _, ok := strings.Cut(text, "</th>")
			if !ok || !strings.HasPrefix(free, before) {
				t.Errorf("%d tokens: %q, without a budget %q", n, text, free)
			}
			for i := range n {
				if tokens[i].ID != plain[i].ID {
					t.Errorf("%d tokens: token %d is %d, without a budget %d", n, i, tokens[i].ID, plain[i].ID)
				}
			}
			o.Grammar = g
			if text, _ := generate(o); !strings.Contains(text, `</th>"`) {
				t.Errorf("%d tokens, with a grammar: %q", n, text)
			}
		}
		begin := free[9:11]
		text, _ := generate(GenerateOptions{MaxTokens: 60, Stop: []int32{}, Sampler: sampler, Draft: draft, Budget: &Budget{Begin: begin, End: "</th>", Tokens: 1}})
		if i, k := strings.Index(text, begin), strings.Index(text, "</th>"); i < 0 || k < i || k > i+2+4 {
			t.Errorf("from %q on: %q", begin, text)
		}
	}
	for _, b := range []Budget{{}, {End: "a"}, {Open: true, End: "a", Tokens: -1}, {Open: true, End: strings.Repeat("a", 257)}, {Begin: "\xff", End: "a"}} {
		if _, err := m.Continue(GenerateOptions{Budget: &b}); !errors.Is(err, kernel.ErrArgument) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// TestMarkers: special tokens that are markers are part of the text and of a grammar, others are
// not.
func TestMarkers(t *testing.T) {
	m := talking(t, Options{})
	p, err := m.Encode("hello", false)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Parse(`root ::= "<|im_start|>" [a-z]{3} "<|im_end|>"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, markers := range [][]int32{nil, {1, 2}} {
		c, err := m.Continue(GenerateOptions{Markers: markers, Stop: []int32{}, Grammar: g})
		if err != nil {
			t.Fatal(err)
		}
		logits := make([]float32, m.Config().Vocab)
		logits[1], logits[2] = 9, 8
		text := ""
		for tokens := p; ; {
			token, err := c.Next(tokens, logits)
			if err != nil {
				t.Fatal(err)
			}
			tokens, text = append(tokens, token.ID), text+token.Text
			if len(tokens) == len(p)+1 && (token.ID == 1) != (markers != nil) {
				t.Errorf("with markers %v the first token is %d", markers, token.ID)
			}
			if token.End != EndNone {
				break
			}
		}
		if ok, err := g.Match(text); !ok || err != nil {
			t.Errorf("markers %v: %q, %v", markers, text, err)
		}
	}
	for _, markers := range [][]int32{{-1}, {int32(m.Config().Vocab)}, make([]int32, 300)} {
		if _, err := m.Continue(GenerateOptions{Markers: markers}); !errors.Is(err, kernel.ErrArgument) {
			t.Errorf("%d markers: %v", len(markers), err)
		}
	}
}
