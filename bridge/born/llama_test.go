package born

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/bridge/born/internal/bytemodel"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/born-ml/born/backend/cpu"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/tensor"
)

// The byte model, and what PyTorch computes with it.
const (
	modelPath  = "../../models/gobytes/data/gobytes.safetensors"
	logitsPath = "../../models/gobytes/testdata/logits.safetensors"
	greedyPath = "../../models/gobytes/testdata/greedy.json"
)

// A reader is a model that reads a text.
type reader interface {
	Read([]byte) ([]float32, error)
}

// variant returns a function that returns empty texts of the byte model on a backend.
func variant[B tensor.Backend](t testing.TB, b B, opts ...llama.Option[B]) (*llama.Model[B], func() reader) {
	t.Helper()
	m, err := bytemodel.Load(modelPath, b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m, func() reader { return bytemodel.NewText(m, b) }
}

// variants returns the byte model on Born alone, with attention, and with both.
func variants(t testing.TB, exec kernel.Exec) map[string]func() reader {
	t.Helper()
	_, alone := variant(t, host)
	_, attention := variant(t, host, llama.WithAttentionFunc(Attention[*cpu.Backend](exec)))
	b := NewBackend(exec)
	m, both := variant(t, b, llama.WithAttentionFunc(Attention[*Backend](exec)))
	if err := b.PackLlama(m); err != nil {
		t.Fatal(err)
	}
	return map[string]func() reader{"born": alone, "attention": attention, "both": both}
}

// read lets a model read a text and returns the logits.
func read(t testing.TB, r reader, text []byte) []float32 {
	t.Helper()
	logits, err := r.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// worst returns the largest difference of two slices.
func worst(x, y []float32) float64 {
	d := 0.0
	for i, v := range x {
		d = max(d, math.Abs(float64(v)-float64(y[i])))
	}
	return d
}

// TestLogits compares the logits of 300 bytes with Born's own and with PyTorch's. They are
// up to 20.
func TestLogits(t *testing.T) {
	f, err := safetensors.Open(logitsPath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tokens, err := f.Bytes("tokens")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := f.Float32("logits")
	if err != nil {
		t.Fatal(err)
	}
	tokens = tokens[:300]
	all := variants(t, kernel.Exec{})
	alone := read(t, all["born"](), tokens)
	t.Logf("Born: PyTorch's logits within %.2g", worst(alone, reference))
	for _, name := range []string{"attention", "both"} {
		got := read(t, all[name](), tokens)
		t.Logf("%s: Born's logits within %.2g, PyTorch's within %.2g", name, worst(got, alone), worst(got, reference))
		if d := max(worst(got, alone), worst(got, reference)); !(d <= 1e-4) {
			t.Errorf("%s: logits differ by %g, want at most 1e-4", name, d)
		}
	}
}

// TestChunks: a prompt that is read in chunks gives the logits of one that is read at once.
// Born's own attention panics there, as its mask has another shape than the scores.
func TestChunks(t *testing.T) {
	all := variants(t, kernel.Exec{})
	text := []byte("func (r *Reader) Read(p []byte) (n int, err error) {")
	want := read(t, all["born"](), text)
	for _, name := range []string{"attention", "both"} {
		r := all[name]()
		var got []float32
		for _, cut := range [][]byte{text[:10], text[10:11], text[11:40], text[40:]} {
			got = append(got, read(t, r, cut)...)
		}
		if d := worst(got, want); len(got) != len(want) || !(d <= 1e-4) {
			t.Errorf("%s: logits differ by %g, want at most 1e-4", name, d)
		}
	}
	r := all["born"]()
	read(t, r, text[:10])
	defer func() {
		if recover() == nil {
			t.Error("Born's attention reads chunks: README.md says that it does not")
		}
	}()
	read(t, r, text[10:20])
}

// TestGreedy compares the text that greedy decoding appends with PyTorch's.
func TestGreedy(t *testing.T) {
	data, err := os.ReadFile(greedyPath)
	if err != nil {
		t.Fatal(err)
	}
	var texts []struct{ Prompt, Appended string }
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	for name, empty := range variants(t, kernel.Exec{}) {
		for _, want := range texts {
			want.Appended = want.Appended[:map[string]int{"born": 4, "attention": 12, "both": 240}[name]] // as fast as each is
			r, got := empty(), ""
			for next := []byte(want.Prompt); len(got) < len(want.Appended); {
				next = []byte{bytemodel.Greedy(read(t, r, next))}
				got += string(next)
			}
			if got != want.Appended {
				t.Errorf("%s: after %q comes\n%q, want\n%q", name, want.Prompt, got, want.Appended)
			}
		}
	}
}

// BenchmarkPrompt reads prompts at once.
func BenchmarkPrompt(b *testing.B) {
	text, err := os.ReadFile("attention.go")
	if err != nil {
		b.Fatal(err)
	}
	all := variants(b, kernel.Exec{Threads: 1})
	for _, n := range []int{64, 480} {
		for _, name := range []string{"born", "attention", "both"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					read(b, all[name](), text[:n])
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// BenchmarkGenerate appends 200 bytes to a prompt of 40.
func BenchmarkGenerate(b *testing.B) {
	const n = 200
	all := variants(b, kernel.Exec{Threads: 1})
	for _, name := range []string{"born", "attention", "both"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r := all[name]()
				logits := read(b, r, []byte("// Package strconv implements conversions"))
				b.StartTimer()
				for range n {
					logits = read(b, r, []byte{bytemodel.Greedy(logits)})
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
