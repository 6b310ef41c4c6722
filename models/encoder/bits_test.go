package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/race"
	"github.com/attn-go/attn/models/internal/references"
)

// golden is the sha256 of the bits of the embeddings of goldenTexts. No architecture, tier or
// release may change it.
const golden = "c68d663d7818c3475cd2cd6f4dfa3ffb113a5a740ea8e1695ce026483149c850"

var goldenTexts = []string{"", "a", "The cat sits on the mat.", "naïve café résumé"}

func TestGolden(t *testing.T) { checkGolden(t, miniLM(t), golden) }

func checkGolden(t *testing.T, e *Encoder, want string) {
	t.Helper()
	h := sha256.New()
	for _, x := range embed(t, e, goldenTexts) {
		for _, y := range x {
			binary.Write(h, binary.LittleEndian, math.Float32bits(y))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("sha256 of the embeddings of %q: %s, want %s", goldenTexts, got, want)
	}
}

// referenceTexts returns the texts of testdata, and each one's embedding by a call of its own.
func referenceTexts(t *testing.T, e *Encoder) (texts []string, alone [][]float32) {
	t.Helper()
	r, err := references.ReadMiniLM(testdata)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range r.Texts {
		texts = append(texts, text.Text)
	}
	if testing.Short() { // without the two texts of 256 tokens
		texts = texts[:38]
	}
	for _, text := range texts {
		alone = append(alone, embed(t, e, []string{text})...)
	}
	return texts, alone
}

// TestBits expects the bits of a text alone in every batch, order and neighbourhood, with any
// number of threads and on every tier.
func TestBits(t *testing.T) {
	e := miniLM(t)
	texts, alone := referenceTexts(t, e.With(Options{Exec: kernel.Exec{Threads: 1}}))
	compareShuffled(t, "all texts", e, texts, alone, rand.New(rand.NewPCG(1, 2)).Perm(len(texts)))
	for _, opts := range []Options{
		{BatchTokens: 1},
		{BatchTokens: 20, Exec: kernel.Exec{Threads: 2}},
		{BatchTokens: 100, Exec: kernel.Exec{Threads: 3}},
		{BatchTokens: 5000, Exec: kernel.Exec{Threads: 2}},
	} {
		order := rand.New(rand.NewPCG(3, uint64(opts.BatchTokens))).Perm(30)
		compareShuffled(t, fmt.Sprintf("batches of %d tokens, %d threads", opts.BatchTokens, opts.Threads), e.With(opts), texts, alone, order)
	}
	for _, tier := range kernel.Tiers() {
		if !(tier.String() == "generic" && race.Enabled) { // minutes
			compareShuffled(t, "tier "+tier.String(), e.With(Options{Exec: kernel.Exec{Tier: tier}}), texts, alone, rand.Perm(8))
		}
	}
}

// compareShuffled embeds texts in another order, each of them twice.
func compareShuffled(t *testing.T, name string, e *Encoder, texts []string, want [][]float32, order []int) {
	t.Helper()
	var shuffled []string
	for _, i := range append(order, order...) {
		shuffled = append(shuffled, texts[i])
	}
	for i, x := range embed(t, e, shuffled) {
		if text := order[i%len(order)]; !equalBits(x, want[text]) {
			t.Errorf("%s: text %d has other bits than alone", name, text)
		}
	}
}

func equalBits(x, y []float32) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
			return false
		}
	}
	return true
}

// TestConcurrent uses an encoder from several goroutines.
func TestConcurrent(t *testing.T) {
	e := miniLM(t)
	texts, alone := referenceTexts(t, e)
	texts, alone = texts[:20], alone[:20]
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for range 3 {
				compareShuffled(t, fmt.Sprint("goroutine ", g), e, texts, alone, rand.Perm(len(texts)))
			}
		})
	}
	all.Wait()
}

// TestCut expects that what follows the first 256 tokens does not matter.
func TestCut(t *testing.T) {
	e := miniLM(t)
	if e.MaxTokens() != 256 {
		t.Fatalf("MaxTokens is %d, want 256", e.MaxTokens())
	}
	kept := strings.Repeat("word ", 254)
	got := embed(t, e, []string{kept, kept + "and more", strings.Repeat("word ", 253)})
	if !equalBits(got[0], got[1]) {
		t.Error("words after the 256 tokens change the embedding")
	}
	if equalBits(got[0], got[2]) {
		t.Error("the last of the 256 tokens does not change the embedding")
	}
}

// TestEmpty expects an embedding of an empty text, and none of no texts.
func TestEmpty(t *testing.T) {
	e := miniLM(t)
	if got := embed(t, e, nil); got == nil || len(got) != 0 {
		t.Errorf("no texts: got %v, want an empty slice", got)
	}
	want, err := e.EmbedTokens(t.Context(), [][]int32{{101, 102}})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range embed(t, e, []string{"", " \t\n"}) {
		if !equalBits(x, want[0]) {
			t.Errorf("text %d: not the embedding of [CLS] [SEP]", i)
		}
	}
}

// TestMany embeds 600 texts and compares some with what they are alone.
func TestMany(t *testing.T) {
	e, n := miniLM(t), 600
	if testing.Short() {
		n = 200
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint("number ", i)
	}
	got := embed(t, e, texts)
	for i := 0; i < n; i += n / 20 {
		if alone := embed(t, e, texts[i:i+1]); !equalBits(got[i], alone[0]) {
			t.Errorf("text %d has other bits than alone", i)
		}
	}
}

// TestCancel expects the error of the context: at once, and also if it ends during a call.
func TestCancel(t *testing.T) {
	e := miniLM(t)
	ctx, cancel := context.WithCancel(t.Context())
	layers := 0
	p := e.net.pass(kernel.Exec{})
	p.All = true
	p.Reset()
	p.Add([]int32{101, 102}, nil, 0)
	p.See = func(name string, _ int, _ []float32) {
		if name != "embd" && name != "hidden" {
			return
		}
		if layers++; layers == 3 {
			cancel()
		}
	}
	_, err := e.net.network.Run(ctx, p)
	if !errors.Is(err, context.Canceled) || layers != 3 {
		t.Errorf("got %v after %d states, want %v after 3", err, layers, context.Canceled)
	}
	for _, texts := range [][]string{{"a"}, make([]string, 100)} {
		if got, err := e.Embed(ctx, texts); got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%d texts: got %d embeddings and %v, want %v", len(texts), len(got), err, context.Canceled)
		}
	}
}
