package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// TestBadRequests: each has a status and an error in OpenAI's form that names the field.
func TestBadRequests(t *testing.T) {
	settings := fixed()
	settings.BodyBytes, settings.Choices, settings.Texts, settings.Messages = 5000, 4, 3, 5
	s := newServer(t, settings)
	user := `"messages": [{"role": "user", "content": "hi"}]`
	for _, c := range []struct {
		path, body string
		status     int
		param      string
	}{
		{"/v1/chat/completions", ``, 400, ""},
		{"/v1/chat/completions", `[]`, 400, ""},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `} {}`, 400, ""},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `} "`, 400, ""},
		{"/v1/chat/completions", `{"model": "none", ` + user + `}`, 404, "model"},
		{"/v1/chat/completions", `{` + user + `}`, 404, "model"},
		{"/v1/chat/completions", `{"model": "bert-1", ` + user + `}`, 400, "model"},
		{"/v1/chat/completions", `{"model": "tiny"}`, 400, "messages"},
		{"/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "function", "content": "x"}]}`, 400, "messages"},
		{"/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, 400, "messages[0].content[0]"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "temperature": -1}`, 400, "temperature"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "temperature": "hot"}`, 400, "temperature"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "n": 5}`, 400, "n"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "max_tokens": 0}`, 400, "max_tokens"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "top_logprobs": 3}`, 400, "top_logprobs"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "logprobs": true, "top_logprobs": 21}`, 400, "top_logprobs"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "response_format": {"type": "xml"}}`, 400, "response_format"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "response_format": {"type": "json_schema"}}`, 400, "response_format"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 3}}}}`, 400, "response_format"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "tools": [{"type": "function"}]}`, 400, "tools[0]"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "documents": [{}]}`, 400, "documents"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "tool_choice": {"type": "function", "function": {"name": "f"}}}`, 400, "tool_choice"},
		{"/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "assistant", "content": null, "tool_calls": [{}]}]}`, 400, "messages[0].tool_calls[0]"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "logit_bias": {"5": 101}}`, 400, "logit_bias"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "logit_bias": {"211": 1}}`, 400, "logit_bias"},
		{"/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "user", "content": "` + strings.Repeat("1", 600) + `"}]}`, 400, "messages"},
		{"/v1/chat/completions", `{"model": "` + strings.Repeat("a", 6000) + `"}`, 413, ""},
		{"/v1/completions", `{"model": "tiny", "prompt": []}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": ""}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": [211]}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": [-1]}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": {"a": 1}}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": "a", "best_of": 3}`, 400, "best_of"},
		{"/v1/completions", `{"model": "tiny", "prompt": ["a", "b", "c"], "n": 2}`, 400, "n"},
		{"/v1/embeddings", `{"model": "bert-1", "input": []}`, 400, "input"},
		{"/v1/embeddings", `{"model": "bert-1", "input": ["a", "b", "c", "d"]}`, 400, "input"},
		{"/v1/embeddings", `{"model": "bert-1", "input": [[99999]]}`, 400, "input"},
		{"/v1/embeddings", `{"model": "bert-1", "input": "a", "dimensions": 0}`, 400, "dimensions"},
		{"/v1/embeddings", `{"model": "bert-1", "input": "a", "encoding_format": "hex"}`, 400, "encoding_format"},
		{"/v1/embeddings", `{"model": "bert-1", "input": "` + strings.Repeat("cat ", 500) + `"}`, 400, "input"},
		{"/v1/embeddings", `{"model": "tiny", "input": "a"}`, 400, "model"},
		{"/v1/rerank", `{"model": "reranker-bert-1", "query": "a", "documents": []}`, 400, "documents"},
		{"/v1/rerank", `{"model": "reranker-bert-1", "query": "a", "documents": [3]}`, 400, "documents[0]"},
		{"/v1/rerank", `{"model": "reranker-bert-1", "query": "a", "documents": ["b"], "top_n": -2}`, 400, "top_n"},
		{"/v1/rerank", `{"model": "tiny", "query": "a", "documents": ["b"]}`, 400, "model"},
		{"/tokenize", `{"model": "tiny"}`, 400, "content"},
		{"/tokenize", `{"model": "reranker-bert-1", "content": "a"}`, 400, "model"},
		{"/detokenize", `{"model": "tiny", "tokens": [211]}`, 400, "tokens"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "repeat_last_n": -2}`, 400, "repeat_last_n"},
		{"/v1/chat/completions", `{"model": "tiny", ` + user + `, "stop": [null]}`, 400, "stop"},
		{"/v1/completions", `{"model": "tiny", "prompt": [1, null]}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": [[1], null]}`, 400, "prompt"},
		{"/v1/completions", `{"model": "tiny", "prompt": ["a", null]}`, 400, "prompt"},
		{"/v1/embeddings", `{"model": "bert-1", "input": [[1, null]]}`, 400, "input"},
		{"/detokenize", `{"model": "tiny", "tokens": [1, null]}`, 400, "tokens"},
		{"/detokenize", `{"model": "tiny", "tokens": null}`, 400, "tokens"},
		{"/detokenize", `{"model": "tiny"}`, 400, "tokens"},
		{"/v1/rerank", `{"model": "reranker-bert-1", "question": "a", "documents": ["b"]}`, 400, "query"},
		{"/rerank", `{"model": "reranker-bert-1", "query": null, "texts": ["b"]}`, 400, "query"},
		{"/v1/images", `{}`, 404, ""},
	} {
		w := post(s, c.path, c.body)
		var e struct {
			Error struct {
				Message, Type string
				Param         *string
			}
		}
		err := json.Unmarshal(w.Body.Bytes(), &e)
		param := ""
		if e.Error.Param != nil {
			param = *e.Error.Param
		}
		if err != nil || w.Code != c.status || e.Error.Message == "" || e.Error.Type == "" || param != c.param {
			t.Errorf("%s %.200s: status %d, %s, want %d and the field %q", c.path, c.body, w.Code, w.Body, c.status, c.param)
		}
	}
}

// TestMessages: a conversation has at least one message and at most as many as the settings say,
// before any is read.
func TestMessages(t *testing.T) {
	settings := fixed()
	settings.Messages = 5
	s := newServer(t, settings)
	for _, message := range []string{`{"role": "user", "content": "hi"}`, `{}`} {
		for _, n := range []int{0, 6} {
			list := strings.TrimSuffix(strings.Repeat(message+",", n), ",")
			w := post(s, "/v1/chat/completions", `{"model": "tiny", "messages": [`+list+`]}`)
			if want := fmt.Sprintf("messages: got %d, want 1 to 5", n); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%d of %s: status %d, %s, want %s", n, message, w.Code, w.Body, want)
			}
		}
	}
	list := strings.Repeat(`{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}, `, 2) + `{"role": "user", "content": "hi"}`
	if w := post(s, "/v1/chat/completions", `{"model": "tiny", "max_tokens": 1, "messages": [`+list+`]}`); w.Code != 200 {
		t.Errorf("5 messages: status %d, %s", w.Code, w.Body)
	}
}

// TestKeys: requests without a key that is accepted get status 401, except on /healthz and /readyz.
func TestKeys(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"a", "secret-of-a-long-enough"}, {"b", "secret-of-b-long-enough"}}
	s := newServer(t, settings)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/v1/models": 401} {
		if w := get(s, path); w.Code != status {
			t.Errorf("%s without a key: status %d, want %d", path, w.Code, status)
		}
	}
	for header, status := range map[string]int{
		"Bearer secret-of-a-long-enough": 200, "bearer secret-of-b-long-enough": 200, "Bearer secret-of-a-long-enoug": 401, "Bearer": 401,
		"Basic secret-of-a-long-enough": 401, "Bearer secret-of-a-long-enough x": 401, "Bearer ": 401,
	} {
		if w := get(s, "/v1/models", "Authorization", header); w.Code != status {
			t.Errorf("%q: status %d, want %d", header, w.Code, status)
		}
	}
	settings.Keys = []Key{{"a", "short"}}
	var bad *kernel.Error
	if _, err := New(settings, tinyModels(t, kernel.Exec{}, 16)...); !errors.As(err, &bad) {
		t.Errorf("a short key: %v", err)
	}
}

// TestTooMany: what does not fit gets 503 or 429 with Retry-After.
func TestTooMany(t *testing.T) {
	for err, status := range map[error]int{batch.ErrFull: 503, batch.ErrKeyFull: 429, batch.ErrClosed: 503, context.DeadlineExceeded: 504, errors.New("x"): 500} {
		f := failureOf(fmt.Errorf("wrapped: %w", err))
		w := httptest.NewRecorder()
		refuse(w, dialect.OpenAI{}, f, 7*time.Second)
		if w.Code != status || (w.Header().Get("Retry-After") == "7") != (status == 503 || status == 429) || strings.Contains(w.Body.String(), "wrapped") {
			t.Errorf("%v: status %d, %v, %s", err, w.Code, w.Header(), w.Body)
		}
	}
	settings := fixed()
	settings.Requests = 1
	s := newServer(t, settings)
	s.slots <- struct{}{}
	if w := get(s, "/v1/models"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("with all slots taken: status %d", w.Code)
	}
	<-s.slots
	settings = fixed()
	settings.BodyBytes, settings.BodiesBytes = 100, 100
	s = newServer(t, settings)
	s.bytes.Add(-70) // of another request
	for body, status := range map[string]int{`{"model": "tiny", "content": "` + strings.Repeat("a", 30) + `"}`: 503, `{"model":"tiny","content":"a"}`: 200} {
		if w := post(s, "/tokenize", body); w.Code != status {
			t.Errorf("%s: status %d, want %d", body, w.Code, status)
		}
	}
	if n := s.bytes.Load(); n != 30 {
		t.Errorf("%d bytes are left, want 30", n)
	}
	settings = fixed()
	settings.Timeout = 1
	s = newServer(t, settings)
	if w := post(s, "/v1/completions", `{"model": "tiny", "prompt": "a"}`); w.Code != 504 {
		t.Errorf("without time: status %d, %s", w.Code, w.Body)
	}
}

// A long answer, whose request is never over by itself within a test.
const longBody = `{"model": "tiny", "prompt": "a", "max_tokens": 399, "n": 8, "temperature": 1.5, "top_k": 0, "top_p": 1, "stream": true}`

// TestClientGoes: if clients go away, what they have begun is gone soon, and all pages and
// goroutines come back.
func TestClientGoes(t *testing.T) {
	s := newServer(t, fixed())
	web := httptest.NewServer(s)
	defer web.Close()
	before := runtime.NumGoroutine()
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/completions", strings.NewReader(longBody))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(response.Body)
		for range 1 + i {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		response.Body.Close()
	}
	waitUntil(t, "requests are gone", func() bool {
		stats := s.find(chatModel).(*generator).texts.Stats()
		return stats.Running == 0 && stats.Waiting == 0
	})
	if stats := s.find(chatModel).(*generator).texts.Stats(); stats.Free+stats.Kept != stats.Pages {
		t.Errorf("in the end: %+v", stats)
	}
	http.DefaultClient.CloseIdleConnections()
	waitUntil(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

// waitUntil waits for something that happens at some time.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for !happened() {
		if t.Context().Err() != nil {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestClose: what is open is answered, and what comes later gets 503; without time it ends with an
// error.
func TestClose(t *testing.T) {
	for _, patient := range []bool{true, false} {
		s := newServer(t, fixed())
		web := httptest.NewServer(s)
		defer web.Close()
		response, err := http.Post(web.URL+"/v1/completions", "application/json", strings.NewReader(longBody))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if !patient {
			cancel()
		}
		closed := make(chan error)
		go func() { closed <- s.Close(ctx) }()
		waitUntil(t, "it is not ready", func() bool { return get(s, "/readyz").Code == 503 })
		if w := post(s, "/v1/completions", longBody); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("a request after the end: status %d", w.Code)
		}
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		complete := bytes.HasSuffix(data, []byte("data: [DONE]\n\n"))
		if patient && !complete {
			t.Errorf("an open answer ends with %.300s", data[max(0, len(data)-300):])
		}
		if !complete && !bytes.Contains(data, []byte(`data: {"error":{`)) {
			t.Errorf("an answer that was given up ends with %.300s", data[max(0, len(data)-300):])
		}
		if err := <-closed; patient != (err == nil) {
			t.Errorf("patient %v: %v", patient, err)
		}
		cancel()
	}
}

// lost is a dialect that panics.
type lost struct{ dialect.OpenAI }

func (lost) Read(*dialect.Input) (*request.Request, error) { panic("lost") }
func (lost) Whole(*request.Request) any                    { return nil }

// TestPanic: a panic of a handler is an answer of status 500, a line of the log, and no end of the
// process. What the request held is free again.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	settings := fixed()
	settings.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := newServer(t, settings)
	s.mux.Handle("POST /panic", s.answering(dialect.Path{Pattern: "POST /panic", New: func() dialect.Dialect { return lost{} }}))
	if w := post(s, "/panic", "{}", "X-Request-Id", "mine"); w.Code != 500 || w.Header().Get("X-Request-Id") != "mine" || strings.Contains(w.Body.String(), "lost") {
		t.Errorf("status %d, %v, %s", w.Code, w.Header(), w.Body)
	}
	if !strings.Contains(log.String(), "value=lost") || !strings.Contains(log.String(), "id=mine") {
		t.Errorf("the log has %s", &log)
	}
	if w := get(s, "/metrics"); !strings.Contains(w.Body.String(), "attn_panics_total 1") {
		t.Error("the panic is not counted")
	}
	if len(s.slots) != 0 || s.open != 0 || s.bytes.Load() != s.s.BodiesBytes {
		t.Errorf("after it: %d slots are taken, %d requests are open, %d of %d bytes are free", len(s.slots), s.open, s.bytes.Load(), s.s.BodiesBytes)
	}
	if w := get(s, "/v1/models"); w.Code != 200 {
		t.Errorf("after it: status %d", w.Code)
	}
}

// TestSlowClient: a client that does not send its request, or does not read its answer, is given
// up.
func TestSlowClient(t *testing.T) {
	settings := fixed()
	settings.BodyTimeout, settings.WriteTimeout = 10*time.Millisecond, 10*time.Millisecond
	s := newServer(t, settings)
	web := httptest.NewServer(s)
	defer web.Close()
	body, w := io.Pipe()
	defer w.Close()
	response, err := http.Post(web.URL+"/v1/completions", "application/json", body)
	if err == nil {
		if response.StatusCode != 408 {
			t.Errorf("a body that does not come: status %d", response.StatusCode)
		}
		response.Body.Close()
	}
	waitUntil(t, "the slow request is over", func() bool { return len(s.slots) == 0 })
}

// TestAnnouncedBody: a body gets no more memory at once than it may have, whatever its client
// announces.
func TestAnnouncedBody(t *testing.T) {
	const most = 100
	r := httptest.NewRequest("POST", "/v1/completions", strings.NewReader("{}"))
	r.ContentLength = 1 << 20
	body, err := newExchange(httptest.NewRecorder(), r, "", time.Second).body(most, time.Second)
	if err != nil || string(body) != "{}" || cap(body) > most+1 {
		t.Errorf("%v, %q of %d bytes, want at most %d", err, body, cap(body), most+1)
	}
}

// TestBodyThatNobodyReads: whatever answers, a connection ends whose client announces a body and
// does not send it.
func TestBodyThatNobodyReads(t *testing.T) {
	settings := fixed()
	settings.BodyTimeout, settings.Keys = 10*time.Millisecond, []Key{{"a", "secret-of-a-long-enough"}}
	web := httptest.NewServer(newServer(t, settings))
	defer web.Close()
	for path, status := range map[string]string{"POST /v1/completions": "401", "POST /none": "404", "GET /healthz": "200", "GET /": "200"} {
		for _, body := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n"} {
			c, err := net.Dial("tcp", web.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, path+" HTTP/1.1\r\nHost: localhost\r\n"+body); err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(c) // until the server ends the connection
			if err != nil && !errors.Is(err, syscall.ECONNRESET) || !bytes.HasPrefix(data, []byte("HTTP/1.1 "+status)) {
				t.Errorf("%s: %v, %.100q, want status %s", path, err, data, status)
			}
		}
	}
}

// TestForeignPages: without keys, no page of another site and no name that leads here by DNS
// reaches a server at loopback.
func TestForeignPages(t *testing.T) {
	settings := fixed()
	settings.Hosts = []string{"chat.example"}
	open := httptest.NewServer(newServer(t, settings))
	defer open.Close()
	settings.Keys = []Key{{"a", "secret-of-a-long-enough"}}
	keyed := httptest.NewServer(newServer(t, settings))
	defer keyed.Close()
	addr := open.Listener.Addr().String()
	for _, c := range []struct {
		web          *httptest.Server
		host, origin string
		status       int
	}{
		{open, "", "", 200}, {open, "localhost:80", "", 200}, {open, "a.localhost", "", 200}, {open, "[::1]:8080", "", 200}, {open, "127.0.0.2", "", 200},
		{open, "Chat.Example:8080", "", 200}, {open, "evil.example", "", 403}, {open, "localhost.evil.example", "", 403}, {open, "10.0.0.1", "", 403},
		{open, "", "http://" + addr, 200}, {open, "", "http://evil.example", 403}, {open, "", "http://localhost:1", 403}, {open, "", "null", 403},
		{open, "evil.example", "http://evil.example", 403}, {keyed, "evil.example", "http://other.example", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", c.web.URL+"/tokenize", strings.NewReader(`{"model": "tiny", "content": "a"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret-of-a-long-enough")
		if r.Host = c.host; c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("Host %q, Origin %q, %d keys: status %d, want %d", c.host, c.origin, len(settings.Keys), response.StatusCode, c.status)
		}
	}
}

// TestRepeatLastN: -1 is the whole text, as in llama.cpp, whatever the server's own window is.
func TestRepeatLastN(t *testing.T) {
	settings := fixed()
	settings.Sampler = &decoder.Sampler{RepetitionPenalty: 1.1, PenaltyWindow: 64}
	if err := settings.complete(); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]decoder.Sampler{-1: {RepetitionPenalty: 1.1}, 0: {}, 7: {RepetitionPenalty: 1.1, PenaltyWindow: 7}} {
		last := fields.Int(n)
		o, err := (&options.Sampling{RepeatLastN: &last}).Options(settings.MaxTokens, *settings.Sampler, 1)
		if err != nil || o.Sampler != want {
			t.Errorf("repeat_last_n %d: %+v, %v, want %+v", n, o.Sampler, err, want)
		}
	}
}

// TestCacheTakesItsMemory: whatever the types of the cache, its pages fill the memory that the
// settings give it, and each pair of types has a fingerprint of its own.
func TestCacheTakesItsMemory(t *testing.T) {
	settings := fixed()
	settings.CacheBytes = 4 << 20
	if err := settings.complete(); err != nil {
		t.Fatal(err)
	}
	m := tinyModels(t, kernel.Exec{Threads: 1}, 16)[0]
	c := generateOf(m).Config()
	seen := map[string]bool{}
	for _, types := range [][2]kernel.DType{{}, {kernel.Float16, 0}, {kernel.Int8, 0}, {kernel.Int4, 0}, {kernel.Int8, kernel.Int4}, {kernel.Float32, kernel.Int8}} {
		narrow, err := generateOf(m).With(decoder.Options{Context: 100, PageSize: 16, CacheType: types[0], CacheValueType: types[1]})
		if err != nil {
			t.Fatal(err)
		}
		o, err := schedule(narrow, nil, &settings)
		if err != nil {
			t.Fatal(err)
		}
		row := 0 // of a key and a value
		for _, kind := range []kernel.DType{types[0], cmp.Or(types[1], types[0])} {
			switch kind {
			case kernel.Float32:
				row += 4 * c.HeadSize
			case kernel.Float16:
				row += 2 * c.HeadSize
			case kernel.Int8:
				row += c.HeadSize + 4
			case kernel.Int4:
				row += c.HeadSize/2 + 4*max(1, c.HeadSize/32)
			}
		}
		if page := 16 * row * c.Layers * c.KVHeads; o.Pages != 4<<20/page {
			t.Errorf("%v: %d pages of %d bytes, want %d in %d bytes", types, o.Pages, page, 4<<20/page, settings.CacheBytes)
		}
		print := NewModel("", made{narrow}, "").fingerprint(&settings)
		if seen[print] {
			t.Errorf("%v: the fingerprint of other types", types)
		}
		seen[print] = true
	}
}

// TestPprof: profiles are there if they are asked for.
func TestPprof(t *testing.T) {
	settings := fixed()
	if w := get(newServer(t, settings), "/debug/pprof/cmdline"); w.Code != 404 {
		t.Errorf("without the setting: status %d", w.Code)
	}
	settings.Pprof = true
	if w := get(newServer(t, settings), "/debug/pprof/cmdline"); w.Code != 200 {
		t.Errorf("with the setting: status %d", w.Code)
	}
}

// FuzzRequests: no body does harm, and every answer is JSON or a stream.
func FuzzRequests(f *testing.F) {
	var paths []string
	for _, p := range dialect.Paths { // what is kept has a target of its own
		if path, ok := strings.CutPrefix(p.Pattern, "POST "); ok && !strings.Contains(path, "{") {
			paths = append(paths, path)
		}
	}
	for i, r := range slices.Concat(mix(20), toolMix(8), dialects(40)) {
		f.Add(uint8(i), r.body)
		for k, p := range paths {
			if p == r.path {
				f.Add(uint8(k), r.body)
			}
		}
	}
	settings := fixed()
	settings.BodyBytes, settings.Timeout = 4096, time.Second
	s := serverOf(f, settings, append(append(tinyModels(f, kernel.Exec{Threads: 1}, 16), tooled(f, kernel.Exec{Threads: 1}, 16)), vectorModels(f, kernel.Exec{Threads: 1})...)...)
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		w := post(s, paths[int(path)%len(paths)], body)
		kind := w.Header().Get("Content-Type")
		stream := kind == "text/event-stream"
		if kind == "application/x-ndjson" {
			for line := range bytes.Lines(w.Body.Bytes()) {
				stream = json.Valid(line)
			}
		}
		if w.Code == 500 || !stream && !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// TestReady: a language model that takes no more requests is not ready.
func TestReady(t *testing.T) {
	s := newServer(t, fixed())
	if w := get(s, "/readyz"); w.Code != 200 {
		t.Errorf("at first: status %d", w.Code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := schedule(s.find(chatModel).(*generator).m, nil, &s.s)
	if err != nil {
		t.Fatal(err)
	}
	ended, err := batch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ended.Run(ctx)
	s.models = append(s.models, &generator{hosted: hosted{Model: &Model{name: "ended"}}, texts: ended})
	if w := get(s, "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "ended") {
		t.Errorf("with a model that has ended: status %d, %s", w.Code, w.Body)
	}
}
