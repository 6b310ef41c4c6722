package llama

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	_ "github.com/attn-go/attn/models/internal/weights" // the flag -refs
	"github.com/attn-go/attn/numeric"
)

// The sizes of the tiny model: random weights, and all that real models have.
const (
	tinyLayers, tinyWidth, tinyFFN, tinyVocab = 3, 64, 96, 211
	tinyHeads, tinyKVHeads, tinyHeadSize      = 4, 2, 16
	tinyContext                               = 700
)

// A tinyFile builds the file of a tiny model.
type tinyFile struct {
	ggufwriter.File
	random uint64
	of     func(name string) gguf.Type // of matrices; nil means F32
}

// newTinyFile returns a file with all tensors, the matrices of the types that of says.
func newTinyFile(of func(name string) gguf.Type) *tinyFile {
	f := &tinyFile{of: of, random: 1}
	f.Metadata = []ggufwriter.Entry{
		{Key: "general.architecture", Value: "llama"},
		{Key: "llama.block_count", Value: uint32(tinyLayers)},
		{Key: "llama.context_length", Value: uint32(tinyContext)},
		{Key: "llama.embedding_length", Value: uint32(tinyWidth)},
		{Key: "llama.feed_forward_length", Value: uint32(tinyFFN)},
		{Key: "llama.attention.head_count", Value: uint32(tinyHeads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(tinyKVHeads)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: "llama.rope.freq_base", Value: float32(1000)},
		{Key: "llama.vocab_size", Value: uint32(tinyVocab)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
	}
	f.matrix("token_embd.weight", tinyVocab, tinyWidth)
	f.vector("output_norm.weight", tinyWidth)
	for i := range tinyLayers {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
		f.vector(at("attn_norm"), tinyWidth)
		f.vector(at("ffn_norm"), tinyWidth)
		f.matrix(at("attn_q"), tinyHeads*tinyHeadSize, tinyWidth)
		f.matrix(at("attn_k"), tinyKVHeads*tinyHeadSize, tinyWidth)
		f.matrix(at("attn_v"), tinyKVHeads*tinyHeadSize, tinyWidth)
		f.matrix(at("attn_output"), tinyWidth, tinyHeads*tinyHeadSize)
		f.matrix(at("ffn_gate"), tinyFFN, tinyWidth)
		f.matrix(at("ffn_up"), tinyFFN, tinyWidth)
		f.matrix(at("ffn_down"), tinyWidth, tinyFFN)
	}
	return f
}

// next returns a random number from -1 to below 1 (Knuth's generator).
func (f *tinyFile) next() float32 {
	f.random = f.random*6364136223846793005 + 1442695040888963407
	return float32(int32(f.random>>40)-1<<23) * 0x1p-23
}

// vector adds numbers around 1.
func (f *tinyFile) vector(name string, n int) {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1 + float32(f.next()*0.25)
	}
	f.AddFloats(name, x, n)
}

// matrix adds random weights of the type that the file wants.
func (f *tinyFile) matrix(name string, rows, cols int) {
	kind := gguf.F32
	if f.of != nil {
		kind = f.of(name)
	}
	if kind != gguf.F32 {
		f.Tensors = append(f.Tensors, gguf.Tensor{Name: name, Type: kind, Shape: []int{rows, cols}, Data: f.packed(kind, rows*cols)})
		return
	}
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(f.next() * 0.3)
	}
	f.AddFloats(name, x, rows, cols)
}

// packed returns n random numbers of a type.
func (f *tinyFile) packed(kind gguf.Type, n int) (data []byte) {
	half := func(x float32) { data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToF16(x))) }
	noise := func(n int) {
		for range n {
			data = append(data, byte(int32(f.next()*128)))
		}
	}
	switch kind {
	case gguf.F16:
		for range n {
			half(f.next() * 0.3)
		}
	case gguf.BF16:
		for range n {
			data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToBF16(f.next()*0.3)))
		}
	case gguf.Q8_0:
		for range n / 32 {
			half(0.002 + float32(f.next()*0.001))
			noise(32)
		}
	case gguf.Q4_0:
		for range n / 32 {
			half(0.03 + float32(f.next()*0.01))
			noise(16)
		}
	case gguf.Q4_1:
		for range n / 32 {
			half(0.03 + float32(f.next()*0.01))
			half(-0.2 + float32(f.next()*0.05))
			noise(16)
		}
	case gguf.Q6_K: // for blocks of 256
		for range n / 256 {
			noise(128 + 64 + 16)
			half(0.0002 + float32(f.next()*0.0001))
		}
	default:
		panic(fmt.Sprintf("no random weights of type %v", kind))
	}
	return data
}

// load parses the file and loads the model.
func (f *tinyFile) load(o Options) (*Model, error) {
	file, err := gguf.New(f.Bytes())
	if err != nil {
		return nil, err
	}
	return New(file, o)
}

// tiny returns the tiny model.
func tiny(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := newTinyFile(nil).load(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// prompt returns n tokens.
func prompt(n, seed int) []int32 {
	f := &tinyFile{random: uint64(seed)}
	ids := make([]int32, n)
	for i := range ids {
		f.next()
		ids[i] = int32(f.random >> 33 % tinyVocab)
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

var cacheTypes = []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8}
