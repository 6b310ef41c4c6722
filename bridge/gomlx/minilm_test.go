package gomlx_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/attn-go/attn/bridge/gomlx/internal/minilm"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/minilmtest"
)

// references is the folder of the texts.
const references = "../../models/testdata/minilm"

// models loads MiniLM for GoMLX, and for attn with one thread. If it is missing, the test is
// skipped.
func models(t testing.TB) (*minilm.Model, *encoder.Encoder) {
	t.Helper()
	m, err := minilm.Load(minilmtest.Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	return m, minilmtest.Load(t)
}

// TestMiniLM: the vectors of a padded batch are the same within 1e-5 with GoMLX's attention in
// plain Go, with SDPA in its place, and with attn's own encoder.
func TestMiniLM(t *testing.T) {
	m, e := models(t)
	n := 4
	if testing.Short() {
		n = 2
	}
	texts := minilmtest.WholeTexts(t, references, e, n)
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
