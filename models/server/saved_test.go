package server

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/promptcache"
)

var updatePages = flag.Bool("update", false, "write testdata/pages again")

// pagesOf returns the cache of a folder.
func pagesOf(t testing.TB, path string) *promptcache.Cache {
	t.Helper()
	folder, err := promptcache.OpenFolder(path, 1<<32)
	if err != nil {
		t.Fatal(err)
	}
	return promptcache.New(folder, slog.New(slog.DiscardHandler))
}

// served1 answers a request on a server of its own, which ends before it returns, and returns how
// many tokens were loaded.
func served1(t testing.TB, s Settings, m *Model, path, body string) (answer string, loaded uint64) {
	t.Helper()
	srv, err := New(s, m)
	if err != nil {
		t.Fatal(err)
	}
	w := post(srv, path, body)
	if err := srv.Close(t.Context()); err != nil || w.Code != 200 {
		t.Fatal(err, w.Code, w.Body)
	}
	return w.Body.String(), srv.find(m.Name()).(*generator).texts.Stats().Loaded
}

// TestRecordedPages: pages that another CPU has written continue a conversation with the bytes that
// it has without them.
func TestRecordedPages(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: kernel.Exec{Threads: 1}, Context: 400, PageSize: 16, CacheType: kernel.Int8})
	if err != nil {
		t.Fatal(err)
	}
	model := NewModel(chatModel, made{m}, "tiny")
	first := `{"role": "system", "content": "pages of keys and values"}, {"role": "user", "content": "what is kept?"}`
	if *updatePages {
		s := fixed()
		s.PromptCache = pagesOf(t, "testdata/pages")
		served1(t, s, model, "/v1/chat/completions", `{"messages": [`+first+`], "max_tokens": 8}`)
	}
	body := `{"messages": [` + first + `, {"role": "assistant", "content": "it"}, {"role": "user", "content": "and then?"}], "max_tokens": 30, "logprobs": true}`
	want, _ := served1(t, fixed(), model, "/v1/chat/completions", body)
	path := t.TempDir()
	if err := os.CopyFS(path, os.DirFS("testdata/pages")); err != nil {
		t.Fatal(err)
	}
	s := fixed()
	s.PromptCache = pagesOf(t, path)
	got, loaded := served1(t, s, model, "/v1/chat/completions", body)
	if got != want {
		t.Errorf("with pages of another CPU:\n%s\nwithout:\n%s", got, want)
	}
	if loaded < 48 || s.PromptCache.Stats().Damaged != 0 {
		t.Errorf("%d tokens were loaded, want 48 or more; %+v", loaded, s.PromptCache.Stats())
	}
}

// BenchmarkRestart: the first token of a conversation of some 2,000 tokens after a restart, without
// a prompt cache and with one. The cache memory is allocated before.
func BenchmarkRestart(b *testing.B) {
	m, err := Load(testweights.Path(b, testweights.SmolLM2), LoadOptions{Exec: kernel.Exec{Threads: 1}, Name: chatModel, Precision: precision.Int8})
	if err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"max_tokens": 1, "messages": []map[string]string{
		{"role": "user", "content": strings.Repeat("The cat sat on the mat, and the dog looked at it. ", 150)}, {"role": "assistant", "content": "So it did."}, {"role": "user", "content": "Who sat?"}}})
	if err != nil {
		b.Fatal(err)
	}
	path := b.TempDir()
	want := ""
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprint("cached=", cached), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := fixed()
				s.CacheBytes = 1 << 28
				if cached {
					s.PromptCache = pagesOf(b, path)
				}
				srv, err := New(s, m)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				w := post(srv, "/v1/chat/completions", string(body))
				b.StopTimer()
				if want == "" {
					want = w.Body.String()
					s.PromptCache = pagesOf(b, path) // for those that are cached
					served1(b, s, m, "/v1/chat/completions", string(body))
				}
				if w.Code != 200 || w.Body.String() != want {
					b.Fatal(w.Code, w.Body)
				}
				if err := srv.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(srv.find(chatModel).(*generator).texts.Stats().Loaded), "loaded")
				b.StartTimer()
			}
		})
	}
}
