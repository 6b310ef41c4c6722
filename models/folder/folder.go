package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/internal/torchfile"
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
	path  string
	close func() error
}

// A source is where a tensor is.
type source struct {
	file int
	name string // in the file
}

// A format is the names of files of weights: of one with all tensors, and of the list of several.
type format struct {
	single, index string
	open          func(path string) (file, error)
}

// formats are those that are read. The first one that is there counts.
var formats = []format{
	{"model.safetensors", "model.safetensors.index.json", openSafetensors},
	{"pytorch_model.bin", "pytorch_model.bin.index.json", openTorch},
}

func openSafetensors(path string) (file, error) {
	w, err := safetensors.Open(path)
	if err != nil {
		return file{}, err
	}
	return file{w, path, w.Close}, nil
}

// openTorch opens a dictionary that torch.save has written. Nothing of it is run.
func openTorch(path string) (file, error) {
	t, err := torchfile.Open(path)
	if bad, ok := errors.AsType[*kernel.Error](err); ok {
		return file{}, &kernel.Error{Where: path + ": " + bad.Where, Got: bad.Got, Want: bad.Want}
	} else if err != nil {
		return file{}, err
	}
	w, err := safetensors.New(t, t.Size())
	if err != nil {
		return file{}, errors.Join(fmt.Errorf("%s: %w", path, err), t.Close())
	}
	return file{w, path, t.Close}, nil
}

// Open opens the weights of a folder: model.safetensors, or the shards that
// model.safetensors.index.json lists, or else pytorch_model.bin, or the shards of pytorch_model.bin.index.json. A tensor of a norm that has one of the old names, such as
// LayerNorm.gamma and LayerNorm.beta, gets the name LayerNorm.weight or LayerNorm.bias.
//
// A folder without such files is a [*kernel.Error] that says what to do if it has weights in another
// format, and an [fs.ErrNotExist] otherwise. A folder with an adapter is a [*kernel.Error], as it is not merged into the weights.
func Open(dir string) (*Folder, error) {
	f := newFolder(dir)
	if err := f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenTorch opens one file that torch.save has written, such as sparse_linear.pt, as [Open] opens a folder. A file that is
// missing is an [fs.ErrNotExist].
func OpenTorch(path string) (*Folder, error) {
	f := newFolder(filepath.Dir(path))
	if err := f.add(format{open: openTorch}, filepath.Base(path), nil); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func newFolder(dir string) *Folder {
	return &Folder{dir: dir, tensors: map[string]source{}, used: map[string]bool{}}
}

func (f *Folder) open() error {
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"} {
		if f.has(name) {
			return &kernel.Error{Where: f.Path(name) + ": the weights", Got: "an adapter such as LoRA, which changes those of a model", Want: "a model that it is merged into: load it with the peft library, call merge_and_unload() and save_pretrained(folder)"}
		}
	}
	for _, x := range formats {
		switch one, several := f.has(x.single), f.has(x.index); {
		case one && several:
			return &kernel.Error{Where: f.Path(x.index) + ": the file", Got: "shards beside " + x.single, Want: "one of both"}
		case one:
			return f.add(x, x.single, nil)
		case several:
			return f.addShards(x)
		}
	}
	return f.otherFormat()
}

// has returns whether a file exists.
func (f *Folder) has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// otherFormat returns the error of a folder without weights that are read.
func (f *Folder) otherFormat() error {
	single := formats[0].single
	for _, name := range []string{"tf_model.h5", "flax_model.msgpack", "model.onnx", "onnx/model.onnx"} {
		if f.has(name) {
			return &kernel.Error{Where: f.Path(name) + ": the weights", Got: "a format that is not read, as such files can run programs or hold only a graph", Want: single + ": load the model with the transformers library and call save_pretrained(folder), or fetch a revision with " + single}
		}
	}
	return &fs.PathError{Op: "open", Path: f.Path(single), Err: fs.ErrNotExist}
}

// add opens a file of weights. If names is not nil, it has these tensors and no others.
func (f *Folder) add(x format, name string, names []string) error {
	path := f.Path(name)
	w, err := x.open(path)
	if err != nil {
		return err
	}
	f.files = append(f.files, w)
	has := w.Names()
	if names != nil && !slices.Equal(has, names) {
		return &kernel.Error{Where: path + ": the tensors", Got: fmt.Sprintf("%d, such as %.3q", len(has), head(has)), Want: fmt.Sprintf("the %d that %s lists, such as %.3q", len(names), x.index, head(names))}
	}
	for _, tensor := range has {
		known := modern(tensor)
		if _, twice := f.tensors[known]; twice {
			return &kernel.Error{Where: path + ": " + tensor, Got: "two tensors for " + known, Want: "one"}
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
func (f *Folder) addShards(x format) error {
	var list struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := f.JSON(x.index, &list); err != nil {
		return err
	}
	names := map[string][]string{} // of the tensors of a file, sorted
	for _, tensor := range slices.Sorted(maps.Keys(list.Files)) {
		name := list.Files[tensor]
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return &kernel.Error{Where: f.Path(x.index) + ": " + tensor, Got: fmt.Sprintf("file %q", name), Want: "a file of the folder"}
		}
		names[name] = append(names[name], tensor)
	}
	if len(names) == 0 {
		return &kernel.Error{Where: f.Path(x.index) + ": weight_map", Got: "no tensors", Want: "the names of tensors and their files"}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := f.add(x, name, names[name]); err != nil {
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
func ReadJSON(path string, into any) error { return filemap.ReadJSON(path, into) }

// Close closes the files of weights.
func (f *Folder) Close() error {
	var all []error
	for _, w := range f.files {
		all = append(all, w.close())
	}
	return errors.Join(all...)
}
