package tensors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/internal/torchfile"
	"github.com/attn-go/attn/models/safetensors"
)

// A format is the names of files of weights, of one with all tensors and of the list of
// several, and what reads where the tensors of a file lie.
type format struct {
	single, index string
	read          func(r io.ReaderAt, size int64) (map[string]safetensors.Info, error)
}

// formats are those that are read. The first one that is there counts.
var formats = []format{
	{"model.safetensors", "model.safetensors.index.json", readSafetensors},
	{"pytorch_model.bin", "pytorch_model.bin.index.json", torchfile.Read},
}

func readSafetensors(r io.ReaderAt, size int64) (map[string]safetensors.Info, error) {
	f, err := safetensors.New(r, size)
	if err != nil {
		return nil, err
	}
	all := map[string]safetensors.Info{}
	for _, name := range f.Names() {
		all[name], _ = f.Info(name)
	}
	return all, nil
}

// Open opens the weights of a GGUF file, see [gguf.Open], or of a folder: model.safetensors, or the
// shards that model.safetensors.index.json lists, or else pytorch_model.bin, or the shards of
// pytorch_model.bin.index.json, of which nothing is run. A tensor of a norm with an old name, such
// as LayerNorm.gamma and LayerNorm.beta, gets the name LayerNorm.weight or LayerNorm.bias.
//
// Files are mapped on Linux, Android, macOS, iOS and the BSDs, and else read as it is
// asked for them. One that another program shortens while it is mapped ends this program
// when it looks at what is missing.
//
// A folder without such files is a [*kernel.Error] that says what to do if it has weights
// in another format, and an [fs.ErrNotExist] otherwise. A folder with an adapter is a
// [*kernel.Error], as it is merged into the weights only if it is asked for, see package lora.
func Open(path string) (*Store, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return opened(func(s *Store) error { return s.openFolder(path) })
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	s := OfGGUF(f, path)
	s.files = []*file{{close: f.Close}}
	return s, nil
}

// OpenTorch opens one file that torch.save has written, such as sparse_linear.pt, as
// [Open] opens a folder. A file that is missing is an [fs.ErrNotExist].
func OpenTorch(path string) (*Store, error) {
	return opened(func(s *Store) error {
		s.place = path
		return s.openFile(format{read: torchfile.Read}, path, nil)
	})
}

func opened(open func(s *Store) error) (*Store, error) {
	s := &Store{tensors: map[string]*tensor{}, kinds: "F32, F16 or BF16"}
	if err := open(s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) openFolder(dir string) error {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"} {
		if has(name) {
			return &kernel.Error{Where: filepath.Join(dir, name) + ": the weights", Got: "an adapter such as LoRA, which changes those of a model", Want: "the folder of a model, beside which this one is named by -lora, or in Go by Options.LoRA; or merge it with the peft library: merge_and_unload() and save_pretrained(folder)"}
		}
	}
	for _, x := range formats {
		single, index := filepath.Join(dir, x.single), filepath.Join(dir, x.index)
		switch one, several := has(x.single), has(x.index); {
		case one && several:
			return &kernel.Error{Where: index + ": the file", Got: "shards beside " + x.single, Want: "one of both"}
		case one:
			s.place = single
			return s.openFile(x, single, nil)
		case several:
			s.place = index
			return s.openShards(x, dir)
		}
	}
	single := formats[0].single
	for _, name := range []string{"tf_model.h5", "flax_model.msgpack", "model.onnx", "onnx/model.onnx"} {
		if has(filepath.FromSlash(name)) {
			return &kernel.Error{Where: filepath.Join(dir, filepath.FromSlash(name)) + ": the weights", Got: "a format that is not read, as such files can run programs or hold only a graph", Want: single + ": load the model with the transformers library and call save_pretrained(folder), or fetch a revision with " + single}
		}
	}
	return &fs.PathError{Op: "open", Path: filepath.Join(dir, single), Err: fs.ErrNotExist}
}

// openFile opens a file of weights. If names is not nil, it has these tensors and no
// others.
func (s *Store) openFile(x format, path string, names []string) error {
	f, size, err := filemap.Open(path)
	if err != nil {
		return err
	}
	of := &file{path: path, r: f, close: f.Close}
	s.files = append(s.files, of)
	all, err := x.read(f, size)
	if bad, ok := errors.AsType[*kernel.Error](err); ok {
		return &kernel.Error{Where: path + ": " + bad.Where, Got: bad.Got, Want: bad.Want}
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	has := slices.Sorted(maps.Keys(all))
	if names != nil && !slices.Equal(has, names) {
		return &kernel.Error{Where: path + ": the tensors", Got: fmt.Sprintf("%d, such as %.3q", len(has), head(has)), Want: fmt.Sprintf("the %d that %s lists, such as %.3q", len(names), x.index, head(names))}
	}
	data := of.mapped(f, size)
	for _, name := range has {
		if err := s.add(name, all[name], of, data); err != nil {
			return err
		}
	}
	return nil
}

func head(names []string) []string { return names[:min(3, len(names))] }

// mapped maps a file, which is read if it returns nil.
func (f *file) mapped(of *os.File, size int64) []byte {
	m, err := filemap.New(of, size)
	if err != nil {
		return nil
	}
	f.forget = m.Forget
	f.close = func() error { return errors.Join(m.Close(), of.Close()) }
	return m.Data()
}

// add adds a tensor of a file by its present name.
func (s *Store) add(name string, of safetensors.Info, f *file, data []byte) error {
	known := modern(name)
	if _, twice := s.tensors[known]; twice {
		return &kernel.Error{Where: f.path + ": " + name, Got: "two tensors for " + known, Want: "one"}
	}
	kind, ok := types[of.DType]
	if !ok {
		kind = Other
	}
	t := &tensor{Info: Info{kind, of.DType, of.Shape, of.End - of.Begin}, file: f, at: of.Begin}
	if data != nil {
		t.data = data[of.Begin:of.End:of.End]
	}
	s.tensors[known] = t
	return nil
}

// types are those that GGUF files have, too.
var types = map[string]gguf.Type{
	"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16, "F64": gguf.F64, "I8": gguf.I8, "I16": gguf.I16, "I32": gguf.I32, "I64": gguf.I64,
}

// modern returns the present name of a tensor of a norm.
func modern(name string) string {
	for old, new := range map[string]string{"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"} {
		if stem, ok := strings.CutSuffix(name, old); ok {
			return stem + new
		}
	}
	return name
}

// openShards opens the files that the index lists.
func (s *Store) openShards(x format, dir string) error {
	var list struct {
		Files map[string]string `json:"weight_map"`
	}
	index := filepath.Join(dir, x.index)
	if err := filemap.ReadJSON(index, &list); err != nil {
		return err
	}
	names := map[string][]string{} // of the tensors of a file, sorted
	for _, tensor := range slices.Sorted(maps.Keys(list.Files)) {
		name := filepath.FromSlash(list.Files[tensor])
		if !filepath.IsLocal(name) {
			return &kernel.Error{Where: index + ": " + tensor, Got: fmt.Sprintf("file %q", list.Files[tensor]), Want: "a file of the folder"}
		}
		names[name] = append(names[name], tensor)
	}
	if len(names) == 0 {
		return &kernel.Error{Where: index + ": weight_map", Got: "no tensors", Want: "the names of tensors and their files"}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := s.openFile(x, filepath.Join(dir, name), names[name]); err != nil {
			return err
		}
	}
	return nil
}
