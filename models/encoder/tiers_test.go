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

// tinyGoldens are the sha256 of the bits of the embeddings, with the weights of tokens if there are any, or scores, of models of
// testdata/tiny.
var tinyGoldens = map[string]string{
	"bge-m3-25":                   "41874c0ba7ddb8e696cea1a598f9cea2b84b6b88dc7eace84d9c6d41c0878951",
	"bert-1":                      "ae5bd7bdc3e37a8552604cf2c2aceda8476ec96557d28dd4e8a57982c0531c2d",
	"distilbert-1":                "57b39066b04383f94877be0a8a9bc48555aaec5d3a62a7f6c4578ca5e31aba60",
	"gte-new-1":                   "cd39dc97af36e462a7ceee4ebae264bd6c782f1720924253efa600fefa27edeb",
	"gte-new-2":                   "1edd2cf390be723cce272326f6bf7c75af01778f7bca36b30ff511746c043d27",
	"modernbert-1":                "1e0b786d15bdf18f76fda55f1707df5860cf80b70db3f4040de4e3579bb7db05",
	"mpnet-1":                     "006b6a62a82457fbecb9c29ad3c3ce77df2dde2c93b7ae63e82ba42bd671d8b7",
	"nomic_bert-1":                "a3b3ddde87f06d36d53e6824951b7d326d69d1e906d6312df282e15895654712",
	"reranker-bert-1":             "6d3606af5c096fab6060cae12ca665c9a8ea995c1ccb423af5d009c25680aff2",
	"reranker-deberta-6":          "34a7efec60af73e689368738ac78879a89af251d1511039770c7d8630e406327",
	"reranker-deberta-nli-31":     "3bceacd7d5f327d5aec019b0bb1d8a5f24801ce58afe22d767f3d09a47b9f344",
	"reranker-modernbert-cls-6":   "c534cb63a65c79366485eff83e2e85a2964cd502577586d48f1660fd182af873",
	"reranker-modernbert-mean-31": "10c18034d59f98928c58d0ac3372ed6e5506b33cc838621d8d7d8471f9de1730",
	"reranker-gte-new-1":          "87c6a0e9b53f556155bba045e628ab27fe27cb1557fc26e8caf98ee06a0aa38e",
	"reranker-xlm-roberta-1":      "cb7e2296b59d9f1febfdb1bca1c91db44693619b0620eb5edc42600868fe0897",
	"roberta-1":                   "3c6e3d498fd159cd9b387073c26615c75dac170d1ec604f3239bfe75c22f4082",
	"xlm-roberta-1":               "2630b5ab08fcfd173503dc2db4358e1ac94251a13bec4e05de6abf9741cd7b76",
}

// TestTinyGolden expects the same bits on every tier and architecture, with any number of threads and
// whatever texts are computed together.
func TestTinyGolden(t *testing.T) {
	for name, want := range tinyGoldens {
		dir := "../testdata/tiny/" + name
		r := readTiny(t, dir)
		for _, tier := range kernel.Tiers() {
			if !tier.Runs {
				continue
			}
			for _, opts := range []Options{
				{Exec: kernel.Exec{Tier: tier.Name, Threads: 1}, BatchTokens: 1},
				{Exec: kernel.Exec{Tier: tier.Name, Threads: 2}, BatchTokens: 300},
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
