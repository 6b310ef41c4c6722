package decoder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// variants are files with what a Llama-type model may have.
var variants = []struct {
	name    string
	of      func(name string) gguf.Type
	change  func(f *tinyllama.File)
	factors func(i int) float64 // that divide the frequencies; nil means 1
}{
	{name: "plain"},
	{name: "F16", of: only(gguf.F16, "")},
	{name: "BF16", of: only(gguf.BF16, "")},
	{name: "Q8_0", of: only(gguf.Q8_0, "")},
	{name: "Q4_0", of: only(gguf.Q4_0, "")},
	{name: "Q4_1", of: only(gguf.Q4_1, "")},
	{name: "NVFP4", of: only(gguf.NVFP4, "attn_")},
	{name: "values of another type", of: only(gguf.F16, "attn_v")},
	{name: "output matrix", change: func(f *tinyllama.File) { f.Matrix("output.weight", tinyVocab, tinyWidth) }},
	{name: "biases", change: func(f *tinyllama.File) {
		for name, n := range map[string]int{
			"0.attn_q": tinyHeads * tinyHeadSize, "0.attn_k": tinyKVHeads * tinyHeadSize, "0.attn_v": tinyKVHeads * tinyHeadSize,
			"1.attn_v": tinyKVHeads * tinyHeadSize, "1.attn_output": tinyWidth, "2.ffn_gate": tinyFFN, "2.ffn_down": tinyWidth,
		} {
			f.Vector("blk."+name+".bias", n)
		}
	}},
	{name: "linear scaling", change: func(f *tinyllama.File) {
		f.Set("llama.rope.scaling.type", "linear")
		f.Set("llama.rope.scaling.factor", float32(4))
	}, factors: func(int) float64 { return 4 }},
	{name: "older linear scaling", change: func(f *tinyllama.File) { f.Set("llama.rope.scale_linear", float32(2)) }, factors: func(int) float64 { return 2 }},
	{name: "no scaling", change: func(f *tinyllama.File) {
		f.Set("llama.rope.scaling.type", "none")
		f.Set("llama.expert_count", uint32(0))
	}},
	{name: "factors of frequencies", change: func(f *tinyllama.File) {
		f.AddFloats("rope_freqs.weight", []float32{1, 1, 1.5, 2, 3, 8, 8, 8}, 8)
	}, factors: func(i int) float64 { return []float64{1, 1, 1.5, 2, 3, 8, 8, 8}[i] }},
	{name: "half of a head is rotated", change: func(f *tinyllama.File) { f.Set("llama.rope.dimension_count", uint32(8)) }},
	{name: "heads of another size", change: func(f *tinyllama.File) {
		f.Set("llama.attention.head_count", uint32(8))
		f.Set("llama.attention.head_count_kv", uint32(4))
		f.Set("llama.attention.key_length", uint32(8))
		f.Set("llama.attention.value_length", uint32(8))
	}},
	{name: "numbers of each layer", change: func(f *tinyllama.File) {
		f.Set("llama.attention.head_count", []int32{4, 4, 4})
		f.Set("llama.attention.head_count_kv", []int32{4, 4, 4})
		f.Set("llama.feed_forward_length", []int32{96, 96, 96})
		for i := range tinyLayers {
			for _, name := range []string{"attn_k", "attn_v"} {
				f.Remove(fmt.Sprintf("blk.%d.%s.weight", i, name))
				f.Matrix(fmt.Sprintf("blk.%d.%s.weight", i, name), tinyHeads*tinyHeadSize, tinyWidth)
			}
		}
	}},
	{name: "another base", change: func(f *tinyllama.File) { f.Set("llama.rope.freq_base", nil) }},
}

// only returns a function that names a type for tensors whose names contain a text, and F32
// for others.
func only(kind gguf.Type, text string) func(string) gguf.Type {
	return func(name string) gguf.Type {
		if strings.Contains(name, text) {
			return kind
		}
		return gguf.F32
	}
}

// All variants give the logits of the formulas.
func TestVariants(t *testing.T) {
	seen := map[string]string{}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			file := tinyllama.New(v.of)
			if v.change != nil {
				v.change(file)
			}
			f, err := gguf.New(file.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			m, err := New(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := &plain{t: t, f: f, c: m.Config(), read: map[string][]float32{}}
			for i := range tinyHeadSize / 2 {
				factor := 1.0
				if v.factors != nil {
					factor = v.factors(i)
				}
				p.factors = append(p.factors, factor)
			}
			s := session(t, m, 1, 30)
			got, worst := forward(t, s, Step{Text: s.NewText(), Tokens: prompt(30, 4), Logits: LogitsAll})[0], 0.0
			for i, want := range p.logits(prompt(30, 4)) {
				worst = max(worst, math.Abs(float64(got[i])-want))
			}
			if !(worst < 1e-4) {
				t.Errorf("logits differ by %v from the formulas", worst)
			}
			if other, ok := seen[hash(got)]; ok && v.name != "no scaling" {
				t.Errorf("the logits are those of %q", other)
			}
			seen[hash(got)] = v.name
		})
	}
}

// Layers keep quantized weights as they are, and their weights equal the tensors'.
func TestQuantizedTypes(t *testing.T) {
	const rows, k = 20, 512
	for kind := range gguf.Type(64) {
		format, ok := kind.Format()
		if !ok {
			continue
		}
		w := gguf.Tensor{Name: "w.weight", Type: kind, Shape: []int{rows, k}, Data: make([]byte, kind.Size(rows*k))}
		for i := range w.Data {
			w.Data[i] = byte(i * i % 59) // at any place of a block, two of them are a number below 1
			if kind == gguf.MXFP4 && i%17 == 0 {
				w.Data[i] = 80 + byte(i%70) // scales that are binary16, and others
			}
		}
		want, err := w.Float32()
		if err != nil {
			t.Fatal(err)
		}
		file, err := gguf.New((&ggufwriter.File{Tensors: []gguf.Tensor{w}}).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		p := fileLoader(file, "").Linear(tensors.Inner, tensors.Part{Name: "w", Shape: []int{rows, k}})
		if len(p.Parts) != 1 || p.Parts[0].Format() != format {
			t.Fatalf("%v: %d layers, want one of this format", kind, len(p.Parts))
		}
		got, all := make([]float32, rows*k), make([]int32, rows)
		for i := range all {
			all[i] = int32(i)
		}
		if err := p.Parts[0].Rows(linear.DenseMatrix(got, rows, k), all, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, x := range want {
			if got[i] != x {
				t.Fatalf("%v: weight [%d %d] is %v, want %v", kind, i/k, i%k, got[i], x)
			}
		}
	}
}

// Weights of NVFP4 are multiplied by the scale of their tensor, or of their expert.
func TestScales(t *testing.T) {
	random := tinyllama.New(func(string) gguf.Type { return gguf.NVFP4 })
	f := new(tinyllama.File)
	add := func(name string, scales []float32, shape ...int) {
		w := random.Tensors[slices.IndexFunc(random.Tensors, func(t gguf.Tensor) bool { return t.Name == "blk.0.attn_q.weight" })]
		n := 1
		for _, x := range shape {
			n *= x
		}
		w.Name, w.Shape, w.Data = name+".weight", shape, w.Data[:n/64*36]
		f.Tensors = append(f.Tensors, w)
		if scales != nil {
			f.AddFloats(name+".scale", scales, len(scales))
			f.AddFloats(name+".input_scale", []float32{3}, 1)
		}
	}
	add("a", []float32{0.5}, 2, 64)
	add("b", nil, 1, 64)
	add("c", []float32{0}, 3, 64)
	add("d", []float32{2, -4}, 2, 1, 64)
	file, err := gguf.Open(f.Write(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l := fileLoader(file, "")
	matrix := func(name string, n int) tensors.Part { return tensors.Part{Name: name, Shape: []int{n, 64}} }
	p := l.Linear(tensors.Inner, matrix("a", 2), matrix("b", 1), matrix("c", 3))
	expert := func(e int) tensors.Part {
		return tensors.Part{Name: "d", Shape: []int{2, 1, 64}, First: e, Rows: 1}
	}
	q := l.Linear(tensors.Inner, expert(0), expert(1))
	if err := l.Done(); err != nil || len(p.Parts) != 1 {
		t.Fatal(err, len(p.Parts))
	}
	for i, scale := range []float32{0.5, 0.5, 1, 0, 0, 0, 2, -4} {
		layer, row, name, at := p.Parts[0], int32(i), "a", i
		switch {
		case i >= 6:
			layer, row, name, at = q.Parts[0], int32(i-6), "d", i-6
		case i >= 3:
			name, at = "c", i-3
		case i == 2:
			name, at = "b", 0
		}
		tensor, _ := file.Tensor(name + ".weight")
		want, err := tensor.Float32()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 64)
		if err := layer.Rows(linear.DenseMatrix(got, 1, 64), []int32{row}, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for k, x := range want[64*at:][:64] {
			if got[k] != x*scale {
				t.Fatalf("row %d of %s, input %d: %v, want %v", at, name, k, got[k], x*scale)
			}
		}
	}
}

// tensorError is the error of a tensor.
func tensorError(name, got, want string) error {
	return &kernel.Error{Where: fmt.Sprintf("tensor %q", name), Got: got, Want: want}
}

// Bad files get typed errors that say what and where.
func TestLoadErrors(t *testing.T) {
	const scaled = "no such tensor, as frequencies are scaled already"
	const numbersOf, unknownTensor = "F32, F16, BF16 or blocks ", "only tensors that this architecture is known to have"
	key := func(name, found, want string) error { return gguf.KeyError(name, found, want) }
	set := func(name string, value any) func(*tinyllama.File) {
		return func(f *tinyllama.File) { f.Set(name, value) }
	}
	for _, x := range []struct {
		name   string
		change func(f *tinyllama.File)
		want   error // nil: only that there is a *kernel.Error
	}{
		{"architecture", set("general.architecture", "qwen9"), key("general.architecture", `"qwen9"`, "one of "+strings.Join(settings.Decoders.Files(), ", "))},
		{"no architecture", set("general.architecture", nil), nil},
		{"no layers", set("llama.block_count", nil), nil},
		{"layers of text", set("llama.block_count", "three"), nil},
		{"zero layers", set("llama.block_count", uint32(0)), key("llama.block_count", "0", "1 to 65536")},
		{"too many layers", set("llama.block_count", uint32(70000)), key("llama.block_count", "70000", "1 to 65536")},
		{"more layers than tensors", set("llama.block_count", uint32(4)), tensorError("blk.3.attn_norm.weight", "nothing", numbersOf+"[64]")},
		{"fewer layers", set("llama.block_count", uint32(2)), tensorError("blk.2.attn_k.weight", "F32 [32 64] and 8 more tensors", unknownTensor)},
		{"width", set("llama.embedding_length", uint32(32)), tensorError("token_embd.weight", "F32 [211 64]", numbersOf+"[211 32]")},
		{"huge width", set("llama.embedding_length", uint32(1<<31)), key("llama.embedding_length", "2147483648", "1 to 16777216")},
		{"heads", set("llama.attention.head_count_kv", uint32(3)), key("llama.attention.head_count_kv", "3", "a divisor of the 4 query heads")},
		{"odd heads", set("llama.attention.head_count", uint32(6)), key("llama.attention.head_count", "6", "a divisor of the width 64")},
		{"huge heads", set("llama.attention.key_length", uint32(1<<24)), key("llama.attention.key_length", "16777216", "at most 16777216 for all 4 heads together")},
		{"values", set("llama.attention.value_length", uint32(8)), key("llama.attention.value_length", "8", "16; others are not supported")},
		{"rotated", set("llama.rope.dimension_count", uint32(18)), key("llama.rope.dimension_count", "18", "an even number up to the head size 16")},
		{"rotated, odd", set("llama.rope.dimension_count", uint32(7)), key("llama.rope.dimension_count", "7", "an even number up to the head size 16")},
		{"base", set("llama.rope.freq_base", float32(0.5)), key("llama.rope.freq_base", "0.5", "1 to 1.8446744073709552e+19")},
		{"base NaN", set("llama.rope.freq_base", float32(math.NaN())), key("llama.rope.freq_base", "NaN", "1 to 1.8446744073709552e+19")},
		{"scaling", set("llama.rope.scaling.type", "dynamic"), key("llama.rope.scaling.type", `"dynamic"`, `"none", "linear", "yarn" or "longrope"; others are not supported`)},
		{"epsilon", set("llama.attention.layer_norm_rms_epsilon", float32(-1)), key("llama.attention.layer_norm_rms_epsilon", "-1", "0 to 1")},
		{"experts", set("llama.expert_count", uint32(8)), key("llama.expert_used_count", "nothing", "an integer that fits an int64")},
		{"residual scale", set("llama.residual_scale", float32(2)), key("llama.residual_scale", "2", "0 or 1; others are not supported")},
		{"unknown key", set("llama.mystery", false), key("llama.mystery", "false", "no such key: what it changes is not known")},
		{"not causal", set("llama.attention.causal", false), key("llama.attention.causal", "false, a model of embeddings", "one that generates text; LoadEmbedder is for this one")},
		{"not causal in a window", func(f *tinyllama.File) {
			f.Set("llama.attention.causal", false)
			f.Set("llama.attention.sliding_window", uint32(8))
		}, key("llama.attention.sliding_window", "8", "none with llama.attention.causal false")},
		{"heads of layers", set("llama.attention.head_count_kv", []int32{2, 2, 1}), key("llama.attention.head_count_kv", "1 in layer 2 and 2 in layer 0", "the same in all layers; others are not supported")},
		{"heads of fewer layers", set("llama.attention.head_count_kv", []int32{2, 2}), key("llama.attention.head_count_kv", "2 numbers", "one for each of the 3 layers")},
		{"networks of layers", set("llama.feed_forward_length", []int32{96, 48, 96}), key("llama.feed_forward_length", "48 in layer 1 and 96 in layer 0", "the same in all layers; others are not supported")},
		{"pattern", set("llama.attention.sliding_window_pattern", []int32{1, 0}), key("llama.attention.sliding_window_pattern", "2 values", "one for each of the 3 layers")},
		{"pattern of numbers", set("llama.attention.sliding_window_pattern", []int32{1, 0, 2}), key("llama.attention.sliding_window_pattern", "a list with 2", "a list of booleans, or of 0 and 1")},
		{"vocabulary", set("llama.vocab_size", uint32(200)), key("llama.vocab_size", "200", `211, the rows of "token_embd.weight"`)},
		{"end", set("tokenizer.ggml.eos_token_id", uint32(211)), key("tokenizer.ggml.eos_token_id", "211", "0 to 210")},
		{"no embedding", func(f *tinyllama.File) { f.Remove("token_embd.weight") }, tensorError("token_embd.weight", "nothing", "[vocabulary, width] with 1 to 16777216 rows")},
		{"no down", func(f *tinyllama.File) { f.Remove("blk.1.ffn_down.weight") }, tensorError("blk.1.ffn_down.weight", "nothing", numbersOf+"[64 96]")},
		{"embedding", func(f *tinyllama.File) { f.Tensors[0].Shape = []int{tinyVocab * tinyWidth} }, tensorError("token_embd.weight", "F32 [13504]", "[vocabulary, width] with 1 to 16777216 rows")},
		{"unknown", func(f *tinyllama.File) { f.Vector("blk.0.attn_q_norm.weight", 16) }, tensorError("blk.0.attn_q_norm.weight", "F32 [16]", unknownTensor)},
		{"bias", func(f *tinyllama.File) { f.Vector("blk.0.attn_q.bias", 16) }, tensorError("blk.0.attn_q.bias", "F32 [16]", numbersOf+"[64]")},
		{"factors", func(f *tinyllama.File) { f.Vector("rope_freqs.weight", 16) }, tensorError("rope_freqs.weight", "F32 [16]", numbersOf+"[8]")},
		{"factors beside YaRN", func(f *tinyllama.File) {
			f.Set("llama.rope.scaling.type", "yarn")
			f.Vector("rope_freqs.weight", 8)
		}, tensorError("rope_freqs.weight", "F32 [8]", scaled)},
		{"factors of pairs and of lengths", func(f *tinyllama.File) {
			f.Vector("rope_freqs.weight", 8)
			f.Vector("rope_factors_short.weight", 8)
		}, tensorError("rope_factors_short.weight", "F32 [8]", scaled)},
		{"output", func(f *tinyllama.File) { f.Matrix("output.weight", 200, tinyWidth) }, tensorError("output.weight", "F32 [200 64]", numbersOf+"[211 64]")},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := tinyllama.New(nil)
			x.change(f)
			_, err := loadTiny(f, Options{})
			if x.want != nil {
				checkError(t, x.name, err, x.want)
			} else if !errors.As(err, new(*kernel.Error)) {
				t.Errorf("error %v (%T), want a *kernel.Error", err, err)
			}
		})
	}
}

// Load reads what New reads, and reports files that are none.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	data := tinyllama.New(nil).Bytes()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(m *Model) []float32 {
		s := session(t, m, 1, 5)
		return forward(t, s, Step{Text: s.NewText(), Tokens: prompt(5, 1)})[0]
	}
	sameBits(t, "from a file", run(m), run(tiny(t, Options{})))
	if o := m.Options(); o.Context != tinyContext || o.PageSize != 64 {
		t.Errorf("options %+v", o)
	}
	if _, err := m.Tokenizer(); err == nil {
		t.Error("a file without tokens has a tokenizer")
	}
	if _, err := Load(path+"x", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte("GGUF"), []byte("GGML"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, Options{}); !errors.Is(err, gguf.ErrFormat) {
		t.Errorf("no GGUF file: %v", err)
	}
	for _, o := range []Options{{DynamicInt12: true}, {DynamicInt12: true, CacheType: kernel.Int8, CacheValueType: kernel.Float16}} {
		if _, err := loadTiny(tinyllama.New(nil), o); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%+v: got %v, want an error about an option", o, err)
		}
	}
	if _, err := loadTiny(tinyllama.New(nil), Options{Context: -1}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("bad option: %v", err)
	}
}

// A list says which layers have a window, as a period does.
func TestWindowsOfLayers(t *testing.T) {
	for _, x := range []struct {
		pattern any
		want    []int
	}{
		{uint32(2), []int{5, 0, 5}}, {[]bool{true, false, true}, []int{5, 0, 5}}, {[]int32{0, 1, 1}, []int{0, 5, 5}}, {nil, []int{5, 5, 5}},
	} {
		f := tinyllama.New(nil)
		f.Set("llama.attention.sliding_window", uint32(5))
		f.Set("llama.attention.sliding_window_pattern", x.pattern)
		m, err := loadTiny(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Config().Windows; !slices.Equal(got, x.want) {
			t.Errorf("pattern %v: windows %v, want %v", x.pattern, got, x.want)
		}
	}
}

// TestDocNamesModels: the text of the package names all models that can be loaded, and no others in
// its table.
func TestDocNamesModels(t *testing.T) {
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	cut := func(text, at string) (before, after string) {
		before, after, ok := strings.Cut(text, at)
		if !ok {
			t.Fatalf("doc.go has no %q", at)
		}
		return before, after
	}
	_, text := cut(string(data), "general.architecture")
	table, rest := cut(text, "//\n")
	wrappers, _ := cut(rest, " wrap\n")
	var files, types []string
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		if file := strings.TrimSpace(row[3:26]); file != "" {
			files = append(files, file)
		}
		types = append(types, strings.FieldsFunc(row[26:43], func(c rune) bool { return c == ' ' || c == ',' })...)
	}
	types = append(types, strings.FieldsFunc(strings.TrimPrefix(wrappers, "// Folders of the model_types "), func(c rune) bool { return c == ' ' || c == ',' })...)
	types = slices.DeleteFunc(types, func(word string) bool { return word == "and" })
	for what, lists := range map[string][2][]string{"general.architecture": {files, settings.Decoders.Files()}, "model_type": {types, settings.Decoders.Types()}} {
		for i, list := range lists {
			slices.Sort(list)
			lists[i] = slices.Compact(list)
		}
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("doc.go has for %s %q, want %q", what, lists[0], lists[1])
		}
	}
}
