package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/server/internal/request"
)

// onDemand returns the models of a folder, as all are loaded and as they are loaded on demand, and
// the memory of the largest one.
func onDemand(t *testing.T, s *Settings) (loaded, later []*Model, most int64) {
	t.Helper()
	file := tinyllama.New(nil)
	file.AddVocabulary()
	chat := filepath.Join(t.TempDir(), chatModel+".gguf")
	if err := os.WriteFile(chat, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where digests of files are kept
	o := LoadOptions{Exec: kernel.Exec{Threads: 1}, Context: 400}
	for _, path := range []string{chat, "../testdata/tiny/" + embedModel, "../testdata/tiny/" + rankModel} {
		m, err := Load(path, o)
		if err != nil {
			t.Fatal(err)
		}
		loaded = append(loaded, m)
		if m, err = OnDemand(path, o); err != nil {
			t.Fatal(err)
		}
		later = append(later, m)
		most = max(most, m.Memory(s))
	}
	return loaded, later, most
}

// TestOnDemand: models that are loaded when requests ask for them give the same bodies as those
// that always are, also if there is memory for one alone, and the list says which are loaded.
func TestOnDemand(t *testing.T) {
	s := fixed()
	loaded, later, most := onDemand(t, &s)
	list := mix(60)
	order := rand.New(rand.NewPCG(1, 3)).Perm(len(list))
	always := serverOf(t, s, loaded...)
	want := ask(t, always, list, order, 1)
	state := func(srv *Server) (tags, ps int, flags []bool) {
		type models struct{ Models []struct{ Name string } }
		data := answerOf[struct{ Data []struct{ Loaded *bool } }](t, get(srv, "/v1/models")).Data
		for _, m := range data {
			if m.Loaded == nil {
				t.Fatal("a model does not say whether it is loaded")
			}
			flags = append(flags, *m.Loaded)
		}
		return len(answerOf[models](t, get(srv, "/api/tags")).Models), len(answerOf[models](t, get(srv, "/api/ps")).Models), flags
	}
	for _, room := range []int64{most, 1 << 30} {
		s.ModelsBytes = room
		srv := serverOf(t, s, later...)
		if tags, ps, flags := state(srv); tags != 3 || ps != 0 || fmt.Sprint(flags) != "[false false false]" {
			t.Errorf("at first %d models are listed, %d loaded, %v", tags, ps, flags)
		}
		for i, got := range ask(t, srv, list, order, 8) {
			if got != want[i] {
				t.Fatalf("request %d, %s:\n%s\nwant\n%s", i, list[i].body, got, want[i])
			}
		}
		if tags, ps, flags := state(srv); tags != 3 || (ps == 3) != (room > most) || ps == 0 {
			t.Errorf("memory %d: in the end %d models are listed, %d loaded, %v", room, tags, ps, flags)
		}
		post(srv, "/v1/embeddings", `{"model": "bert-1", "input": "a"}`)
		entry := get(srv, "/v1/models/bert-1").Body.String()
		if without := strings.Replace(entry, `"loaded":true,`, "", 1); without == entry || without != get(always, "/v1/models/bert-1").Body.String() {
			t.Errorf("a loaded model is %s", entry)
		}
	}
	s.ModelsBytes = most - 1
	if _, err := New(s, later...); err == nil || !strings.Contains(err.Error(), fmt.Sprint(most)) {
		t.Errorf("a model that never fits: %v", err)
	}
}

// TestOnDemandFacts: what the page and other clients must know before they ask is said of models
// that are not loaded, as of those that are.
func TestOnDemandFacts(t *testing.T) {
	s := fixed()
	loaded, later, most := onDemand(t, &s)
	s.ModelsBytes = most
	always, srv := serverOf(t, s, loaded...), serverOf(t, s, later...)
	type facts struct{ Data []request.Facts }
	want := answerOf[facts](t, get(always, "/v1/models")).Data
	for i, got := range answerOf[facts](t, get(srv, "/v1/models")).Data {
		if *got.Loaded || got.Kind != want[i].Kind || !slices.Equal(got.Tasks, want[i].Tasks) || !reflect.DeepEqual(got.Defaults, want[i].Defaults) {
			t.Errorf("%+v, want what is known of %+v", got, want[i])
		}
	}
	if w := get(srv, "/props"); w.Code != http.StatusOK {
		t.Errorf("/props: %d %s", w.Code, w.Body)
	}
}

// TestOnDemandErrors: a request of another kind loads nothing, a model whose files are gone is an
// error of its requests alone, and requests that wait for room end with the server.
func TestOnDemandErrors(t *testing.T) {
	s := fixed()
	_, later, most := onDemand(t, &s)
	lost := 0
	later[1].later.open = func() (*Model, error) { lost++; return nil, os.ErrNotExist }
	s.ModelsBytes = most
	srv, err := New(s, later...)
	if err != nil {
		t.Fatal(err)
	}
	if w := post(srv, "/v1/embeddings", `{"model": "tiny", "input": "a"}`); w.Code != http.StatusBadRequest {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	for range 2 {
		if w := post(srv, "/v1/embeddings", `{"model": "bert-1", "input": "a"}`); w.Code != http.StatusInternalServerError {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	}
	if _, ok := srv.models[0].(*lazy).item.Loaded(); ok || lost != 2 {
		t.Errorf("a model was loaded for nothing, or %d tries", lost)
	}
	if w := post(srv, "/v1/rerank", `{"model": "reranker-bert-1", "query": "a", "documents": ["b"]}`); w.Code != http.StatusOK {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	// Somebody uses the reranker, so that there is no room.
	_, release, err := srv.models[2].(*lazy).item.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if w := post(srv, "/v1/completions", `{"model": "tiny", "prompt": "a"}`); w.Code != http.StatusServiceUnavailable {
			t.Errorf("at the end: %d: %s", w.Code, w.Body)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	closed := make(chan error)
	go func() { closed <- srv.Close(ctx) }()
	wait.Wait()
	release()
	<-closed
}
