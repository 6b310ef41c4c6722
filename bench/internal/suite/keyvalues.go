package suite

import (
	"slices"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Decoding is measured with 32 query heads on 8 KV heads of size 128, as in shape C: each
// KV head is read once for 4 query heads.
const (
	decodeGroup = 4 // query heads for each KV head
	decodeHeads = 8 // KV heads
	decodeSize  = 128
	decodeKeys  = 4096
)

// blockKeys is the number of keys in a block of the numeric contract.
const blockKeys = 256

// A cacheLevel is where keys and values are read from. If they are to be read from memory,
// there are several sets of them, used in turn like those of a model's layers, which
// together are larger than all caches.
type cacheLevel struct {
	name        string
	heads, keys int
	float32Sets int
}

func (l cacheLevel) shape() string { return l.name }
func (l cacheLevel) isQuick() bool { return true }

// sets returns the number of sets of a type. All types use as much memory in total.
func (l cacheLevel) sets(t elementType) int {
	if l.float32Sets == 1 {
		return 1
	}
	return int(float64(l.float32Sets) * 4 / t.bytes)
}

// cacheLevels returns keys and values that fill half of L2, a quarter of L3, which other
// programs may use as well, and several times L3, but at most 1 GB.
func cacheLevels() []cacheLevel {
	l2, l3 := machine.CacheSizes()
	keys := func(bytes, heads int) int {
		return max(blockKeys, bytes/(2*4*decodeSize*heads)/blockKeys*blockKeys)
	}
	set := 2 * 4 * decodeSize * decodeHeads * decodeKeys
	return []cacheLevel{
		{"L2", 1, keys(l2/2, 1), 1},
		{"L3", decodeHeads, keys(l3/4, decodeHeads), 1},
		{"memory", decodeHeads, decodeKeys, machine.MemoryBytes()/set + 1},
	}
}

// An elementType is a type of keys and values.
type elementType struct {
	name  string
	bytes float64 // of an element, with its part of a scale
	make  func(x []float32, sets, heads, keys int) []kernel.Tensor

	quantized, rounds bool // Options.DynamicInt12 and BFloat16
}

var elementTypes = []elementType{
	{name: "float32", bytes: 4, make: repeatSets[float32]},
	{name: "float16", bytes: 2, make: func(x []float32, sets, heads, keys int) []kernel.Tensor {
		return repeatSets(numbers.Convert(x, numeric.ToF16), sets, heads, keys)
	}},
	{name: "bfloat16", bytes: 2, make: func(x []float32, sets, heads, keys int) []kernel.Tensor {
		return repeatSets(numbers.Convert(x, numeric.ToBF16), sets, heads, keys)
	}},
	{name: "bfloat16, products too", bytes: 2, rounds: true, make: func(x []float32, sets, heads, keys int) []kernel.Tensor {
		return repeatSets(numbers.Convert(x, numeric.ToBF16), sets, heads, keys)
	}},
	{name: "int8", bytes: 1 + 4.0/decodeSize, make: int8Sets},
	{name: "int8, quantized", bytes: 1 + 4.0/decodeSize, make: int8Sets, quantized: true},
	{name: "int4", bytes: 0.5 + 4.0/int4Group, make: int4Sets},
	{name: "int4, quantized", bytes: 0.5 + 4.0/int4Group, make: int4Sets, quantized: true},
}

// repeatSets returns tensors of the same numbers, each with its own memory.
func repeatSets[E kernel.Element](x []E, sets, heads, keys int) []kernel.Tensor {
	ts := make([]kernel.Tensor, sets)
	all := numbers.Alloc[E](sets * len(x))
	for i := range ts {
		own := all[i*len(x) : (i+1)*len(x)]
		copy(own, x)
		ts[i] = kernel.BHLD(own, 1, heads, keys, decodeSize)
	}
	return ts
}

// int8Sets quantises the numbers with one scale for each row.
func int8Sets(x []float32, sets, heads, keys int) []kernel.Tensor {
	q, scales := make([]int8, len(x)), make([]float32, len(x)/decodeSize)
	if err := numeric.QuantizeInt8(q, scales, x, decodeSize, kernel.Exec{}); err != nil {
		panic(err) // impossible: the numbers are finite
	}
	return scaledSets(q, scales, sets, heads, keys)
}

// int4Group is the number of int4 that share a scale.
const int4Group = 32

// int4Sets quantises the numbers to 4 bits.
func int4Sets(x []float32, sets, heads, keys int) []kernel.Tensor {
	q, scales := make([]kernel.Int4x2, len(x)/2), make([]float32, len(x)/int4Group)
	if err := numeric.QuantizeInt4(q, scales, x, int4Group, kernel.Exec{}); err != nil {
		panic(err) // impossible, as above
	}
	return scaledSets(q, scales, sets, heads, keys)
}

// scaledSets is repeatSets with scales, as many for each row.
func scaledSets[E kernel.Element](q []E, scales []float32, sets, heads, keys int) []kernel.Tensor {
	ts := repeatSets(q, sets, heads, keys)
	for i := range ts {
		s := kernel.BHLD(slices.Clone(scales), 1, heads, keys, len(scales)/(heads*keys))
		ts[i] = ts[i].Scaled(&s)
	}
	return ts
}
