package decoder

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/grammar"
)

// A grammar limits the tokens: with every sampler, with and without guesses, beside others, and
// after a continuation that skips. The text belongs to the grammar wherever it ends by itself.
func TestGrammar(t *testing.T) {
	m := talking(t, Options{})
	g, err := grammar.FromSchema([]byte(`{"type":"object","properties":{"name":{"type":"string","maxLength":8},"n":{"type":"array","items":{"type":"integer"},"maxItems":3}},"required":["name","n"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, sampler := range samplers {
		o := GenerateOptions{MaxTokens: 200, Sampler: sampler, Grammar: g}
		tokens, text := written(t, m, prompt(20, 1), o)
		var got struct {
			Name string
			N    []int64
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || len([]rune(got.Name)) > 8 || len(got.N) > 3 || tokens[len(tokens)-1].End != EndGrammar {
			t.Errorf("%+v: %q, %v, end %v", sampler, text, err, tokens[len(tokens)-1].End)
		}
		o.Draft = 5
		var texts [2]strings.Builder
		for token, err := range m.GenerateBatch(t.Context(), [][]int32{prompt(20, 1), prompt(9, 3)}, o) {
			if err != nil {
				t.Fatal(err)
			}
			texts[token.Index].WriteString(token.Text)
		}
		if ok, err := g.Match(texts[1].String()); texts[0].String() != text || !ok || err != nil {
			t.Errorf("%+v, side by side: %q, want %q; %q, %v", sampler, texts[0].String(), text, texts[1].String(), err)
		}
		c, err := m.Continue(o)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int32
		for _, token := range tokens[:5] {
			ids = append(ids, token.ID)
		}
		if _, err := c.Skip(20, ids); err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 100)
		logits := forward(t, s, Step{Text: s.NewText(), Tokens: append(prompt(20, 1), ids...)})[0]
		before := slices.Clone(logits)
		token, err := c.Next(append(prompt(20, 1), ids...), logits)
		if err != nil || token.ID != tokens[5].ID {
			t.Errorf("%+v, after 5 tokens: %+v, %v, want %+v", sampler, token, err, tokens[5])
		}
		sameBits(t, "logits", logits, before)
	}
}

// A text may end only where the grammar may, with a token of Stop, and goes on otherwise.
func TestGrammarEnd(t *testing.T) {
	m := talking(t, Options{})
	g, err := grammar.Parse(`root ::= ("ab" | "cd")+`)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		tokens, text := written(t, m, prompt(20, 1), GenerateOptions{MaxTokens: 4000, Sampler: Sampler{Temperature: 3, Seed: seed}, Grammar: g})
		if ok, err := g.Match(text); tokens[len(tokens)-1].End != EndToken || !ok || err != nil {
			t.Errorf("seed %d: %q, end %v", seed, text, tokens[len(tokens)-1].End)
		}
	}
	tokens, text := written(t, m, prompt(20, 1), GenerateOptions{MaxTokens: 7, Stop: []int32{}, Grammar: g})
	if len(tokens) != 7 || tokens[6].End != EndMaxTokens || strings.Trim(text, "abcd") != "" {
		t.Errorf("7 tokens: %q, end %v", text, tokens[6].End)
	}
}

// What a grammar cannot do is an error.
func TestGrammarErrors(t *testing.T) {
	m := talking(t, Options{})
	g, err := grammar.Parse(`root ::= "é"+ "x"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Generate(t.Context(), prompt(5, 1), GenerateOptions{Grammar: g}) {
		checkError(t, "bytes that no token has", err, &kernel.Error{Where: "decoder: GenerateOptions.Grammar", Got: "a text after which no token of the vocabulary may follow", Want: "a grammar whose bytes the vocabulary has"})
	}
	for _, err := range tiny(t, Options{}).Generate(t.Context(), prompt(5, 1), GenerateOptions{Grammar: g}) {
		checkError(t, "no tokenizer", err, &kernel.Error{Where: "decoder: GenerateOptions.Grammar", Got: "a grammar for a model without a tokenizer", Want: "none"})
	}
	if g, err = grammar.Parse(`root ::= "ab"+ "x"`); err != nil {
		t.Fatal(err)
	}
	c, err := m.Continue(GenerateOptions{Grammar: g})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Skip(0, []int32{4}); !errors.Is(err, grammar.ErrToken) {
		t.Errorf("a token that may not follow: %v", err)
	}
	none := make([]float32, tinyVocab)
	for i := range none {
		none[i] = float32(math.Inf(-1))
	}
	if token, err := c.Next(nil, none); err == nil || !strings.Contains(err.Error(), "-Inf") {
		t.Errorf("%+v, %v of logits that are -Inf", token, err)
	}
}
