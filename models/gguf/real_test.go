package gguf

import (
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/safetensors"
)

// openReal opens the file of the real model until the test ends.
func openReal(t testing.TB) *File {
	t.Helper()
	f, err := Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestRealMetadata: the real file has the metadata that its reference describes.
func TestRealMetadata(t *testing.T) {
	f := openReal(t)
	if f.version != 3 || f.alignment != 32 || f.data != 1_785_664 || len(f.Tensors()) != 272 || len(f.Keys()) != 33 {
		t.Errorf("version %d, alignment %d, data at %d, %d tensors, %d keys", f.version, f.alignment, f.data, len(f.Tensors()), len(f.Keys()))
	}
	for key, want := range map[string]any{
		"general.architecture":                   "llama",
		"general.file_type":                      uint32(3),
		"general.quantization_version":           uint32(2),
		"general.name":                           "Smollm2 135M 8k Lc100K Mix1 Ep2",
		"general.basename":                       "smollm2",
		"general.size_label":                     "135M",
		"general.finetune":                       "8k-lc100k-mix1-ep2",
		"general.organization":                   "HuggingFaceTB",
		"general.license":                        "apache-2.0",
		"general.languages":                      []string{"en"},
		"llama.block_count":                      uint32(30),
		"llama.context_length":                   uint32(8192),
		"llama.embedding_length":                 uint32(576),
		"llama.feed_forward_length":              uint32(1536),
		"llama.attention.head_count":             uint32(9),
		"llama.attention.head_count_kv":          uint32(3),
		"llama.rope.dimension_count":             uint32(64),
		"llama.rope.freq_base":                   float32(100000),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
		"llama.vocab_size":                       uint32(49152),
		"tokenizer.ggml.model":                   "gpt2",
		"tokenizer.ggml.pre":                     "smollm",
		"tokenizer.ggml.bos_token_id":            uint32(1),
		"tokenizer.ggml.eos_token_id":            uint32(2),
		"tokenizer.ggml.unknown_token_id":        uint32(0),
		"tokenizer.ggml.padding_token_id":        uint32(2),
		"tokenizer.ggml.add_bos_token":           false,
		"tokenizer.ggml.add_space_prefix":        false,
	} {
		if got, ok := f.Value(key); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, %v, want %#v", key, got, ok, want)
		}
	}
	template, err := f.String("tokenizer.chat_template")
	if err != nil || !strings.HasPrefix(template, "{% for message in messages %}") || !strings.HasSuffix(template, "{% endif %}") {
		t.Errorf("chat template %q, %v", template, err)
	}
}

// TestRealOpen: where files are mapped, opening the real file of 98 MB takes little more memory
// than its vocabulary.
func TestRealOpen(t *testing.T) {
	switch runtime.GOOS {
	case "aix", "illumos", "js", "plan9", "solaris", "wasip1", "windows":
		t.Skip("NOT RUN: this system reads files")
	}
	before := allocated()
	openReal(t)
	if n := allocated() - before; n > 3<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

// TestRealVocabulary: the real file has the vocabulary that its reference describes.
func TestRealVocabulary(t *testing.T) {
	f := openReal(t)
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	if err != nil || len(tokens) != 49152 || !slices.Equal(tokens[:3], []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
		t.Errorf("%d tokens %q, %v", len(tokens), tokens[:min(3, len(tokens))], err)
	}
	merges, err := f.Strings("tokenizer.ggml.merges")
	if err != nil || len(merges) != 48900 || merges[0] != "Ġ t" {
		t.Errorf("%d merges %q, %v", len(merges), merges[:min(1, len(merges))], err)
	}
	types, err := f.Ints("tokenizer.ggml.token_type")
	if err != nil || len(types) != 49152 {
		t.Fatalf("%d token types, %v", len(types), err)
	}
	for id, got := range types {
		want := int64(1)
		if id <= 16 {
			want = 3
		}
		if got != want {
			t.Errorf("token %d has type %d, want %d", id, got, want)
		}
	}
}

// TestRealTensors: the real file has the tensors that its reference describes, and no others.
func TestRealTensors(t *testing.T) {
	want := map[string]Tensor{
		"token_embd.weight":  {Type: Q8_0, Shape: []int{49152, 576}},
		"output_norm.weight": {Type: F32, Shape: []int{576}},
	}
	for i := range 30 {
		block := "blk." + strconv.Itoa(i) + "."
		for name, shape := range map[string][]int{
			"attn_q": {576, 576}, "attn_k": {192, 576}, "attn_v": {192, 576}, "attn_output": {576, 576},
			"ffn_gate": {1536, 576}, "ffn_up": {1536, 576}, "ffn_down": {576, 1536},
		} {
			want[block+name+".weight"] = Tensor{Type: Q4_1, Shape: shape}
		}
		want[block+"attn_norm.weight"] = Tensor{Type: F32, Shape: []int{576}}
		want[block+"ffn_norm.weight"] = Tensor{Type: F32, Shape: []int{576}}
	}
	for _, got := range openReal(t).Tensors() {
		w, ok := want[got.Name]
		if !ok || got.Type != w.Type || !slices.Equal(got.Shape, w.Shape) {
			t.Errorf("%s: %s %d, want %s %d", got.Name, got.Type, got.Shape, w.Type, w.Shape)
		}
		delete(want, got.Name)
	}
	if len(want) > 0 {
		t.Errorf("no tensors %q", slices.Sorted(maps.Keys(want)))
	}
}

// TestRealRows: rows of the real tensors are those that the gguf package of the ggml project
// makes, to the bit. tensors.safetensors calls them weight.NAME.ROW.
func TestRealRows(t *testing.T) {
	f := openReal(t)
	refs, err := safetensors.Open("../testdata/smollm2/tensors.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer refs.Close()
	rows := 0
	for _, key := range refs.Names() {
		name, ok := strings.CutPrefix(key, "weight.")
		if !ok {
			continue
		}
		rows++
		dot := strings.LastIndexByte(name, '.')
		row, err := strconv.Atoi(name[dot+1:])
		if err != nil {
			t.Fatal(err)
		}
		want, err := refs.Float32(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := realRow(t, f, name[:dot], row); !slices.EqualFunc(got, want, sameBits) {
			t.Errorf("%s differs", key)
		}
	}
	if rows == 0 {
		t.Error("the references have no rows")
	}
}

func realRow(t *testing.T, f *File, name string, row int) []float32 {
	t.Helper()
	tensor, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("no tensor %q", name)
	}
	x, err := tensor.Float32()
	if err != nil {
		t.Fatal(err)
	}
	width := tensor.Shape[len(tensor.Shape)-1]
	return x[row*width:][:width]
}

func sameBits(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
