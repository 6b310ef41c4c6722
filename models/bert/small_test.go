package bert

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A small is a model of random weights, small enough for tests without real ones.
type small struct {
	config  map[string]any
	tensors map[string]tensor
	vocab   []string
	extra   map[string]string // further files by their names
}

type tensor struct {
	shape []int
	data  []float32
}

const (
	smallWidth, smallInner, smallLayers, smallHeads = 24, 40, 2, 3
	smallPositions                                  = 10
)

// newSmall returns a model whose tensors' names begin with prefix.
func newSmall(prefix string) *small {
	s := &small{
		vocab: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##b", "##c"},
		config: map[string]any{
			"model_type": "bert", "hidden_size": smallWidth, "intermediate_size": smallInner, "num_hidden_layers": smallLayers,
			"num_attention_heads": smallHeads, "max_position_embeddings": smallPositions, "type_vocab_size": 2, "vocab_size": 9,
			"layer_norm_eps": 1e-12, "hidden_act": "gelu", "position_embedding_type": "absolute",
		},
		tensors: map[string]tensor{},
		extra:   map[string]string{"sentence_bert_config.json": `{"max_seq_length": 8}`},
	}
	r := rand.New(rand.NewPCG(5, 6))
	add := func(name string, shape ...int) {
		x := make([]float32, shape[0]*shape[len(shape)-1])
		if len(shape) == 1 {
			x = x[:shape[0]]
		}
		for i := range x {
			x[i] = numeric.ToF16(r.Float32() - 0.5).Float32() // so that 16 bits hold it
		}
		s.tensors[prefix+name] = tensor{shape, x}
	}
	norm := func(name string) { add(name+".weight", smallWidth); add(name+".bias", smallWidth) }
	dense := func(name string, n, k int) { add(name+".weight", n, k); add(name+".bias", n) }
	add("embeddings.word_embeddings.weight", 9, smallWidth)
	add("embeddings.position_embeddings.weight", smallPositions, smallWidth)
	add("embeddings.token_type_embeddings.weight", 2, smallWidth)
	norm("embeddings.LayerNorm")
	for i := range smallLayers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			dense(layer+"attention."+name, smallWidth, smallWidth)
		}
		norm(layer + "attention.output.LayerNorm")
		dense(layer+"intermediate.dense", smallInner, smallWidth)
		dense(layer+"output.dense", smallWidth, smallInner)
		norm(layer + "output.LayerNorm")
	}
	return s
}

// write writes the folder of the model with weights of the given dtype.
func (s *small) write(t *testing.T, dtype string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	config, err := json.Marshal(s.config)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"config.json": string(config), "vocab.txt": strings.Join(s.vocab, "\n") + "\n", "model.safetensors": s.safetensors(t, dtype),
	}
	for name, text := range s.extra {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *small) safetensors(t *testing.T, dtype string) string {
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, data := map[string]entry{}, []byte{}
	for name, x := range s.tensors {
		begin := len(data)
		for _, y := range x.data {
			switch dtype {
			case "F32":
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(y))
			case "F16":
				data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToF16(y)))
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToBF16(y)))
			case "I32":
				data = binary.LittleEndian.AppendUint32(data, uint32(y))
			}
		}
		header[name] = entry{dtype, x.shape, [2]int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + string(text) + string(data)
}

func loadSmall(t *testing.T, s *small, dtype string) *Encoder {
	t.Helper()
	e, err := Load(s.write(t, dtype))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSmall compares a small model with float64, with both forms of GELU.
func TestSmall(t *testing.T) {
	for act, f := range map[string]func(x float64) float64{"gelu": gelu, "gelu_new": geluTanh, "gelu_pytorch_tanh": geluTanh} {
		s := newSmall("bert.")
		s.config["hidden_act"] = act
		e := loadSmall(t, s, "F32")
		for _, text := range []string{"", "a", "abc c!", "a b c a b c a b c a b c"} {
			ids := e.Tokens(text)
			got, err := e.EmbedTokens(t.Context(), [][]int32{ids})
			if err != nil {
				t.Fatal(err)
			}
			want := s.embed("bert.", ids, f)
			for i := range want {
				if d := math.Abs(float64(got[0][i]) - want[i]); !(d < 1e-6) {
					t.Errorf("%s: %q: element %d is %v, want %v", act, text, i, got[0][i], want[i])
				}
			}
		}
	}
}

// TestNames expects the same bits whether names have a prefix or not, and with weights of 16
// bits that hold the same numbers.
func TestNames(t *testing.T) {
	texts := []string{"a", "cb ba", "b c"}
	want := embed(t, loadSmall(t, newSmall("bert."), "F32"), texts)
	for _, dtype := range []string{"F32", "F16"} {
		for i, x := range embed(t, loadSmall(t, newSmall(""), dtype), texts) {
			if !equalBits(x, want[i]) {
				t.Errorf("%s without a prefix: text %d has other bits", dtype, i)
			}
		}
	}
	rounded := newSmall("")
	for _, x := range rounded.tensors {
		for i, y := range x.data {
			x.data[i] = numeric.ToBF16(y).Float32()
		}
	}
	want = embed(t, loadSmall(t, rounded, "F32"), texts)
	for i, x := range embed(t, loadSmall(t, newSmall(""), "BF16"), texts) {
		if !equalBits(x, want[i]) {
			t.Errorf("BF16: text %d has other bits", i)
		}
	}
}

// TestMaxTokens expects the limit of sentence_bert_config.json, or that of the positions.
func TestMaxTokens(t *testing.T) {
	s := newSmall("")
	if e := loadSmall(t, s, "F32"); e.MaxTokens() != 8 || len(e.Tokens("a a a a a a a a a")) != 8 {
		t.Errorf("limit %d and %d tokens, want 8", e.MaxTokens(), len(e.Tokens("a a a a a a a a a")))
	}
	delete(s.extra, "sentence_bert_config.json")
	if e := loadSmall(t, s, "F32"); e.MaxTokens() != smallPositions {
		t.Errorf("limit %d, want %d", e.MaxTokens(), smallPositions)
	}
}

// TestAllocations expects that a call allocates nothing for its tokens and layers.
func TestAllocations(t *testing.T) {
	e := loadSmall(t, newSmall(""), "F32").With(Options{Exec: kernel.Exec{Threads: 1}})
	ids := make([][]int32, 100)
	for i := range ids {
		ids[i] = []int32{2, 4, 5, 6, 4, 3}
	}
	got := testing.AllocsPerRun(20, func() {
		if _, err := e.EmbedTokens(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
	})
	if got > 12 && !testutil.Race { // the result, the order of the texts
		t.Errorf("%v allocations, want at most 12", got)
	}
}
