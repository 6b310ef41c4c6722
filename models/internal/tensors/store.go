package tensors

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
)

// A Store is the tensors of a model, by the names of its files. One goroutine at a time
// may use it.
type Store struct {
	tensors map[string]*tensor
	files   []*file
	place   string      // where a tensor should be that is missing: the path of a file, or "" if it is not known
	kinds   string      // the types of numbers that its files have, for errors
	moved   [][2]string // beginnings of names, and those that Move gave in their place

	Adapters string // what stands for those that are merged into its tensors, "" for none
}

// An Info describes a tensor.
type Info struct {
	Type  gguf.Type // [Other] if GGUF files have no such type
	Name  string    // of the type, as the file calls it: "F32", "U8", "Q4_K"
	Shape []int     // row-major; it is the store's own
	Bytes int64
}

// Other is the Type of tensors whose type no GGUF file has.
const Other gguf.Type = math.MaxUint32

// String returns the type and the shape, as errors have them, or "nothing" for the zero
// Info of a tensor that is missing.
func (i Info) String() string {
	if i.Name == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s %v", i.Name, i.Shape)
}

// A tensor is a range of bytes of a file.
type tensor struct {
	Info
	data []byte // nil if the file is not mapped
	file *file
	at   int64 // its first byte, if data is nil
	from maker // what it is made of, if no file has it so
	used bool
}

// A maker makes a tensor of others, by read as a tensor has it. key tells it from makers that make
// other numbers of the same files.
type maker interface {
	read(from, to int64, room []byte) ([]byte, error)
	key() string
}

// key returns what the tensor is made of, "" if a file has it so.
func (t *tensor) key() string {
	if t.from == nil {
		return ""
	}
	return t.from.key()
}

// A file has weights.
type file struct {
	path   string
	r      io.ReaderAt
	forget func(part []byte)
	close  func() error
}

// Names returns the names of all tensors, sorted.
func (s *Store) Names() []string { return slices.Sorted(maps.Keys(s.tensors)) }

// Info describes a tensor, and returns false if there is none.
func (s *Store) Info(name string) (Info, bool) {
	if t, ok := s.tensors[name]; ok {
		return t.Info, true
	}
	return Info{}, false
}

// Bytes returns the bytes of all tensors.
func (s *Store) Bytes() (n int64) {
	for _, t := range s.tensors {
		n += t.Bytes
	}
	return n
}

// Where names a tensor in errors: with the path of the file that has it, or should have it.
func (s *Store) Where(name string) string {
	place := s.place
	if t, ok := s.tensors[name]; ok {
		place = t.file.path
	}
	if name = s.called(name); place == "" {
		return fmt.Sprintf("tensor %q", name)
	}
	return place + ": " + name
}

// Use marks a tensor as used: [Store.Unused] does not report it. It returns whether there
// is such a tensor.
func (s *Store) Use(name string) bool {
	t, ok := s.tensors[name]
	if ok {
		t.used = true
	}
	return ok
}

// Unused reports the first tensor that nothing has asked for, as a [*kernel.Error]: a model without
// it would differ from the files.
func (s *Store) Unused() error {
	first, rest := "", 0
	for name, t := range s.tensors {
		if !t.used {
			if rest++; rest == 1 || name < first {
				first = name
			}
		}
	}
	if rest == 0 {
		return nil
	}
	got := s.tensors[first].String()
	if rest > 1 {
		got += fmt.Sprintf(" and %d more tensors", rest-1)
	}
	return &kernel.Error{Where: s.Where(first), Got: got, Want: "only tensors that this architecture is known to have"}
}

// Close closes the files that [Open] and [OpenTorch] have opened. No bytes of tensors may
// be used any more.
func (s *Store) Close() error {
	var all []error
	for _, f := range s.files {
		all = append(all, f.close())
	}
	s.files, s.tensors = nil, nil
	return errors.Join(all...)
}

// read returns the bytes of a tensor from one to another as they lie in the file: a part
// of the file if it is mapped, which is read-only, or else in room if that is large
// enough.
func (t *tensor) read(from, to int64, room []byte) ([]byte, error) {
	if t.data != nil || from == to {
		return t.data[from:to:to], nil
	}
	if t.from != nil {
		return t.from.read(from, to, room)
	}
	if to-from > math.MaxInt {
		return nil, &kernel.Error{Where: t.file.path, Got: fmt.Sprintf("a tensor of %d bytes", to-from), Want: "bytes that fit the address space"}
	}
	n := int(to - from)
	if cap(room) < n {
		room = make([]byte, n)
	}
	if m, err := t.file.r.ReadAt(room[:n], t.at+from); m < n {
		return nil, fmt.Errorf("%s: %w", t.file.path, err)
	}
	return room[:n], nil
}

// forget lets the pages of bytes that have been copied leave the memory of this program.
func (t *tensor) forget(part []byte) {
	if t.data != nil {
		t.file.forget(part)
	}
}

// OfGGUF returns the tensors of a GGUF file, which stays the caller's to close, later than the last
// use of the store. Errors name the path; "" if it is not known.
func OfGGUF(f *gguf.File, path string) *Store {
	s := &Store{tensors: map[string]*tensor{}, place: path, kinds: "F32, F16, BF16 or blocks"}
	of := &file{path: path, forget: func(part []byte) { f.Forget(gguf.Tensor{Data: part}) }}
	for _, t := range f.Tensors() {
		data := t.Data
		if data == nil {
			data = []byte{}
		}
		s.tensors[t.Name] = &tensor{Info: Info{t.Type, t.Type.String(), t.Shape, int64(len(t.Data))}, data: data, file: of}
	}
	return s
}
