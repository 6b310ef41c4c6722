package encoder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/inventory"
	"github.com/attn-go/attn/models/tokenizer"
)

// ggufHead is the classifier of rerankers.
var ggufHead = &arch.Head{Pooling: folder.First, Dense: "cls", Out: "cls.output", Bias: true, Activation: activations.Tanh}

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
	bad := func(name, got, want string) error {
		return &kernel.Error{Where: x.path + ": " + name, Got: got, Want: want}
	}
	m, err := settings.Encoders.ReadFile(f, bad)
	if err != nil {
		return err
	}
	x.spec = specOf(m, func(name string) string { return name })
	x.maxTokens = min(x.spec.longest(), m.Context)
	pooling, err := readPooling(f, m.Family.GGUF, bad)
	if err != nil {
		return err
	}
	x.modules = &folder.Modules{Poolings: []folder.Pooling{pooling}}
	if pooling == "" {
		x.spec.head = ggufHead
		if key := m.Family.GGUF + ".classifier.output_labels"; has(f, key) {
			if x.labels, err = f.Strings(key); err != nil {
				return err
			}
		}
	}
	if x.tokenizer, err = tokenizer.FromGGUF(f); err != nil {
		return err
	}
	if n := x.tokenizer.Len(); n > x.spec.Vocab {
		return bad("token_embd.weight", fmt.Sprintf("%d rows", x.spec.Vocab), fmt.Sprintf("at least %d, the tokens of the tokenizer", n))
	}
	return nil
}

func has(f *gguf.File, key string) bool {
	_, ok := f.Value(key)
	return ok
}

// readPooling reads the pooling; "" is that of rerankers.
func readPooling(f *gguf.File, arch string, bad func(name, got, want string) error) (folder.Pooling, error) {
	const want = "1 (mean), 2 (cls), 3 (last token) or 4 (the classifier of a reranker)"
	key := arch + ".pooling_type"
	if !has(f, key) {
		return "", bad(key, "nothing", want)
	}
	n, err := f.Int(key)
	if err != nil {
		return "", err
	}
	if p, ok := poolings[n]; ok || n == ggufRank {
		return p, nil
	}
	return "", bad(key, fmt.Sprint(n), want)
}
