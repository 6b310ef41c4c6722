package gguf

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/attn-go/attn/kernel"
)

// A Tensor is a tensor of a file.
type Tensor struct {
	Name string
	Type Type

	// Shape has 0 to 4 dimensions, row-major as in PyTorch: a matrix is [rows, columns]. The
	// file lists them in the opposite order. It is the file's own: do not change it.
	Shape []int

	// Data are the bytes in the file, read-only if the file is mapped, and gone after
	// File.Close. They are nil if the Type is none of this package's constants, as their
	// number is unknown.
	Data []byte
}

// Tensors returns all tensors in the order of the file.
func (f *File) Tensors() []Tensor { return append([]Tensor(nil), f.tensors...) }

// Tensor returns a tensor, and whether the file has it.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.names[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Float32 returns the elements as float32, row after row. It converts F32, F16, BF16 and the
// formats of package linear, see [linear.Format.Widen]. The bits equal the results of the ggml
// project's gguf package, on every machine, except that a NaN may have others, and that MXFP4 with
// an exponent of 255 is NaN. An error is a *kernel.Error.
func (t Tensor) Float32() ([]float32, error) {
	l := t.Type.layout()
	if !t.Type.Converts() {
		return nil, t.fail("cannot be converted to float32", "another type")
	}
	n, size, ok := sizeOf(l, t.Shape)
	if !ok || n > math.MaxInt/4 {
		return nil, t.fail(fmt.Sprintf("shape %d", t.Shape), fmt.Sprintf("whole blocks of %d elements that fit the address space", l.elements))
	}
	if len(t.Data) != size {
		return nil, t.fail(fmt.Sprintf("shape %d and %d bytes of data", t.Shape, len(t.Data)), fmt.Sprintf("%d bytes", size))
	}
	dst := make([]float32, n)
	return dst, t.Type.Widen(dst, t.Data)
}

func (t Tensor) fail(got, want string) error {
	return &kernel.Error{Where: fmt.Sprintf("gguf: tensor %q of type %s", t.Name, t.Type), Got: got, Want: want}
}

// sizeOf returns the number of elements of a tensor and its bytes. It is false if a dimension is
// negative, a row is no whole number of blocks, or a number overflows an int.
func sizeOf(l layout, shape []int) (elements, size int, ok bool) {
	row := 1
	if len(shape) > 0 {
		row = shape[len(shape)-1]
	}
	if row%l.elements != 0 {
		return 0, 0, false
	}
	n := uint(1)
	for _, d := range shape {
		hi, lo := bits.Mul(n, uint(d))
		if d < 0 || hi != 0 || lo > math.MaxInt {
			return 0, 0, false
		}
		n = lo
	}
	hi, lo := bits.Mul(n/uint(l.elements), uint(l.bytes))
	return int(n), int(lo), hi == 0 && lo <= math.MaxInt
}
