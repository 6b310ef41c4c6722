package contract_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A tensor is an array of numbers in a file: their bits in hexadecimal, one number after the other
// without gaps, row-major. A single number has a shape without dimensions.
type tensor struct {
	Type  string `json:"type"` // a key of sizes
	Shape []int  `json:"shape"`
	Bits  string `json:"bits"`
}

// sizes are the bytes of the numbers of all types.
var sizes = map[string]int{"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i8": 1, "u8": 1, "bool": 1, "u64": 8, "i32": 4}

// digitsOf returns how many digits the numbers of a type have.
func digitsOf(typ string) int {
	if typ == int4 {
		return 1
	}
	return 2 * sizes[typ]
}

// int4 is the type of numbers from -8 to 7, of which two are a kernel.Int4x2.
const int4 = "i4"

// count returns the number of elements of a shape.
func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// tensorOf returns a tensor of a map that was decoded from JSON, or made here.
func tensorOf(x any) (tensor, error) {
	if t, ok := x.(tensor); ok {
		return t, nil
	}
	m, ok := x.(map[string]any)
	if !ok {
		return tensor{}, fmt.Errorf("%v is no tensor", x)
	}
	var t tensor
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, err
	}
	if digitsOf(t.Type) == 0 || len(t.Bits) != count(t.Shape)*digitsOf(t.Type) {
		return t, fmt.Errorf("a tensor of type %q and shape %v with %d digits", t.Type, t.Shape, len(t.Bits))
	}
	return t, nil
}

// number is a type of the elements of a tensor.
type number interface {
	float32 | float64 | uint64 | int32 | int8 | uint8 | bool | kernel.F16 | kernel.BF16 | kernel.F8E4M3 | kernel.F8E5M2
}

// encode returns a tensor. Without a shape x is one row.
func encode[E number](x []E, shape ...int) tensor {
	if shape == nil {
		shape = []int{len(x)}
	}
	var t tensor
	var bits []byte
	for _, x := range x {
		switch x := any(x).(type) {
		case float32:
			t.Type, bits = "f32", binary.BigEndian.AppendUint32(bits, math.Float32bits(x))
		case float64:
			t.Type, bits = "f64", binary.BigEndian.AppendUint64(bits, math.Float64bits(x))
		case uint64:
			t.Type, bits = "u64", binary.BigEndian.AppendUint64(bits, x)
		case int32:
			t.Type, bits = "i32", binary.BigEndian.AppendUint32(bits, uint32(x))
		case int8:
			t.Type, bits = "i8", append(bits, byte(x))
		case uint8:
			t.Type, bits = "u8", append(bits, x)
		case bool:
			t.Type, bits = "bool", append(bits, map[bool]byte{true: 1}[x])
		case kernel.F16:
			t.Type, bits = "f16", binary.BigEndian.AppendUint16(bits, uint16(x))
		case kernel.BF16:
			t.Type, bits = "bf16", binary.BigEndian.AppendUint16(bits, uint16(x))
		case kernel.F8E4M3:
			t.Type, bits = "f8e4m3", append(bits, byte(x))
		case kernel.F8E5M2:
			t.Type, bits = "f8e5m2", append(bits, byte(x))
		}
	}
	if len(x) == 0 {
		t.Type = "f32"
	}
	t.Shape, t.Bits = shape, hex.EncodeToString(bits)
	return t
}

// single returns a tensor of one number.
func single[E number](x E) tensor { return encode([]E{x}, []int{}...) }

// decode returns the numbers of a tensor, whose type must be E.
func decode[E number](t tensor) ([]E, error) {
	data, err := hex.DecodeString(t.Bits)
	if err != nil {
		return nil, err
	}
	if want := encode(make([]E, 1)).Type; t.Type != want {
		return nil, fmt.Errorf("a tensor of %s, want %s", t.Type, want)
	}
	x := make([]E, count(t.Shape))
	size := sizes[t.Type]
	for i := range x {
		b := data[i*size : (i+1)*size]
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = math.Float32frombits(binary.BigEndian.Uint32(b))
		case *float64:
			*p = math.Float64frombits(binary.BigEndian.Uint64(b))
		case *uint64:
			*p = binary.BigEndian.Uint64(b)
		case *int32:
			*p = int32(binary.BigEndian.Uint32(b))
		case *int8:
			*p = int8(b[0])
		case *uint8:
			*p = b[0]
		case *bool:
			*p = b[0] != 0
		case *kernel.F16:
			*p = kernel.F16(binary.BigEndian.Uint16(b))
		case *kernel.BF16:
			*p = kernel.BF16(binary.BigEndian.Uint16(b))
		case *kernel.F8E4M3:
			*p = kernel.F8E4M3(b[0])
		case *kernel.F8E5M2:
			*p = kernel.F8E5M2(b[0])
		}
	}
	return x, nil
}

// A call is a call of a function: its arguments and its results by name. The first argument that is
// missing or of another type is its error.
type call struct {
	in, out map[string]any
	err     error
}

func (c *call) has(name string) bool { return c.in[name] != nil }

func (c *call) fail(name string, err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("argument %s: %w", name, err)
	}
}

// raw returns an argument that is a tensor. One that is not there is empty.
func (c *call) raw(name string) tensor {
	t, err := tensorOf(c.in[name])
	c.fail(name, err)
	return t
}

// numbers returns an argument that is a tensor as a slice, or nil if it is not there.
func numbers[E number](c *call, name string) []E {
	if !c.has(name) {
		return nil
	}
	x, err := decode[E](c.raw(name))
	c.fail(name, err)
	return x
}

func (c *call) floats(name string) []float32 { return numbers[float32](c, name) }

// held returns a copy of the floats that an output holds before a call that adds to it, or n floats
// that are not zero, for one that is overwritten.
func (c *call) held(name string, n int) []float32 {
	if c.has(name) {
		return c.floats(name)
	}
	return testutil.Filled(n, 77)
}

// float returns a single float32, or 0 if it is not there.
func (c *call) float(name string) float32 {
	if x := c.floats(name); len(x) > 0 {
		return x[0]
	}
	return 0
}

func (c *call) double(name string) float64 {
	if x := numbers[float64](c, name); len(x) > 0 {
		return x[0]
	}
	return 0
}

// ints returns an argument that is a list of integers, or nil if it is not there.
func (c *call) ints(name string) (list []int) {
	switch x := c.in[name].(type) {
	case nil:
	case []int:
		return x
	case []any:
		for _, x := range x {
			n, err := x.(json.Number).Int64()
			c.fail(name, err)
			list = append(list, int(n))
		}
	default:
		c.fail(name, fmt.Errorf("%v is no list of integers", x))
	}
	return list
}

// int returns an argument that is an integer, or 0 if it is not there.
func (c *call) int(name string) int {
	switch x := c.in[name].(type) {
	case nil:
	case int:
		return x
	case json.Number:
		n, err := x.Int64()
		c.fail(name, err)
		return int(n)
	default:
		c.fail(name, fmt.Errorf("%v is no integer", x))
	}
	return 0
}

// text returns an argument that is a string, or "" if it is not there.
func (c *call) text(name string) string {
	s, _ := c.in[name].(string)
	return s
}

// shape returns the shape of an argument with four dimensions.
func (c *call) shape(name string) (s [4]int) {
	t := c.raw(name)
	if len(t.Shape) != 4 {
		c.fail(name, fmt.Errorf("shape %v, want four dimensions", t.Shape))
		return s
	}
	return [4]int(t.Shape)
}

// tensor returns an argument as a kernel.Tensor, or the zero Tensor if it is not there. A tensor of
// int8 or int4 gets scales from the argument with the ending _scales.
func (c *call) tensor(name string) kernel.Tensor {
	if !c.has(name) {
		return kernel.Tensor{}
	}
	s := c.shape(name)
	switch typ := c.raw(name).Type; typ {
	case "f32":
		return dense(c.floats(name), s)
	case "f16":
		return dense(numbers[kernel.F16](c, name), s)
	case "bf16":
		return dense(numbers[kernel.BF16](c, name), s)
	case "f8e4m3":
		return dense(numbers[kernel.F8E4M3](c, name), s)
	case "f8e5m2":
		return dense(numbers[kernel.F8E5M2](c, name), s)
	case "i8":
		scales := c.tensor(name + "_scales")
		return dense(numbers[int8](c, name), s).Scaled(&scales)
	case int4:
		scales := c.tensor(name + "_scales")
		return dense(c.pairs(name), s).Scaled(&scales)
	default:
		c.fail(name, fmt.Errorf("no tensor of %s", typ))
		return kernel.Tensor{}
	}
}

// pairs returns an argument of int4 as a kernel.Tensor has it: the first number of two in the lower
// half.
func (c *call) pairs(name string) []kernel.Int4x2 {
	data, err := hex.DecodeString(c.raw(name).Bits)
	c.fail(name, err)
	x := make([]kernel.Int4x2, len(data))
	for i, b := range data {
		x[i] = kernel.Int4x2(b>>4 | b<<4)
	}
	return x
}

func dense[E kernel.Element](x []E, s [4]int) kernel.Tensor {
	return kernel.BHLD(x, s[0], s[1], s[2], s[3])
}

// shift is added to the seed of all numbers.
var shift int

func randOf(seed int) testutil.Rand { return testutil.Rand(seed + shift) }

// random returns n float32 of a kind.
func random(kind testutil.Kind, seed, n int) []float32 {
	r := randOf(seed)
	x := make([]float32, n)
	kind.Fill(&r, x, 1, n, n)
	return x
}

// wild is a tensor with numbers of a kind, such as those that are not finite.
func wild(kind testutil.Kind, seed int, shape ...int) tensor {
	return encode(random(kind, seed, count(shape)), shape...)
}

// tiny has numbers whose magnitudes are around least, subnormal ones, zeros of both signs
// and some of about 1.
func tiny(least float32, seed, n int) []float32 {
	r, x := randOf(seed), normal(seed, n)
	for i := range x {
		words := []uint32{math.Float32bits(least) - 2 + uint32(r.IntN(4)), uint32(r.IntN(1 << 23)), 0, math.Float32bits(x[i])}
		x[i] = math.Float32frombits(words[r.IntN(4)] | uint32(r.IntN(2))<<31)
	}
	return x
}

// normal is random with numbers of about 1: sums of both signs, with all bits of the mantissa.
func normal(seed, n int) []float32 {
	r := randOf(seed)
	x := make([]float32, n)
	for i := range x {
		sum := int32(0)
		for range 4 {
			sum += int32(r.Uint64()>>40) - 1<<23
		}
		x[i] = float32(sum) / (1 << 23)
	}
	return x
}

// array is a tensor of normal numbers.
func array(seed int, shape ...int) tensor { return encode(normal(seed, count(shape)), shape...) }

// narrowed is array in another type.
func narrowed[E number](seed int, to func(x float32) E, shape ...int) tensor {
	x := normal(seed, count(shape))
	y := make([]E, len(x))
	for i := range x {
		y[i] = to(x[i])
	}
	return encode(y, shape...)
}

// int4s is a tensor of int4, all of which occur in a long one.
func int4s(seed int, shape ...int) tensor {
	t := narrowed(seed, func(x float32) int8 { return int8(max(-8, min(7, x*5))) }, shape...)
	var digits strings.Builder
	for i := 1; i < len(t.Bits); i += 2 { // the lower half of two's complement
		digits.WriteByte(t.Bits[i])
	}
	return tensor{int4, t.Shape, digits.String()}
}

// bits are float32 given as their bits.
func bits(x ...uint32) []float32 {
	y := make([]float32, len(x))
	for i := range x {
		y[i] = math.Float32frombits(x[i])
	}
	return y
}
