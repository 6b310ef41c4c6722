package relay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server"
)

const testdata = "../../models/testdata/tiny/"

// chatModel is a long name, so that events are long.
var chatModel = "tiny-" + strings.Repeat("x", 200)

// fixed returns settings in which ids and times are always the same.
func fixed() server.Settings {
	return server.Settings{
		CacheBytes: 1 << 22, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1, 0) }, NewID: func() string { return "ID" },
	}
}

// newServer returns a server of tiny models. One that lies has other answers for the same
// fingerprint.
func newServer(t testing.TB, lies bool) *server.Server {
	t.Helper()
	folder := "llama-2"
	if lies {
		folder = "mistral-2"
	}
	chat, err := models.Open(testdata+folder, models.Options{Generator: decoder.Options{Context: 256}})
	if err != nil {
		t.Fatal(err)
	}
	embed, err := models.Open(testdata+"bert-1", models.Options{Embedding: embedding.LoadOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(fixed(), server.NewModel(chatModel, chat, "same"), server.NewModel("bert", embed, "bert"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A bench is a NATS server with a gateway.
type bench struct {
	t       testing.TB
	nats    *hub.Server
	gateway *Gateway
	front   *server.Server
	web     *httptest.Server
}

// manyTries are for a gateway with little patience: a worker may wait for a CPU for longer.
const manyTries = 10000

// newBench starts a gateway which takes no worker for silent because others have the processors,
// unless it is told to.
func newBench(t testing.TB, c GatewayConfig) *bench {
	t.Helper()
	c.Patience = cmp.Or(c.Patience, time.Minute)
	s, err := hub.Serve(context.Background(), hub.ServerConfig{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b := &bench{t: t, nats: s}
	c.Name = "gateway"
	if b.gateway, err = NewGateway(b.connect(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.gateway.Close)
	front, err := server.NewGateway(fixed(), b.gateway)
	if err != nil {
		t.Fatal(err)
	}
	b.front, b.web = front, httptest.NewServer(front)
	t.Cleanup(func() {
		b.web.CloseClientConnections()
		b.web.Close()
		front.Close(context.Background())
	})
	return b
}

func (b *bench) connect() *hub.Conn {
	b.t.Helper()
	c := b.nats.Client()
	c.Wait = -1
	conn, err := hub.Connect(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(conn.Close)
	return conn
}

// A running is a worker of a test.
type running struct {
	*Worker
	stop func() error
}

// work starts a worker and waits until it takes requests.
func (b *bench) work(s *server.Server, observe func(status int, took time.Duration)) *running {
	b.t.Helper()
	return b.workWith(s, observe)
}

// workWith is work with anything that answers.
func (b *bench) workWith(s Answerer, observe func(status int, took time.Duration)) *running {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	w := &Worker{Conn: b.connect(), Name: "worker", Server: s, Patience: time.Minute, Observe: observe, Ready: func() { close(ready) }}
	go func() { ended <- w.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { stop() })
	return &running{w, stop}
}

// waitReady waits until the gateway has found a worker.
func (b *bench) waitReady() {
	for b.gateway.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
}

// post asks the gateway.
func (b *bench) post(ctx context.Context, path, body string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", b.web.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { response.Body.Close() })
	return response
}

// long is a request for a stream of more than a megabyte.
func long() string {
	return fmt.Sprintf(`{"model": %q, "prompt": "a b", "stream": true, "n": 16, "max_tokens": 230, "temperature": 3, "top_k": 0, "top_p": 1}`, chatModel)
}

// alone returns what a server answers without a network.
func alone(s *server.Server, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

// TestBytes: through a gateway a request has the status and the bytes of one server, whoever
// answers.
func TestBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{})
	single := newServer(t, false)
	for range 2 {
		b.work(newServer(t, false), nil)
	}
	b.waitReady()
	many := `"` + strings.Repeat("a b c ", 4000) + `"` // the request and the answer have many messages
	many = `{"model": "bert", "truncate": true, "input": [` + strings.Repeat(many+",", 10) + many + `]}`
	for _, c := range [][3]string{
		{"POST", "/v1/completions", long()},
		{"POST", "/v1/completions", fmt.Sprintf(`{"model": %q, "prompt": "a b c", "max_tokens": 20, "logprobs": 2}`, chatModel)},
		{"POST", "/v1/embeddings", `{"model": "bert", "input": ["a", "b c"]}`},
		{"POST", "/v1/embeddings", many},
		{"POST", "/v1/embeddings", `{"model": "bert", "input": 3}`},
		{"POST", "/v1/embeddings", ``},
		{"POST", "/v1/completions", `{"model": "none"}`},
		{"POST", "/api/generate", fmt.Sprintf(`{"model": %q, "prompt": "a b c", "raw": true, "options": {"num_predict": 20}}`, chatModel)},
		{"POST", "/api/embed", `{"model": "bert", "input": ["a", "b c"]}`},
		{"POST", "/v1/messages", fmt.Sprintf(`{"model": %q, "max_tokens": 20, "stream": true, "messages": [{"role": "user", "content": "a"}]}`, chatModel)},
		{"POST", "/v1/responses", fmt.Sprintf(`{"model": %q, "max_output_tokens": 20, "stream": true, "store": false, "input": "a"}`, chatModel)},
		{"DELETE", "/v1/responses/none", ""},
		{"GET", "/api/tags", ""},
		{"POST", "/api/nothing", "{}"},
		{"POST", "/v1/messages", "{}"},
		{"GET", "/v1/models", ""},
		{"GET", "/v1/models/bert", ""},
		{"GET", "/tokenizer_info?model=bert", ""},
		{"GET", "/tokenizer_info", ""},
		{"GET", "/v1/nothing", ""},
	} {
		want := alone(single, c[0], c[1], c[2])
		for range 2 {
			r, err := http.NewRequest(c[0], b.web.URL+c[1], strings.NewReader(c[2]))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != want.Code || !bytes.Equal(got, want.Body.Bytes()) {
				t.Errorf("%s %.20s: %v, status %d and %d bytes, want %d and %d: %.200s", c[1], c[2], err, response.StatusCode, len(got), want.Code, want.Body.Len(), got)
			}
			if got, want := response.Header.Get("Content-Type"), want.Header().Get("Content-Type"); got != want {
				t.Errorf("%s: Content-Type %q, want %q", c[1], got, want)
			}
		}
	}
}

// TestConversations: what follows in a conversation goes to the worker that has answered what was
// said before, as long as it is there, and conversations that only begin go to any.
func TestConversations(t *testing.T) {
	for path, most := range map[string]string{"/v1/chat/completions": `"max_tokens": 3`, "/v1/messages": `"max_tokens": 3`, "/api/chat": `"options": {"num_predict": 3}`} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			testConversation(t, path, most)
		})
	}
}

func testConversation(t *testing.T, path, most string) {
	b := newBench(t, GatewayConfig{})
	counts := make([]atomic.Int32, 2)
	var workers []*running
	for i := range counts {
		workers = append(workers, b.work(newServer(t, false), func(int, time.Duration) { counts[i].Add(1) }))
	}
	b.waitReady()
	single := newServer(t, false)
	var messages []string
	say := func(text string) {
		t.Helper()
		messages = append(messages, fmt.Sprintf(`{"role": "user", "content": %q}`, text))
		body := fmt.Sprintf(`{"model": %q, %s, "messages": [%s]}`, chatModel, most, strings.Join(messages, ", "))
		response := b.post(t.Context(), path, body)
		got, err := io.ReadAll(response.Body)
		if want := alone(single, "POST", path, body); err != nil || response.StatusCode != want.Code || !bytes.Equal(got, want.Body.Bytes()) {
			t.Fatalf("%v, status %d: %s, want %s", err, response.StatusCode, got, want.Body)
		}
		messages = append(messages, `{"role":"assistant","content":"ok"}`)
	}
	say("a")
	for range 10 { // two workers chosen at random would be one in 1 of 1024 runs
		say("b")
	}
	for counts[0].Load()+counts[1].Load() < 11 { // are counted after the client has the answer
		time.Sleep(time.Millisecond)
	}
	first := 0
	if counts[1].Load() > 0 {
		first = 1
	}
	if n := counts[first].Load(); n != 11 {
		t.Errorf("one worker has answered %d of 11 requests of a conversation, the other one the rest", n)
	}
	workers[first].stop()
	say("c") // its worker is gone
	if counts[first].Load() != 11 {
		t.Error("a worker that was stopped has answered")
	}
}

// TestReceipts: a receipt that a worker gives equals one server's, byte by byte, and can be
// verified.
func TestReceipts(t *testing.T) {
	t.Parallel()
	load := func() *server.Model {
		m, err := server.Load(testdata+"bert-1", server.LoadOptions{Name: "bert"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	serve := func() *server.Server {
		settings := fixed()
		settings.ReceiptKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		s, err := server.New(settings, load())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(context.Background()) })
		return s
	}
	b := newBench(t, GatewayConfig{})
	b.work(serve(), nil)
	b.waitReady()
	const body = `{"model": "bert", "input": ["a", "b c"], "receipt": true}`
	got, err := io.ReadAll(b.post(t.Context(), "/v1/embeddings", body).Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := alone(serve(), "POST", "/v1/embeddings", body).Body.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	var answer struct{ Receipt json.RawMessage }
	if err := json.Unmarshal(got, &answer); err != nil {
		t.Fatal(err)
	}
	r, err := receipt.Parse(answer.Receipt)
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if err := r.CheckKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)); err != nil {
		t.Error(err)
	}
	embedder, err := models.OpenEmbedder(testdata+"bert-1", embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := receipt.VerifyEmbeddings(t.Context(), r.Model, embedder, r, receipt.Options{}); err != nil {
		t.Error(err)
	}
}

// A client is one that reads nothing after a number of bytes until it goes on.
type client struct {
	*httptest.ResponseRecorder
	stops   []int // bytes
	stopped chan struct{}
	goOn    chan struct{}
	over    chan struct{}
}

func (c *client) Write(data []byte) (int, error) {
	if len(c.stops) > 0 && c.Body.Len() >= c.stops[0] {
		c.stops = c.stops[1:]
		c.stopped <- struct{}{}
		<-c.goOn
	}
	return c.ResponseRecorder.Write(data)
}

// all lets the client read to the end.
func (c *client) all() []byte {
	close(c.goOn)
	<-c.over
	return c.Body.Bytes()
}

// end returns the last bytes that the client gets.
func (c *client) end() []byte {
	all := c.all()
	return all[max(0, len(all)-300):]
}

// begin asks for a long answer and waits for the first stop. The worker is far from the end of the
// answer at a stop, as it has a window.
func (b *bench) begin(ctx context.Context, stops ...int) *client {
	b.t.Helper()
	c := &client{httptest.NewRecorder(), stops, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(c.over)
		b.front.ServeHTTP(c, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(long())).WithContext(ctx))
	}()
	select {
	case <-c.stopped:
	case <-c.over:
		b.t.Fatalf("it has ended: %d %.300s", c.Code, c.Body)
	}
	return c
}

// TestReplaced: the answer of a worker that ends in between goes on with the same bytes, also if
// the next one loses its connection.
func TestReplaced(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBench(t, GatewayConfig{Log: slog.New(slog.NewTextHandler(&log, nil))})
	want := alone(newServer(t, false), "POST", "/v1/completions", long()).Body.Bytes()
	first := b.work(newServer(t, false), nil)
	b.waitReady()
	c := b.begin(t.Context(), 1, 2*window)
	second := b.work(newServer(t, false), nil)
	if err := first.stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.goOn <- struct{}{}
	<-c.stopped
	b.work(newServer(t, false), nil)
	second.Conn.Close()
	if got := c.all(); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, end with %.300s", len(got), len(want), got[max(0, len(got)-300):])
	}
	if n := strings.Count(log.String(), "another worker goes on"); n != 2 {
		t.Errorf("%d workers were replaced, want 2: %s", n, log.String())
	}
}

// TestDiffers: what another worker answers otherwise is not handed on.
func TestDiffers(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{})
	honest := b.work(newServer(t, false), nil)
	b.waitReady()
	c := b.begin(t.Context(), 1000)
	b.work(newServer(t, true), nil)
	honest.stop()
	if end := c.end(); !bytes.Contains(end, []byte(`"server_error"`)) || bytes.Contains(end, []byte("[DONE]")) {
		t.Errorf("it ends with %s", end)
	}
}

// TestNobody: without a worker, requests get status 503 with Retry-After, before one has come and
// after the last one has gone; an answer that has begun waits for one first.
func TestNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{Patience: 300 * time.Millisecond, Tries: manyTries})
	refused := func() {
		t.Helper()
		response := b.post(t.Context(), "/v1/completions", "{}")
		if response.StatusCode != 503 || response.Header.Get("Retry-After") == "" || b.gateway.Ready() == nil {
			t.Errorf("status %d, %v", response.StatusCode, response.Header)
		}
	}
	refused()
	w := b.work(newServer(t, false), nil)
	b.waitReady()
	c := b.begin(t.Context(), 1)
	w.stop()
	if end := c.end(); !bytes.Contains(end, []byte(`"overloaded_error"`)) {
		t.Errorf("it ends with %s", end)
	}
	refused()
}

// TestCancel: a request ends at its worker when the client goes away, and when the gateway does.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"client", "gateway"} {
		b := newBench(t, GatewayConfig{})
		statuses := make(chan int, 1)
		b.work(newServer(t, false), func(status int, _ time.Duration) { statuses <- status })
		b.waitReady()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := b.begin(ctx, 1)
		if how == "client" {
			cancel()
			c.all()
		} else {
			b.gateway.conn.Close()
			defer c.all()
			defer cancel()
		}
		if status := <-statuses; status != StatusGone {
			t.Errorf("%s: status %d, want %d", how, status, StatusGone)
		}
	}
}

// TestPoison: a request on which worker after worker is lost ends with status 502.
func TestPoison(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{Fingerprint: "fp_x", Tries: 2})
	conn := b.connect()
	asked := 0
	_, err := conn.QueueSubscribe(askSubject(conn, "fp_x"), "workers", func(msg *nats.Msg) {
		asked++ // and nobody is there under the id of the answer
		answer, err := pack(msg.Reply, &header{Kind: kindTaken, From: "_INBOX.nobody"}, nil)
		if err != nil || conn.PublishMsg(answer) != nil {
			t.Error("no answer")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.Flush()
	if response := b.post(t.Context(), "/v1/completions", "{}"); response.StatusCode != 502 || asked != 2 {
		t.Errorf("status %d after %d workers", response.StatusCode, asked)
	}
}

// TestFingerprint: a worker of another fingerprint or version ends, with an error that says so.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{Fingerprint: "fp_other"})
	w := &Worker{Conn: b.connect(), Name: "a", Server: newServer(t, false)}
	var e *kernel.Error
	if err := w.Run(t.Context()); !errors.As(err, &e) || e.Kind != ErrFingerprint || e.Got != w.Server.SystemFingerprint() || !strings.HasPrefix(e.Want, "fp_other, that of the gateway gateway: ") {
		t.Error(err)
	}
}

// TestHostile: messages that no program sends do no harm.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := newBench(t, GatewayConfig{})
	s := newServer(t, false)
	w := b.work(s, nil)
	b.waitReady()
	conn := b.connect()
	for _, subject := range []string{askSubject(conn, s.SystemFingerprint()), w.mail.id, b.gateway.mail.id} {
		for _, h := range []*header{
			{}, {Kind: kindAsk}, {Kind: kindAsk, From: "_INBOX.a", Call: "b", Method: "?", Path: "no path", Size: 1}, {Kind: kindAsk, From: "_INBOX.*", Call: "c"},
			{Kind: kindAsk, From: "_INBOX.a", Call: "d", Path: "/v1/models", Size: -1}, {Kind: kindData, From: "_INBOX.a", Call: "e", At: 1 << 60},
			{Kind: kindPart, From: "_INBOX.a", Call: "b", At: 7}, {Kind: kindRead, From: "_INBOX.a", Call: "b", At: 1 << 62}, {Kind: kindCancel, From: "_INBOX.a", Call: "b"}, {Kind: "nothing"},
		} {
			msg, err := pack(subject, h, []byte("data"))
			if err != nil {
				t.Fatal(err)
			}
			conn.PublishMsg(msg)
			msg.Data = []byte("damaged")
			conn.PublishMsg(msg)
		}
		conn.Publish(subject, []byte("nothing"))
	}
	conn.Flush()
	if response := b.post(t.Context(), "/v1/embeddings", `{"model": "bert", "input": "a"}`); response.StatusCode != 200 {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestLostEnd has a worker that lives, took the request, and whose answer was lost with the server:
// another one answers.
func TestLostEnd(t *testing.T) {
	b := newBench(t, GatewayConfig{Patience: 300 * time.Millisecond, Tries: manyTries})
	s := newServer(t, false)
	conn := b.connect()
	var forgetful *mailbox
	asked := make(chan string, 10)
	take := func(msg *nats.Msg) {
		h, err := unpack(msg)
		switch {
		case err != nil:
			t.Error(err)
		case h.Kind == kindPing:
			forgetful.reply(msg, &header{Kind: kindPing, From: forgetful.id, End: h.Call != ""})
		default:
			asked <- h.Call
			forgetful.reply(msg, &header{Kind: kindTaken, From: forgetful.id, Call: h.Call, Name: "forgetful"})
		}
	}
	var err error
	if forgetful, err = openMailbox(conn, time.Second, slog.New(slog.DiscardHandler), func(*header, []byte) {}, take); err != nil {
		t.Fatal(err)
	}
	defer forgetful.close()
	sub, err := conn.QueueSubscribe(askSubject(conn, s.SystemFingerprint()), "workers", take)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil { // else the gateway may ask before the server knows of the worker
		t.Fatal(err)
	}
	if err := b.gateway.adopt(s.SystemFingerprint()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	done := make(chan error, 1)
	go func() {
		done <- b.gateway.Answer(t.Context(), w, &server.Call{Method: "GET", Path: "/v1/models"})
	}()
	select {
	case <-asked:
	case err := <-done:
		t.Fatalf("an answer before the worker was asked: %v, status %d", err, w.Code)
	}
	sub.Unsubscribe()
	b.work(s, nil)
	if err := <-done; err != nil || w.Code != 200 || !strings.Contains(w.Body.String(), "bert") {
		t.Errorf("%v, status %d: %s", err, w.Code, w.Body)
	}
}

// held is a server whose answers wait.
type held struct {
	Answerer
	begun, goOn chan struct{}
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.begun <- struct{}{}
	<-h.goOn
	h.Answerer.ServeHTTP(w, r)
}

// TestPerWorker: a worker has no more requests of a gateway at a time than that says, and takes
// others after them.
func TestPerWorker(t *testing.T) {
	b := newBench(t, GatewayConfig{PerWorker: 2})
	h := &held{newServer(t, false), make(chan struct{}, 3), make(chan struct{})}
	w := b.workWith(h, nil)
	if err := b.gateway.adopt(w.Server.SystemFingerprint()); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		return b.gateway.Answer(t.Context(), httptest.NewRecorder(), &server.Call{Method: "GET", Path: "/v1/models"})
	}
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- ask() }()
		<-h.begun
	}
	if err := ask(); !errors.Is(err, server.ErrUnavailable) {
		t.Errorf("a third one: %v", err)
	}
	close(h.goOn)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
