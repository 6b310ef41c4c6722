package encoder

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/race"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/weights"
)

// int8Golden is golden of the model with precision.Int8.
const int8Golden = "3ee561c7af94e6490c3fba869086ea68d7a18329959618b7823ea8e5ed727f17"

var loadInt8Once = sync.OnceValues(func() (*Encoder, error) {
	path, err := weights.Path(weights.MiniLM)
	if err != nil {
		return nil, err
	}
	return Load(path, LoadOptions{Precision: precision.Int8})
})

func miniLMInt8(t testing.TB) *Encoder {
	t.Helper()
	testweights.Path(t, testweights.MiniLM)
	e, err := loadInt8Once()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestInt8 expects embeddings of 8-bit weights and activations near float32's. The limits are below
// what blocks of 32 give: 0.99858 for "" and 0.9993 for texts of at least 10 tokens; without sorted
// columns 0.99827 and 0.9992. One scale per tensor, as ONNX Runtime's dynamic quantization has it,
// gives a worst cosine of 0.953, one per row 0.995.
func TestInt8(t *testing.T) {
	exact, rounded := miniLM(t), miniLMInt8(t)
	texts, want := referenceTexts(t, exact)
	got := embed(t, rounded, texts)
	for i, text := range texts {
		least := 0.9985
		if len(exact.Tokens(text)) >= 10 {
			least = 0.9993
		}
		if c := cosine(got[i], want[i]); !(c >= least) || c == 1 {
			t.Errorf("%.40q: the cosine to float32 is %v, want %v or more, but not 1", text, c, least)
		}
	}
	checkGolden(t, rounded, int8Golden)
}

// TestInt8Bits expects the bits of a text alone in a batch, with any number of threads and on every
// tier.
func TestInt8Bits(t *testing.T) {
	e := miniLMInt8(t)
	texts, alone := referenceTexts(t, e.With(Options{Exec: kernel.Exec{Threads: 1}}))
	for _, opts := range []Options{{BatchTokens: 20}, {BatchTokens: 5000, Exec: kernel.Exec{Threads: 2}}} {
		compareShuffled(t, fmt.Sprintf("%+v", opts), e.With(opts), texts, alone, rand.Perm(20))
	}
	for _, tier := range kernel.Tiers() {
		if !(tier.String() == "generic" && race.Enabled) {
			compareShuffled(t, "tier "+tier.String(), e.With(Options{Exec: kernel.Exec{Tier: tier}}), texts, alone, rand.Perm(8))
		}
	}
}

// TestInt8Widths expects an error if a width is no multiple of a block.
func TestInt8Widths(t *testing.T) {
	_, err := Load(newSmall("").write(t, "F32"), LoadOptions{Precision: precision.Int8})
	var bad *kernel.Error
	if !errors.As(err, &bad) || bad.Arg() != "LoadOptions.Precision" || !strings.Contains(bad.Got, "int8 of a model of width 24") || !strings.Contains(bad.Want, "multiples of 32") {
		t.Errorf("got %v, want an error that names the option, the widths and the multiple", err)
	}
}

var benchThreads = flag.Int("threads", 1, "the `number` of threads of BenchmarkPrecisions")

// BenchmarkPrecisions embeds sentences with each precision.
func BenchmarkPrecisions(b *testing.B) {
	for _, size := range [][2]int{{1, 16}, {8, 64}, {32, 128}} {
		ids := make([][]int32, size[0])
		for i := range ids {
			for j := range size[1] {
				ids[i] = append(ids[i], int32(1000+(37*i+j)%20000))
			}
		}
		for _, e := range []struct {
			name string
			*Encoder
		}{{"float32", miniLM(b)}, {"bf16", miniLMBF16(b)}, {"int8", miniLMInt8(b)}} {
			m := e.With(Options{Exec: kernel.Exec{Threads: *benchThreads}})
			b.Run(fmt.Sprintf("texts=%d/tokens=%d/%s", size[0], size[1], e.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := m.EmbedTokens(b.Context(), ids); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size[0])/b.Elapsed().Seconds()*float64(b.N), "texts/s")
			})
		}
	}
}
