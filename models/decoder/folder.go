package decoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/safetensors"
)

// A folder is the tensors of a model in a folder as Hugging Face has it: model.safetensors, or
// several files that model.safetensors.index.json lists.
type folder struct {
	arch  *architecture
	files []*safetensors.File
	in    map[string]*safetensors.File // of each tensor
	whole bool                         // the names begin with "model."
}

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// openFolder opens the files of a folder.
func openFolder(dir string, a *architecture) (_ *folder, err error) {
	d := &folder{arch: a, in: map[string]*safetensors.File{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	names, err := weightFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := safetensors.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, f)
		for _, t := range f.Names() {
			if d.in[t] != nil {
				return nil, tensorError(t, "it in two files", "it once")
			}
			d.in[t] = f
		}
	}
	_, d.whole = d.in[folderNames["token_embd"]+".weight"]
	return d, nil
}

// weightFiles returns the names of the files with tensors.
func weightFiles(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, singleFile)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return []string{singleFile}, err
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := readJSON(filepath.Join(dir, indexFile), &index); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("decoder: %s has neither %s nor %s: %w", dir, singleFile, indexFile, fs.ErrNotExist)
		}
		return nil, err
	}
	var names []string
	for _, name := range index.Files {
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return nil, &ConfigError{indexFile, "weight_map", fmt.Sprintf("%q", name), "names of files in the folder"}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// mostJSON is the most bytes of a JSON file.
const mostJSON = 1 << 26

// readJSON decodes a file. The error names it.
func readJSON(path string, to any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostJSON+1))
	if err != nil {
		return err
	}
	if len(data) > mostJSON {
		return &ConfigError{filepath.Base(path), "", "a larger file", fmt.Sprintf("at most %d bytes", mostJSON)}
	}
	if err := json.Unmarshal(data, to); err != nil {
		return &ConfigError{filepath.Base(path), "", err.Error(), "JSON of the form that Hugging Face's tools write"}
	}
	return nil
}

func (d *folder) close() (err error) {
	for _, f := range d.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

var digits = regexp.MustCompile(`\d+`)

// name returns what the folder calls a tensor that GGUF files call so.
func (d *folder) name(name string) string {
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
func (d *folder) has(name string) bool { return d.in[d.name(name)] != nil }

// types are those of the tensors that can be read.
var types = map[string]gguf.Type{"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}

// tensor reads a tensor.
func (d *folder) tensor(name string) (t gguf.Tensor, ok bool, err error) {
	name = d.name(name)
	f := d.in[name]
	if f == nil {
		return t, false, nil
	}
	info, _ := f.Info(name)
	kind, ok := types[info.DType]
	if !ok {
		return t, false, tensorError(name, "type "+info.DType, "F32, F16 or BF16")
	}
	t = gguf.Tensor{Name: name, Type: kind, Shape: shapeOf(info)}
	t.Data, err = f.Raw(name)
	return t, err == nil, err
}

// shape returns the shape of a tensor, without reading it.
func (d *folder) shape(name string) ([]int, bool) {
	name = d.name(name)
	f := d.in[name]
	if f == nil {
		return nil, false
	}
	info, _ := f.Info(name)
	return shapeOf(info), true
}

func shapeOf(info safetensors.Info) []int {
	shape := make([]int, len(info.Shape))
	for i, n := range info.Shape {
		shape[i] = int(n)
	}
	return shape
}

// tensors returns the names and shapes of all tensors but those of frequencies, which older
// checkpoints store, too.
func (d *folder) tensors() []gguf.Tensor {
	var all []gguf.Tensor
	for _, name := range slices.Sorted(maps.Keys(d.in)) {
		if !strings.HasSuffix(name, ".rotary_emb.inv_freq") {
			info, _ := d.in[name].Info(name)
			all = append(all, gguf.Tensor{Name: name, Shape: shapeOf(info)})
		}
	}
	return all
}

// A file is the tensors of a GGUF file.
type file struct{ *gguf.File }

func (f file) name(name string) string { return name }

func (f file) has(name string) bool {
	_, ok := f.Tensor(name)
	return ok
}

func (f file) tensor(name string) (gguf.Tensor, bool, error) {
	t, ok := f.Tensor(name)
	return t, ok, nil
}

func (f file) shape(name string) ([]int, bool) {
	t, ok := f.Tensor(name)
	return t.Shape, ok
}

func (f file) tensors() []gguf.Tensor { return f.Tensors() }
