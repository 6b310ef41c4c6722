package export

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields and types in onnx.proto.
const (
	typeFloat = 1
	typeInt64 = 7
)

// message is an encoded message of protocol buffers.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) string(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) int(field protowire.Number, n int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(n))
}

// A graph is a GraphProto that grows.
type graph struct{ message }

// floats adds an initializer of type float32.
func (g *graph) floats(name string, x []float32, shape ...int64) {
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	g.initializer(name, typeFloat, raw, shape)
}

// ints adds an initializer of type int64: one dimension, or a scalar if there is no shape.
func (g *graph) ints(name string, x []int64, shape ...int64) {
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	g.initializer(name, typeInt64, raw, shape)
}

func (g *graph) initializer(name string, dtype int64, raw []byte, shape []int64) {
	var t message
	for _, n := range shape {
		t.int(1, n)
	}
	t.int(2, dtype)
	t.string(8, name)
	t.bytes(9, raw)
	g.bytes(5, t)
}

// An attribute of a node: an int64, a float32 or a []int64.
type attribute struct {
	name  string
	value any
}

// node adds a node with one output, which has the name of the node, and returns it.
func (g *graph) node(op, name string, inputs []string, attributes ...attribute) string {
	var n message
	for _, in := range inputs {
		n.string(1, in)
	}
	n.string(2, name)
	n.string(3, name)
	n.string(4, op)
	for _, a := range attributes {
		n.bytes(5, a.encode())
	}
	g.bytes(1, n)
	return name
}

func (a attribute) encode() message {
	var m message
	m.string(1, a.name)
	switch v := a.value.(type) {
	case int64:
		m.int(3, v)
		m.int(20, 2)
	case float32:
		m = protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(v))
		m.int(20, 1)
	case []int64:
		for _, x := range v {
			m.int(8, x)
		}
		m.int(20, 7)
	}
	return m
}

// value is a ValueInfoProto. Dimensions are numbers or names.
func value(name string, dtype int64, dims ...any) message {
	var shape, tensor, kind, v message
	for _, d := range dims {
		var dim message
		switch d := d.(type) {
		case int64:
			dim.int(1, d)
		case string:
			dim.string(2, d)
		}
		shape.bytes(1, dim)
	}
	tensor.int(1, dtype)
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	v.string(1, name)
	v.bytes(2, kind)
	return v
}

// model encodes a ModelProto of operator set 17.
func (g *graph) model() []byte {
	var m, opset message
	m.int(1, 8) // version of the file format
	m.bytes(7, g.message)
	opset.int(2, 17)
	m.bytes(8, opset)
	return m
}
