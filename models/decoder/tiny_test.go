package decoder

import (
	"math"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	_ "github.com/attn-go/attn/models/internal/testweights" // the flag -refs
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// The sizes of the tiny model.
const (
	tinyLayers, tinyWidth, tinyFFN       = tinyllama.Layers, tinyllama.Width, tinyllama.FFN
	tinyHeads, tinyKVHeads, tinyHeadSize = tinyllama.Heads, tinyllama.KVHeads, tinyllama.HeadSize
	tinyVocab, tinyContext               = tinyllama.Vocab, tinyllama.Context
)

// loadTiny parses a file and loads the model.
func loadTiny(f *tinyllama.File, o Options) (*Model, error) {
	file, err := gguf.New(f.Bytes())
	if err != nil {
		return nil, err
	}
	return New(file, o)
}

// tiny returns the tiny model.
func tiny(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := loadTiny(tinyllama.New(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// prompt returns n tokens.
func prompt(n, seed int) []int32 {
	f := &tinyllama.File{Random: uint64(seed)}
	ids := make([]int32, n)
	for i := range ids {
		f.Next()
		ids[i] = int32(f.Random >> 33 % tinyVocab)
	}
	return ids
}

func session(t testing.TB, m *Model, texts, tokens int) *Session {
	t.Helper()
	s, err := m.NewSession(texts, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forward is Session.Forward without an error.
func forward(t testing.TB, s *Session, steps ...Step) [][]float32 {
	t.Helper()
	logits, err := s.Forward(t.Context(), steps...)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// sameBits fails the test unless got is want.
func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d (row %d of %d numbers) is %v, want %v", what, i, i/tinyVocab, tinyVocab, got[i], want[i])
		}
	}
}
