package encoder

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder/berttest"
	"github.com/attn-go/attn/models/internal/race"
	"github.com/attn-go/attn/models/weights"
	"github.com/attn-go/attn/numeric"
)

// A small is a model of random weights, small enough for tests without real ones.
type small struct{ *berttest.Model }

// newSmall returns a model whose tensors' names begin with prefix.
func newSmall(prefix string) *small { return &small{berttest.New(prefix)} }

// write writes the folder of the model with weights of the given dtype.
func (s *small) write(t *testing.T, dtype string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := s.Write(dir, dtype); err != nil {
		t.Fatal(err)
	}
	return dir
}

func loadSmall(t *testing.T, s *small, dtype string) *Encoder {
	t.Helper()
	e, err := Load(s.write(t, dtype), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSmall compares a small model with float64, with both forms of GELU.
func TestSmall(t *testing.T) {
	for act, f := range map[string]func(x float64) float64{"gelu": gelu, "gelu_new": geluTanh, "gelu_pytorch_tanh": geluTanh} {
		s := newSmall("bert.")
		s.Config["hidden_act"] = act
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
	for _, x := range rounded.Tensors {
		for i, y := range x.Data {
			x.Data[i] = numeric.ToBF16(y).Float32()
		}
	}
	want = embed(t, loadSmall(t, rounded, "F32"), texts)
	for i, x := range embed(t, loadSmall(t, newSmall(""), "BF16"), texts) {
		if !equalBits(x, want[i]) {
			t.Errorf("BF16: text %d has other bits", i)
		}
	}
}

// TestMaxTokens expects the limit of sentence_bert_config.json, or else the tokenizer's, and no
// more than the positions.
func TestMaxTokens(t *testing.T) {
	const bert, tokens = "sentence_bert_config.json", "tokenizer_config.json"
	for _, c := range []struct {
		files map[string]string
		want  int
	}{
		{map[string]string{}, berttest.Positions},
		{map[string]string{bert: `{"max_seq_length": 8}`}, 8},
		{map[string]string{bert: `{"max_seq_length": 512}`}, berttest.Positions},
		{map[string]string{tokens: `{"model_max_length": 6}`}, 6},
		{map[string]string{tokens: `{"model_max_length": 512}`}, berttest.Positions},
		{map[string]string{tokens: `{"model_max_length": 6}`, bert: `{"max_seq_length": 8}`}, 8},
		{map[string]string{tokens: `{"model_max_length": 6}`, bert: `{"max_seq_length": null}`}, 6},
	} {
		s := newSmall("")
		s.Extra = c.files
		if e := loadSmall(t, s, "F32"); e.MaxTokens() != c.want || len(e.Tokens("a a a a a a a a a")) != c.want {
			t.Errorf("%v: limit %d and %d tokens, want %d", c.files, e.MaxTokens(), len(e.Tokens("a a a a a a a a a")), c.want)
		}
	}
}

// TestMaxTokensOfRotary: a model without a table of positions takes what max_seq_length says.
func TestMaxTokensOfRotary(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/nomic_bert-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sentence_bert_config.json"), []byte(`{"max_seq_length": 200}`), 0o666); err != nil {
		t.Fatal(err)
	}
	e, err := Load(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("the cat ", 200)
	if got := len(e.Tokens(text)); e.MaxTokens() != 200 || got != 200 {
		t.Errorf("limit %d and %d tokens, want 200", e.MaxTokens(), got)
	}
	if _, err := e.Embed(t.Context(), []string{text}); err != nil {
		t.Error(err)
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
	if got > 14 && !race.Enabled { // the result, the order of the texts, the sums of a pooling
		t.Errorf("%v allocations, want at most 14", got)
	}
}

// TestLoadName: Load finds a fetched model by the name that README.md gives it, or says where it
// looked.
func TestLoadName(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("ATTN_MODELS", folder)
	if _, err := Load("all-MiniLM-L6-v2", LoadOptions{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), "attn fetch") {
		t.Errorf("a model that is not fetched: %v", err)
	}
	if err := newSmall("").Write(filepath.Join(folder, weights.MiniLM), "F32"); err != nil {
		t.Fatal(err)
	}
	if _, err := Load("all-MiniLM-L6-v2", LoadOptions{}); err != nil {
		t.Error(err)
	}
}
