package gguf

import "fmt"

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
	convert  func(dst []float32, src []byte) // see convert.go; nil if the type is not supported
}

// layouts has the zero layout where no type is defined.
var layouts = [...]layout{
	F32:     {"F32", 1, 4, fromF32},
	F16:     {"F16", 1, 2, fromF16},
	Q4_0:    {"Q4_0", 32, 18, fromQ4_0},
	Q4_1:    {"Q4_1", 32, 20, fromQ4_1},
	Q5_0:    {"Q5_0", 32, 22, fromQ5_0},
	Q5_1:    {"Q5_1", 32, 24, fromQ5_1},
	Q8_0:    {"Q8_0", 32, 34, fromQ8_0},
	Q8_1:    {"Q8_1", 32, 40, nil},
	Q2_K:    {"Q2_K", 256, 84, fromQ2_K},
	Q3_K:    {"Q3_K", 256, 110, fromQ3_K},
	Q4_K:    {"Q4_K", 256, 144, fromQ4_K},
	Q5_K:    {"Q5_K", 256, 176, fromQ5_K},
	Q6_K:    {"Q6_K", 256, 210, fromQ6_K},
	Q8_K:    {"Q8_K", 256, 292, nil},
	IQ2_XXS: {"IQ2_XXS", 256, 66, nil},
	IQ2_XS:  {"IQ2_XS", 256, 74, nil},
	IQ3_XXS: {"IQ3_XXS", 256, 98, nil},
	IQ1_S:   {"IQ1_S", 256, 50, nil},
	IQ4_NL:  {"IQ4_NL", 32, 18, fromIQ4_NL},
	IQ3_S:   {"IQ3_S", 256, 110, nil},
	IQ2_S:   {"IQ2_S", 256, 82, nil},
	IQ4_XS:  {"IQ4_XS", 256, 136, nil},
	I8:      {"I8", 1, 1, nil},
	I16:     {"I16", 1, 2, nil},
	I32:     {"I32", 1, 4, nil},
	I64:     {"I64", 1, 8, nil},
	F64:     {"F64", 1, 8, nil},
	IQ1_M:   {"IQ1_M", 256, 56, nil},
	BF16:    {"BF16", 1, 2, fromBF16},
	TQ1_0:   {"TQ1_0", 256, 54, nil},
	TQ2_0:   {"TQ2_0", 256, 66, nil},
	MXFP4:   {"MXFP4", 32, 17, fromMXFP4},
	NVFP4:   {"NVFP4", 64, 36, nil},
	Q1_0:    {"Q1_0", 128, 18, nil},
}

// layout returns the layout of the type, the zero layout if the type is not defined.
func (t Type) layout() layout {
	if uint64(t) >= uint64(len(layouts)) {
		return layout{}
	}
	return layouts[t]
}

// Size returns the bytes of so many elements, which are whole blocks; 0 for a type that is not defined.
func (t Type) Size(elements int) int64 {
	l := t.layout()
	if l.elements == 0 {
		return 0
	}
	return int64(elements) / int64(l.elements) * int64(l.bytes)
}

// Converts tells whether [Tensor.Float32] converts the type.
func (t Type) Converts() bool { return t.layout().convert != nil }

// String returns the name of the type, or its number if the format does not define it.
func (t Type) String() string {
	if l := t.layout(); l.name != "" {
		return l.name
	}
	return fmt.Sprintf("Type(%d)", uint32(t))
}
