package stores

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
)

// A Folder is the tensors of a folder as Hugging Face has it.
type Folder struct {
	*folder.Folder
	names []map[string]string // of tensors: those of the first map that has one count
	whole bool                // the names begin with "model."
	Dry   bool                // tensors are checked, and not read

	// Instead has tensors that are read in place of others, by the names of GGUF files.
	Instead map[string]string
}

// OpenFolder opens the weights of a folder, which the caller closes. names are what it calls tensors that GGUF files call otherwise, without the
// kind behind the last dot, with the number of the layer as %d and that of an expert as %e; the first map that has a name counts.
func OpenFolder(dir string, names ...map[string]string) (*Folder, error) {
	f, err := folder.Open(dir)
	if err != nil {
		return nil, err
	}
	_, whole := f.Info(theirName("output_norm", names) + ".weight")
	for _, name := range f.Names() {
		if strings.HasSuffix(name, ".rotary_emb.inv_freq") { // of older checkpoints: config.json says it
			f.Use(name)
		}
	}
	return &Folder{Folder: f, names: names, whole: whole}, nil
}

var digits = regexp.MustCompile(`\d+`)

// Name returns what the folder calls a tensor that GGUF files call so.
func (d *Folder) Name(name string) string {
	if other, ok := d.Instead[name]; ok {
		name = other
	}
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
	theirs := theirName(stem, d.names)
	if theirs == "" {
		return name
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

// theirName returns the name of the first map that has one, or "".
func theirName(stem string, names []map[string]string) string {
	for _, m := range names {
		if theirs, ok := m[stem]; ok {
			return theirs
		}
	}
	return ""
}

// Has tells whether the folder has a tensor.
func (d *Folder) Has(name string) bool {
	_, ok := d.Info(d.Name(name))
	return ok
}

// Shape returns the shape of a tensor, nil without it.
func (d *Folder) Shape(name string) []int {
	info, _ := d.Info(d.Name(name))
	return info.Shape
}

// types are those of the tensors that are kept as they are.
var types = map[string]gguf.Type{"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}

// Tensor reads a tensor of a shape. Its name is then that of the folder. Errors are those of package folder.
func (d *Folder) Tensor(name string, shape ...int) (t gguf.Tensor, err error) {
	name = d.Name(name)
	info, _ := d.Info(name)
	t = gguf.Tensor{Name: name, Type: types[info.DType], Shape: shape}
	if d.Dry {
		err := d.Check(name, folder.Floats, shape...)
		d.Use(name) // so that it is reported once
		return t, err
	}
	t.Data, err = d.View(name, folder.Floats, shape...)
	return t, err
}

// Skip marks a tensor as used.
func (d *Folder) Skip(name string) { d.Use(d.Name(name)) }

// Forget lets the pages of a tensor go.
func (d *Folder) Forget(t gguf.Tensor) { d.Folder.Forget(t.Name, t.Data) }

// Unused reports a tensor that nothing has asked for.
func (d *Folder) Unused() error { return d.Folder.Unused() }

// A File is the tensors of a GGUF file.
type File struct {
	*gguf.File
	used map[string]bool
}

// NewFile returns the tensors of a file, none of which is used.
func NewFile(f *gguf.File) *File { return &File{f, map[string]bool{}} }

// Has tells whether the file has a tensor.
func (f *File) Has(name string) bool {
	_, ok := f.File.Tensor(name)
	return ok
}

// Shape returns the shape of a tensor, nil without it.
func (f *File) Shape(name string) []int {
	t, _ := f.File.Tensor(name)
	return t.Shape
}

// Tensor returns a tensor of a shape. The error is an [*Error].
func (f *File) Tensor(name string, shape ...int) (gguf.Tensor, error) {
	f.used[name] = true
	t, ok := f.File.Tensor(name)
	switch {
	case !ok:
		return t, badTensor(name, "none", fmt.Sprintf("one of shape %v", shape))
	case !slices.Equal(t.Shape, shape):
		return t, badTensor(name, fmt.Sprintf("shape %v", t.Shape), fmt.Sprint(shape))
	}
	return t, nil
}

// Skip marks a tensor as used.
func (f *File) Skip(name string) { f.used[name] = true }

// Forget lets the pages of a tensor go.
func (f *File) Forget(t gguf.Tensor) { f.File.Forget(t) }

// Bytes returns the bytes of all tensors.
func Bytes(f *gguf.File) (n int64) {
	for _, t := range f.Tensors() {
		n += int64(len(t.Data))
	}
	return n
}

// Unused reports a tensor that nothing has asked for: the model would not be the file's. The error is an
// [*Error].
func (f *File) Unused() error {
	for _, t := range f.Tensors() {
		if !f.used[t.Name] {
			return badTensor(t.Name, fmt.Sprintf("shape %v", t.Shape), "no such tensor: what it is for is not known")
		}
	}
	return nil
}
