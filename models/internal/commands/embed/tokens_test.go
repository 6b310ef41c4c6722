package embed

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/encoder"
)

// TestTokenVectors: a line has the vectors that the model gives the tokens of a query or a
// document.
func TestTokenVectors(t *testing.T) {
	const model = "../../../testdata/tiny/colbert-expanded-4"
	e, err := encoder.Load(model, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const text = "The cat sits."
	queries, err := e.QueryVectors(t.Context(), [][]int32{e.QueryTokens(text)})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := e.DocumentVectors(t.Context(), [][]int32{e.DocumentTokens(text)})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(queries[0].Tokens, documents[0].Tokens) {
		t.Fatalf("tokens %d of both", queries[0].Tokens)
	}
	for as, want := range map[string][]int32{"query": queries[0].Tokens, "document": documents[0].Tokens} {
		vectors := queries[0].Vectors
		if as == "document" {
			vectors = documents[0].Vectors
		}
		var out bytes.Buffer
		var got struct {
			Tokens  []int32     `json:"token_ids"`
			Vectors [][]float32 `json:"token_embeddings"`
		}
		if err := run(t.Context(), []string{"-model", model, "-token-vectors", as, "-text", text}, nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || !slices.Equal(got.Tokens, want) || !slices.EqualFunc(got.Vectors, vectors, slices.Equal) {
			t.Errorf("%s: %+v, want %d and %v (%v)", as, got, want, vectors, err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"-token-vectors both", `-token-vectors is "both"`},
		{"-token-vectors query -sparse", "exclude each other"},
		{"-token-vectors query -dimensions 3", "-token-vectors gives JSON lines"},
		{"-token-vectors query -long split", "neither -long"},
		{"", "a vector for each token"},
		{"-token-vectors query -model ../../../testdata/tiny/bert-1", "no vectors of tokens"},
	} {
		args := append([]string{"-model", model, "-text", text}, strings.Fields(c.args)...)
		if err := run(t.Context(), args, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}
