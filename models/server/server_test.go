package server

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/reranking"
)

// The names of the models of tests.
const (
	chatModel  = "tiny"
	embedModel = "bert-1"
	rankModel  = "reranker-bert-1"
)

// tinyModels returns a model of each kind, which compute as e says.
func tinyModels(t testing.TB, e kernel.Exec, pageSize int) []*Model {
	t.Helper()
	file := tinyllama.New(nil)
	file.AddVocabulary()
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: e, Context: 400, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	list := []*Model{NewModel(chatModel, made{m}, "tiny")}
	for _, name := range []string{embedModel, rankModel} {
		m, err := Load("../testdata/tiny/"+name, LoadOptions{Exec: e})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// made is a language model that was not read from files.
type made struct{ m *decoder.Model }

func (made) About() *models.Description  { return &models.Description{Kind: models.KindGenerator} }
func (m made) Generator() *decoder.Model { return m.m }

func generateOf(m *Model) *decoder.Model    { return m.model.(models.Generates).Generator() }
func embedOf(m *Model) *embedding.Embedder  { return m.model.(models.Embeds).Embedder() }
func rerankOf(m *Model) *reranking.Reranker { return m.model.(models.Ranks).Reranker() }

// fixed returns settings in which ids and times are always the same.
func fixed() Settings {
	return Settings{
		CacheBytes: 1 << 24, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1, 0) }, NewID: func() string { return "ID" },
	}
}

// newServer returns a server of the tiny models.
func newServer(t testing.TB, s Settings) *Server {
	t.Helper()
	return serverOf(t, s, tinyModels(t, kernel.Exec{Threads: 1}, 16)...)
}

func serverOf(t testing.TB, s Settings, m ...*Model) *Server {
	t.Helper()
	srv, err := New(s, m...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return srv
}

// post answers a request without a network.
func post(h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answerOf decodes the body of a response that must have status 200.
func answerOf[T any](t testing.TB, w *httptest.ResponseRecorder) (to T) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &to); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return to
}

// events returns the data of the events of a stream.
func events(t testing.TB, body io.Reader) (list []string) {
	t.Helper()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		text, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("an event is %q", event)
		}
		list = append(list, text)
	}
	return list
}

// TestRerankerFingerprint: README.md matters where its title tells the family of a reranker, whose
// prompt is another one.
func TestRerankerFingerprint(t *testing.T) {
	fingerprint := func(readme string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "model")
		if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/reranker-qwen3-classifier-6")); err != nil {
			t.Fatal(err)
		}
		if readme != "" {
			if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Load(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.fingerprint(&Settings{})
	}
	none, other, card := fingerprint(""), fingerprint("# A model"), fingerprint("# Qwen3-Reranker-0.6B")
	if none != other || none == card {
		t.Errorf("without README.md %s, with one %s, with that of the family %s", none, other, card)
	}
}
