package server

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/server/internal/options"
)

// halves are two tokens of partModel: the first two bytes of 😀, each alone.
var halves = []int32{5 + '}' - '!', 5 + '~' - '!'}

// partModel returns a model two of whose tokens are a byte of a character.
func partModel(t *testing.T) *Model {
	t.Helper()
	file := tinyllama.New(nil)
	file.AddVocabulary()
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	if err != nil {
		t.Fatal(err)
	}
	tokens = slices.Clone(tokens)
	tokens[halves[0]], tokens[halves[1]] = "ð", "Ł" // the bytes f0 and 9f as byte-level vocabularies write them
	file.Set("tokenizer.ggml.tokens", tokens)
	if f, err = gguf.New(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: kernel.Exec{Threads: 1}, Context: 400, PageSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	return NewModel("parts", made{m}, "parts")
}

// TestTokenBytes: the bytes of a token are there, also if it is a part of a character, where its
// text does not tell them.
func TestTokenBytes(t *testing.T) {
	s := serverOf(t, fixed(), partModel(t))
	body := fmt.Sprintf(`{"prompt": [%d, %d, 4], "echo": true, "max_tokens": 0, "logprobs": 2}`, halves[0], halves[1])
	l := answerOf[completionAnswer](t, post(s, "/v1/completions", body)).Choices[0].Logprobs
	if !slices.Equal(l.Tokens, []string{`bytes:\xf0`, `bytes:\x9f`, " "}) || !slices.Equal(l.Offsets, []int{0, 1, 1}) {
		t.Errorf("%+v", l)
	}
}

// TestTopPZero: with top_p 0 the most probable token is taken, as with temperature 0.
func TestTopPZero(t *testing.T) {
	s := newServer(t, fixed())
	text := func(sampling string) string {
		return answerOf[chatAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "x", "max_tokens": 30, "logprobs": 1, `+sampling+`}`)).Choices[0].Text
	}
	want := text(`"temperature": 0`)
	if got := text(`"temperature": 1, "top_k": 0, "top_p": 0`); got != want {
		t.Errorf("top_p 0: %q, want %q", got, want)
	}
	if got := text(`"temperature": 1, "top_k": 0, "top_p": 1`); got == want {
		t.Errorf("top_p 1 takes the most probable tokens, too")
	}
	for p, want := range map[float64]float64{0: 1, decoder.LeastTopP: 0, 0.5: 0.5} {
		if got := options.WrittenTopP(p); got != want {
			t.Errorf("TopP %v is written %v, want %v", p, got, want)
		}
	}
}
