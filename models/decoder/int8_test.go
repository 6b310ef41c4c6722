package decoder

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/precision"
)

// With 8-bit activations, too, a text gives the same logits in whatever way it is read.
func TestReadingsInt8(t *testing.T) {
	const n = 90
	for _, kind := range []gguf.Type{gguf.Q8_0, gguf.Q4_0, gguf.Q4_1, gguf.Q5_0} {
		m, err := loadTiny(tinyllama.New(func(string) gguf.Type { return kind }), Options{Precision: precision.Int8, Exec: kernel.Exec{Threads: 1}})
		if err != nil {
			t.Fatal(err)
		}
		tokens := prompt(n, 5)
		want := oneByOne(t, m, tokens)
		for _, tier := range kernel.Tiers() {
			for _, threads := range []int{1, 3} {
				with, err := m.With(Options{Precision: precision.Int8, Exec: kernel.Exec{Tier: tier, Threads: threads}})
				if err != nil {
					t.Fatal(err)
				}
				s := session(t, with, 1, n)
				logits := forward(t, s, Step{Text: s.NewText(), Tokens: tokens, Logits: LogitsAll})[0]
				sameBits(t, fmt.Sprintf("%v at once, %s, %d threads", kind, tier, threads), logits, want)
			}
		}
	}
}

// The perplexity of the references with 8-bit activations is within 0.5% of that with float32.
func TestInt8Perplexity(t *testing.T) {
	r, m := readReferences(t, testdata), smollm2(t)
	rounded, err := m.With(Options{Precision: precision.Int8})
	if err != nil {
		t.Fatal(err)
	}
	r.comparePerplexity(t, rounded, "int8", 0.005)
}

// exactPerplexities remembers the perplexities of the references with float32, by their index.
var exactPerplexities = map[int]float64{}

// comparePerplexity expects the perplexity of the references with other settings of SmolLM2 within
// a share of that with float32, but another one.
func (r *refsFolder) comparePerplexity(t *testing.T, other *Model, what string, most float64) {
	t.Helper()
	compared := 0
	for i, in := range r.inputs.Prompts {
		if !in.Perplexity {
			continue
		}
		ids := r.prompts[i].IDs
		if testing.Short() {
			ids = ids[:min(len(ids), 128)]
		}
		exact, known := exactPerplexities[i]
		if !known {
			exact = perplexity(t, smollm2(t), ids)
			exactPerplexities[i] = exact
		}
		got := perplexity(t, other, ids)
		t.Logf("%s, %d tokens: perplexity %.4f with %s, %.4f with float32", in.Name, len(ids), got, what, exact)
		if !(math.Abs(got/exact-1) <= most) || got == exact {
			t.Errorf("%s: perplexity %v with %s, want within %v%% of %v, but another one", in.Name, got, what, 100*most, exact)
		}
		compared++
	}
	if compared == 0 {
		t.Error("no text has a perplexity")
	}
}

// The perplexity of the references with a cache of int8 is within 0.5% of that with float32, one
// with values of int4 within 1%, as they are rotated, and else within 5%. Keys of int4 cost more
// than that in so small a model.
func TestCachePerplexity(t *testing.T) {
	r, m := readReferences(t, testdata), smollm2(t)
	for _, x := range []struct {
		keys, values kernel.DType
		unrotated    bool
		most         float64
	}{
		{kernel.Int8, kernel.Int8, false, 0.005}, {kernel.Int8, kernel.Int4, false, 0.01}, {kernel.Int8, kernel.Int4, true, 0.05},
		{kernel.Int4, kernel.Int4, false, 0.1}, {kernel.Int4, kernel.Int4, true, 0.25},
	} {
		narrow, err := m.With(Options{CacheType: x.keys, CacheValueType: x.values, Unrotated: x.unrotated})
		if err != nil {
			t.Fatal(err)
		}
		r.comparePerplexity(t, narrow, fmt.Sprintf("keys of %v and values of %v, unrotated %v,", x.keys, x.values, x.unrotated), x.most)
	}
}

// With queries and weights of attention that are rounded, too, the perplexity is within 0.5% of
// that with float32, as with a cache of int8 alone.
func TestQuantizedPerplexity(t *testing.T) {
	r, m := readReferences(t, testdata), smollm2(t)
	quantized, err := m.With(Options{CacheType: kernel.Int8, DynamicInt12: true})
	if err != nil {
		t.Fatal(err)
	}
	r.comparePerplexity(t, quantized, "quantized attention", 0.005)
}

// perplexity returns the exponential of minus the mean logarithm of the tokens' probabilities.
func perplexity(t *testing.T, m *Model, ids []int32) float64 {
	total := 0.0
	eachRow(t, m, ids, func(i int, row []float32) {
		if i+1 < len(ids) {
			total += logProbability(row, ids[i+1])
		}
	})
	return math.Exp(-total / float64(len(ids)-1))
}

// A model whose weights are not quantized has nothing that Int8 could mean.
func TestInt8Errors(t *testing.T) {
	m := tiny(t, Options{})
	var option *kernel.Error
	if _, err := m.With(Options{Precision: precision.Int8}); !errors.As(err, &option) || option.Arg() != "Options.Precision" {
		t.Errorf("got %v, want an error of Options.Precision", err)
	}
}
