package server

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// TestDraftModel: a generator may have a draft model of its vocabulary, whose cache shares the
// memory with its own, and whose guesses are counted. It changes no fingerprint.
func TestDraftModel(t *testing.T) {
	const folder = "../testdata/tiny/"
	m, err := Load(folder+"llama-2", LoadOptions{DraftModel: folder + "mistral-2", Context: 100})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Load(folder+"llama-2", LoadOptions{Context: 100})
	if err != nil {
		t.Fatal(err)
	}
	s := fixed()
	s.CacheBytes = 1 << 20
	srv := serverOf(t, s, m)
	if a, b := srv.Fingerprint("llama-2"), serverOf(t, s, alone).Fingerprint("llama-2"); a != b {
		t.Errorf("the fingerprint is %s, without a draft model %s", a, b)
	}
	both, err := schedule(generateOf(m), m.draft, &s)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, x := range []*decoder.Model{generateOf(m), m.draft} {
		page, err := x.PageBytes()
		if err != nil {
			t.Fatal(err)
		}
		bytes += both.Pages * page
	}
	if int64(bytes) > s.CacheBytes || 2*int64(bytes) < s.CacheBytes {
		t.Errorf("both caches take %d bytes, want at most %d", bytes, s.CacheBytes)
	}
	// The draft model keeps all tokens, the model only the tokens in its windows.
	for name, draft := range map[string]string{"mistral-2": "llama-2", "llama-2": "mistral-2"} {
		m, err := Load(folder+name, LoadOptions{DraftModel: folder + draft, Context: 4096})
		if err != nil {
			t.Fatal(err)
		}
		s.CacheBytes = 1
		both, err := schedule(generateOf(m), m.draft, &s)
		if err != nil {
			t.Fatal(err)
		}
		x, err := both.Draft.Open()
		if err != nil {
			t.Fatal(err)
		}
		if n, need := x.FreePages(), m.draft.Pages(4096)+m.draft.Pages(1); n != need {
			t.Errorf("%s has %d pages for its guesses for %s, want %d", draft, n, name, need)
		}
	}
	if w := post(srv, "/v1/completions", `{"prompt": "a", "max_tokens": 20, "temperature": 0, "ignore_eos": true}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if metrics := get(srv, "/metrics").Body.String(); !strings.Contains(metrics, `attn_draft_tokens_total{model="llama-2",state="wrong"}`) {
		t.Errorf("metrics without guesses:\n%s", metrics)
	}
	for name, draft := range map[string]string{"llama-2": "qwen3_5_text-2", "bert-1": "llama-2"} {
		_, err := Load(folder+name, LoadOptions{DraftModel: folder + draft})
		if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || !strings.Contains(bad.Where, "DraftModel") {
			t.Errorf("%s with %s: %v", name, draft, err)
		}
	}
	for field, o := range map[string]LoadOptions{"DraftModel": {DraftModel: "no/model"}, "Draft": {Draft: 7}, "Draft ": {DraftModel: folder + "mistral-2", Draft: -3}} {
		_, err := Load(folder+"llama-2", o)
		if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || bad.Arg() != "LoadOptions."+strings.TrimSpace(field) || (o.DraftModel == "no/model") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	checkMTPErrors(t, folder)
	_, err = OnDemand(folder+"llama-2", LoadOptions{DraftModel: folder + "mistral-2"})
	if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || bad.Arg() != "LoadOptions.DraftModel" {
		t.Errorf("a draft model for one that is loaded on demand: %v", err)
	}
}

// checkMTPErrors loads models that have no layer that guesses, or no use for it.
func checkMTPErrors(t *testing.T, folder string) {
	t.Helper()
	for name, o := range map[string]LoadOptions{"llama-2": {MTP: true}, "bert-1": {MTP: true}, "mistral-2": {MTP: true, DraftModel: folder + "llama-2"}} {
		_, err := Load(folder+name, o)
		if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || !strings.HasSuffix(bad.Arg(), "Options.MTP") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := OnDemand(folder+"llama-2", LoadOptions{MTP: true})
	if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || bad.Arg() != "LoadOptions.MTP" {
		t.Errorf("MTP of a model that is loaded on demand: %v", err)
	}
}

// checkMTPMemory: the caches of a model and of its layer that guesses take the memory that there is
// for both, however many texts may run, and the layer has a page of each of them to copy. With less
// memory than for one text, they have room for one.
func checkMTPMemory(t *testing.T, m *decoder.Model, s Settings) {
	t.Helper()
	page, err := m.PageBytes()
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := m.AheadBytes()
	if err != nil || ahead == 0 {
		t.Fatal(ahead, err)
	}
	for _, running := range []int{1, 4, 40, 1000, 1e5, 1 << 46, math.MaxInt} {
		for _, memory := range []int64{1, 1 << 20, 1 << 23} {
			s.CacheBytes, s.Running = memory, running
			o, err := schedule(m, nil, &s)
			if err != nil {
				t.Fatal(err)
			}
			x, err := o.Open()
			if err != nil {
				t.Errorf("%d texts in %d bytes: %v", running, memory, err)
				continue
			}
			texts, layer := o.Pages/m.Pages(1), x.(*decoder.Session).FreeAhead()
			bytes := int64(o.Pages*page + layer*ahead)
			if least := m.Pages(m.Options().Context)/m.Pages(1) + 1; memory == 1 && (texts != least || layer != least+1) {
				t.Errorf("%d texts in hardly any memory: %d and %d pages, want %d and one more", running, texts, layer, least)
			}
			if memory > 1 && (bytes > memory || bytes < memory-int64(m.Pages(1)*page+2*ahead)) {
				t.Errorf("%d texts: both caches take %d bytes of %d", running, bytes, memory)
			}
			if memory > 1 && layer < texts+min(running, texts-1) {
				t.Errorf("%d texts in %d bytes: the layer has %d pages, and the model has %d", running, memory, layer, texts)
			}
		}
	}
}

// TestMTP: the layer of a generator guesses for answers side by side, which are the same as
// without, and its keys and values share the memory.
func TestMTP(t *testing.T) {
	dir := tinyfolders.Read(t, "../testdata/tiny/qwen3_5_text-2").AddAhead().Write()
	load := func(o LoadOptions) *Model {
		o.Context, o.Name = 200, "m"
		m, err := Load(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, alone := load(LoadOptions{MTP: true, Draft: 3}), load(LoadOptions{})
	s := fixed()
	s.CacheBytes = 1 << 20
	checkMTPMemory(t, generateOf(m), s)
	s.Running = 4
	guessing, plain := serverOf(t, s, m), serverOf(t, s, alone)
	if a, b := guessing.Fingerprint("m"), plain.Fingerprint("m"); a != b {
		t.Errorf("the fingerprint is %s, without guesses %s", a, b)
	}
	var all sync.WaitGroup
	for i := range 12 {
		body := fmt.Sprintf(`{"prompt": "abc %d", "max_tokens": %d, "temperature": 0.8, "seed": %d}`, i/3, 10+5*i, i)
		all.Go(func() {
			got, want := post(guessing, "/v1/completions", body), post(plain, "/v1/completions", body)
			if got.Code != 200 || got.Body.String() != want.Body.String() {
				t.Errorf("%s: %d %s, want %s", body, got.Code, got.Body, want.Body)
			}
		})
	}
	all.Wait()
	if metrics := get(guessing, "/metrics").Body.String(); !strings.Contains(metrics, `attn_draft_tokens_total{model="m",state="wrong"}`) || strings.Contains(metrics, `state="wrong"} 0`) {
		t.Errorf("metrics without guesses:\n%s", metrics)
	}
	if load(LoadOptions{MTP: true}).guesses != 1 {
		t.Error("the layer does not guess one token if nothing says otherwise")
	}
}
