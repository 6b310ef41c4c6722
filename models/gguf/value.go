package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A valueType is the type of a metadata value, with the numbers that files use.
type valueType uint32

const (
	typeBool   valueType = 7
	typeString valueType = 8
	typeArray  valueType = 9
	valueTypes valueType = 13
)

// maxNesting is how deep arrays may lie within each other.
const maxNesting = 8

// fixed has the value types of fixed size: numbers and bools.
var fixed = [valueTypes]decoder{
	0:        of[uint8]{1, func(b []byte) uint8 { return b[0] }},
	1:        of[int8]{1, func(b []byte) int8 { return int8(b[0]) }},
	2:        of[uint16]{2, binary.LittleEndian.Uint16},
	3:        of[int16]{2, func(b []byte) int16 { return int16(binary.LittleEndian.Uint16(b)) }},
	4:        of[uint32]{4, binary.LittleEndian.Uint32},
	5:        of[int32]{4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }},
	6:        of[float32]{4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	typeBool: of[bool]{1, func(b []byte) bool { return b[0] != 0 }},
	10:       of[uint64]{8, binary.LittleEndian.Uint64},
	11:       of[int64]{8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }},
	12:       of[float64]{8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
}

// A decoder decodes values of one type.
type decoder interface {
	bytes() int       // of a value
	one(b []byte) any // the value in b
	all(b []byte) any // the slice of the values in b
}

// of is the decoder of the values of type T.
type of[T any] struct {
	size int
	get  func(b []byte) T
}

func (d of[T]) bytes() int       { return d.size }
func (d of[T]) one(b []byte) any { return d.get(b) }

func (d of[T]) all(b []byte) any {
	values := make([]T, len(b)/d.size)
	for i := range values {
		values[i] = d.get(b[i*d.size:])
	}
	return values
}

// valueType reads the type of a value.
func (r *reader) valueType() (valueType, error) {
	at := r.at
	n, err := r.uint32()
	if err == nil && n >= uint32(valueTypes) {
		err = r.fail(at, "0 to 12", "value type %d", n)
	}
	return valueType(n), err
}

// value reads a value that lies in so many arrays.
func (r *reader) value(kind valueType, nesting int) (any, error) {
	switch kind {
	case typeString:
		b, err := r.bytes()
		return string(b), err
	case typeArray:
		return r.array(nesting)
	}
	b, err := r.fixed(kind, 1)
	if err != nil {
		return nil, err
	}
	return fixed[kind].one(b), nil
}

// fixed takes n values of fixed size, and checks them if they are bools.
func (r *reader) fixed(kind valueType, n int) ([]byte, error) {
	at := r.at
	b, err := r.take(uint64(n) * uint64(fixed[kind].bytes()))
	if err != nil || kind != typeBool {
		return b, err
	}
	if i := slices.IndexFunc(b, func(v byte) bool { return v > 1 }); i >= 0 {
		return nil, r.fail(at+i, "0 or 1", "bool %d", b[i])
	}
	return b, nil
}

// array reads an array that lies in so many others.
func (r *reader) array(nesting int) (any, error) {
	if nesting == maxNesting {
		return nil, r.fail(r.at, fmt.Sprintf("at most %d", maxNesting), "%d arrays within each other", nesting+1)
	}
	kind, err := r.valueType()
	if err != nil {
		return nil, err
	}
	switch kind {
	case typeString:
		return r.strings()
	case typeArray:
		return r.arrays(nesting + 1)
	}
	n, err := r.count(fixed[kind].bytes(), "array elements")
	if err != nil {
		return nil, err
	}
	b, err := r.fixed(kind, n)
	if err != nil {
		return nil, err
	}
	return fixed[kind].all(b), nil
}

// arrays reads the elements of an array of arrays.
func (r *reader) arrays(nesting int) ([]any, error) {
	n, err := r.count(4+8, "arrays")
	if err != nil {
		return nil, err
	}
	values := make([]any, n)
	for i := range values {
		if values[i], err = r.array(nesting); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// strings reads the elements of an array of strings. It allocates twice, not once for each of
// a vocabulary: the strings are parts of one.
func (r *reader) strings() ([]string, error) {
	n, err := r.count(8, "strings")
	if err != nil {
		return nil, err
	}
	start, total := r.at, 0
	for range n {
		b, err := r.bytes()
		if err != nil {
			return nil, err
		}
		total += len(b)
	}
	var text strings.Builder
	text.Grow(total)
	values := make([]string, n)
	r.at = start
	for i := range values {
		b, _ := r.bytes() // which succeeded above
		begin := text.Len()
		text.Write(b)
		values[i] = text.String()[begin:]
	}
	return values, nil
}
