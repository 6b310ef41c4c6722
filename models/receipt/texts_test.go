package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/reranking"
)

// texts are some with bytes that are not UTF-8, without tokens of their own, and of more than
// models see.
var texts = []string{"The cat sits.", "", "a\xffb \xe2\x82 cat", "<b> & \u2028", strings.Repeat("a cat on a mat ", 40)}

// copyOf returns a copy of a model, beside whose files digests may be kept, and its name.
func copyOf(t *testing.T, name string) (path string, model Model) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(path, os.DirFS(filepath.Join("../testdata/tiny", name))); err != nil {
		t.Fatal(err)
	}
	all, err := Files(path, true)
	if err != nil {
		t.Fatal(err)
	}
	return path, Model{Name: name, Architecture: "bert", Files: all}
}

// embeddings returns an embedder, and the receipt of texts.
func embeddings(t *testing.T) (Model, *embedding.Embedder, *Receipt) {
	t.Helper()
	path, model := copyOf(t, "bert-1")
	load := embedding.LoadOptions{Unit: true}
	loaded, err := encoder.Load(path, load)
	if err != nil {
		t.Fatal(err)
	}
	e := loaded.Embedder.With(embedding.Options{Dimensions: 5})
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RecordEmbeddings(model, load, e, texts, vectors)
	if err != nil {
		t.Fatal(err)
	}
	return model, e.With(embedding.Options{}), r
}

// ranking returns a reranker, and the receipt of texts.
func ranking(t *testing.T) (Model, *reranking.Reranker, *Receipt) {
	t.Helper()
	path, model := copyOf(t, "reranker-bert-1")
	load := embedding.LoadOptions{}
	k, err := encoder.LoadReranker(path, load)
	if err != nil {
		t.Fatal(err)
	}
	const query = "Where is\xff the cat?"
	scores, err := k.Score(t.Context(), query, texts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RecordRanking(t.Context(), model, load, k, query, texts, scores)
	if err != nil {
		t.Fatal(err)
	}
	return model, k, r
}

// Receipts of vectors and scores hold on every tier and number of threads, whole or in part.
func TestVerifyTexts(t *testing.T) {
	model, e, vectors := embeddings(t)
	model2, k, scores := ranking(t)
	vectors, scores = copied(t, vectors), copied(t, scores)
	for _, tier := range kernel.Tiers() {
		for _, threads := range []int{1, 3} {
			with := embedding.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
			for _, spot := range []int{0, 2} {
				o := Options{Spot: spot, Random: rand.New(rand.NewPCG(1, 2))}
				if err := VerifyEmbeddings(t.Context(), model, e.With(with), vectors, o); err != nil {
					t.Errorf("%s, %d threads, spot %d: %v", tier, threads, spot, err)
				}
				if err := VerifyRanking(t.Context(), model2, k.With(reranking.Options{Exec: with.Exec}), scores, o); err != nil {
					t.Errorf("%s, %d threads, spot %d: %v", tier, threads, spot, err)
				}
			}
		}
	}
}

// Whatever is forged in them is found, at its place.
func TestForgedTexts(t *testing.T) {
	model, e, vectors := embeddings(t)
	model2, k, scores := ranking(t)
	for name, c := range map[string]struct {
		of    *Receipt
		forge func(r *Receipt)
		field string
		token int
	}{
		"hash":       {vectors, func(r *Receipt) { r.Embeddings.Texts[3].Hash[31] ^= 1 }, "texts", 3},
		"tokens":     {vectors, func(r *Receipt) { r.Embeddings.Texts[4].Tokens[1] ^= 1 }, "texts", 4},
		"no tokens":  {vectors, func(r *Receipt) { r.Embeddings.Texts[4].Tokens = nil }, "texts", 4},
		"text":       {vectors, func(r *Receipt) { r.Embeddings.Texts[0].Text = "The mat sits." }, "texts", 0},
		"swapped":    {vectors, func(r *Receipt) { x := r.Embeddings.Texts; x[0].Hash, x[1].Hash = x[1].Hash, x[0].Hash }, "texts", 0},
		"dimensions": {vectors, func(r *Receipt) { r.Embeddings.Settings.Dimensions = 4 }, "texts", 0},
		"more":       {vectors, func(r *Receipt) { r.Embeddings.Settings.Dimensions = 1 << 30 }, "settings", -1},
		"prompt":     {vectors, func(r *Receipt) { r.Embeddings.Settings.Prompt = "none" }, "settings", -1},
		"file":       {vectors, func(r *Receipt) { r.Model.Files[0].SHA256[0] ^= 1 }, "model.files", -1},
		"contract":   {vectors, func(r *Receipt) { r.Contract-- }, "contract", -1},
		"score":      {scores, func(r *Receipt) { r.Ranking.Passages[2].Hash[0] ^= 1 }, "passages", 2},
		"passage":    {scores, func(r *Receipt) { r.Ranking.Passages[3].Text = "" }, "passages", 3},
		"ids":        {scores, func(r *Receipt) { r.Ranking.Passages[0].Tokens[0] = -1 }, "passages", 0},
		"query":      {scores, func(r *Receipt) { r.Ranking.Query = "Where is the mat?" }, "passages", 0},
		"model":      {scores, func(r *Receipt) { r.Model.Architecture = "mpnet" }, "model.architecture", -1},
	} {
		t.Run(name, func(t *testing.T) {
			r := copied(t, c.of)
			c.forge(r)
			r = copied(t, r)
			var err error
			if c.of == vectors {
				err = VerifyEmbeddings(t.Context(), model, e, r, Options{})
			} else {
				err = VerifyRanking(t.Context(), model2, k, r, Options{})
			}
			var bad *kernel.Error
			if !errors.As(err, &bad) || bad.Kind != ErrMismatch || !isAbout(bad, c.field, c.token) {
				t.Errorf("%v, want a mismatch of %s[%d]", err, c.field, c.token)
			}
		})
	}
	if err := errors.Join(VerifyEmbeddings(t.Context(), model, e, vectors, Options{}), VerifyRanking(t.Context(), model2, k, scores, Options{})); err != nil {
		t.Errorf("the true ones: %v", err)
	}
	generated, m := tiny(t, kernel.Exec{})
	for name, err := range map[string]error{
		"a ranking as vectors": VerifyEmbeddings(t.Context(), model, e, scores, Options{}),
		"vectors as a ranking": VerifyRanking(t.Context(), model2, k, vectors, Options{}),
		"vectors as a text":    Verify(t.Context(), generated, m, vectors, Options{}),
		"a text as vectors":    VerifyEmbeddings(t.Context(), model, e, record(t, generated, m, decoder.GenerateOptions{MaxTokens: 2}), Options{}),
	} {
		if !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Readings of another form are errors.
func TestHostileTexts(t *testing.T) {
	_, e, vectors := embeddings(t)
	for name, forge := range map[string]func(r *Embeddings){
		"none":       func(r *Embeddings) { r.Texts = nil },
		"many":       func(r *Embeddings) { r.Texts = make([]Reading, MostTexts+1) },
		"long":       func(r *Embeddings) { r.Texts[0].Tokens = make([]int32, MostTokens+1) },
		"context":    func(r *Embeddings) { r.Settings.Context = MostTokens + 1 },
		"negative":   func(r *Embeddings) { r.Settings.Context = -1 },
		"dimensions": func(r *Embeddings) { r.Settings.Dimensions = -1 },
	} {
		r := copied(t, vectors)
		forge(r.Embeddings)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(data)); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := RecordEmbeddings(Model{}, embedding.LoadOptions{}, e.With(embedding.Options{Split: true}), nil, nil); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("Split: %v", err)
	}
}

// The committed receipts were made on amd64, with tier avx2. They hold everywhere.
func TestCommittedTexts(t *testing.T) {
	model, e, vectors := embeddings(t)
	model2, k, scores := ranking(t)
	const name = "testdata/texts.json"
	if *update {
		a, err := vectors.Bytes()
		b, err2 := scores.Bytes()
		if err := errors.Join(err, err2, os.WriteFile(name, append(a, b...), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := Read(f)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d receipts, %v", len(all), err)
	}
	if err := VerifyEmbeddings(t.Context(), model, e, all[0], Options{}); err != nil {
		t.Error(err)
	}
	if err := VerifyRanking(t.Context(), model2, k, all[1], Options{}); err != nil {
		t.Error(err)
	}
}
