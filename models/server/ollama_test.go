package server

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// ollamaLine is a line of an answer of Ollama's API.
type ollamaLine struct {
	Model    string
	Created  string `json:"created_at"`
	Message  struct{ Role, Content string }
	Response string
	Done     bool
	Reason   string `json:"done_reason"`
	Prompt   int    `json:"prompt_eval_count"`
	Made     int    `json:"eval_count"`
	Total    int64  `json:"total_duration"`
	Logprobs []json.RawMessage
}

// ollamaLines returns the lines of an answer, and its text.
func ollamaLines(t *testing.T, w *httptest.ResponseRecorder) (list []ollamaLine, text string) {
	t.Helper()
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	for line := range strings.Lines(w.Body.String()) {
		var l ollamaLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if list = append(list, l); l.Model != chatModel || l.Created != "1970-01-01T00:00:01Z" {
			t.Fatalf("a line is %s", line)
		}
		text += l.Message.Content + l.Response
	}
	for i, l := range list {
		if l.Done != (i == len(list)-1) {
			t.Fatalf("line %d of %d: %+v", i, len(list), l)
		}
	}
	return list, text
}

// TestOllamaTexts: /api/chat and /api/generate answer as /v1/chat/completions and /v1/completions
// do, streamed and whole.
func TestOllamaTexts(t *testing.T) {
	s := newServer(t, fixed())
	const common = `"max_tokens": 30, "temperature": 1.2, "top_k": 30, "top_p": 0.9, "min_p": 0.01, "seed": 5, "repeat_penalty": 1.1, "repeat_last_n": 20, "frequency_penalty": 0.1, "stop": ["qq"]`
	theirs := `"options": {` + strings.Replace(common, "max_tokens", "num_predict", 1) + `}`
	conversation := `"model": "tiny", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]`
	chat := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", `{`+conversation+`, `+common+`}`))
	raw := answerOf[chatAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "why?", `+common+`}`))
	for _, c := range []struct {
		path, body string
		want       chatAnswer
	}{
		{"/api/chat", `{` + conversation + `, ` + theirs, chat},
		{"/api/chat", `{"keep_alive": "5m", ` + strings.Replace(conversation, "tiny", "tiny:latest", 1) + `, ` + theirs, chat},
		{"/api/generate", `{"model": "tiny", "system": "be brief", "prompt": "why?", ` + theirs, chat},
		{"/api/generate", `{"model": "tiny", "raw": true, "prompt": "why?", ` + theirs, raw},
	} {
		want, reason, usage := c.want.Choices[0].Text+c.want.Choices[0].Message.Content, *c.want.Choices[0].Reason, c.want.Usage
		for _, stream := range []string{"}", `, "stream": true}`, `, "stream": false}`, `, "logprobs": true, "top_logprobs": 2, "stream": false}`} {
			w := post(s, c.path, c.body+stream)
			list, text := ollamaLines(t, w)
			last, kind := list[len(list)-1], "application/x-ndjson"
			if strings.Contains(stream, "false") {
				kind = "application/json"
			}
			if text != want || last.Reason != reason || last.Prompt != usage.Prompt || last.Made != usage.Completion || last.Total != 0 || w.Header().Get("Content-Type") != kind || (len(list) == 1) != (kind == "application/json") {
				t.Errorf("%s %s%s: %q, %+v, %s, want %q, %q, %+v", c.path, c.body, stream, text, last, w.Header(), want, reason, usage)
			}
			if strings.Contains(stream, "logprobs") != (len(list[0].Logprobs) > 0) {
				t.Errorf("%s: %d logarithms", stream, len(list[0].Logprobs))
			}
		}
	}
	for _, c := range []struct{ path, body, want string }{
		{"/api/generate", `{"model": "tiny", "prompt": "x", "format": {"const": 5}}`, "5"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "format": {"enum": ["yes"]}, "think": false}`, `"yes"`},
	} {
		if _, text := ollamaLines(t, post(s, c.path, c.body)); text != c.want {
			t.Errorf("%s: %q, want %q", c.body, text, c.want)
		}
	}
	for _, path := range []string{"/api/chat", "/api/generate"} {
		if list, _ := ollamaLines(t, post(s, path, `{"model": "tiny"}`)); len(list) != 1 || list[0].Reason != "load" {
			t.Errorf("%s loads a model: %+v", path, list)
		}
	}
}

// TestOllamaDurations: an answer has durations, but not behind a gateway.
func TestOllamaDurations(t *testing.T) {
	settings, now := fixed(), time.Unix(1, 0)
	settings.Now = func() time.Time { now = now.Add(time.Second); return now }
	s := newServer(t, settings)
	const body = `{"model": "tiny", "prompt": "x", "stream": false, "options": {"num_predict": 3}}`
	for gateway, want := range map[bool]bool{false: true, true: false} {
		r := httptest.NewRequest("POST", "/api/generate", strings.NewReader(body))
		if gateway {
			r = r.WithContext(WithOrigin(r.Context(), Origin{Key: "a", RequestID: "b", AnswerID: "c"}))
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if l := answerOf[ollamaLine](t, w); (l.Total > 0) != want || strings.Contains(w.Body.String(), "_duration") != want {
			t.Errorf("behind a gateway %v: %s", gateway, w.Body)
		}
	}
}

// TestOllamaModels: what there is, what a model is, and vectors.
func TestOllamaModels(t *testing.T) {
	s := newServer(t, fixed())
	for _, path := range []string{"/api/tags", "/api/ps"} {
		list := answerOf[struct {
			Models []struct {
				Name, Model string
				Details     struct{ Family string }
			}
		}](t, get(s, path)).Models
		if len(list) != 3 || list[1].Name != embedModel || list[1].Model != embedModel || list[1].Details.Family != "bert" {
			t.Errorf("%s: %+v", path, list)
		}
	}
	if v := answerOf[map[string]string](t, get(s, "/api/version")); v["version"] == "" {
		t.Errorf("version %v", v)
	}
	for name, want := range map[string][]string{"tiny": {"tools", "completion"}, "bert-1:latest": {"embedding"}} {
		show := answerOf[struct {
			Capabilities []string
			Info         map[string]any `json:"model_info"`
		}](t, post(s, "/api/show", `{"model": "`+name+`"}`))
		if !slices.Equal(show.Capabilities, want) || show.Info["general.architecture"] == nil {
			t.Errorf("%s: %+v", name, show)
		}
	}
	want := answerOf[struct {
		Data []struct{ Embedding []float32 }
	}](t, post(s, "/v1/embeddings", `{"model": "bert-1", "input": ["a cat", "rain"]}`)).Data
	several := answerOf[struct {
		Embeddings [][]float32
		Prompt     int `json:"prompt_eval_count"`
	}](t, post(s, "/api/embed", `{"model": "bert-1", "input": ["a cat", "rain"], "options": {"num_ctx": 1}}`))
	one := answerOf[struct{ Embedding []float32 }](t, post(s, "/api/embeddings", `{"model": "bert-1:latest", "prompt": "rain"}`)).Embedding
	if len(several.Embeddings) != 2 || several.Prompt == 0 || !slices.Equal(several.Embeddings[0], want[0].Embedding) || !slices.Equal(one, want[1].Embedding) {
		t.Errorf("%+v, %v, want %+v", several, one, want)
	}
	long := `"` + strings.Repeat("cat ", 500) + `"`
	for body, status := range map[string]int{`"input": ` + long: 200, `"truncate": false, "input": ` + long: 400, `"input": "a", "dimensions": 99999`: 400, `"input": []`: 400} {
		if w := post(s, "/api/embed", `{"model": "bert-1", `+body+`}`); w.Code != status {
			t.Errorf("%.60s: status %d, %s, want %d", body, w.Code, w.Body, status)
		}
	}
}

// TestOllamaErrors: what cannot be done is an error that says so, in Ollama's form.
func TestOllamaErrors(t *testing.T) {
	s := newServer(t, fixed())
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/chat", `{`, 400, "JSON"},
		{"/api/chat", `{"model": "none", "messages": [{"role": "user", "content": "x"}]}`, 404, `no model "none"`},
		{"/api/chat", `{"model": "tiny:7b"}`, 404, `no model "tiny:7b"`},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "robot", "content": "x"}]}`, 400, "messages[0].role"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x", "images": ["a"]}]}`, 400, "messages[0].images"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "think": "much"}`, 400, "think"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "format": "xml"}`, 400, "format"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "options": {"mirostat": 1}}`, 400, "options.mirostat"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "options": {"num_predict": 0}}`, 400, "options.num_predict: got 0"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "options": {"temperature": -1}}`, 400, "options.temperature: got -1"},
		{"/api/chat", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "temperature": 1}`, 400, "within options"},
		{"/api/generate", `{"model": "tiny", "prompt": "x", "template": "y"}`, 400, "template"},
		{"/api/generate", `{"model": "tiny", "prompt": "x", "raw": true, "system": "y"}`, 400, "system"},
		{"/api/generate", `{"model": "tiny", "prompt": "x", "raw": true, "think": true}`, 400, "think"},
		{"/api/generate", `{"model": "tiny", "prompt": "x", "context": [1, 2]}`, 400, "context"},
		{"/api/embed", `{"model": "tiny", "input": "x"}`, 400, "want a model of embeddings"},
		{"/api/pull", `{"model": "tiny"}`, 404, "there is no POST /api/pull"},
	} {
		w := post(s, c.path, c.body)
		var e struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.status || !strings.Contains(e.Error, c.want) {
			t.Errorf("%s %s: status %d, %s, want %d and %q", c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}
