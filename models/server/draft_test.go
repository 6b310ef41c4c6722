package server

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
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
	_, err = OnDemand(folder+"llama-2", LoadOptions{DraftModel: folder + "mistral-2"})
	if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || bad.Arg() != "LoadOptions.DraftModel" {
		t.Errorf("a draft model for one that is loaded on demand: %v", err)
	}
}
