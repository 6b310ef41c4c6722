package embedding_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/berttest"
	"github.com/attn-go/attn/models/tokenizer"
)

// load returns a small model that sees 8 tokens: [CLS] = 2, a = 4, b = 5, c = 6, [SEP] = 3.
func load(t *testing.T, extra map[string]string) *embedding.Embedder {
	t.Helper()
	m := berttest.New("")
	for name, text := range extra {
		m.Extra[name] = text
	}
	dir := t.TempDir()
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	e, err := encoder.Load(dir, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Embedder
}

func embed(t *testing.T, e *embedding.Embedder, texts ...string) [][]float32 {
	t.Helper()
	v, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unit returns the weighted sum of vectors, divided by its length.
func unit(weights []float64, vectors [][]float32) []float64 {
	sum, length := make([]float64, len(vectors[0])), 0.0
	for i, v := range vectors {
		for j, x := range v {
			sum[j] += weights[i] * float64(x)
		}
	}
	for _, x := range sum {
		length += x * x
	}
	for j := range sum {
		sum[j] /= math.Sqrt(length)
	}
	return sum
}

// near compares with float64: both are rounded to float32 once.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, x := range got {
		if !(math.Abs(float64(x)-want[i]) <= 0x1p-24) {
			t.Errorf("%s: number %d is %v, want %v", what, i, x, want[i])
		}
	}
}

// TestSplit: a text that is too long is the mean of its pieces, which have the prompt and overlap.
func TestSplit(t *testing.T) {
	e := load(t, map[string]string{"config_sentence_transformers.json": `{"prompts": {"p": "c "}}`})
	for _, c := range []struct {
		name   string
		o      embedding.Options
		pieces [][]int32
	}{
		{"apart", embedding.Options{Split: true}, [][]int32{{2, 4, 5, 6, 4, 5, 6, 3}, {2, 4, 5, 6, 3}}},
		{"overlap", embedding.Options{Split: true, Overlap: 4}, [][]int32{{2, 4, 5, 6, 4, 5, 6, 3}, {2, 6, 4, 5, 6, 4, 5, 3}, {2, 5, 6, 4, 5, 6, 3}}},
		{"prompt", embedding.Options{Split: true, Prompt: "p"}, [][]int32{{2, 6, 4, 5, 6, 4, 5, 3}, {2, 6, 6, 4, 5, 6, 3}}},
	} {
		weights := make([]float64, len(c.pieces))
		for i, p := range c.pieces {
			weights[i] = float64(len(p))
		}
		alone, err := e.EmbedTokens(t.Context(), c.pieces)
		if err != nil {
			t.Fatal(err)
		}
		got := embed(t, e.With(c.o), "a", "a b c a b c a b c", "b")
		near(t, c.name, got[1], unit(weights, alone))
		plain := c.o
		plain.Split, plain.Overlap = false, 0
		if want := embed(t, e.With(plain), "a", "b"); !slices.Equal(got[0], want[0]) || !slices.Equal(got[2], want[1]) {
			t.Errorf("%s: a text that fits has another vector", c.name)
		}
	}
	// The end of a long text changes its vector.
	long := strings.Repeat("a ", 100)
	got := embed(t, e.With(embedding.Options{Split: true, Overlap: 2, RefuseLong: true}), long+"b", long+"c")
	if slices.Equal(got[0], got[1]) {
		t.Error("the end of a text does not count")
	}
	var bad *kernel.Error
	if _, err := e.With(embedding.Options{Split: true, Overlap: 6}).Embed(t.Context(), nil); !errors.As(err, &bad) || bad.Arg() != "Options.Overlap" {
		t.Errorf("pieces that do not move on: %v", err)
	}
}

// TestSplitWithoutPrompt: the tokens of the prompt, and [CLS] before it, do not count in the
// pooling of any piece.
func TestSplitWithoutPrompt(t *testing.T) {
	m := berttest.New("")
	m.Extra["modules.json"] = `[{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"}]`
	m.Extra["1_Pooling/config.json"] = `{"pooling_mode": "mean", "include_prompt": false}`
	m.Extra["config_sentence_transformers.json"] = `{"prompts": {"p": "c "}}`
	dir := t.TempDir()
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	e, err := encoder.Load(dir, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, tokens := make([]float64, berttest.Width), 0.0
	for _, ids := range [][]int32{{2, 6, 4, 5, 6, 4, 5, 3}, {2, 6, 6, 4, 5, 6, 3}} {
		states, err := e.HiddenStates(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		last := states[len(states)-1][2*berttest.Width:]
		for i, x := range last {
			want[i%berttest.Width] += float64(x) * float64(len(ids)) / float64(len(ids)-2)
		}
		tokens += float64(len(ids))
	}
	for i := range want {
		want[i] /= tokens
	}
	with := e.With(encoder.Options{Split: true, Prompt: "p"}).Embedder
	got := embed(t, with, "a b c a b c a b c")[0]
	for i, x := range got {
		if d := math.Abs(float64(x) - want[i]); !(d <= 1e-6) { // the vectors of the pieces are float32
			t.Errorf("number %d is %v, want %v", i, x, want[i])
		}
	}
	// Of a prompt that fills all that the model sees nothing is left.
	m.Extra["config_sentence_transformers.json"] = `{"prompts": {"p": "c c c c c c c c c"}}`
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	if e, err = encoder.Load(dir, encoder.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	v := embed(t, e.With(encoder.Options{Prompt: "p"}).Embedder, "a b")[0]
	for i, x := range v {
		if math.IsNaN(float64(x)) {
			t.Errorf("number %d is %v", i, x)
		}
	}
}

// TestDimensions: the first numbers of a vector, with the length 1 again if the model has
// Normalize.
func TestDimensions(t *testing.T) {
	modules := func(normalize string) map[string]string {
		return map[string]string{
			"modules.json":          `[{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"}` + normalize + `]`,
			"1_Pooling/config.json": `{"pooling_mode": "mean"}`,
		}
	}
	o := embedding.Options{Dimensions: 7}
	e := load(t, modules(`, {"path": "2_Normalize", "type": "Normalize"}`))
	whole := embed(t, e, "a b")[0]
	near(t, "unit", embed(t, e.With(o), "a b")[0], unit([]float64{1}, [][]float32{whole[:7]}))
	if w := e.With(o).Width(); w != 7 {
		t.Errorf("the width is %d, want 7", w)
	}
	e = load(t, modules(""))
	if whole, got := embed(t, e, "a b")[0], embed(t, e.With(o), "a b")[0]; !slices.Equal(got, whole[:7]) {
		t.Errorf("a model without Normalize: %v, want %v", got, whole[:7])
	}
}

// TestNarrow: numbers of 16 and 8 bits are off by half a step.
func TestNarrow(t *testing.T) {
	v := [][]float32{{0.5, -0.25, 1e-3, 0}, {0, 0, 0, 0}, {}}
	half := embedding.Float16(v)
	small, scales, err := embedding.Int8(v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if len(half[i]) != len(v[i]) || len(small[i]) != len(v[i]) {
			t.Fatalf("vector %d has %d and %d numbers, want %d", i, len(half[i]), len(small[i]), len(v[i]))
		}
		for j, x := range v[i] {
			if d := math.Abs(float64(half[i][j].Float32() - x)); !(d <= math.Abs(float64(x))/2048) {
				t.Errorf("float16: number %d of vector %d is off by %v", j, i, d)
			}
			if d := math.Abs(float64(float32(small[i][j])*scales[i] - x)); !(d <= 0.5/127/2+1e-9) {
				t.Errorf("int8: number %d of vector %d is off by %v", j, i, d)
			}
		}
	}
	var bad *kernel.Error
	if _, _, err := embedding.Int8([][]float32{{1}, {float32(math.NaN())}}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "vector 1") {
		t.Errorf("a NaN: %v", err)
	}
}

// TestDot: only tokens that both texts have count.
func TestDot(t *testing.T) {
	a := embedding.Sparse{Tokens: []int32{1, 4, 7, 9}, Weights: []float32{1, 2, 0.5, 3}}
	b := embedding.Sparse{Tokens: []int32{4, 5, 9}, Weights: []float32{0.25, 8, 2}}
	for _, x := range []struct {
		a, b embedding.Sparse
		want float64
	}{{a, b, 6.5}, {b, a, 6.5}, {a, embedding.Sparse{}, 0}, {embedding.Sparse{}, a, 0}, {a, a, 14.25}} {
		if got := x.a.Dot(x.b); got != x.want {
			t.Errorf("%v and %v: %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestFits: a text fits if CountTokens is at most MaxTokens, and what Tokens cuts is the beginning
// of all of its tokens.
func TestFits(t *testing.T) {
	e := load(t, nil)
	for n := range 12 {
		text := strings.Repeat("a b ", n)
		if got, want := e.Fits(text), e.CountTokens(text) <= e.MaxTokens(); got != want {
			t.Errorf("%d words fit: %v, want %v", 2*n, got, want)
		}
	}
	long := strings.Repeat("a b c ", 5000)
	all := e.Tokenizer().Encode(long, tokenizer.Options{})
	if got, want := e.Tokens(long), append(slices.Clone(all[:e.MaxTokens()-1]), all[len(all)-1]); !slices.Equal(got, want) {
		t.Errorf("tokens %v, want %v", got, want)
	}
}
