package gomlx_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/attn-go/attn/bridge/gomlx/internal/minilm"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/bert"
	"github.com/attn-go/attn/models/weights"
)

// models loads MiniLM for GoMLX, and for attn with one thread. If it is missing, the test is
// skipped.
func models(t testing.TB) (*minilm.Model, *bert.Encoder) {
	t.Helper()
	folder, err := weights.Find(weights.MiniLM)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	m, err := minilm.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	e, err := bert.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return m, e.With(bert.Options{Exec: kernel.Exec{Threads: 1}})
}

// passages returns n passages of at most 256 tokens, where attn cuts and GoMLX does not.
func passages(t testing.TB, e *bert.Encoder, n int) []string {
	t.Helper()
	data, err := os.ReadFile("../../models/testdata/minilm/retrieval.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Passages []struct{ Text string } }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var some []string
	for _, p := range all.Passages {
		if len(e.Tokens(p.Text)) < e.MaxTokens() && len(some) < n {
			some = append(some, p.Text)
		}
	}
	return some
}

// TestMiniLM: the vectors of a padded batch are the same within 1e-5 with GoMLX's attention in
// plain Go, with SDPA in its place, and with attn's own encoder.
func TestMiniLM(t *testing.T) {
	m, e := models(t)
	n := 4
	if testing.Short() {
		n = 2
	}
	texts := passages(t, e, n)
	want, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	install(t, nil)
	for name, f := range map[string]hook.SDPA{"GoMLX": nil, "SDPA": count} {
		hook.Set(f)
		before := calls.Load()
		got, err := m.Embed(texts)
		if err != nil {
			t.Fatal(err)
		}
		if n := calls.Load() - before; f != nil && n != int64(6*12*len(texts)) {
			t.Errorf("%d calls of SDPA, want one for each head, layer and text", n)
		}
		if len(got) != len(want) {
			t.Fatalf("%d vectors, want %d", len(got), len(want))
		}
		worst := 0.0
		for i := range want {
			for j, x := range want[i] {
				worst = max(worst, math.Abs(float64(x)-float64(got[i][j])))
			}
		}
		t.Logf("%s: differs from attn's encoder by %.2g", name, worst)
		if !(worst <= 1e-5) {
			t.Errorf("%s: vectors differ from attn's encoder by %g, want at most 1e-5", name, worst)
		}
	}
}
