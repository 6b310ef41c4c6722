package server

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/request"
)

// chatAnswer is an answer as a client reads it.
type chatAnswer struct {
	ID, Object, Model string
	Created           int64
	Fingerprint       string `json:"system_fingerprint"`
	Choices           []struct {
		Index   int
		Message struct{ Role, Content string }
		Delta   struct {
			Role    string
			Content *string
		}
		Text     string
		Logprobs *struct {
			Content []struct {
				Token   string
				Logprob float32
				Bytes   []byte
				Top     []struct{ Token string } `json:"top_logprobs"`
			}
		}
		Reason *string `json:"finish_reason"`
	}
	Usage *tokenUsage
}

// tokenUsage is how many tokens an answer took.
type tokenUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// wanted returns what Model.Generate makes of a prompt: its texts, ends and logarithms.
func wanted(t *testing.T, m *decoder.Model, prompt []int32, o decoder.GenerateOptions) (text string, tokens []decoder.Token) {
	t.Helper()
	for token, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		text += token.Text
		tokens = append(tokens, token)
	}
	return text, tokens
}

// TestChat: an answer equals Model.Generate's, whole and as a stream, with its counts and
// logarithms.
func TestChat(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	m := generateOf(models[0])
	prompt, err := m.EncodeChat(t.Context(), []chattemplate.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "hello there"}})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model": "tiny", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "hello "}, {"type": "text", "text": "there"}]}],
		"max_completion_tokens": 30, "temperature": 1.2, "top_p": 0.95, "top_k": 50, "seed": 7, "n": 2, "logprobs": true, "top_logprobs": 2, "user": "someone"`
	whole := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", body+"}"))
	if whole.ID != "chatcmpl-ID" || whole.Object != "chat.completion" || whole.Model != "tiny" || whole.Created != 1 || whole.Fingerprint != s.Fingerprint("tiny") || len(whole.Choices) != 2 {
		t.Fatalf("%+v", whole)
	}
	made := 0
	for i, c := range whole.Choices {
		text, tokens := wanted(t, m, prompt, decoder.GenerateOptions{MaxTokens: 30, Logprobs: true, TopLogprobs: 2, Sampler: decoder.Sampler{Temperature: 1.2, TopP: 0.95, TopK: 50, Seed: 7 + uint64(i)}})
		last := tokens[len(tokens)-1]
		made += len(tokens)
		if last.End == decoder.EndToken {
			tokens = tokens[:len(tokens)-1]
		}
		if c.Index != i || c.Message.Role != "assistant" || c.Message.Content != text || *c.Reason != map[decoder.End]string{decoder.EndToken: "stop", decoder.EndMaxTokens: "length", decoder.EndContext: "length"}[last.End] || len(c.Logprobs.Content) != len(tokens) {
			t.Errorf("choice %d: %+v, want %q, %d tokens", i, c, text, len(tokens))
		}
		for k, l := range c.Logprobs.Content {
			if l.Logprob != tokens[k].Logprob || len(l.Top) != 2 {
				t.Errorf("choice %d, token %d: %+v, want %v", i, k, l, tokens[k])
			}
		}
	}
	if u := whole.Usage; u.Prompt != len(prompt) || u.Completion != made || u.Total != u.Prompt+u.Completion {
		t.Errorf("usage %+v, want %d and %d", u, len(prompt), made)
	}
	streamed := post(s, "/v1/chat/completions", body+`, "stream": true, "stream_options": {"include_usage": true}}`)
	if kind := streamed.Header().Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the type of a stream is %q", kind)
	}
	list := events(t, streamed.Body)
	if list[len(list)-1] != "[DONE]" {
		t.Fatalf("a stream ends with %q", list[len(list)-1])
	}
	texts, ends := make([]string, 2), make([]string, 2)
	for i, text := range list[:len(list)-1] {
		var e chatAnswer
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.ID != "chatcmpl-ID" || e.Object != "chat.completion.chunk" {
			t.Fatalf("%v: %s", err, text)
		}
		if i == len(list)-2 {
			if len(e.Choices) != 0 || *e.Usage != *whole.Usage {
				t.Errorf("the last event is %s", text)
			}
			continue
		}
		c := e.Choices[0]
		if c.Delta.Content != nil {
			texts[c.Index] += *c.Delta.Content
		}
		if c.Reason != nil {
			ends[c.Index] = *c.Reason
		}
	}
	for i, c := range whole.Choices {
		if texts[i] != c.Message.Content || ends[i] != *c.Reason {
			t.Errorf("choice %d of the stream: %q, %q, want %q, %q", i, texts[i], ends[i], c.Message.Content, *c.Reason)
		}
	}
}

// TestResponseFormat: a text is JSON of the schema, or any object.
func TestResponseFormat(t *testing.T) {
	s := newServer(t, fixed())
	user := `{"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100, "seed": 5, "temperature": 1, "response_format": `
	a := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", user+`{"type": "json_schema", "json_schema": {"name": "a", "strict": true,
		"schema": {"type": "object", "properties": {"a": {"enum": ["x", "yes"]}, "b": {"type": "boolean"}}, "required": ["a", "b"], "additionalProperties": false}}}}`))
	var got struct {
		A string
		B *bool
	}
	if err := json.Unmarshal([]byte(a.Choices[0].Message.Content), &got); err != nil || got.A != "x" && got.A != "yes" || got.B == nil || *a.Choices[0].Reason != "stop" {
		t.Errorf("%v: %+v", err, a.Choices[0])
	}
	a = answerOf[chatAnswer](t, post(s, "/v1/chat/completions", user+`{"type": "json_object"}}`))
	if text := a.Choices[0].Message.Content; !strings.HasPrefix(text, "{") || *a.Choices[0].Reason == "stop" && !json.Valid([]byte(text)) {
		t.Errorf("any object is %q", text)
	}
	for range cap(s.grammars) {
		s.grammars <- struct{}{}
	}
	if w := post(s, "/v1/chat/completions", user+`{"type": "json_object"}}`); w.Code != 503 {
		t.Errorf("with all grammars in use: status %d", w.Code)
	}
}

// TestCompletions: prompts as texts and as tokens, several choices of each, a stop string, and the
// end of the context.
func TestCompletions(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	m := generateOf(models[0])
	ids, err := m.Encode("the weather is", true)
	if err != nil {
		t.Fatal(err)
	}
	o := decoder.GenerateOptions{MaxTokens: 20, Sampler: decoder.Sampler{Temperature: 1, Seed: 1}}
	text, _ := wanted(t, m, ids, o)
	if len(text) < 8 {
		t.Fatalf("the answer is too short for the test: %q", text)
	}
	o.Sampler.Seed = 2
	second, _ := wanted(t, m, ids, o)
	tokens, _ := json.Marshal(ids)
	sampling := `"model": "tiny", "max_tokens": 20, "temperature": 1, "top_p": 1, "top_k": 0`
	for _, prompt := range []string{`"the weather is"`, `["the weather is"]`, string(tokens), "[" + string(tokens) + "]"} {
		a := answerOf[chatAnswer](t, post(s, "/v1/completions", `{"prompt": `+prompt+`, "n": 2, `+sampling+`}`))
		if len(a.Choices) != 2 || a.Choices[0].Text != text || a.Choices[1].Text != second || a.Object != "text_completion" || a.ID != "cmpl-ID" {
			t.Errorf("prompt %s: %+v, want %q and %q", prompt, a, text, second)
		}
	}
	stop, _ := json.Marshal(text[3:5])
	a := answerOf[chatAnswer](t, post(s, "/v1/completions", `{"prompt": "the weather is", "stop": `+string(stop)+`, `+sampling+`}`))
	if want := text[:strings.Index(text, text[3:5])]; a.Choices[0].Text != want || *a.Choices[0].Reason != "stop" {
		t.Errorf("with a stop string: %+v, want %q", a.Choices[0], want)
	}
	full := fmt.Sprint(slices.Repeat([]int{100}, 400))
	a = answerOf[chatAnswer](t, post(s, "/v1/completions", `{"prompt": `+strings.ReplaceAll(full, " ", ",")+`, `+sampling+`}`))
	if a.Usage.Completion != 1 || *a.Choices[0].Reason != "length" && *a.Choices[0].Reason != "stop" {
		t.Errorf("at the end of the context: %+v", a)
	}
}

// TestEmbeddings: vectors equal Embed's, as numbers and in base64, with fewer dimensions, and for
// tokens.
func TestEmbeddings(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	e := embedOf(models[1])
	input := []string{"the cat", "a dog runs"}
	want, err := e.Embed(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Data []struct {
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Total  int `json:"total_tokens"`
		}
	}
	tokens, _ := json.Marshal([][]int32{e.Tokens(input[0]), e.Tokens(input[1])})
	for _, body := range []string{`"input": ["the cat", "a dog runs"]`, `"input": ` + string(tokens)} {
		a := answerOf[answer](t, post(s, "/v1/embeddings", `{"model": "bert-1", `+body+`}`))
		for i, d := range a.Data {
			var v []float32
			if err := json.Unmarshal(d.Embedding, &v); err != nil || d.Index != i || !slices.Equal(v, want[i]) {
				t.Errorf("%s: vector %d is %v, want %v", body, i, v, want[i])
			}
		}
		if n := len(e.Tokens(input[0])) + len(e.Tokens(input[1])); len(a.Data) != 2 || a.Usage.Prompt != n || a.Usage.Total != n {
			t.Errorf("%s: %d vectors, usage %+v, want %d tokens", body, len(a.Data), a.Usage, n)
		}
	}
	a := answerOf[answer](t, post(s, "/v1/embeddings", `{"model": "bert-1", "input": "the cat", "encoding_format": "base64", "dimensions": 10}`))
	o := e.Options()
	o.Dimensions = 10
	short, err := e.With(o).Embed(t.Context(), input[:1])
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(a.Data[0].Embedding, &text); err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) != 40 {
		t.Fatalf("%v: %d bytes, want 40", err, len(data))
	}
	for i, x := range short[0] {
		if math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])) != x {
			t.Errorf("number %d differs", i)
		}
	}
	long := strings.Repeat("cat ", 500)
	for _, field := range []string{`"truncate": true`, `"truncate_prompt_tokens": -1`} {
		a = answerOf[answer](t, post(s, "/v1/embeddings", `{"model": "bert-1", `+field+`, "input": "`+long+`"}`))
		if a.Usage.Prompt != e.MaxTokens() {
			t.Errorf("%s: a long text has %d tokens, want %d", field, a.Usage.Prompt, e.MaxTokens())
		}
	}
}

// TestRerank: scores are the logistic function of Score's, best first.
func TestRerank(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	documents := []string{"the cat sits", "a dog runs", "rain"}
	want, err := rerankOf(models[2]).Score(t.Context(), "a cat", documents)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Results []struct {
			Index    int
			Score    float32 `json:"relevance_score"`
			Document *struct{ Text string }
		}
	}
	a := answerOf[answer](t, post(s, "/v1/rerank", `{"model": "reranker-bert-1", "query": "a cat", "documents": ["the cat sits", {"text": "a dog runs"}, "rain"], "return_documents": true}`))
	if len(a.Results) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, r := range a.Results {
		if r.Score != reranking.Sigmoid(want[r.Index]) || r.Document.Text != documents[r.Index] || i > 0 && r.Score > a.Results[i-1].Score {
			t.Errorf("rank %d: %+v, want the score %v", i, r, reranking.Sigmoid(want[r.Index]))
		}
	}
	a = answerOf[answer](t, post(s, "/v2/rerank", `{"model": "reranker-bert-1", "query": "a cat", "documents": ["the cat sits", "a dog runs"], "top_n": 1}`))
	if len(a.Results) != 1 || a.Results[0].Document != nil {
		t.Errorf("%+v, want the best alone", a)
	}
	for _, x := range []float32{-200, -3, -0.5, 0, 0.5, 3, 200} {
		if got, want := float64(reranking.Sigmoid(x)), 1/(1+math.Exp(-float64(x))); math.Abs(got-want) > 2e-7*want+1e-38 {
			t.Errorf("reranking.Sigmoid(%v) is %v, want %v", x, got, want) // the exponent's rounding counts |x| times
		}
	}
}

// TestRerankSettings: a decoder and a model of several labels rank, with an instruction and a
// label; what does not fit is an error that names the field. Receipts hold what was set.
func TestRerankSettings(t *testing.T) {
	var served []*Model
	for _, name := range []string{"reranker-qwen3-reranker-6", "reranker-deberta-nli-6"} {
		m, err := Load("../testdata/tiny/"+name, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		served = append(served, m)
	}
	s := serverOf(t, fixed(), served...)
	type answer struct {
		Results []struct {
			Index int
			Score float32 `json:"relevance_score"`
		}
		Receipt json.RawMessage
	}
	for i, o := range []reranking.Options{{}, {Instruction: "Is it short?"}, {Label: "no"}, {Label: "entailment"}} {
		m := served[i/3]
		want, err := rerankOf(m).With(o).Score(t.Context(), "a cat", []string{"it sits", "rain"})
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"model": %q, "query": "a cat", "documents": ["it sits", "rain"], "instruction": %q, "label": %q, "receipt": true}`, m.Name(), o.Instruction, o.Label)
		a := answerOf[answer](t, post(s, "/v1/rerank", body))
		for _, r := range a.Results {
			if r.Score != reranking.Sigmoid(want[r.Index]) {
				t.Errorf("%s, %+v: document %d has %v, want %v", m.Name(), o, r.Index, r.Score, reranking.Sigmoid(want[r.Index]))
			}
		}
		made, err := receipt.Parse(a.Receipt)
		if err == nil {
			err = receipt.VerifyRanking(t.Context(), made.Model, rerankOf(m), made, receipt.Options{})
		}
		if err != nil || made.Ranking.Instruction != o.Instruction || made.Ranking.Label != o.Label {
			t.Errorf("%s: the receipt %+v (%v)", m.Name(), made, err)
		}
	}
	for body, param := range map[string]string{
		`{"model": "reranker-deberta-nli-6", "query": "a", "documents": ["b"]}`:                                                 "label",
		`{"model": "reranker-deberta-nli-6", "query": "a", "documents": ["b"], "label": "maybe"}`:                               "label",
		`{"model": "reranker-qwen3-reranker-6", "query": "` + strings.Repeat("a ", 999) + `", "documents": ["b"]}`:              "query",
		`{"model": "reranker-deberta-nli-6", "query": "a", "documents": ["b"], "label": "neutral", "instruction": "Is it so?"}`: "instruction",
	} {
		if w := post(s, "/v1/rerank", body); w.Code != 400 || !strings.Contains(w.Body.String(), fmt.Sprintf(`"param":%q`, param)) {
			t.Errorf("%s: %d %s, want 400 for %s", body, w.Code, w.Body, param)
		}
	}
}

// TestTokens: /tokenize and /detokenize, with the names of llama.cpp and vLLM.
func TestTokens(t *testing.T) {
	s := newServer(t, fixed())
	type answer struct {
		Count   int
		Tokens  []int32
		Content string
	}
	a := answerOf[answer](t, post(s, "/tokenize", `{"model": "tiny", "content": "the cat"}`))
	if a.Count == 0 || len(a.Tokens) != a.Count {
		t.Fatalf("%+v", a)
	}
	list, _ := json.Marshal(a.Tokens)
	if b := answerOf[answer](t, post(s, "/detokenize", `{"model": "tiny", "tokens": `+string(list)+`}`)); b.Content != "the cat" {
		t.Errorf("back: %q", b.Content)
	}
	plain := answerOf[answer](t, post(s, "/tokenize", `{"model": "bert-1", "content": "the cat"}`))
	around := answerOf[answer](t, post(s, "/tokenize", `{"model": "bert-1", "prompt": "the cat"}`))
	if around.Count != plain.Count+2 {
		t.Errorf("%d and %d tokens, want two around a prompt", plain.Count, around.Count)
	}
	for query, want := range map[string]string{"?model=bert-1": `"model_max_length"`, "": `want \"tiny\" or \"bert-1\"`, "?model=x": `there is no model \"x\"`, "?name=tiny": `"param":"name"`} {
		if w := get(s, "/tokenizer_info"+query); (w.Code == 200) != (query == "?model=bert-1") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, %s", query, w.Code, w.Body)
		}
	}
}

// TestNoneDoes: a server without a model of a kind says so, whatever model a request names.
func TestNoneDoes(t *testing.T) {
	s := serverOf(t, fixed(), tinyModels(t, kernel.Exec{Threads: 1}, 16)[:2]...)
	if w := post(s, "/v1/rerank", `{"model": "zz", "query": "a", "documents": ["b"]}`); w.Code != 404 || !strings.Contains(w.Body.String(), `there is no model \"zz\": no model here ranks"`) {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
}

// TestModels: the list, and a single model.
func TestModels(t *testing.T) {
	s := newServer(t, fixed())
	type entry struct {
		ID, Object, Kind string
		Fingerprint      string `json:"system_fingerprint"`
	}
	list := answerOf[struct{ Data []entry }](t, get(s, "/v1/models"))
	if len(list.Data) != 3 || list.Data[0].Kind != "generator" || list.Data[1].Kind != "embedder" || list.Data[2].Kind != "reranker" {
		t.Errorf("%+v", list)
	}
	if e := answerOf[entry](t, get(s, "/v1/models/bert-1")); e != list.Data[1] || e.Fingerprint != s.Fingerprint("bert-1") {
		t.Errorf("%+v, want %+v", e, list.Data[1])
	}
	if s.Fingerprint("bert-1") == s.Fingerprint("tiny") || s.Fingerprint("none") != "" {
		t.Error("fingerprints are those of other models")
	}
}

// TestFacts: what a client may know of each model, and the defaults of this server.
func TestFacts(t *testing.T) {
	settings := fixed()
	settings.MaxTokens, settings.Sampler = 77, &decoder.Sampler{Temperature: 0.5, TopK: 4, TopP: 0.75, Seed: 6}
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, settings, models...)
	list := answerOf[struct{ Data []request.Facts }](t, get(s, "/v1/models")).Data
	for i, tasks := range [][]string{{"chat", "completion"}, {"embedding"}, {"rerank"}} {
		if !slices.Equal(list[i].Tasks, tasks) || list[i].Contract != kernel.Contract {
			t.Errorf("%+v, want the tasks %q", list[i], tasks)
		}
	}
	chat, embed := list[0], list[1]
	if c := generateOf(models[0]).Config(); chat.Architecture != c.Architecture || chat.Layers != c.Layers || chat.Vocabulary != c.Vocab || chat.Context != 400 || chat.CacheType != "float32" || chat.Activations != "float32" {
		t.Errorf("%+v, want that of %+v", chat, c)
	}
	if want := (request.Defaults{MaxTokens: 77, Temperature: 0.5, TopK: 4, TopP: 0.75, Seed: 6}); *chat.Defaults != want {
		t.Errorf("defaults %+v, want %+v", *chat.Defaults, want)
	}
	if e := embedOf(models[1]); embed.Architecture != "bert" || embed.Dimensions != e.Width() || embed.Context != e.MaxTokens() || embed.Vocabulary != e.Vocab() {
		t.Errorf("%+v", embed)
	}
}

// TestPage: the page is at / alone, and needs no key, as it has none of the server's facts.
func TestPage(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"test", "the-key-of-this-test"}}
	s := newServer(t, settings)
	if w := get(s, "/"); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "<!doctype html>") || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("status %d, header %v: %.40s", w.Code, w.Header(), w.Body)
	}
	for _, path := range []string{"/index.html", "/page.html", "/api.js", "/favicon.ico", "/v1", "/v1/"} {
		if w := get(s, path); w.Code != 404 {
			t.Errorf("%s: status %d, want 404", path, w.Code)
		}
	}
	if w := post(s, "/", "{}"); w.Code != 404 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("POST: status %d: %s", w.Code, w.Body)
	}
}

// TestFingerprint: it says whether bytes may differ.
func TestFingerprint(t *testing.T) {
	m := tinyModels(t, kernel.Exec{Threads: 1}, 16)[0]
	s := fixed()
	if err := s.complete(); err != nil {
		t.Fatal(err)
	}
	first := m.fingerprint(&s)
	same := tinyModels(t, kernel.Exec{Threads: 2, Tier: kernel.Tiers()[len(kernel.Tiers())-1]}, 64)[0]
	quiet := s
	quiet.Running, quiet.CacheBytes = 3, 5
	if got := same.fingerprint(&quiet); got != first {
		t.Errorf("%s, want %s: no answer differs", got, first)
	}
	other := s
	other.MaxTokens = 9
	if m.fingerprint(&other) == first || NewModel("tiny", made{generateOf(m)}, "other").fingerprint(&s) == first {
		t.Error("answers differ, and the fingerprint does not")
	}
	prints := map[string]bool{}
	for _, o := range []decoder.Options{{}, {CacheType: kernel.Int8}, {CacheType: kernel.Int8, DynamicInt12: true}, {CacheType: kernel.Int8, CacheValueType: kernel.Int4, DynamicInt12: true}} {
		with, err := generateOf(m).With(o)
		if err != nil {
			t.Fatal(err)
		}
		prints[NewModel("tiny", made{with}, "digest").fingerprint(&s)] = true
	}
	if len(prints) != 4 {
		t.Errorf("%d fingerprints of 4 kinds of attention", len(prints))
	}
}

// A midway calls before each part of a response is written.
type midway struct {
	*httptest.ResponseRecorder
	before func()
}

func (m midway) Write(data []byte) (int, error) {
	m.before()
	return m.ResponseRecorder.Write(data)
}

// TestFirstTokenSeconds: /metrics has the time to the first token of a text while the text goes on,
// once for all choices.
func TestFirstTokenSeconds(t *testing.T) {
	s := newServer(t, fixed())
	parts := 0
	check := func() {
		parts++
		data := get(s, "/metrics").Body.String()
		if !strings.Contains(data, "attn_first_token_seconds_count{model=\"tiny\"} 1\n") || parts == 1 && strings.Contains(data, "attn_tokens_total{") {
			t.Errorf("before part %d: %s", parts, data)
		}
	}
	body := `{"model": "tiny", "prompt": "a", "max_tokens": 5, "n": 2, "stream": true}`
	s.ServeHTTP(midway{httptest.NewRecorder(), check}, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)))
	if check(); parts < 5 {
		t.Errorf("%d parts, want more", parts-1)
	}
}
