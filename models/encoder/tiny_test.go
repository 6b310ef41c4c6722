package encoder

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/safetensors"
)

// tinyRefs is refs.json, which testdata/tiny/make.py writes.
type tinyRefs struct {
	Arch, Kind string
	Texts      []string
	Pairs      [][2]string
	IDs        [][]int32
	Sparse     [][]int32 // the tokens of each text that have a weight
	Labels     []string  // of rerankers with several ones
	Queries    bool      // the texts with vectors of tokens are queries
}

// readTiny returns the references of a folder of make.py's form, or nil if it has another form.
// Decoders as rerankers get the kind decoder, as package decoder tests them.
func readTiny(t *testing.T, dir string) *tinyRefs {
	data, err := os.ReadFile(filepath.Join(dir, "refs.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r := &tinyRefs{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Type string `json:"model_type"`
	}
	if err := folder.ReadJSON(filepath.Join(dir, configName), &c); err != nil {
		t.Fatal(err)
	}
	if r.Kind == "reranker" && settings.Encoders.OfType(c.Type) == nil {
		r.Kind = "decoder"
	}
	return r
}

// TestTiny compares the models of testdata/tiny with transformers.
func TestTiny(t *testing.T) {
	folders, err := filepath.Glob("../testdata/tiny/*/refs.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no references: %v", err)
	}
	for _, path := range folders {
		dir := filepath.Dir(path)
		if r := readTiny(t, dir); r.Kind == "encoder" || r.Kind == "reranker" || r.Kind == "multivector" || r.Kind == "sparse" {
			t.Run(filepath.Base(dir), func(t *testing.T) { r.compare(t, dir) })
		}
	}
}

// compare compares ids, and what the model computes.
func (r *tinyRefs) compare(t *testing.T, dir string) {
	f, err := safetensors.Open(filepath.Join(dir, "refs.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &comparison{t, f, 0, map[string]*errorSum{}}
	switch r.Kind {
	case "encoder":
		r.compareEncoder(c, dir, LoadOptions{})
	case "reranker":
		r.compareReranker(c, dir)
	case "multivector":
		r.compareTokens(c, dir)
	case "sparse":
		r.compareWords(c, dir)
	default:
		t.Fatalf("%s: references of the kind %q, want encoder or reranker", dir, r.Kind)
	}
}

func (r *tinyRefs) compareEncoder(c *comparison, dir string, o LoadOptions) {
	e, err := Load(dir, o)
	if err != nil {
		c.t.Fatal(err)
	}
	vectors, err := e.EmbedTokens(c.t.Context(), r.IDs)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, ids := range r.IDs {
		if got := e.Tokenizer().Encode(r.Texts[i], limit128); !slices.Equal(got, ids) {
			c.t.Errorf("%q: ids %d, want %d", r.Texts[i], got, ids)
		}
		states, err := e.HiddenStates(c.t.Context(), ids)
		if err != nil {
			c.t.Fatal(err)
		}
		if r.Arch != "embedding_gemma2" { // make.py has no states of its layers
			c.check(i, "hidden", slices.Concat(states...))
		}
		c.check(i, "embedding", vectors[i])
	}
	if r.Sparse != nil {
		r.compareSparse(c, e)
	}
	if e.HasTokenVectors() {
		r.compareBeside(c, e)
	}
	c.finish(nil)
}

// compareSparse compares the weights of tokens, of all texts in one call.
func (r *tinyRefs) compareSparse(c *comparison, e *Encoder) {
	all, err := e.SparseTokens(c.t.Context(), r.IDs)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, got := range all {
		if !slices.Equal(got.Tokens, r.Sparse[i]) {
			c.t.Errorf("%q: weights of the tokens %d, want %d", r.Texts[i], got.Tokens, r.Sparse[i])
			continue
		}
		c.check(i, "sparse", got.Weights)
		if len(r.IDs[i]) == 128 { // make.py may have cut it, where the model sees more
			continue
		}
		alone, err := e.Sparse(c.t.Context(), r.Texts[i:i+1])
		if err != nil || !slices.Equal(alone[0].Tokens, got.Tokens) || !equalBits(alone[0].Weights, got.Weights) {
			c.t.Errorf("%q alone: %v, want %v (%v)", r.Texts[i], alone, got, err)
		}
	}
}

// compareBeside compares vectors of tokens beside a vector of the text. A query's are the same.
func (r *tinyRefs) compareBeside(c *comparison, e *Encoder) {
	all, err := e.DocumentVectors(c.t.Context(), r.IDs)
	if err != nil {
		c.t.Fatal(err)
	}
	queries, err := e.QueryVectors(c.t.Context(), r.IDs[:1])
	if err != nil || !slices.Equal(queries[0].Tokens, all[0].Tokens) || !equalBits(slices.Concat(queries[0].Vectors...), slices.Concat(all[0].Vectors...)) {
		c.t.Errorf("a query: %v, want %v (%v)", queries, all[0], err)
	}
	for i, got := range all {
		if ids := e.Tokens(r.Texts[i]); !slices.Equal(e.DocumentTokens(r.Texts[i]), ids) || !slices.Equal(got.Tokens, r.IDs[i][1:]) {
			c.t.Errorf("%q: vectors of the tokens %d, want %d", r.Texts[i], got.Tokens, r.IDs[i][1:])
		}
		c.check(i, "vectors", slices.Concat(got.Vectors...))
	}
}

// compareWords compares weights of words.
func (r *tinyRefs) compareWords(c *comparison, dir string) {
	e, err := Load(dir, LoadOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := e.SparseTokens(c.t.Context(), r.IDs)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, got := range all {
		weights := make([]float32, e.Vocab())
		for j, id := range got.Tokens {
			weights[id] = got.Weights[j]
		}
		c.check(i, "sparse", weights)
	}
	if _, err := e.Embed(c.t.Context(), r.Texts); !errors.Is(err, embedding.ErrSparseOnly) {
		c.t.Errorf("vectors: %v", err)
	}
	c.finish(nil)
}

// compareTokens compares vectors of tokens, and scores of pairs by them.
func (r *tinyRefs) compareTokens(c *comparison, dir string) {
	e, err := Load(dir, LoadOptions{Unit: true}) // as vectors of tokens are anyway
	if err != nil {
		c.t.Fatal(err)
	}
	tokens, vectors := e.DocumentTokens, e.DocumentVectors
	if r.Queries {
		tokens, vectors = e.QueryTokens, e.QueryVectors
	}
	var ids [][]int32
	for i, text := range r.Texts {
		if ids = append(ids, tokens(text)); !slices.Equal(ids[i], r.IDs[i]) {
			c.t.Errorf("%q: ids %d, want %d", text, ids[i], r.IDs[i])
		}
	}
	all, err := vectors(c.t.Context(), ids)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, got := range all {
		c.check(i, "vectors", slices.Concat(got.Vectors...))
	}
	m, err := LoadReranker(dir, LoadOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	least := 0.0
	for i, pair := range r.Pairs {
		got, err := m.Score(c.t.Context(), pair[0], []string{"a", pair[1]})
		if err != nil {
			c.t.Fatal(err)
		}
		c.check(i, "maxsim", got[1:])
		// A product of unit vectors has the errors of two elements, and a score has the errors of
		// so many products.
		least += square(scoreErrors) * 2 * float64(len(e.QueryTokens(pair[0]))) * c.sums["vectors"].theirs / float64(len(all))
	}
	c.finish(map[string]float64{"maxsim": least})
}

func (r *tinyRefs) compareReranker(c *comparison, dir string) {
	x, err := open(dir, LoadOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer x.close()
	p, err := x.reranker(LoadOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	m := reranking.New(*p)
	if r.Labels != nil && !slices.Equal(m.Labels(), r.Labels) {
		c.t.Errorf("labels %q, want %q", m.Labels(), r.Labels)
	}
	least := 0.0
	for i, pair := range r.Pairs {
		ids, types := x.tokenizer.EncodePair(pair[0], pair[1], limit128)
		if !slices.Equal(ids, r.IDs[i]) {
			c.t.Errorf("%q: ids %d, want %d", pair, ids, r.IDs[i])
		}
		var got []float32
		for _, label := range m.Labels() {
			m = m.With(reranking.Options{Label: label})
			one, err := m.ScoreTokens(c.t.Context(), [][]int32{r.IDs[i]}, [][]int32{types})
			if err != nil {
				c.t.Fatal(err)
			}
			got = append(got, one...)
		}
		if m.CountTokens(pair[0], pair[1]) <= 128 {
			if again, err := m.Score(c.t.Context(), pair[0], []string{"a", pair[1]}); err != nil || !equalBits(again[1:], got[len(got)-1:]) {
				c.t.Errorf("%q: beside another passage the score is %v, want %v (%v)", pair, again, got, err)
			}
		}
		c.check(i, "score", got)
		least += square(scoreErrors * scoreError * gradient(c.t, p, r.IDs[i], types))
	}
	c.finish(map[string]float64{"score": least})
}
