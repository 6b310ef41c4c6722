package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/safetensors"
)

// A Folder is the folder of a model with its open files of weights. One goroutine at a time may use
// it.
type Folder struct {
	dir     string
	files   []file
	tensors map[string]source // by the names that readers use
	used    map[string]bool
}

// A file is an open file of weights.
type file struct {
	*safetensors.File
	path string
}

// A source is where a tensor is.
type source struct {
	file int
	name string // in the file
}

const (
	single = "model.safetensors"
	index  = "model.safetensors.index.json"
)

// Open opens the weights of a folder: model.safetensors, or the shards that
// model.safetensors.index.json lists. A tensor of a norm that has one of the old names, such as
// LayerNorm.gamma and LayerNorm.beta, gets the name LayerNorm.weight or LayerNorm.bias.
//
// A folder without such files is an [*Error] that says what to do if it has weights in another
// format, and an [fs.ErrNotExist] otherwise.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir: dir, tensors: map[string]source{}, used: map[string]bool{}}
	if err := f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Folder) open() error {
	err := f.add(single, nil)
	if errors.Is(err, fs.ErrNotExist) {
		if sharded := f.addShards(); !errors.Is(sharded, fs.ErrNotExist) || f.has(index) {
			return sharded
		}
		return f.otherFormat(err)
	}
	if err == nil && f.has(index) {
		return &Error{f.Path(index), "the file", "shards beside " + single, "one of both"}
	}
	return err
}

// has returns whether a file exists.
func (f *Folder) has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// otherFormat returns the error of a folder without safetensors.
func (f *Folder) otherFormat(missing error) error {
	for _, name := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack", "model.onnx", "onnx/model.onnx"} {
		if f.has(name) {
			return &Error{f.Path(name), "the weights", "a format that is not read, as such files can run programs or hold only a graph",
				single + ": load the model with the transformers library and call save_pretrained(folder), or fetch a revision with " + single}
		}
	}
	return missing
}

// add opens a file of weights. If names is not nil, it has these tensors and no others.
func (f *Folder) add(name string, names []string) error {
	path := f.Path(name)
	w, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	f.files = append(f.files, file{w, path})
	has := w.Names()
	if names != nil && !slices.Equal(has, names) {
		return &Error{path, "the tensors", fmt.Sprintf("%d, such as %.3q", len(has), head(has)), fmt.Sprintf("the %d that %s lists, such as %.3q", len(names), index, head(names))}
	}
	for _, tensor := range has {
		known := modern(tensor)
		if _, twice := f.tensors[known]; twice {
			return &Error{path, tensor, "two tensors for " + known, "one"}
		}
		f.tensors[known] = source{len(f.files) - 1, tensor}
	}
	return nil
}

func head(names []string) []string { return names[:min(3, len(names))] }

// modern returns the present name of a tensor of a norm.
func modern(name string) string {
	for old, new := range map[string]string{"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"} {
		if stem, ok := strings.CutSuffix(name, old); ok {
			return stem + new
		}
	}
	return name
}

// addShards opens the files that the index lists.
func (f *Folder) addShards() error {
	var list struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := f.JSON(index, &list); err != nil {
		return err
	}
	names := map[string][]string{} // of the tensors of a file, sorted
	for _, tensor := range slices.Sorted(maps.Keys(list.Files)) {
		name := list.Files[tensor]
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return &Error{f.Path(index), tensor, fmt.Sprintf("file %q", name), "a file of the folder"}
		}
		names[name] = append(names[name], tensor)
	}
	if len(names) == 0 {
		return &Error{f.Path(index), "weight_map", "no tensors", "the names of tensors and their files"}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := f.add(name, names[name]); err != nil {
			return err
		}
	}
	return nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Path returns the path of a file of the folder, whose name has slashes.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// JSON reads a file of JSON. A file that is missing is an [fs.ErrNotExist].
func (f *Folder) JSON(name string, into any) error { return ReadJSON(f.Path(name), into) }

// ReadJSON reads a file of JSON. Errors name it; if it is missing, they are an [fs.ErrNotExist].
func ReadJSON(path string, into any) error {
	data, err := filemap.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, filemap.JSONError(err, data))
	}
	return nil
}

// Close closes the files of weights.
func (f *Folder) Close() error {
	var all []error
	for _, w := range f.files {
		all = append(all, w.Close())
	}
	return errors.Join(all...)
}
