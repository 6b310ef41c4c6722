package server

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// TestOrigins: pages of the origins of the settings may ask, and read the answers, and no others.
func TestOrigins(t *testing.T) {
	for _, all := range []bool{false, true} {
		settings := fixed()
		if settings.Origins = []string{"https://chat.example"}; all {
			settings.Origins = []string{"*"}
		}
		s := newServer(t, settings)
		for origin, may := range map[string]bool{"https://chat.example": true, "https://evil.example": all, "http://chat.example": all} {
			const body = `{"model": "tiny", "content": "a"}`
			w := post(s, "/tokenize", body, "Origin", origin, "Sec-Fetch-Site", "cross-site")
			allowed := w.Header().Get("Access-Control-Allow-Origin")
			if (w.Code == 200) != may || (allowed == origin) != may || !may && allowed != "" || w.Header().Get("Vary") != "Origin" {
				t.Errorf("%v, %s: status %d, %v", settings.Origins, origin, w.Code, w.Header())
			}
			r := httptest.NewRequest("OPTIONS", "/v1/chat/completions", nil)
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			asked := httptest.NewRecorder()
			s.ServeHTTP(asked, r)
			if (asked.Code == 204) != may || (asked.Header().Get("Access-Control-Allow-Headers") != "") != may {
				t.Errorf("%v, %s asks first: status %d, %v", settings.Origins, origin, asked.Code, asked.Header())
			}
		}
	}
	settings := fixed()
	settings.Origins = []string{"chat.example"}
	if _, err := New(settings, tinyModels(t, kernel.Exec{}, 16)...); err == nil || !strings.Contains(err.Error(), "Settings.Origins") {
		t.Errorf("an origin without a scheme: %v", err)
	}
	if w := post(newServer(t, fixed()), "/tokenize", `{"model": "tiny", "content": "a"}`, "Origin", "https://chat.example", "Sec-Fetch-Site", "cross-site"); w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without the setting: status %d, %v", w.Code, w.Header())
	}
}

// TestProps: /health and /props answer as llama.cpp's server does.
func TestProps(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"a", "secret-of-a-long-enough"}}
	s := newServer(t, settings)
	if w := get(s, "/health"); w.Code != 200 || w.Body.String() != `{"status":"ok"}`+"\n" {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
	if w := get(s, "/props"); w.Code != 401 {
		t.Errorf("without a key: status %d", w.Code)
	}
	p := answerOf[struct {
		Slots    int    `json:"total_slots"`
		Model    string `json:"model_path"`
		Template string `json:"chat_template"`
		Settings struct {
			Context int `json:"n_ctx"`
			Params  struct{ Temperature float64 }
		} `json:"default_generation_settings"`
	}](t, get(s, "/props", "Authorization", "Bearer secret-of-a-long-enough"))
	if p.Slots != 32 || !strings.Contains(p.Template, "message['content']") || p.Model != chatModel || p.Settings.Context != 400 || p.Settings.Params.Temperature != 0.2 {
		t.Errorf("%+v", p)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/health"); w.Code != 503 || !strings.Contains(w.Body.String(), `"unavailable_error"`) {
		t.Errorf("at the end: status %d, %s", w.Code, w.Body)
	}
}

// vectorsOf is an answer of /v1/embeddings.
type vectorsOf struct {
	Data []struct {
		Embedding []float32
		Scale     float32
	}
}

// TestVectorForms: vectors as integers equal package embedding's, and as bits NumPy's packbits, and
// /embed has what /v1/embeddings has.
func TestVectorForms(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	of := func(format string) vectorsOf {
		return answerOf[vectorsOf](t, post(s, "/v1/embeddings", `{"model": "bert-1", "input": ["a cat", "rain"], "dimensions": 13, "encoding_format": "`+format+`"}`))
	}
	floats, small, bits := of("float"), of("int8"), of("ubinary")
	for i, d := range floats.Data {
		want, scales, err := embedding.Int8([][]float32{d.Embedding})
		if err != nil {
			t.Fatal(err)
		}
		if small.Data[i].Scale != scales[0] || len(small.Data[i].Embedding) != 13 || len(bits.Data[i].Embedding) != 2 {
			t.Fatalf("%+v, %+v, want %v", small.Data[i], bits.Data[i], want)
		}
		for k, x := range d.Embedding {
			if small.Data[i].Embedding[k] != float32(want[0][k]) || (int(bits.Data[i].Embedding[k/8])>>(7-k%8)&1 == 1) != (x > 0) {
				t.Errorf("number %d of text %d is %v, as an integer %v, as bits %v", k, i, x, small.Data[i].Embedding[k], bits.Data[i].Embedding)
			}
		}
	}
	for body, want := range map[string][]float32{`"inputs": ["a cat", "rain"], "dimensions": 13`: floats.Data[1].Embedding, `"inputs": "rain", "dimensions": 13, "truncate": true`: floats.Data[1].Embedding} {
		all := answerOf[[][]float32](t, post(s, "/embed", `{`+body+`}`))
		if !slices.Equal(all[len(all)-1], want) {
			t.Errorf("%s: %v, want %v", body, all, want)
		}
	}
	for body, status := range map[string]int{`"inputs": []`: 400, `"inputs": "a", "normalize": true`: 400, `"inputs": "a", "prompt_name": "query"`: 400, `"inputs": "` + strings.Repeat("cat ", 500) + `"`: 400, `"inputs": "a", "model": "none"`: 404} {
		w := post(s, "/embed", `{`+body+`}`)
		var e struct {
			Error string
			Type  string `json:"error_type"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != status || e.Error == "" || e.Type != "Validation" {
			t.Errorf("%.60s: status %d, %s, want %d", body, w.Code, w.Body, status)
		}
	}
}

// TestPromptNames: a prompt of the model by its name is put before each text, as by package
// embedding, also where the pooling leaves it out.
func TestPromptNames(t *testing.T) {
	for _, dir := range []string{"", "prompt-mean", "prompt-last"} {
		path := filepath.Join(t.TempDir(), "model")
		err := os.CopyFS(path, os.DirFS("../testdata/folders/embedder"))
		if err == nil && dir != "" {
			if err = os.RemoveAll(filepath.Join(path, "1_Pooling")); err == nil {
				err = os.CopyFS(path, os.DirFS("../testdata/folders/"+dir))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := Load(path, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, e := serverOf(t, fixed(), m), embedOf(m)
		names := 0
		for name := range e.Prompts() {
			o := e.Options()
			o.Prompt = name
			want, err := e.With(o).Embed(t.Context(), []string{"a cat"})
			if err != nil {
				t.Fatal(err)
			}
			names++
			got := answerOf[vectorsOf](t, post(s, "/v1/embeddings", `{"input": "a cat", "prompt_name": "`+name+`"}`)).Data[0].Embedding
			tei := answerOf[[][]float32](t, post(s, "/embed", `{"inputs": "a cat", "prompt_name": "`+name+`"}`))[0]
			if !slices.Equal(got, want[0]) || !slices.Equal(tei, want[0]) {
				t.Errorf("%s, %s: %v, want %v", dir, name, got, want[0])
			}
			if name == "query" {
				if got := answerOf[vectorsOf](t, post(s, "/v1/embeddings", `{"input": "a cat", "input_type": "search_query"}`)).Data[0].Embedding; !slices.Equal(got, want[0]) {
					t.Errorf("%s, search_query: %v, want %v", dir, got, want[0])
				}
			}
		}
		if names == 0 {
			t.Errorf("%s has no prompts", dir)
		}
		for _, body := range []string{`"prompt_name": "none"`, `"input_type": "image"`, `"prompt_name": "query", "input_type": "query"`} {
			if w := post(s, "/v1/embeddings", `{"input": "a", `+body+`}`); w.Code != 400 {
				t.Errorf("%s: %s: status %d, %s", dir, body, w.Code, w.Body)
			}
		}
		if w := post(s, "/v1/embeddings", `{"input": [[5, 6]], "prompt_name": "query"}`); w.Code != 400 {
			t.Errorf("%s: a prompt with tokens: status %d, %s", dir, w.Code, w.Body)
		}
	}
}

// TestLogitBias: a token that is preferred is all there is, one that is not there is not, and
// receipts refuse it.
func TestLogitBias(t *testing.T) {
	s := newServer(t, fixed())
	tok, err := generateOf(s.find(chatModel).about().Model).Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := tok.ID("x")
	x, _ := json.Marshal(id)
	for _, bias := range []string{`{"` + string(x) + `": 100}`} {
		a := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "a", "max_tokens": 5, "temperature": 0, "logit_bias": `+bias+`}`))
		if a.Choices[0].Text != "xxxxx" {
			t.Errorf("%s: %q", bias, a.Choices[0].Text)
		}
	}
	plain := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "a", "max_tokens": 1, "temperature": 0, "logprobs": 1}`)).Choices[0]
	first, _ := tok.ID(plain.Logprobs.Tokens[0])
	f, _ := json.Marshal(first)
	other := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "a", "max_tokens": 1, "temperature": 0, "logprobs": 1, "logit_bias": {"`+string(f)+`": -100}}`)).Choices[0]
	if other.Logprobs.Tokens[0] == plain.Logprobs.Tokens[0] || len(other.Logprobs.Top[0]) == 0 || other.Logprobs.Top[0][plain.Logprobs.Tokens[0]] != plain.Logprobs.Top[0][plain.Logprobs.Tokens[0]] {
		t.Errorf("%+v, want other tokens than %+v, and the same logarithms", other.Logprobs, plain.Logprobs)
	}
	for _, bias := range []string{`{"5": 101}`, `{"5": "a"}`, `{"-1": 1}`, `{"99999": 1}`, `[[1.5, 1]]`, `3`} {
		if w := post(s, "/v1/completions", `{"model": "tiny", "prompt": "a", "logit_bias": `+bias+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"logit_bias"`) {
			t.Errorf("%s: status %d, %s", bias, w.Code, w.Body)
		}
	}
}

// fillModel returns a model whose vocabulary has the tokens that fill gaps.
func fillModel(t *testing.T) *Model {
	t.Helper()
	file := tinyllama.New(nil)
	file.AddVocabulary()
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	if err != nil {
		t.Fatal(err)
	}
	tokens = slices.Clone(tokens)
	types := make([]int32, len(tokens))
	for i := range types {
		types[i] = 1
	}
	copy(types, []int32{3, 3, 3})
	for i, name := range []string{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>"} {
		tokens[5+i], types[5+i] = name, 3 // in place of some signs
	}
	file.Set("tokenizer.ggml.tokens", tokens)
	file.Set("tokenizer.ggml.token_type", types)
	if f, err = gguf.New(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: kernel.Exec{Threads: 1}, Context: 400, PageSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	return NewModel("fill", made{m}, "fill")
}

// TestSuffix: a gap is filled as by the prompt that has the model's tokens for it; what is written
// in the texts is no such token.
func TestSuffix(t *testing.T) {
	s := serverOf(t, fixed(), fillModel(t))
	text := func(body string) string {
		t.Helper()
		return answerOf[completionAnswer](t, post(s, "/v1/completions", `{"max_tokens": 20, "temperature": 1, `+body+`}`)).Choices[0].Text
	}
	want := text(`"prompt": "<|fim_prefix|>a cat<|fim_suffix|>mat<|fim_middle|>", "stop_token_ids": [8]`)
	if got := text(`"prompt": "a cat", "suffix": "mat"`); got != want || want == "" {
		t.Errorf("%q, want %q", got, want)
	}
	ollama := answerOf[ollamaLine](t, post(s, "/api/generate", `{"model": "fill", "prompt": "a cat", "suffix": "mat", "stream": false, "options": {"num_predict": 20, "temperature": 1}}`)).Response
	if ollama != want {
		t.Errorf("Ollama's API: %q, want %q", ollama, want)
	}
	long, short := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"prompt": "<|fim_pad|>", "suffix": "m", "max_tokens": 1}`)).Usage.Prompt, answerOf[completionAnswer](t, post(s, "/v1/completions", `{"prompt": "a", "suffix": "m", "max_tokens": 1}`)).Usage.Prompt
	if long < short+5 {
		t.Errorf("a special token in a text counts as %d tokens", long-short+1)
	}
	for _, body := range []string{`"prompt": "a", "suffix": "b", "echo": true`, `"prompt": [5, 6], "suffix": "b"`} {
		if w := post(s, "/v1/completions", `{`+body+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"suffix"`) {
			t.Errorf("%s: status %d, %s", body, w.Code, w.Body)
		}
	}
	if w := post(newServer(t, fixed()), "/v1/completions", `{"model": "tiny", "prompt": "a", "suffix": "b"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "no tokens to fill a gap with") {
		t.Errorf("a model without such tokens: status %d, %s", w.Code, w.Body)
	}
}
