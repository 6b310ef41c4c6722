package born

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/nn"
	"github.com/born-ml/born/tensor"
)

// smollm2 loads SmolLM2-135M-Instruct with Born's loader. If the file is missing, the test is
// skipped.
func smollm2(t testing.TB, b *Backend) *llama.Model[*Backend] {
	t.Helper()
	folder := os.Getenv("ATTN_MODELS")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("NOT RUN: there is no folder for models: %v", err)
		}
		folder = filepath.Join(cache, "attn", "models")
	}
	path := filepath.Join(folder, "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: %s is missing, attn fetch downloads it", path)
	}
	m, err := llama.LoadGGUF(path, b, llama.WithAttentionFunc(Attention[*Backend](kernel.Exec{})))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSmolLM2 repairs what Born's loader reads wrong, which is said in README.md, and compares
// logits and greedy text with PyTorch's.
func TestSmolLM2(t *testing.T) {
	if testing.Short() {
		t.Skip("loading takes some seconds")
	}
	b := NewBackend(kernel.Exec{})
	m := smollm2(t, b)
	data, err := os.ReadFile("testdata/smollm2.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		IDs    []int32   `json:"ids"`
		TopIDs []int     `json:"top20_ids"`
		Top    []float32 `json:"top20"`
		Greedy []int32   `json:"greedy"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	difference := func(logits []float32) float64 {
		d := 0.0
		for i, id := range want.TopIDs {
			d = max(d, math.Abs(float64(logits[id]-want.Top[i])))
		}
		return d
	}
	if err := b.PackLlama(m); err != nil {
		t.Fatal(err)
	}
	if d := difference(last(m, b, want.IDs)); d < 1 {
		t.Errorf("logits of the model as Born loads it differ by %g: README.md says that it is read wrong", d)
	}
	repair(m)
	layers := LlamaLayers(m)
	if err := b.Pack(layers[:len(layers)-1]...); err != nil { // the head is not repaired
		t.Fatal(err)
	}

	cache := llama.NewModelCache(m.Config, 128, b)
	logits := forwardIDs(m, cache, want.IDs, 0)
	d := difference(logits)
	t.Logf("logits differ by %.2g", d)
	if !(d <= 3e-4) {
		t.Errorf("logits of the repaired model differ by %g, want at most 3e-4", d)
	}
	var got []int32
	want.Greedy = want.Greedy[:16]
	for i := range want.Greedy {
		got = append(got, argmax(logits))
		logits = forwardIDs(m, cache, got[i:], len(want.IDs)+i)
	}
	if !slices.Equal(got, want.Greedy) {
		t.Errorf("greedy text %v, want %v", got, want.Greedy)
	}
}

// last returns the logits after the last token of a text.
func last(m *llama.Model[*Backend], b *Backend, ids []int32) []float32 {
	return forwardIDs(m, llama.NewModelCache(m.Config, 128, b), ids, 0)
}

// forwardIDs reads tokens and returns the logits after the last one.
func forwardIDs(m *llama.Model[*Backend], cache *llama.ModelCache[*Backend], ids []int32, start int) []float32 {
	raw, err := tensor.NewRaw(tensor.Shape{1, len(ids)}, tensor.Int32, tensor.CPU)
	if err != nil {
		panic(err)
	}
	copy(raw.AsInt32(), ids)
	logits := m.Forward(raw, cache, start).AsFloat32()
	return logits[len(logits)-m.Config.VocabSize:]
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// repair puts the weights of a file with blocks of type Q4_1 in their right order.
func repair(m *llama.Model[*Backend]) {
	layers := LlamaLayers(m)
	for _, l := range layers[:len(layers)-1] { // the head shares its weights, which are Q8_0, with the embedding
		unweave(l.Weight().Tensor().Data())
	}
	for _, l := range m.Layers {
		unpermute(l.QProj, m.Config.NumHeads)
		unpermute(l.KProj, m.Config.NumKVHeads)
	}
}

// unweave undoes the first error: the lower halves of 16 bytes are weights 0 to 15 of a block
// and the upper ones weights 16 to 31. The loader takes them in turn.
func unweave(w []float32) {
	var block [32]float32
	for ; len(w) > 0; w = w[32:] {
		copy(block[:], w)
		for i := range 16 {
			w[i], w[i+16] = block[2*i], block[2*i+1]
		}
	}
}

// unpermute undoes the second error: for llama, rows of queries and keys lie in GGUF files so
// that rotary positions pair neighbours. Born pairs rows i and i+D/2.
func unpermute(l *nn.Linear[*Backend], heads int) {
	w, k, d := l.Weight().Tensor().Data(), l.InFeatures(), l.OutFeatures()/heads
	old := slices.Clone(w)
	for row := range l.OutFeatures() {
		head, i := row/d*d, row%d
		from := head + 2*(i%(d/2)) + i/(d/2)
		copy(w[row*k:][:k], old[from*k:])
	}
}

// BenchmarkSmolLM2 generates tokens, and packs all layers.
func BenchmarkSmolLM2(b *testing.B) {
	backend := NewBackend(kernel.Exec{Threads: 1})
	m := smollm2(b, backend)
	repair(m)
	run := func(name string) {
		b.Run(name, func(b *testing.B) {
			cache, n := llama.NewModelCache(m.Config, m.Config.MaxSeqLen, backend), 0
			for b.Loop() {
				forwardIDs(m, cache, []int32{28}, n)
				n++
			}
		})
	}
	run("attention")
	b.Run("PackLlama", func(b *testing.B) {
		for b.Loop() {
			if err := backend.PackLlama(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	run("both")
}
