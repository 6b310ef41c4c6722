package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/server/internal/dialect"
)

// TestShare: bodies together take no more units than there are, a body waits for those that it
// lacks, and what ends gives back what it has.
func TestShare(t *testing.T) {
	s := newShare(4 * shareUnit)
	large, err := s.take(t.Context(), 3*shareUnit-1)
	if err != nil || len(s.units) != 3 {
		t.Fatal(err, len(s.units))
	}
	small, err := s.take(t.Context(), 1)
	if err != nil || len(s.units) != 4 {
		t.Fatal(err, len(s.units))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.take(ctx, 2*shareUnit)
		ended <- err
	}()
	small() // it has one unit now, or takes it soon
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || len(s.units) != 3 || len(s.turn) != 0 {
		t.Errorf("%v, %d units are taken, want 3", err, len(s.units))
	}
	if _, err := s.take(ctx, 1); err == nil { // a body that nobody waits for need not wait
		s.give(1)
	}
	large()
	all, err := s.take(t.Context(), 100*shareUnit) // a body is never larger than all
	if err != nil || len(s.units) != 4 {
		t.Fatal(err, len(s.units))
	}
	waits := make(chan error)
	go func() {
		release, err := s.take(t.Context(), 1)
		release()
		waits <- err
	}()
	all()
	if err := <-waits; err != nil || len(s.units) != 0 {
		t.Errorf("%v, %d units are taken", err, len(s.units))
	}
}

// TestEncodingWaits: no path makes tokens of texts while the share is taken.
func TestEncodingWaits(t *testing.T) {
	s := newServer(t, fixed())
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model": "tiny", "max_tokens": 1, ` + `"messages": [{"role": "user", "content": "x"}]}`,
		"/v1/completions":      `{"model": "tiny", "max_tokens": 1, "prompt": "x"}`,
		"/v1/embeddings":       `{"model": "bert-1", "input": "x"}`,
		"/v1/rerank":           `{"model": "reranker-bert-1", "query": "x", "documents": ["y"]}`,
		"/tokenize":            `{"model": "tiny", "content": "x"}`,
	} {
		all, err := s.share.take(t.Context(), int(s.s.BodyBytes))
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan *httptest.ResponseRecorder)
		go func() { answered <- post(s, path, body) }()
		waitUntil(t, path+" waits for its units", func() bool { return len(s.share.turn) == 1 })
		all()
		if w := <-answered; w.Code != 200 {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
		if len(s.share.units) != 0 {
			t.Errorf("%s: %d units are left taken", path, len(s.share.units))
		}
	}
}

// TestLongPrompts: a prompt that is far too long is refused without tokens of all of it: what is
// allocated meanwhile is a few times the body, not 60 times.
func TestLongPrompts(t *testing.T) {
	settings := fixed()
	s := serverOf(t, settings, tinyModels(t, kernel.Exec{Threads: 1}, 16)...)
	word := strings.Repeat("a", 2<<20)
	for path, body := range map[string]string{
		"/v1/completions":      fmt.Sprintf(`{"model": "tiny", "prompt": %q}`, word),
		"/v1/chat/completions": fmt.Sprintf(`{"model": "tiny", "messages": [{"role": "user", "content": %q}]}`, word),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := post(s, path, body)
		runtime.ReadMemStats(&after)
		var e struct{ Error dialect.Failure }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 400 || e.Error.Code == nil || *e.Error.Code != "context_length_exceeded" || !strings.Contains(e.Error.Message, "400") {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 20*uint64(len(body)) {
			t.Errorf("%s: %d bytes were allocated for a body of %d", path, n, len(body))
		}
	}
}
