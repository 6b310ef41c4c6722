package gguf

import (
	"encoding/binary"
	"fmt"
)

// A content is what write makes a file of. Its tensors have no data but zeros.
type content struct {
	version   uint32
	entries   []entry
	tensors   []described
	alignment int
	data      int // bytes
}

// described is the description of a tensor, in the words of the file.
type described struct {
	name       string
	dimensions []uint64
	kind       Type
	offset     uint64
}

// sample returns a file that has everything: all value types, arrays of them, arrays of
// arrays, and tensors of several types and numbers of dimensions.
func sample() content {
	return content{
		version: 3,
		entries: []entry{
			{"a.uint8", uint8(200)}, {"a.int8", int8(-100)}, {"a.uint16", uint16(60000)}, {"a.int16", int16(-30000)},
			{"a.uint32", uint32(4e9)}, {"a.int32", int32(-2e9)}, {"a.uint64", uint64(1 << 63)}, {"a.int64", int64(-1 << 62)},
			{"a.float32", float32(1.5)}, {"a.float64", 2.5e300}, {"a.bool", true}, {"a.string", "Ġt"}, {"a.empty", ""},
			{"general.alignment", uint32(64)},
			{"b.uint8", []uint8{1, 255}}, {"b.int8", []int8{-1, 1}}, {"b.uint16", []uint16{1, 65535}}, {"b.int16", []int16{-1, 1}},
			{"b.uint32", []uint32{1, 1 << 31}}, {"b.int32", []int32{-1, 1}}, {"b.uint64", []uint64{1, 1 << 40}},
			{"b.int64", []int64{-1, 1}}, {"b.float32", []float32{0.5, -0.25}}, {"b.float64", []float64{0.5, 1e300}},
			{"b.bool", []bool{true, false}}, {"b.string", []string{"a", "", "\xff\x00"}}, {"b.empty", []int32{}},
			{"c.nested", []any{[]uint8{7}, []string{"x", "y"}, []any{[]any{}, []float32{1}}}},
		},
		tensors: []described{
			{"matrix", []uint64{32, 3}, Q4_1, 0},
			{"scalar", nil, F32, 64},
			{"none", []uint64{0, 5}, F16, 128},
			{"four", []uint64{2, 1, 3, 1}, BF16, 128},
			{"strange", []uint64{77}, 1000, 192},
		},
		alignment: 64,
		data:      256,
	}
}

// write returns the file.
func write(c content) []byte {
	b := head(c.version, len(c.tensors), len(c.entries))
	for _, e := range c.entries {
		b = appendString(b, e.key)
		b = appendUint32(b, uint32(kindOf(e.value)))
		b = appendValue(b, e.value)
	}
	for _, t := range c.tensors {
		b = appendInfo(b, t)
	}
	for len(b)%c.alignment != 0 {
		b = append(b, 0)
	}
	return append(b, make([]byte, c.data)...)
}

// head returns the header of a file.
func head(version uint32, tensors, entries int) []byte {
	b := appendUint32([]byte("GGUF"), version)
	return appendUint64(appendUint64(b, uint64(tensors)), uint64(entries))
}

func appendInfo(b []byte, t described) []byte {
	b = appendUint32(appendString(b, t.name), uint32(len(t.dimensions)))
	for _, d := range t.dimensions {
		b = appendUint64(b, d)
	}
	return appendUint64(appendUint32(b, uint32(t.kind)), t.offset)
}

// appendValue appends a value without its type.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v)
	case []string:
		b = appendUint64(appendUint32(b, uint32(typeString)), uint64(len(v)))
		for _, s := range v {
			b = appendString(b, s)
		}
		return b
	case []any:
		b = appendUint64(appendUint32(b, uint32(typeArray)), uint64(len(v)))
		for _, a := range v {
			b = appendValue(b, a)
		}
		return b
	}
	if kind, n, ok := numbers(v); ok {
		b = appendUint64(appendUint32(b, kind), uint64(n))
	}
	b, err := binary.Append(b, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

// numbers returns the type of the elements of a slice of numbers or bools, and how many there
// are. It is false if v is no such slice.
func numbers(v any) (kind uint32, n int, ok bool) {
	for kind, t := range []any{[]uint8{}, []int8{}, []uint16{}, []int16{}, []uint32{}, []int32{}, []float32{}, []bool{},
		nil, nil, []uint64{}, []int64{}, []float64{}} {
		if t != nil && fmt.Sprintf("%T", t) == fmt.Sprintf("%T", v) {
			return uint32(kind), binary.Size(v) / fixed[kind].bytes(), true
		}
	}
	return 0, 0, false
}

// kindOf returns the type of a value.
func kindOf(v any) valueType {
	for kind, t := range []any{uint8(0), int8(0), uint16(0), int16(0), uint32(0), int32(0), float32(0), false, "", nil,
		uint64(0), int64(0), float64(0)} {
		if t != nil && fmt.Sprintf("%T", t) == fmt.Sprintf("%T", v) {
			return valueType(kind)
		}
	}
	return typeArray
}

func appendString(b []byte, s string) []byte {
	return append(appendUint64(b, uint64(len(s))), s...)
}

func appendUint32(b []byte, x uint32) []byte { return binary.LittleEndian.AppendUint32(b, x) }
func appendUint64(b []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(b, x) }
