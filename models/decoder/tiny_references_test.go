package decoder

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/numeric"
)

// tinyFolders have tiny models with random weights and what transformers computes with them; see
// make.py beside them.
const tinyFolders = "../testdata/tiny/*-*"

// mostError is how large the rms error against float64 may be, as a multiple of transformers' in
// float32.
const mostError = 1.5

// tinyReferences is refs.json, with refs.safetensors.
type tinyReferences struct {
	Arch    string
	Kind    string
	Seed    int
	Pooling string
	Texts   []string
	Pairs   [][2]string
	IDs     [][]int32
	Greedy  [][]int32
	Predict []float64

	tensors *safetensors.File
	model   *Model

	embedder *embedding.Embedder
}

// readTiny reads the references of a folder.
func readTiny(t *testing.T, folder string) *tinyReferences {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "refs.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &tinyReferences{}
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	if r.tensors, err = safetensors.Open(filepath.Join(folder, "refs.safetensors")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.tensors.Close() })
	return r
}

// checkTinyFolder compares the model of a folder with the references in it.
func checkTinyFolder(t *testing.T, folder string) {
	r := readTiny(t, folder)
	switch r.Kind {
	case "decoder", "embedder":
	case "reranker":
		checkRanking(t, folder, r)
		return
	case "encoder", "static", "multivector", "sparse":
		t.Skipf("%s is of the kind %s, which another package tests", folder, r.Kind)
	default:
		t.Fatalf("kind %q is not known", r.Kind)
	}
	use := generates
	if r.Kind == "embedder" {
		use = embeds
	}
	var err error
	if _, r.model, err = load(folder, use, Options{}); err != nil {
		t.Fatal(err)
	}
	if r.Kind == "embedder" {
		if r.embedder, err = LoadEmbedder(folder, embedding.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.IDs) != len(r.Texts) || r.Kind == "decoder" && len(r.Greedy) != len(r.Texts) {
		t.Fatalf("%d texts, %d lists of ids, %d greedy ones", len(r.Texts), len(r.IDs), len(r.Greedy))
	}
	t.Run("ids", r.checkIDs)
	t.Run("numbers", r.checkNumbers)
	if !r.model.config.Bidirectional {
		t.Run("bits", r.checkBits)
	}
	if r.Kind == "embedder" {
		t.Run("vectors", r.checkVectors)
	} else {
		t.Run("greedy", r.checkGreedy)
	}
}

// checkIDs compares the tokens of the texts. Qwen3-Embedding gets one more, which make.py appends.
func (r *tinyReferences) checkIDs(t *testing.T) {
	tok, err := r.model.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range r.Texts {
		want := r.IDs[i]
		if r.Kind == "embedder" && r.model.config.Architecture == "qwen3" {
			want = want[:len(want)-1]
		}
		if got := tok.Encode(text, tokenizer.Options{Limit: 128}); !slices.Equal(got, want) {
			t.Errorf("%q: ids %v, want %v", text, got, want)
		}
	}
}

// An errorSum adds up the squares of errors against float64: ours, and transformers'.
type errorSum struct {
	ours, theirs float64
	n            int
}

// add adds the errors of one result. A result for which transformers has no error, such as an
// embedding, must be the same.
func (e *errorSum) add(t *testing.T, what string, got, want []float32, theirs float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i, x := range got {
		d := float64(x) - float64(want[i])
		if math.IsNaN(d) {
			t.Errorf("%s: number %d is %v, want %v", what, i, x, want[i])
			return
		}
		e.ours += d * d
	}
	e.theirs += theirs * theirs * float64(len(got))
	e.n += len(got)
}

// check compares the rms errors.
func (e *errorSum) check(t *testing.T, what string) {
	t.Helper()
	ours, theirs := math.Sqrt(e.ours/float64(e.n)), math.Sqrt(e.theirs/float64(e.n))
	t.Logf("%s: rms error %.3g, transformers %.3g: %.2f of it", what, ours, theirs, ours/theirs)
	if !(ours <= mostError*theirs) {
		t.Errorf("%s: rms error %.3g, want at most %v times that of transformers, %.3g", what, ours, mostError, theirs)
	}
}

// floats returns a tensor, and the rms error of transformers of the same name.
func (r *tinyReferences) floats(t *testing.T, name string) ([]float32, float64) {
	t.Helper()
	x, err := r.tensors.Float32(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.tensors.Float32(name + ".error")
	if err != nil || len(e) != 2 {
		t.Fatalf("%s.error: %v, %v", name, e, err)
	}
	return x, float64(e[1])
}

// checkNumbers compares hidden states, logits and embeddings.
func (r *tinyReferences) checkNumbers(t *testing.T) {
	c := r.model.Config()
	var hidden, logits, embeddings errorSum
	for i, ids := range r.IDs {
		s := session(t, r.model, 1, len(ids))
		seen := map[string][]float32{}
		s.tokens.See = func(name string, layer int, x []float32) { seen[fmt.Sprint(name, layer)] = slices.Clone(x) }
		out := forward(t, s, Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})[0]
		all := seen["embd0"]
		for layer := range c.Layers - 1 {
			all = append(all, seen[fmt.Sprint("hidden", layer)]...)
		}
		last := "norm0"
		if r.model.layers.Streams != nil { // transformers returns the first of the states that the norm is made of
			last = fmt.Sprint("hidden", c.Layers-1)
		}
		all = append(all, seen[last]...)
		want, theirs := r.floats(t, fmt.Sprint(i, ".hidden"))
		hidden.add(t, fmt.Sprintf("text %d, hidden states", i), all, want, theirs)
		if r.Kind == "embedder" {
			want, theirs = r.floats(t, fmt.Sprint(i, ".embedding"))
			vectors, err := r.embedder.EmbedTokens(t.Context(), [][]int32{ids})
			if err != nil {
				t.Fatal(err)
			}
			embeddings.add(t, fmt.Sprintf("text %d, embedding", i), vectors[0], want, theirs)
			continue
		}
		want, theirs = r.floats(t, fmt.Sprint(i, ".logits"))
		if n := min(8, len(ids)); len(want) == n*c.Vocab {
			out = out[len(out)-len(want):]
		}
		logits.add(t, fmt.Sprintf("text %d, logits", i), out, want, theirs)
	}
	hidden.check(t, "hidden states")
	if r.Kind == "embedder" {
		embeddings.check(t, "embeddings")
	} else {
		logits.check(t, "logits")
	}
}

// checkVectors compares the bits of vectors that are computed alone, beside all others, with
// several threads and on every tier.
func (r *tinyReferences) checkVectors(t *testing.T) {
	var want [][]float32
	for _, ids := range r.IDs {
		alone, err := r.embedder.With(embedding.Options{Exec: kernel.Exec{Threads: 1}}).EmbedTokens(t.Context(), [][]int32{ids})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, alone[0])
	}
	for _, tier := range kernel.Tiers() {
		for _, tokens := range []int{1, 100, 1000} {
			got, err := r.embedder.With(embedding.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}, BatchTokens: tokens}).EmbedTokens(t.Context(), r.IDs)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				sameBits(t, fmt.Sprintf("text %d, %s, batches of %d tokens", i, tier, tokens), got[i], want[i])
			}
		}
	}
}

// checkGreedy compares what the model continues the texts with.
func (r *tinyReferences) checkGreedy(t *testing.T) {
	got := make([][]int32, len(r.IDs))
	for token, err := range r.model.GenerateBatch(t.Context(), r.IDs, GenerateOptions{MaxTokens: len(r.Greedy[0]), Stop: []int32{}}) {
		if err != nil {
			t.Fatal(err)
		}
		got[token.Index] = append(got[token.Index], token.ID)
	}
	for i, want := range r.Greedy {
		if !slices.Equal(got[i], want) {
			t.Errorf("text %d continues with %v, want %v", i, got[i], want)
		}
	}
}

// checkBits compares the bits of texts that are read at once, token by token, and beside all
// others, on every tier and with several threads and types of caches.
func (r *tinyReferences) checkBits(t *testing.T) {
	for _, dtype := range cacheTypes {
		var want [][]float32
		with := func(o Options) *Model {
			o.CacheType = dtype
			m, err := r.model.With(o)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		one := with(Options{Exec: kernel.Exec{Threads: 1}})
		for _, ids := range r.IDs {
			want = append(want, slices.Clone(oneByOne(t, one, ids)))
		}
		for _, tier := range kernel.Tiers() {
			if testing.Short() && !isDefault(tier) {
				continue
			}
			m := with(Options{Exec: kernel.Exec{Tier: tier, Threads: 2}, PageSize: 16})
			s := session(t, m, len(r.IDs), 0)
			var steps []Step
			for _, ids := range r.IDs {
				steps = append(steps, Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})
			}
			for i, logits := range forward(t, s, steps...) {
				sameBits(t, fmt.Sprintf("text %d, caches of %v, %s", i, dtype, tier), logits, want[i])
			}
		}
	}
	r.checkHidden(t)
}

// checkHidden tests that the output matrix makes logits of what Hidden returns.
func (r *tinyReferences) checkHidden(t *testing.T) {
	s := session(t, r.model, 2, 0)
	hidden, err := s.Hidden(t.Context(), Step{Text: s.NewText(), Tokens: r.IDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, r.model.config.Vocab)
	if err := r.model.head.Parts[0].Apply(linear.DenseMatrix(got, 1, len(got)), linear.DenseMatrix(slices.Clone(hidden[0]), 1, r.model.config.Width), linear.Options{}); err != nil {
		t.Fatal(err)
	}
	if c := r.model.config.LogitScale; c != 0 {
		for i, x := range got {
			got[i] = float32(x * c)
		}
	}
	if c := r.model.config.LogitSoftcap; c != 0 {
		for i, x := range got {
			got[i] = float32(c * numeric.Tanh(x/c))
		}
	}
	sameBits(t, "logits of hidden states", got, forward(t, s, Step{Text: s.NewText(), Tokens: r.IDs[0]})[0])
}
