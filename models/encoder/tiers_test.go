package encoder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/reranking"
)

// tinyGoldens are the sha256 of the bits of the embeddings, with the weights of tokens if there are
// any, or scores, of models of testdata/tiny.
var tinyGoldens = map[string]string{
	"bge-m3-25":                   "d40d9615697fbb75eb774f236a886c0b817e4f723369848c9c85955634a1c1cb",
	"bert-1":                      "d34f39077dec2a4455b41e6ed98d635d1497c8e84387802382c25cbd89c5a653",
	"distilbert-1":                "8d25403c71ccabe4a8e6f7b95140489085378056c658b4a879f1b08df524fc84",
	"embedding_gemma2-4":          "cbeaca42dfe91847d3cc58564464b34a9db193ba088fa0b5de7cfbe21f990fdb",
	"gte-new-1":                   "40e88d58cdb5892328ceb18676f838e6f97f1c381ac305aa0a45f56124f80905",
	"gte-new-2":                   "fd07aa3db371da4a31956781bf6cf241cfc9fee875d8c42c00397365a540aa21",
	"jina-bert-1":                 "8489c5d0640b1628e4ed5b3de9c3f4eba15b92125040c32f5166c1723e046bcf",
	"modernbert-1":                "171299c5bbfab40198f08f10e3bb0bdd2fa8729c14cdc4e689e87701360381e9",
	"mpnet-1":                     "52049e1249de3cfc0099739d8ef44f0353afbafa70e238f2919be4a789ec4508",
	"nomic_bert-1":                "50d38ed272e70a23fe835fc2181e40f1e6ae5fb5fd2c5a2a5bb9d046a640f24b",
	"reranker-bert-1":             "ed094b42d1a45b27289ffd4b807e413ede1aa2703edf9529d4c36606ed502f31",
	"reranker-deberta-6":          "972f0bd052c28a1d31da580b63ad179aa781b11b68440dfe7e7b3521dff4bd5e",
	"reranker-deberta-nli-31":     "7154bbc3be1cc7384a9d65035ec768c9518e883d49d1cab83345d021cf866db7",
	"reranker-modernbert-cls-6":   "589fd0f9cbdae2c8e75c55c12eb1fa2a1dee6a5b1365b847d5b3d2b33ef15bd3",
	"reranker-modernbert-mean-31": "a50fbc17fed334488ccfc9736658b108087c3b22a621b0e4f9955fb98e7f68b1",
	"reranker-gte-new-1":          "e41e00fba0fcd10d07ae4c81fd1ce166fb3b93e41eec59e2890dbfa4872ca9fe",
	"reranker-xlm-roberta-1":      "b3001244365509586b1f436e4568014d6e8ec57ddbcf78505219a11b526b245a",
	"roberta-1":                   "af5caf914e62fd2a7e9a2a98a9f0ace2e75d5408682c881fedc8c5e75710129c",
	"xlm-roberta-1":               "7e0505a991fa14bf3c34b53060b20e66856902e29a68ff74e2acf33999c465da",
}

// TestTinyGolden expects the same bits on every tier and architecture, with any number of threads
// and whatever texts are computed together.
func TestTinyGolden(t *testing.T) {
	for name, want := range tinyGoldens {
		dir := "../testdata/tiny/" + name
		r := readTiny(t, dir)
		for _, tier := range kernel.Tiers() {
			for _, opts := range []Options{
				{Exec: kernel.Exec{Tier: tier, Threads: 1}, BatchTokens: 1},
				{Exec: kernel.Exec{Tier: tier, Threads: 2}, BatchTokens: 300},
			} {
				if got := r.hash(t, dir, opts); got != want {
					t.Errorf("%s, %+v: %q, want %q", name, opts, got, want)
				}
			}
		}
	}
}

// hash returns the sha256 of what a model computes for all texts.
func (r *tinyRefs) hash(t *testing.T, dir string, opts Options) string {
	t.Helper()
	var vectors [][]float32
	if r.Kind == "reranker" {
		m, err := LoadReranker(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := m.With(reranking.Options{Exec: opts.Exec, BatchTokens: opts.BatchTokens, Label: m.Labels()[0]}).ScoreTokens(t.Context(), r.IDs, make([][]int32, len(r.IDs)))
		if err != nil {
			t.Fatal(err)
		}
		vectors = [][]float32{scores}
	} else {
		e, err := Load(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if vectors, err = e.With(opts).EmbedTokens(t.Context(), r.IDs); err != nil {
			t.Fatal(err)
		}
		if e.HasSparse() {
			all, err := e.Embedder.With(opts).SparseTokens(t.Context(), r.IDs)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				vectors = append(vectors, s.Weights)
			}
		}
	}
	h := sha256.New()
	for _, x := range vectors {
		for _, y := range x {
			binary.Write(h, binary.LittleEndian, math.Float32bits(y))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
