//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
)

// idAndCreated are the fields that differ between two answers to a request.
var idAndCreated = regexp.MustCompile(`"(id":"cmpl-\w+|created":\d+)`)

// TestGateway: a gateway and workers, each a process. kill -9 of a worker in the middle of a stream
// changes no byte of it; a worker with another setting ends; without a worker there is status 503.
func TestGateway(t *testing.T) {
	t.Parallel()
	const folder = "../models/testdata/tiny/llama-2"
	name := strings.Repeat("x", 3000) // in every event, so that the stream is longer than what connections hold
	dir := filepath.Join(t.TempDir(), "keys")
	if _, _, err := runCommand(t.Context(), "keys", "-o", dir, "worker", "gateway"); err != nil {
		t.Fatal(err)
	}
	_, line := startProcess(t, "listening on", "serve", "-port", "-1", "-users", filepath.Join(dir, access.UsersFile))
	nats := line[strings.Index(line, "nats://"):]
	worker := func(ready string, args ...string) *process {
		t.Helper()
		w, _ := startProcess(t, ready, append([]string{"answer", "-server", nats, "-nkey", access.SeedFile(dir, "worker"), "-cache-memory", "4", "-model", name + "=" + folder}, args...)...)
		return w
	}
	gateway, line := startProcess(t, "msg=listening", "gateway", "-addr", "127.0.0.1:0", "-server", nats, "-nkey", access.SeedFile(dir, "gateway"))
	url := "http://" + regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(line)[1]
	request := `{"model": "` + name + `", "prompt": "a b", "stream": true, "n": 16, "max_tokens": 230, "temperature": 3, "top_k": 0, "top_p": 1}`
	ask := func() *http.Response {
		t.Helper()
		response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	response := ask()
	response.Body.Close()
	if response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("without a worker: status %d, %v", response.StatusCode, response.Header)
	}

	model, err := server.Load(folder, server.LoadOptions{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	single, err := server.New(server.Settings{Logger: slog.New(slog.DiscardHandler), CacheBytes: 1 << 22}, model)
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close(context.Background())
	want := httptest.NewRecorder()
	single.ServeHTTP(want, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(request)))

	first := worker("answers with the fingerprint", "-name", "first")
	if gateway.waitFor("msg=found") == "" {
		t.Fatal("the gateway has ended")
	}
	response = ask()
	defer response.Body.Close()
	begun := make([]byte, 1000)
	if _, err := io.ReadFull(response.Body, begun); err != nil {
		t.Fatal(err)
	}
	second := worker("answers with the fingerprint", "-name", "second")
	first.kill()
	rest, err := io.ReadAll(response.Body)
	plain := func(data []byte) []byte { return idAndCreated.ReplaceAll(data, nil) }
	if got := append(begun, rest...); err != nil || !bytes.Equal(plain(got), plain(want.Body.Bytes())) {
		t.Errorf("%v: %d bytes, want %d: ends with %.300s", err, len(got), want.Body.Len(), got[max(0, len(got)-300):])
	}
	if gateway.waitFor("another worker goes on") == "" {
		t.Error("no worker was replaced")
	}
	if ids := regexp.MustCompile(`"id":"cmpl-\w+`).FindAll(append(begun, rest...), -1); !bytes.Equal(ids[0], ids[len(ids)-1]) {
		t.Errorf("the id was %s and is %s", ids[0], ids[len(ids)-1])
	}

	if got := gateway.waitFor("msg=request"); !strings.Contains(got, " model="+name+" ") || !strings.Contains(got, " prompt_tokens=4 ") || strings.Contains(got, " completion_tokens=0") {
		t.Errorf("the gateway's log has %q", got)
	}

	other := worker("loaded", "-ctx", "100")
	if got := other.waitFor("relay: the fingerprint: "); got == "" {
		t.Error("a worker with another setting does not say so")
	}
	if other.Wait(); other.ProcessState.Success() {
		t.Error("a worker with another setting ends well")
	}
	for _, p := range []*process{gateway, second} {
		p.signal(t, syscall.SIGTERM)
		if p.Wait(); !p.ProcessState.Success() {
			t.Errorf("after SIGTERM: %v", p.ProcessState)
		}
	}
}

// TestSharedCache: a worker with -cache-shared goes on with a text that one has read that has
// ended, and answers as a server alone. The role of workers allows what it needs.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	const folder = "../models/testdata/tiny/llama-2"
	dir := keys(t)
	_, line := startProcess(t, "listening on", "serve", "-port", "-1", "-users", filepath.Join(dir, access.UsersFile))
	nats := line[strings.Index(line, "nats://"):]
	gateway, line := startProcess(t, "msg=listening", "gateway", "-addr", "127.0.0.1:0", "-server", nats, "-nkey", access.SeedFile(dir, "gateway"))
	url := "http://" + regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(line)[1]
	worker := func(name string) (w *process, metrics string) {
		w, line := startProcess(t, "metrics at", "answer", "-server", nats, "-nkey", access.SeedFile(dir, "worker"), "-name", name, "-metrics", "127.0.0.1:0",
			"-cache-memory", "4", "-cache-shared", "64", "-model", "tiny="+folder)
		if w.waitFor("answers with the fingerprint") == "" {
			t.Fatal("a worker has ended")
		}
		return w, metricsURL(line)
	}
	request := func(tail string) string {
		return `{"model": "tiny", "prompt": "` + strings.Repeat("keys and values ", 10) + tail + `", "max_tokens": 20}`
	}
	ask := func(body string) string {
		t.Helper()
		r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 {
			t.Fatal(err, r.StatusCode, string(data))
		}
		return idAndCreated.ReplaceAllString(string(data), "")
	}
	first, _ := worker("first")
	if gateway.waitFor("msg=found") == "" {
		t.Fatal("the gateway has ended")
	}
	ask(request("of one"))
	waitForPage(t, hub.Config{URL: nats, NKeySeedFile: access.SeedFile(dir, "worker")})
	first.signal(t, syscall.SIGTERM)
	first.Wait()
	_, metrics := worker("second")
	got := ask(request("of another one"))

	model, err := server.Load(folder, server.LoadOptions{Name: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	single, err := server.New(server.Settings{Logger: slog.New(slog.DiscardHandler), CacheBytes: 1 << 22}, model)
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close(context.Background())
	w := httptest.NewRecorder()
	single.ServeHTTP(w, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(request("of another one"))))
	if want := idAndCreated.ReplaceAllString(w.Body.String(), ""); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, body := httpGet(t, metrics+"/metrics")
	if loaded := regexp.MustCompile(`attn_computed_tokens_total\{kind="loaded",model="tiny"\} (\d+)`).FindStringSubmatch(body); loaded == nil || loaded[1] == "0" {
		t.Errorf("tokens that were loaded: %v\n%s", loaded, body)
	}
	for _, args := range [][]string{{"-cache-shared", "1", "-cache-dir", dir}, {"-cache-shared", "9999999999"}} {
		var usage command.UsageError
		if _, _, err := runCommand(t.Context(), append([]string{"answer", "-model", folder}, args...)...); !errors.As(err, &usage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// waitForPage waits until the store that workers share has a page: they write behind their answers,
// the first page of a text first.
func waitForPage(t *testing.T, c hub.Config) {
	t.Helper()
	conn, err := hub.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	bucket := conn.StreamName(hub.PagesName)
	stream, err := js.Stream(t.Context(), "OBJ_"+bucket)
	if err != nil {
		t.Fatal(err)
	}
	for {
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("$O."+bucket+".M.>"))
		if err != nil {
			t.Fatal(err)
		}
		if len(info.State.Subjects) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// What waits for a server says how to get one, and can be interrupted.
func TestWaitForServer(t *testing.T) {
	t.Parallel()
	away := "nats://127.0.0.1:" + freePorts(1)[0]
	for _, args := range [][]string{{"work"}, {"gateway", "-addr", "127.0.0.1:0"}, {"answer", "-model", "../models/testdata/tiny/llama-2"}} {
		p, _ := startProcess(t, "cluster serve runs one", append(args, "-server", away)...)
		p.interrupt(t)
	}
}

// waitFor returns the next line with a text that a process reports, or "" if it has ended.
func (p *process) waitFor(text string) string {
	for line := range p.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}
