package encoder

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/inventory"
	"github.com/attn-go/attn/models/tokenizer"
)

// ggufFamilies are the architectures of GGUF files. What a file does not say is as in the models that
// llama.cpp's convert_hf_to_gguf.py makes such files of.
var ggufFamilies = map[string]func(s *spec){
	"bert": func(s *spec) { s.activation, _ = activations.Hidden("gelu") }, // also RoBERTa and XLM-RoBERTa, whose positions are cut to those of texts
	"nomic-bert": func(s *spec) {
		s.activation, _ = activations.Hidden("silu")
		s.gated = true
	},
}

// ggufNames are the names of tensors in GGUF files.
var ggufNames = names{
	words: "token_embd", norm: "token_embd_norm",
	qkv: []string{"blk.%d.attn_q", "blk.%d.attn_k", "blk.%d.attn_v"},
	out: "blk.%d.attn_output", attentionNorm: "blk.%d.attn_output_norm",
	up: []string{"blk.%d.ffn_up"}, down: "blk.%d.ffn_down", mlpNorm: "blk.%d.layer_output_norm",
}

// ggufHead is the classifier of rerankers.
var ggufHead = firstToken("cls", "cls.output", activations.Tanh)

// poolings are the values of pooling_type, see [ggufRank].
var poolings = map[int64]folder.Pooling{1: folder.Mean, 2: folder.First, 3: folder.Last}

// ggufRank is the pooling_type of rerankers.
const ggufRank = 4

// A ggufSource is the tensors of a GGUF file.
type ggufSource struct {
	*gguf.File
	path string
	used map[string]bool
}

// Names returns the names of all tensors, sorted.
func (f *ggufSource) Names() []string {
	var all []string
	for _, t := range f.Tensors() {
		all = append(all, t.Name)
	}
	slices.Sort(all)
	return all
}

// Has tells whether the file has a tensor.
func (f *ggufSource) Has(name string) bool {
	_, ok := f.Tensor(name)
	return ok
}

func (f *ggufSource) describe(name string) string {
	t, ok := f.Tensor(name)
	if !ok {
		return "nothing"
	}
	return fmt.Sprintf("%s %v", t.Type, t.Shape)
}

func (f *ggufSource) shape(name string) []int {
	t, _ := f.Tensor(name)
	return t.Shape
}

func (f *ggufSource) dtype(name string) kernel.DType {
	t, _ := f.Tensor(name)
	switch t.Type {
	case gguf.F16:
		return kernel.Float16
	case gguf.BF16:
		return kernel.BFloat16
	}
	return kernel.Float32
}

func (f *ggufSource) read(into *numbers, name string, shape ...int) error {
	if err := f.check(name, shape...); err != nil {
		return err
	}
	t, _ := f.Tensor(name)
	into.grow(inventory.Elements(shape))
	if d := f.dtype(name); d != kernel.Float32 || t.Type == gguf.F32 {
		into.add(t.Data, d)
		return nil
	}
	x, err := t.Float32()
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	into.f32 = append(into.f32, x...)
	return nil
}

func (f *ggufSource) bytes(name string) (n int64) {
	if name != "" {
		t, _ := f.Tensor(name)
		return int64(len(t.Data))
	}
	for _, t := range f.Tensors() {
		n += int64(len(t.Data))
	}
	return n
}

// forget lets the pages of a tensor go.
func (f *ggufSource) forget(name string) {
	t, _ := f.Tensor(name)
	f.Forget(t)
}

// check marks a tensor as used, and reports one that does not fit.
func (f *ggufSource) check(name string, shape ...int) error {
	t, ok := f.Tensor(name)
	if !ok || !slices.Equal(t.Shape, shape) || !t.Type.Converts() {
		return &kernel.Error{Where: f.path + ": " + name, Got: f.describe(name), Want: fmt.Sprintf("shape %v, of a type that can be converted to float32", shape)}
	}
	f.used[name] = true
	return nil
}

// Use marks a tensor as used.
func (f *ggufSource) Use(name string) bool {
	f.used[name] = true
	return f.Has(name)
}

// Unused reports a tensor that is not used.
func (f *ggufSource) Unused() error {
	for _, name := range f.Names() {
		if !f.used[name] {
			return &kernel.Error{Where: f.path + ": " + name, Got: f.describe(name), Want: "only tensors that this architecture is known to have"}
		}
	}
	return nil
}

// openGGUF opens the model of a GGUF file.
func openGGUF(path string) (*origin, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	x := &origin{source: &ggufSource{f, path, map[string]bool{}}, path: path, close: f.Close}
	if err := x.readGGUF(f); err != nil {
		if !strings.Contains(err.Error(), path) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, errors.Join(err, f.Close())
	}
	f.DropMetadata() // which would take memory beside the weights
	return x, nil
}

// readGGUF reads the spec, the pooling and the tokenizer of a file.
func (x *origin) readGGUF(f *gguf.File) error {
	k := &ggufKeys{file: f, path: x.path}
	arch, err := f.String("general.architecture")
	if err != nil {
		return err
	}
	family, ok := ggufFamilies[arch]
	if !ok {
		return k.bad("general.architecture", fmt.Sprintf("%q", arch), "an encoder: "+strings.Join(slices.Sorted(maps.Keys(ggufFamilies)), ", "))
	}
	k.GGUF = strict.ReadGGUF(f, arch, k.bad)
	k.Most = mostOf
	if x.spec, err = k.spec(); err != nil {
		return err
	}
	family(x.spec)
	x.spec.parts(f)
	x.maxTokens = min(x.spec.longest(), k.context)
	pooling, err := k.pooling()
	if err != nil {
		return err
	}
	x.modules = &folder.Modules{Poolings: []folder.Pooling{pooling}}
	if pooling == "" {
		x.spec.head = ggufHead
		if name := "classifier.output_labels"; k.Has(name) {
			if x.labels, err = f.Strings(k.Key(name)); err != nil {
				return err
			}
		}
	}
	if err := k.unknown(x.spec); err != nil {
		return err
	}
	if x.tokenizer, err = tokenizer.FromGGUF(f); err != nil {
		return err
	}
	if n := x.tokenizer.Len(); n > x.spec.Vocab {
		return k.bad("token_embd.weight", fmt.Sprintf("%d rows", x.spec.Vocab), fmt.Sprintf("at least %d, the tokens of the tokenizer", n))
	}
	return nil
}

// A ggufKeys reads keys of the architecture of a file.
type ggufKeys struct {
	*strict.GGUF
	file    *gguf.File
	path    string
	context int
}

func (k *ggufKeys) bad(name, got, want string) error {
	return &kernel.Error{Where: k.path + ": " + name, Got: got, Want: want}
}

// spec reads the sizes of the model.
func (k *ggufKeys) spec() (*spec, error) {
	layers := k.Integer("block_count", 0, 1, mostOf)
	k.Layers(layers) // before lists of a number for each
	s := &spec{
		sizes: sizes{
			Layers: layers,
			Width:  k.Size("embedding_length", 0), Inner: k.Size("feed_forward_length", 0), Heads: k.Size("attention.head_count", 0),
			Positions: k.Size("context_length", 0), Vocab: k.rows("token_embd.weight"),
		},
		epsilon: k.Number("attention.layer_norm_epsilon", 1e-12, 0, math.MaxFloat32), normBias: true, padding: -1, windows: []int{-1}, names: ggufNames,
	}
	k.context = s.Positions
	if k.Err() != nil {
		return nil, k.Err()
	}
	s.kinds = make([]int, s.Layers)
	if k.Arch == "nomic-bert" {
		s.bases = []float64{k.Number("rope.freq_base", 10000, 1, 0x1p64)}
	} else {
		s.names.positions, s.Positions = "position_embd", k.rows("position_embd.weight")
	}
	if _, ok := k.file.Tensor("token_types.weight"); ok {
		s.names.types, s.Types = "token_types", k.rows("token_types.weight")
	}
	switch {
	case k.Err() != nil:
	case s.Width%s.Heads != 0:
		k.Record(k.bad(k.Arch+".attention.head_count", fmt.Sprint(s.Heads), fmt.Sprintf("a divisor of the embedding_length %d", s.Width)))
	case s.Positions < 2:
		k.Record(k.bad("position_embd.weight", fmt.Sprintf("%d rows", s.Positions), "2 or more, for the tokens around a text"))
	}
	return s, k.Err()
}

// rows returns the rows of a matrix.
func (k *ggufKeys) rows(name string) int {
	t, ok := k.file.Tensor(name)
	if ok && len(t.Shape) == 2 && t.Shape[0] >= 1 && t.Shape[0] <= mostOf {
		return t.Shape[0]
	}
	if k.Err() == nil {
		got := "nothing"
		if ok {
			got = fmt.Sprintf("shape %v", t.Shape)
		}
		k.Record(k.bad(name, got, fmt.Sprintf("a matrix of 1 to %d rows", mostOf)))
	}
	return 1
}

// parts sets which tensors the layers have, by those of the first one.
func (s *spec) parts(f *gguf.File) {
	has := func(name string) bool {
		_, ok := f.Tensor("blk.0." + name)
		return ok
	}
	if has("attn_qkv.weight") {
		s.names.qkv = []string{"blk.%d.attn_qkv"}
	}
	s.attnBias, s.mlpBias = has("attn_output.bias"), has("ffn_down.bias")
	if s.gated {
		s.names.up = []string{"blk.%d.ffn_gate", "blk.%d.ffn_up"}
	}
}

// pooling reads the pooling; "" is that of rerankers.
func (k *ggufKeys) pooling() (folder.Pooling, error) {
	const want = "1 (mean), 2 (cls), 3 (last token) or 4 (the classifier of a reranker)"
	key := k.Key("pooling_type")
	if !k.Has("pooling_type") {
		return "", k.bad(key, "nothing", want)
	}
	n, err := k.file.Int(key)
	if err != nil {
		return "", err
	}
	if p, ok := poolings[n]; ok || n == ggufRank {
		return p, nil
	}
	return "", k.bad(key, fmt.Sprint(n), want)
}

// ofGGUF are keys that change nothing of encoders, and do of decoders.
var ofGGUF = strict.Table{"attention.causal": strict.Only("false"), "rope.scaling.type": strict.Only(`"none"`), "attention.layer_norm_rms_epsilon": strict.Any}

// unknown reports a key of the architecture that is not known, or that says what is not computed.
func (k *ggufKeys) unknown(s *spec) error {
	head := s.Width / s.Heads
	for name, n := range map[string]int{"attention.head_count_kv": s.Heads, "attention.key_length": head, "attention.value_length": head, "rope.dimension_count": head} {
		if got := k.Size(name, n); got != n {
			k.Fail(name, fmt.Sprint(got), fmt.Sprint(n))
		}
	}
	k.Unknown(strict.Metadata, ofGGUF)
	return k.Err()
}
