package folder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/littleendian"
	"github.com/attn-go/attn/models/safetensors"
)

// Names returns the names of all tensors, sorted.
func (f *Folder) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Info returns the type and shape of a tensor, and whether the folder has it.
func (f *Folder) Info(name string) (safetensors.Info, bool) {
	s, ok := f.tensors[name]
	if !ok {
		return safetensors.Info{}, false
	}
	return f.files[s.file].Info(s.name)
}

// Bytes returns the number of bytes of a tensor, 0 if there is none, or of all tensors for "".
func (f *Folder) Bytes(name string) (n int64) {
	if name == "" {
		for name := range f.tensors {
			n += f.Bytes(name)
		}
		return n
	}
	info, _ := f.Info(name)
	return info.Bytes()
}

// Use marks a tensor as used: [Folder.Unused] does not report it. It is for tensors whose values
// can be told without reading them, or have no part in a result. It returns whether there is such a
// tensor.
func (f *Folder) Use(name string) bool {
	_, ok := f.tensors[name]
	if ok {
		f.used[name] = true
	}
	return ok
}

// Unused reports the first tensor that nothing has asked for, as a [*kernel.Error]: a model without it
// would not be that of the folder.
func (f *Folder) Unused() error {
	var rest []string
	for _, name := range f.Names() {
		if !f.used[name] {
			rest = append(rest, name)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	info, _ := f.Info(rest[0])
	got := fmt.Sprintf("%s %v", info.DType, info.Shape)
	if len(rest) > 1 {
		got += fmt.Sprintf(" and %d more tensors", len(rest)-1)
	}
	return &kernel.Error{Where: f.pathOf(rest[0]) + ": " + rest[0], Got: got, Want: "only tensors that this architecture is known to have"}
}

// pathOf returns the path of the file that has a tensor, or should have it.
func (f *Folder) pathOf(name string) string {
	if s, ok := f.tensors[name]; ok {
		return f.files[s.file].path
	}
	if len(f.files) == 1 {
		return f.files[0].path
	}
	return f.Path(formats[0].index)
}

// Check marks a tensor as used and reports, as a [*kernel.Error], if it is missing, has another shape or
// has none of the types.
func (f *Folder) Check(name string, types []string, shape ...int) error {
	info, ok := f.Info(name)
	got := "nothing"
	if ok {
		got = fmt.Sprintf("%s %v", info.DType, info.Shape)
	}
	if !ok || !slices.Equal(info.Shape, shape) || !slices.Contains(types, info.DType) {
		return &kernel.Error{Where: f.pathOf(name) + ": " + name, Got: got, Want: fmt.Sprintf("%s %v", orList(types), shape)}
	}
	f.used[name] = true
	return nil
}

func orList(words []string) string {
	s := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			s += " or " + w
		} else {
			s += ", " + w
		}
	}
	return s
}

// Floats are the types of tensors that [Folder.Float32] reads.
var Floats = []string{"F32", "F16", "BF16"}

var dtypes = map[string]kernel.DType{"F32": kernel.Float32, "F16": kernel.Float16, "BF16": kernel.BFloat16}

// Float32 reads a tensor of the given shape, and marks it as used. Numbers of 16 bits are widened,
// which is exact. A tensor that is missing or does not fit is a [*kernel.Error].
func (f *Folder) Float32(name string, shape ...int) ([]float32, error) {
	if err := f.Check(name, Floats, shape...); err != nil {
		return nil, err
	}
	info, _ := f.Info(name)
	dtype, n := dtypes[info.DType], 0
	x := make([]float32, info.Bytes()/int64(littleendian.Size(dtype)))
	s := f.tensors[name]
	err := f.files[s.file].Pieces(s.name, func(raw []byte) {
		part := x[n:][:len(raw)/littleendian.Size(dtype)]
		littleendian.Widen(part, raw, dtype)
		n += len(part)
	})
	if err != nil {
		return nil, f.wrap(name, err)
	}
	return x, nil
}

// Raw reads the bytes of a tensor of the given shape and of one of the types as they lie in the
// file, and marks it as used. A tensor that is missing or does not fit is a [*kernel.Error].
func (f *Folder) Raw(name string, types []string, shape ...int) ([]byte, error) {
	if err := f.Check(name, types, shape...); err != nil {
		return nil, err
	}
	s := f.tensors[name]
	x, err := f.files[s.file].Raw(s.name)
	return x, f.wrap(name, err)
}

// View is Raw without a copy if the file is mapped: the bytes are read-only then, and gone after [Folder.Close], see
// [safetensors.File.View].
func (f *Folder) View(name string, types []string, shape ...int) ([]byte, error) {
	if err := f.Check(name, types, shape...); err != nil {
		return nil, err
	}
	s := f.tensors[name]
	x, err := f.files[s.file].View(s.name)
	return x, f.wrap(name, err)
}

// Forget lets the pages of what [Folder.View] has returned for a tensor leave memory, see [safetensors.File.Forget].
func (f *Folder) Forget(name string, view []byte) {
	if s, ok := f.tensors[name]; ok {
		f.files[s.file].Forget(view)
	}
}

// Pieces reads the bytes of a tensor of the given shape and of one of the types in pieces, see [safetensors.File.Pieces], and marks it as
// used. A tensor that is missing or does not fit is a [*kernel.Error].
func (f *Folder) Pieces(name string, each func(raw []byte), types []string, shape ...int) error {
	if err := f.Check(name, types, shape...); err != nil {
		return err
	}
	s := f.tensors[name]
	return f.wrap(name, f.files[s.file].Pieces(s.name, each))
}

// Uint16 reads the bits of a tensor of the type F16 or BF16 and of the given shape, and marks it as
// used. A tensor that is missing or does not fit is a [*kernel.Error].
func (f *Folder) Uint16(name string, shape ...int) ([]uint16, error) {
	if err := f.Check(name, []string{"F16", "BF16"}, shape...); err != nil {
		return nil, err
	}
	s := f.tensors[name]
	x, err := f.files[s.file].Uint16(s.name)
	return x, f.wrap(name, err)
}

func (f *Folder) wrap(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", f.pathOf(name), err)
	}
	return nil
}
