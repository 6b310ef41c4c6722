package decoder

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// talking returns the tiny model with a tokenizer.
func talking(t testing.TB, o Options) *Model {
	t.Helper()
	f := tinyllama.New(nil)
	f.AddVocabulary()
	m, err := loadTiny(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// written returns all tokens of a text, and what they say.
func written(t testing.TB, m *Model, prompt []int32, o GenerateOptions) (tokens []Token, text string) {
	t.Helper()
	for token, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		tokens, text = append(tokens, token), text+token.Text
	}
	return tokens, text
}

// All texts of tokens together are the text of the ids, and with strings that end it what is before
// them.
func TestTexts(t *testing.T) {
	m := talking(t, Options{})
	o := GenerateOptions{MaxTokens: 60, Stop: []int32{}, Sampler: Sampler{Temperature: 1, Seed: 5}}
	all, whole := written(t, m, prompt(20, 1), o)
	var ids []int32
	for i, token := range all {
		if ids = append(ids, token.ID); (token.End != EndNone) != (i == 59) {
			t.Errorf("token %d: end %q", i, token.End)
		}
	}
	decoded, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if want := decoded.Decode(ids, false); whole != want || len(whole) < 40 {
		t.Fatalf("text %q, want %q", whole, want)
	}
	for at := range len(whole) - 5 {
		for _, draft := range []int{0, 4} {
			o := o
			o.StopText, o.Draft = []string{"never", whole[at : at+5]}, draft
			want, _, _ := strings.Cut(whole, whole[at:at+5])
			tokens, text := written(t, m, prompt(20, 1), o)
			if last := tokens[len(tokens)-1]; text != want || last.End != EndText || last.StopText != o.StopText[1] {
				t.Errorf("%q: text %q, end %v, want %q", o.StopText, text, tokens[len(tokens)-1].End, want)
			}
		}
	}
	// What is held back comes with the last token, whatever ends the text.
	o.StopText = []string{whole[len(whole)-3:] + "x"}
	if tokens, text := written(t, m, prompt(20, 1), o); text != whole || tokens[59].End != EndMaxTokens {
		t.Errorf("text %q, end %v, want %q", text, tokens[59].End, whole)
	}
	o.Stop = []int32{ids[40]}
	at := slices.Index(ids, ids[40])
	want := decoded.Decode(ids[:at], false)
	o.StopText = []string{want[len(want)-2:] + "\x00"}
	if tokens, text := written(t, m, prompt(20, 1), o); text != want || len(tokens) != at+1 || tokens[at].End != EndToken || tokens[at].ID != ids[40] {
		t.Errorf("text %q, tokens %v, want %q", text, tokens, want)
	}
}

// Logarithms of probabilities equal a softmax in float64, the same bits on every tier, beside
// others and with guesses, whatever the sampler does.
func TestLogprobs(t *testing.T) {
	m := tiny(t, Options{Exec: kernel.Exec{Threads: 1}})
	o := GenerateOptions{MaxTokens: 30, Stop: []int32{}, Logprobs: true, TopLogprobs: 7,
		Sampler: Sampler{Temperature: 2, TopK: 50, FrequencyPenalty: 1, Seed: 9}}
	p := prompt(20, 4)
	tokens, _ := written(t, m, p, o)
	ids := slices.Clone(p)
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	s := session(t, m, 1, 100)
	logits := forward(t, s, Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})[0]
	for i, token := range tokens {
		checkLogprobs(t, token, logits[(len(p)-1+i)*tinyVocab:][:tinyVocab], 7)
	}
	c, err := m.Continue(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids[1:] { // the prompt's, too
		token, err := c.Score(logits[i*tinyVocab:][:tinyVocab], id)
		if err != nil || token.ID != id {
			t.Fatal(token, err)
		}
		checkLogprobs(t, token, logits[i*tinyVocab:][:tinyVocab], 7)
		if at := i + 1 - len(p); at >= 0 && (token.Logprob != tokens[at].Logprob || !slices.Equal(token.Top, tokens[at].Top)) {
			t.Errorf("token %d: %+v, want %+v", i, token, tokens[at])
		}
	}
	o.Draft = 5
	for _, tier := range kernel.Tiers() {
		other, err := m.With(Options{Exec: kernel.Exec{Tier: tier, Threads: 2}})
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for token, err := range other.GenerateBatch(t.Context(), [][]int32{p, prompt(9, 5)}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if token.Index == 0 {
				if want := tokens[at]; token.ID != want.ID || token.Logprob != want.Logprob || !slices.Equal(token.Top, want.Top) {
					t.Errorf("%s, token %d: %+v, want %+v", tier, at, token, want)
				}
				at++
			}
		}
	}
}

// checkLogprobs compares with a softmax in float64. The difference is at most five float32
// roundings of numbers up to the size of the result or of log(Vocab), and 2^-23 of exponentials.
func checkLogprobs(t *testing.T, token Token, logits []float32, n int) {
	t.Helper()
	total := 0.0
	for _, x := range logits {
		total += math.Exp(float64(x))
	}
	check := func(id int32, got float32) {
		t.Helper()
		want := float64(logits[id]) - math.Log(total)
		if !(math.Abs(float64(got)-want) <= 6*0x1p-24*(math.Abs(want)+math.Log(tinyVocab)+math.Abs(float64(logits[id])))) {
			t.Errorf("token %d: logprob %v, want %v", id, got, want)
		}
	}
	check(token.ID, token.Logprob)
	if len(token.Top) != n {
		t.Fatalf("%d most probable tokens, want %d", len(token.Top), n)
	}
	rest := slices.Clone(logits)
	for _, x := range token.Top {
		check(x.ID, x.Logprob)
		if rest[x.ID] != slices.Max(rest) {
			t.Errorf("token %d is not the most probable of the rest", x.ID)
		}
		rest[x.ID] = float32(math.Inf(-1))
		if x.ID == token.ID && x.Logprob != token.Logprob {
			t.Errorf("token %d has the logprobs %v and %v", x.ID, x.Logprob, token.Logprob)
		}
	}
}

// A continuation that skips tokens goes on as the one that chose them.
func TestSkip(t *testing.T) {
	m := talking(t, Options{})
	for _, sampler := range samplers {
		o := GenerateOptions{MaxTokens: 40, Stop: []int32{}, Sampler: sampler, StopText: []string{"\x00\x00"}}
		p := prompt(20, 1)
		tokens, whole := written(t, m, p, o)
		for _, n := range []int{0, 1, 17, 39} {
			c, err := m.Continue(o)
			if err != nil {
				t.Fatal(err)
			}
			ids := []int32{}
			for _, token := range tokens[:n] {
				ids = append(ids, token.ID)
			}
			text, err := c.Skip(len(p), ids)
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, m, 1, 100)
			x, read := s.NewText(), append(slices.Clone(p), ids...)
			for i := n; i < len(tokens); i++ {
				token, err := c.Next(append(x.Tokens(), read...), forward(t, s, Step{Text: x, Tokens: read})[0])
				if err != nil || token.ID != tokens[i].ID || token.End != tokens[i].End {
					t.Fatalf("%+v after %d: token %d is %+v, %v, want %+v", sampler, n, i, token, err, tokens[i])
				}
				text += token.Text
				read = []int32{token.ID}
			}
			if text != whole {
				t.Errorf("%+v after %d: %q, want %q", sampler, n, text, whole)
			}
			if _, err := c.Next(x.Tokens(), make([]float32, tinyVocab)); err == nil || !strings.Contains(err.Error(), "a text that has ended: max tokens") {
				t.Errorf("after the end: %v", err)
			}
		}
	}
}

// A continuation refuses what does not fit.
func TestContinueErrors(t *testing.T) {
	m := tiny(t, Options{})
	if _, err := m.Continue(GenerateOptions{StopText: []string{"a"}}); err == nil || !strings.Contains(err.Error(), "StopText: strings for a model without a tokenizer") {
		t.Errorf("strings without a tokenizer: %v", err)
	}
	c, err := m.Continue(GenerateOptions{Sampler: Sampler{PresencePenalty: 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Next([]int32{1}, make([]float32, tinyVocab-1))
	checkError(t, "logits", err, &kernel.Error{Where: "decoder: Continuation.Next: logits", Got: "210", Want: "211, one for each token"})
	_, err = c.Next([]int32{1, tinyVocab}, make([]float32, tinyVocab))
	checkError(t, "tokens", err, tokenError(0, 1, tinyVocab, tinyVocab))
	_, err = c.Score(make([]float32, tinyVocab-1), 1)
	checkError(t, "logits to score", err, &kernel.Error{Where: "decoder: Continuation.Score: logits", Got: "210", Want: "211, one for each token"})
	_, err = c.Score(make([]float32, tinyVocab), -1)
	checkError(t, "a token to score", err, tokenError(0, 0, -1, tinyVocab))
	_, err = c.Skip(1, []int32{3, -1})
	checkError(t, "skipped tokens", err, tokenError(0, 1, -1, tinyVocab))
}
