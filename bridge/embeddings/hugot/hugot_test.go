package hugot_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/bridge/embeddings/hugot"
	"github.com/attn-go/attn/bridge/embeddings/hugot/internal/export"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/minilmtest"
)

// references is the folder of the texts.
const references = "../../../models/testdata/minilm"

// models loads MiniLM for attn, with one thread, and for hugot. If it is missing, the test
// is skipped.
func models(t testing.TB) (*encoder.Encoder, *hugot.Model) {
	t.Helper()
	onnx := t.TempDir()
	if err := export.Folder(onnx, minilmtest.Folder(t)); err != nil {
		t.Fatal(err)
	}
	m, err := hugot.Load(t.Context(), onnx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return minilmtest.Load(t), m
}

// TestSame: the vectors of both are the same within 1e-5, alone and in a batch.
func TestSame(t *testing.T) {
	e, m := models(t)
	n := 12
	if testing.Short() {
		n = 4
	}
	passages := minilmtest.WholeTexts(t, references, e, n)
	want, err := m.CreateEmbedding(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.CreateEmbedding(t.Context(), passages[:1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Embed(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range want {
		for j, x := range got[i] {
			worst = max(worst, math.Abs(float64(x)-float64(want[i][j])))
		}
	}
	for j, x := range alone[0] {
		worst = max(worst, math.Abs(float64(x)-float64(got[0][j])))
	}
	t.Logf("%d vectors differ by %.2g", len(want), worst)
	if !(worst <= 1e-5) {
		t.Errorf("vectors differ by %g, want at most 1e-5", worst)
	}
}

// BenchmarkDocuments computes the embeddings of 8 passages, one by one and in a batch. The two
// take turns. Run it with GOMAXPROCS=1 for figures of one thread.
func BenchmarkDocuments(b *testing.B) {
	e, m := models(b)
	passages := minilmtest.WholeTexts(b, references, e, 8)
	for _, batch := range []int{1, 8} {
		for name, embed := range map[string]func([]string) error{
			"hugot": func(x []string) error { _, err := m.CreateEmbedding(b.Context(), x); return err },
			"attn":  func(x []string) error { _, err := e.Embed(b.Context(), x); return err },
		} {
			b.Run(map[int]string{1: "one by one/", 8: "batch/"}[batch]+name, func(b *testing.B) {
				for b.Loop() {
					for i := 0; i < len(passages); i += batch {
						if err := embed(passages[i : i+batch]); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(len(passages))*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			})
		}
	}
}
