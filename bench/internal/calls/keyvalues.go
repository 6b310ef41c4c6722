package calls

import (
	"slices"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A Type is the type of keys and values, and of products with them.
type Type struct {
	Name    string
	Scoring kernel.Scoring
	Group   int // how many numbers share a scale; 0: all of a row, or there is none

	bits    int
	scales  bool
	tensors func(x []float32, sets int, shape [4]int) []kernel.Tensor
}

// Types are all that are measured.
var Types = []Type{
	{Name: "float32", bits: 32, tensors: repeat[float32]},
	{Name: "float16", bits: 16, tensors: converted(numeric.ToF16)},
	{Name: "bfloat16", bits: 16, tensors: converted(numeric.ToBF16)},
	{Name: "bfloat16, products too", bits: 16, tensors: converted(numeric.ToBF16), Scoring: kernel.Scoring{BFloat16: true}},
	{Name: "fp8", bits: 8, tensors: converted(numeric.ToF8E4M3)},
	{Name: "int8", bits: 8, scales: true, tensors: int8s},
	{Name: "int8, quantized", bits: 8, scales: true, tensors: int8s, Scoring: kernel.Scoring{DynamicInt12: true}},
	{Name: "int4", bits: 4, scales: true, Group: int4Group, tensors: int4s},
	{Name: "int4, quantized", bits: 4, scales: true, Group: int4Group, tensors: int4s, Scoring: kernel.Scoring{DynamicInt12: true}},
}

// Bytes returns the size of an element of rows of this size, with its part of a scale.
func (t *Type) Bytes(size int) float64 {
	bytes := float64(t.bits) / 8
	switch {
	case t.Group > 0:
		bytes += 4 / float64(t.Group)
	case t.scales:
		bytes += 4 / float64(size)
	}
	return bytes
}

// Scaled says whether elements are integers with scales.
func (t *Type) Scaled() bool { return t.scales }

// Sets returns tensors of this shape with the same numbers, each with its own memory.
func (t *Type) Sets(x []float32, sets int, shape [4]int) []kernel.Tensor {
	return t.tensors(x[:shape[0]*shape[1]*shape[2]*shape[3]], sets, shape)
}

func repeat[E kernel.Element](x []E, sets int, shape [4]int) []kernel.Tensor {
	all := numbers.Alloc[E](sets * len(x))
	ts := make([]kernel.Tensor, sets)
	for i := range ts {
		own := all[i*len(x) : (i+1)*len(x)]
		copy(own, x)
		ts[i] = kernel.BHLD(own, shape[0], shape[1], shape[2], shape[3])
	}
	return ts
}

func converted[E kernel.Element](convert func(float32) E) func([]float32, int, [4]int) []kernel.Tensor {
	return func(x []float32, sets int, shape [4]int) []kernel.Tensor {
		return repeat(numbers.Convert(x, convert), sets, shape)
	}
}

// int8s quantises the numbers with one scale for each row.
func int8s(x []float32, sets int, shape [4]int) []kernel.Tensor {
	q, scales := make([]int8, len(x)), make([]float32, len(x)/shape[3])
	if err := numeric.QuantizeInt8(q, scales, x, shape[3], kernel.Exec{}); err != nil {
		panic(err) // impossible: the numbers are finite
	}
	return scaled(q, scales, sets, shape)
}

// int4Group is the number of int4 that share a scale.
const int4Group = 32

// int4s quantises the numbers to 4 bits.
func int4s(x []float32, sets int, shape [4]int) []kernel.Tensor {
	q, scales := make([]kernel.Int4x2, len(x)/2), make([]float32, len(x)/int4Group)
	if err := numeric.QuantizeInt4(q, scales, x, int4Group, kernel.Exec{}); err != nil {
		panic(err) // impossible, as above
	}
	return scaled(q, scales, sets, shape)
}

// scaled is repeat with scales, as many for each row.
func scaled[E kernel.Element](q []E, scales []float32, sets int, shape [4]int) []kernel.Tensor {
	ts := repeat(q, sets, shape)
	for i := range ts {
		s := kernel.BHLD(slices.Clone(scales), shape[0], shape[1], shape[2], len(scales)/(shape[0]*shape[1]*shape[2]))
		ts[i] = ts[i].Scaled(&s)
	}
	return ts
}
