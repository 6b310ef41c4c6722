package encoder

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/race"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/weights"
)

// bf16Golden is golden of the model with precision.BFloat16.
const bf16Golden = "71a8ca7022309cc3e406f5bb34f487cbb1eafc6af98a4ad08fb835469cbba7d4"

var loadBF16Once = sync.OnceValues(func() (*Encoder, error) {
	path, err := weights.Path(weights.MiniLM)
	if err != nil {
		return nil, err
	}
	return Load(path, LoadOptions{Precision: precision.BFloat16})
})

func miniLMBF16(t testing.TB) *Encoder {
	t.Helper()
	testweights.Path(t, testweights.MiniLM)
	e, err := loadBF16Once()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBFloat16 expects embeddings near float32's. A simulation, whose linear layers round in the
// same way, had a worst cosine of 0.99998.
func TestBFloat16(t *testing.T) {
	exact, rounded := miniLM(t), miniLMBF16(t)
	texts, want := referenceTexts(t, exact)
	got, worst := embed(t, rounded, texts), 1.0
	for i, text := range texts {
		c := cosine(got[i], want[i])
		if !(c >= 0.9999) || c == 1 {
			t.Errorf("%.40q: the cosine to float32 is %v, want 0.9999 or more, but not 1", text, c)
		}
		worst = min(worst, c)
	}
	t.Logf("the worst cosine to float32 is %.6f", worst)
	checkGolden(t, rounded, bf16Golden)
}

// TestBFloat16Bits expects the bits of a text alone in a batch, with any number of threads and on
// every tier.
func TestBFloat16Bits(t *testing.T) {
	e := miniLMBF16(t)
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
