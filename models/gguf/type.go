package gguf

import (
	"encoding/binary"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// A Type is how the elements of a tensor are stored, with the numbers that files use.
type Type uint32

// The types that the format defines. Those that Tensor.Float32 does not convert are here so
// that a program can name them.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q8_1    Type = 9
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
)

// A layout says how a type stores elements: in blocks of so many, which take so many bytes.
type layout struct {
	name     string
	elements int
	bytes    int
}

// layouts are the layouts of types that are no formats of package linear, which has the others; the
// zero layout where no type is defined.
var layouts = [...]layout{
	F32:  {"F32", 1, 4},
	F16:  {"F16", 1, 2},
	Q8_1: {"Q8_1", 32, 40},
	Q8_K: {"Q8_K", 256, 292},
	I8:   {"I8", 1, 1},
	I16:  {"I16", 1, 2},
	I32:  {"I32", 1, 4},
	I64:  {"I64", 1, 8},
	F64:  {"F64", 1, 8},
	BF16: {"BF16", 1, 2},
	Q1_0: {"Q1_0", 128, 18},
}

// layout returns the layout of the type, the zero layout if the type is not defined.
func (t Type) layout() layout {
	if f := linear.Format(t); t.own() {
		elements, bytes := f.Block()
		return layout{f.String(), elements, bytes}
	}
	if uint64(t) >= uint64(len(layouts)) {
		return layout{}
	}
	return layouts[t]
}

// own tells whether the type is a format of package linear.
func (t Type) own() bool {
	elements, _ := linear.Format(t).Block()
	return elements > 0
}

// Format returns the format of package linear with the number of the type, and whether there is
// one.
func (t Type) Format() (f linear.Format, ok bool) { return linear.Format(t), t.own() }

// Size returns the bytes of so many elements, which are whole blocks; 0 for a type that is not
// defined.
func (t Type) Size(elements int) int64 {
	l := t.layout()
	if l.elements == 0 {
		return 0
	}
	return int64(elements) / int64(l.elements) * int64(l.bytes)
}

// Block returns how many elements of the type lie together, and in how many bytes; 0 for a type
// that is not defined.
func (t Type) Block() (elements, bytes int) {
	l := t.layout()
	return l.elements, l.bytes
}

// Widen writes the elements of data, whole blocks of the type, to dst as float32, as
// [Tensor.Float32] does. It is a [*kernel.Error] if dst has not as many, and for a type that is not
// converted.
func (t Type) Widen(dst []float32, data []byte) error {
	l := t.layout()
	if !t.Converts() {
		return &kernel.Error{Where: "gguf: Type.Widen: t", Got: t.String(), Want: "a type that is converted to float32"}
	}
	if len(data)%l.bytes != 0 || len(data)/l.bytes != len(dst)/l.elements || len(dst)%l.elements != 0 {
		return &kernel.Error{Where: "gguf: Type.Widen: data", Got: fmt.Sprintf("%d bytes for %d elements", len(data), len(dst)), Want: fmt.Sprintf("%d bytes for each %d", l.bytes, l.elements)}
	}
	switch t {
	case F32:
		littleendian.Copy(dst, data)
	case F16:
		for i := range dst {
			dst[i] = kernel.F16(binary.LittleEndian.Uint16(data[2*i:])).Float32()
		}
	case BF16:
		for i := range dst {
			dst[i] = kernel.BF16(binary.LittleEndian.Uint16(data[2*i:])).Float32()
		}
	default:
		return linear.Format(t).Widen(dst, data)
	}
	return nil
}

// Converts tells whether [Tensor.Float32] converts the type.
func (t Type) Converts() bool {
	return t.own() || t == F32 || t == F16 || t == BF16
}

// String returns the name of the type, or its number if the format does not define it.
func (t Type) String() string {
	if l := t.layout(); l.name != "" {
		return l.name
	}
	return fmt.Sprintf("Type(%d)", uint32(t))
}
