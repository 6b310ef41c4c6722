package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
)

// The models whose texts have more than one vector, or weights of tokens.
const lateModel, filledModel, wordModel, bothModel = "colbert-4", "colbert-expanded-4", "splade-4", "bge-m3-25"

// vectorModels loads them.
func vectorModels(t testing.TB, e kernel.Exec) (list []*Model) {
	t.Helper()
	for _, name := range []string{lateModel, filledModel, wordModel, bothModel} {
		m, err := Load("../testdata/tiny/"+name, LoadOptions{Exec: e})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// listsOf are the answers of /v1/embeddings with vectors or weights of tokens.
type listsOf struct {
	Data []struct {
		Index      int
		Embedding  []float32
		Embeddings [][]float32
		Sparse     []weightOf `json:"sparse_embedding"`
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
	}
}

type weightOf struct {
	Index int32
	Value float32
}

// tokenVectors are those that package embedding makes of texts.
func tokenVectors(t *testing.T, e *embedding.Embedder, texts []string, query bool) (all []embedding.TokenVectors, tokens int) {
	t.Helper()
	of, vectorsOf := e.DocumentTokens, e.DocumentVectors
	if query {
		of, vectorsOf = e.QueryTokens, e.QueryVectors
	}
	var ids [][]int32
	for _, s := range texts {
		ids = append(ids, of(s))
		tokens += len(of(s))
	}
	all, err := vectorsOf(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return all, tokens
}

func sameVectors(a, b [][]float32) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, slices.Equal[[]float32])
}

// quoted is a list of texts as JSON.
func quoted(texts []string) string {
	data, err := json.Marshal(texts)
	if err != nil {
		panic(err)
	}
	return string(data)
}

var someTexts = []string{"the cat sat on a mat.", "rain", "who?"}

// TestRankByTokens: ColBERT ranks by MaxSim in the forms of Cohere and Text Embeddings Inference,
// says how far without a logistic function, has receipts, and cuts nothing in silence.
func TestRankByTokens(t *testing.T) {
	models := vectorModels(t, kernel.Exec{Threads: 1})[:2]
	for _, m := range models {
		s := serverOf(t, fixed(), m)
		want, err := rerankOf(m).Score(t.Context(), "which mat?", someTexts)
		if err != nil {
			t.Fatal(err)
		}
		type ranked struct {
			Results []struct {
				Index int
				Score float32 `json:"relevance_score"`
			}
			Receipt json.RawMessage
		}
		check := func(what string, i, index int, score, before float32) {
			if score != want[index] || i > 0 && score > before || !(score > 0) {
				t.Errorf("%s, %s: rank %d is %d with %v, want %v, after %v", m.name, what, i, index, score, want[index], before)
			}
		}
		body := `{"query": "which mat?", "receipt": true, "documents": ` + quoted(someTexts) + `}`
		a := answerOf[ranked](t, post(s, "/v1/rerank", body))
		if len(a.Results) != 3 {
			t.Fatalf("%+v", a)
		}
		for i, x := range a.Results {
			check("documents", i, x.Index, x.Score, a.Results[max(0, i-1)].Score)
		}
		r, err := receipt.Parse(a.Receipt)
		if err == nil {
			err = receipt.VerifyRanking(t.Context(), r.Model, rerankOf(m), r, receipt.Options{})
		}
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		list := answerOf[[]struct {
			Index int
			Score float32
		}](t, post(s, "/rerank", `{"query": "which mat?", "texts": `+quoted(someTexts)+`}`))
		for i, x := range list {
			check("texts", i, x.Index, x.Score, list[max(0, i-1)].Score)
		}
		long := strings.Repeat("cat ", 200)
		for body, param := range map[string]string{
			`"query": "a", "texts": ["` + long + `"]`: "texts", `"query": "` + long + `", "texts": ["a"]`: "query", `"query": "` + long + `", "documents": ["a"], "truncate": false`: "query",
		} {
			if w := post(s, "/rerank", `{`+body+`}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
				t.Errorf("%s, %.30s: %d %s", m.name, body, w.Code, w.Body)
			}
			if w := post(s, "/rerank", `{`+strings.Replace(body, `, "truncate": false`, "", 1)+`, "truncate": true}`); w.Code != http.StatusOK {
				t.Errorf("%s, %.30s cut: %d %s", m.name, body, w.Code, w.Body)
			}
		}
	}
}

// TestTokenVectors: vectors of tokens equal package embedding's, in each form and for both roles of
// a text.
func TestTokenVectors(t *testing.T) {
	models := vectorModels(t, kernel.Exec{Threads: 1})
	s := serverOf(t, fixed(), models...)
	for _, m := range []*Model{models[0], models[1], models[3]} {
		e := embedderOf(m)
		for role, query := range map[string]bool{"": false, `, "input_type": "document"`: false, `, "input_type": "query"`: true, `, "input_type": "search_query"`: true} {
			if m.name == bothModel && role != "" { // which has no roles, and no prompts
				continue
			}
			want, tokens := tokenVectors(t, e, someTexts, query)
			body := fmt.Sprintf(`{"model": %q, "input": %s%s`, m.name, quoted(someTexts), role)
			for path, body := range map[string]string{"/v1/embeddings": body + `, "return_multivector": true}`, "/v1/multi-vector": fmt.Sprintf(`%s, "dimensions": %d}`, body, e.TokenWidth())} {
				got := answerOf[listsOf](t, post(s, path, body))
				if len(got.Data) != 3 || got.Usage.Prompt != tokens {
					t.Fatalf("%s: %+v, want %d tokens", body, got, tokens)
				}
				for i, x := range got.Data {
					if x.Index != i || x.Embedding != nil || x.Sparse != nil || !sameVectors(x.Embeddings, want[i].Vectors) {
						t.Errorf("%s: text %d has %v, want %v", body, i, x, want[i].Vectors)
					}
				}
			}
		}
		want, _ := tokenVectors(t, e, someTexts, false)
		for i, got := range answerOf[[][][]float32](t, post(s, "/embed_all", fmt.Sprintf(`{"model": %q, "inputs": %s}`, m.name, quoted(someTexts)))) {
			if !sameVectors(got, want[i].Vectors) {
				t.Errorf("%s, text %d: %v, want %v", m.name, i, got, want[i].Vectors)
			}
		}
		text := answerOf[struct {
			Data []struct{ Embeddings []string }
		}](t, post(s, "/v1/multi-vector", fmt.Sprintf(`{"model": %q, "encoding_format": "base64", "input": "rain"}`, m.name))).Data[0].Embeddings
		bits := answerOf[listsOf](t, post(s, "/v1/multi-vector", fmt.Sprintf(`{"model": %q, "encoding_format": "ubinary", "input": "rain"}`, m.name))).Data[0].Embeddings
		for i, v := range want[1].Vectors {
			if text[i] != base64Of(v) || int(bits[i][0])>>7 == 1 != (v[0] > 0) {
				t.Errorf("%s: vector %d is %v, as base64 %v, as bits %v", m.name, i, v, text[i], bits[i])
			}
		}
	}
	ids := embedderOf(models[0]).QueryTokens("rain")
	data, _ := json.Marshal(ids)
	got := answerOf[listsOf](t, post(s, "/v1/multi-vector", `{"model": "colbert-4", "input_type": "query", "input": [`+string(data)+`]}`)).Data[0].Embeddings
	if want, _ := tokenVectors(t, embedderOf(models[0]), []string{"rain"}, true); !sameVectors(got, want[0].Vectors) {
		t.Errorf("tokens: %v, want %v", got, want)
	}
	facts := answerOf[struct {
		Tasks      []string
		Dimensions int
	}](t, get(s, "/v1/models/colbert-4"))
	if fmt.Sprint(facts.Tasks) != "[rerank multivector]" || facts.Dimensions != embedderOf(models[0]).TokenWidth() {
		t.Errorf("%+v", facts)
	}
}

// embedderOf returns the embedder of a model that makes vectors of tokens.
func embedderOf(m *Model) *embedding.Embedder {
	if m.name == bothModel || m.name == wordModel {
		return embedOf(m)
	}
	return rerankOf(m).TokenVectors()
}

// base64Of is the base64 of a vector, by way of its definition.
func base64Of(v []float32) string {
	var bytes []byte
	for _, x := range v {
		n := math.Float32bits(x)
		bytes = append(bytes, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	data, _ := json.Marshal(bytes)
	return strings.Trim(string(data), `"`)
}

// TestWeights: weights of tokens equal package embedding's, beside a vector if the model has one.
func TestWeights(t *testing.T) {
	models := vectorModels(t, kernel.Exec{Threads: 1})
	s := serverOf(t, fixed(), models...)
	same := func(what string, got []weightOf, want embedding.Sparse) {
		t.Helper()
		ok := len(got) == len(want.Tokens)
		for i := 0; ok && i < len(got); i++ {
			ok = got[i] == weightOf{want.Tokens[i], want.Weights[i]}
		}
		if !ok {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	texts := append(someTexts, "") // which has no weights with bge-m3, and an empty list
	for _, m := range models[2:] {
		e := embedOf(m)
		want, err := e.Sparse(t.Context(), texts)
		if err != nil || len(want[0].Tokens) == 0 {
			t.Fatal(err, want)
		}
		w := post(s, "/v1/embeddings", fmt.Sprintf(`{"model": %q, "return_sparse": true, "input": %s}`, m.name, quoted(texts)))
		if m.name == bothModel && !strings.Contains(w.Body.String(), `"sparse_embedding":[]`) {
			t.Errorf("no empty list: %s", w.Body)
		}
		var dense [][]float32
		if e.HasVector() {
			if dense, err = e.Embed(t.Context(), texts); err != nil {
				t.Fatal(err)
			}
		}
		tei := answerOf[[][]weightOf](t, post(s, "/embed_sparse", fmt.Sprintf(`{"model": %q, "inputs": %s}`, m.name, quoted(texts))))
		for i, x := range answerOf[listsOf](t, w).Data {
			same(m.name, x.Sparse, want[i])
			same(m.name, tei[i], want[i])
			if (dense == nil) != (x.Embedding == nil) || dense != nil && !slices.Equal(x.Embedding, dense[i]) {
				t.Errorf("%s: the vector %v beside weights", m.name, x.Embedding)
			}
		}
	}
	all := answerOf[listsOf](t, post(s, "/v1/embeddings", `{"model": "bge-m3-25", "return_sparse": true, "return_multivector": true, "input": "rain"}`)).Data[0]
	if all.Embedding != nil || len(all.Embeddings) == 0 || len(all.Sparse) == 0 {
		t.Errorf("both: %+v", all)
	}
}

// TestVectorErrors: what a model lacks, and what vectors of tokens do not have, is an error that
// names it, and requests that name no model come to the one that can.
func TestVectorErrors(t *testing.T) {
	s := serverOf(t, fixed(), append(vectorModels(t, kernel.Exec{Threads: 1}), tinyModels(t, kernel.Exec{Threads: 1}, 16)...)...)
	for _, x := range []struct{ path, body, param string }{
		{"/v1/embeddings", `"model": "colbert-4"`, "model"}, {"/v1/embeddings", `"model": "splade-4"`, "model"}, {"/api/embed", `"model": "splade-4"`, ""},
		{"/v1/embeddings", `"model": "bert-1", "return_multivector": true`, "model"}, {"/v1/embeddings", `"model": "bert-1", "return_sparse": true`, "model"},
		{"/v1/embeddings", `"model": "colbert-4", "return_multivector": true, "return_sparse": true`, "model"},
		{"/v1/multi-vector", `"model": "splade-4"`, "model"}, {"/v1/multi-vector", `"model": "reranker-bert-1"`, "model"}, {"/v1/multi-vector", `"model": "tiny"`, "model"},
		{"/v1/multi-vector", `"model": "colbert-4", "receipt": true`, "receipt"}, {"/v1/embeddings", `"model": "bge-m3-25", "return_sparse": true, "receipt": true`, "receipt"},
		{"/v1/multi-vector", `"model": "colbert-4", "encoding_format": "int8"`, "encoding_format"}, {"/v1/multi-vector", `"model": "colbert-4", "dimensions": 3`, "dimensions"},
		{"/v1/embeddings", `"model": "splade-4", "return_sparse": true, "dimensions": 3`, "dimensions"}, {"/v1/multi-vector", `"model": "colbert-4", "input_type": "image"`, "input_type"},
		{"/v1/multi-vector", `"model": "bge-m3-25", "input_type": "query"`, "input_type"}, {"/v1/rerank", `"model": "splade-4", "query": "a", "documents": ["a"]`, "model"},
	} {
		body := x.body + `, "input": "a"`
		if x.path == "/v1/rerank" {
			body = x.body
		}
		if w := post(s, x.path, `{`+body+`}`); w.Code != http.StatusBadRequest || x.param != "" && !strings.Contains(w.Body.String(), `"param":"`+x.param+`"`) {
			t.Errorf("%s %s: %d %s", x.path, body, w.Code, w.Body)
		}
	}
	long := strings.Repeat("cat ", 500)
	for _, name := range []string{lateModel, filledModel, bothModel} {
		for _, role := range []string{"document", "query"} {
			body := `{"model": "` + name + `", "input": "` + long + `"`
			if name != bothModel {
				body += `, "input_type": "` + role + `"`
			}
			if w := post(s, "/v1/multi-vector", body+`}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "context_length_exceeded") {
				t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
			}
			if w := post(s, "/v1/multi-vector", body+`, "truncate": true}`); w.Code != http.StatusOK {
				t.Errorf("%.60s cut: %d %s", body, w.Code, w.Body)
			}
		}
	}
	one := serverOf(t, fixed(), append(vectorModels(t, kernel.Exec{Threads: 1})[:1:1], append(vectorModels(t, kernel.Exec{Threads: 1})[2:3], tinyModels(t, kernel.Exec{Threads: 1}, 16)...)...)...)
	for _, path := range []string{"/embed", "/embed_all", "/embed_sparse"} {
		if w := post(one, path, `{"inputs": "a"}`); w.Code != http.StatusOK {
			t.Errorf("%s without a model: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestMostNumbers: an answer has no more vectors of tokens than fit memory.
func TestMostNumbers(t *testing.T) {
	settings := fixed()
	settings.Texts = 1 << 20
	m := vectorModels(t, kernel.Exec{Threads: 1})[1]
	s := serverOf(t, settings, m)
	e := embedderOf(m)
	n := mostNumbers/(e.TokenWidth()*e.QueryLength()) + 1
	body := `{"input_type": "query", "input": [` + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + `]}`
	if w := post(s, "/v1/multi-vector", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "vectors of tokens, want at most") {
		t.Errorf("status %d, %.300s", w.Code, w.Body)
	}
}

// TestVectorsOnDemand: models with vectors or weights of tokens are loaded when requests ask for
// them, also for one that names none.
func TestVectorsOnDemand(t *testing.T) {
	s := fixed()
	loaded := vectorModels(t, kernel.Exec{Threads: 1})
	var later []*Model
	for _, m := range loaded {
		one, err := OnDemand("../testdata/tiny/"+m.name, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		later = append(later, one)
		s.ModelsBytes = max(s.ModelsBytes, one.Memory(&s))
	}
	always, srv := serverOf(t, s, loaded...), serverOf(t, s, later...)
	for range 2 {
		for _, x := range []sent{
			{"/v1/multi-vector", `{"model": "colbert-4", "input": "a cat"}`}, {"/embed_all", `{"model": "colbert-expanded-4", "inputs": "a cat"}`},
			{"/embed_sparse", `{"model": "splade-4", "inputs": "a cat"}`}, {"/v1/rerank", `{"model": "colbert-4", "query": "a cat", "documents": ["a mat", "rain"]}`},
			{"/v1/embeddings", `{"model": "bge-m3-25", "input": "a cat", "return_multivector": true, "return_sparse": true}`},
			{"/embed_sparse", `{"model": "colbert-4", "inputs": "a cat"}`},
		} {
			if got, want := post(srv, x.path, x.body), post(always, x.path, x.body); got.Body.String() != want.Body.String() && got.Code == want.Code && want.Code == 200 || got.Code != want.Code {
				t.Errorf("%s %s: %d %s, want %d %s", x.path, x.body, got.Code, got.Body, want.Code, want.Body)
			}
		}
	}
}
