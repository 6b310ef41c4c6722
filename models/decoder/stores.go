package decoder

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
)

// A checkpoint is the tensors of a folder as Hugging Face has it.
type checkpoint struct {
	*folder.Folder
	arch  *architecture
	whole bool // the names begin with "model."
	one   bool // the embedding has the name of the output matrix, which it is too
	dry   bool // tensors are checked, and not read
}

// openCheckpoint opens the weights of a folder.
func openCheckpoint(dir string, a *architecture) (*checkpoint, error) {
	f, err := folder.Open(dir)
	if err != nil {
		return nil, err
	}
	_, whole := f.Info(folderNames["output_norm"] + ".weight")
	for _, name := range f.Names() {
		if strings.HasSuffix(name, ".rotary_emb.inv_freq") { // of older checkpoints: config.json says it
			f.Use(name)
		}
	}
	return &checkpoint{Folder: f, arch: a, whole: whole}, nil
}

var digits = regexp.MustCompile(`\d+`)

// name returns what the folder calls a tensor that GGUF files call so.
func (d *checkpoint) name(name string) string {
	stem, kind := name, ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		stem, kind = name[:i], name[i:]
	}
	numbers := digits.FindAllString(stem, -1)
	for _, place := range []string{"%d", "%e"} {
		if at := digits.FindStringIndex(stem); at != nil {
			stem = stem[:at[0]] + place + stem[at[1]:]
		}
	}
	if d.one && name == embeddingName {
		name, stem = headName, strings.TrimSuffix(headName, ".weight")
	}
	theirs, ok := d.arch.names[stem]
	if !ok {
		if theirs, ok = folderNames[stem]; !ok {
			return name
		}
	}
	for i, place := range []string{"%d", "%e"} {
		if i < len(numbers) {
			theirs = strings.Replace(theirs, place, numbers[i], 1)
		}
	}
	if !d.whole {
		theirs = strings.TrimPrefix(theirs, "model.")
	}
	return theirs + kind
}

// has tells whether the folder has a tensor.
func (d *checkpoint) has(name string) bool {
	_, ok := d.Info(d.name(name))
	return ok
}

// shape returns the shape of a tensor.
func (d *checkpoint) shape(name string) []int {
	info, _ := d.Info(d.name(name))
	return info.Shape
}

// types are those of the tensors that are kept as they are.
var types = map[string]gguf.Type{"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}

// tensor reads a tensor of a shape.
func (d *checkpoint) tensor(name string, shape ...int) (t gguf.Tensor, err error) {
	name = d.name(name)
	info, _ := d.Info(name)
	t = gguf.Tensor{Name: name, Type: types[info.DType], Shape: shape}
	if d.dry {
		err := d.Check(name, folder.Floats, shape...)
		d.Use(name) // so that it is reported once
		return t, err
	}
	t.Data, err = d.View(name, folder.Floats, shape...)
	return t, err
}

// skip marks a tensor as used.
func (d *checkpoint) skip(name string) { d.Use(d.name(name)) }

// forget lets the pages of a tensor go.
func (d *checkpoint) forget(t gguf.Tensor) { d.Forget(t.Name, t.Data) }

// unused reports a tensor that nothing has asked for.
func (d *checkpoint) unused() error { return d.Unused() }

// A file is the tensors of a GGUF file.
type file struct {
	*gguf.File
	used map[string]bool
}

// has tells whether the file has a tensor.
func (f *file) has(name string) bool {
	_, ok := f.Tensor(name)
	return ok
}

// shape returns the shape of a tensor.
func (f *file) shape(name string) []int {
	t, _ := f.Tensor(name)
	return t.Shape
}

// tensor returns a tensor of a shape.
func (f *file) tensor(name string, shape ...int) (gguf.Tensor, error) {
	f.used[name] = true
	t, ok := f.Tensor(name)
	switch {
	case !ok:
		return t, tensorError(name, "none", fmt.Sprintf("one of shape %v", shape))
	case !slices.Equal(t.Shape, shape):
		return t, tensorError(name, fmt.Sprintf("shape %v", t.Shape), fmt.Sprint(shape))
	}
	return t, nil
}

// skip marks a tensor as used.
func (f *file) skip(name string) { f.used[name] = true }

// forget lets the pages of a tensor go.
func (f *file) forget(t gguf.Tensor) { f.Forget(t) }

// fileBytes returns the bytes of all tensors.
func fileBytes(f *gguf.File) (n int64) {
	for _, t := range f.Tensors() {
		n += int64(len(t.Data))
	}
	return n
}

// unused reports a tensor that nothing has asked for: the model would not be the file's.
func (f *file) unused() error {
	for _, t := range f.Tensors() {
		if !f.used[t.Name] {
			return tensorError(t.Name, fmt.Sprintf("shape %v", t.Shape), "no such tensor: what it is for is not known")
		}
	}
	return nil
}
