package contract_test

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// onSlice is a function of the elements of x.
func onSlice(f func(dst, src []float32, exec kernel.Exec) error) func(c *call) error {
	return func(c *call) error {
		x := c.floats("x")
		dst := testutil.Filled(len(x), 77)
		err := f(dst, x, kernel.Exec{})
		c.out["y"] = encode(canonical(dst))
		return err
	}
}

// canonical replaces each NaN, whose bits are not specified, by 7fc00000.
func canonical(x []float32) []float32 {
	for i := range x {
		x[i] = scalar.Canonical(x[i])
	}
	return x
}

// converts is a conversion of the elements of x from one type to another.
func converts[X, Y number](f func(x X) Y) func(c *call) error {
	return func(c *call) error {
		x := numbers[X](c, "x")
		y := make([]Y, len(x))
		for i := range x {
			y[i] = f(x[i])
		}
		if y, ok := any(y).([]float32); ok {
			canonical(y)
		}
		c.out["y"] = encode(y)
		return nil
	}
}

var numberFunctions = map[string]func(c *call) error{
	"exp2": onSlice(numeric.Exp2Slice),
	"tanh": onSlice(numeric.TanhSlice),
	"log2": converts(numeric.Log2),
	"fma": func(c *call) error {
		x, y, z := c.floats("x"), c.floats("y"), c.floats("z")
		for i := range x {
			x[i] = numeric.FMA(x[i], y[i], z[i])
		}
		c.out["y"] = encode(canonical(x))
		return nil
	},
	"add": func(c *call) error {
		x := c.floats("x")
		err := numeric.AddSlice(x, x, c.floats("y"), kernel.Exec{})
		c.out["y"] = encode(x)
		return err
	},
	"hadamard": func(c *call) error {
		x := c.floats("x")
		err := numeric.Hadamard(x, c.int("n"), kernel.Exec{})
		c.out["y"] = encode(x)
		return err
	},
	"to_f16":      converts(numeric.ToF16),
	"to_bf16":     converts(numeric.ToBF16),
	"to_f8e4m3":   converts(numeric.ToF8E4M3),
	"to_f8e5m2":   converts(numeric.ToF8E5M2),
	"from_f16":    converts(func(x kernel.F16) float32 { return scalar.F16(uint16(x)) }),
	"from_bf16":   converts(func(x kernel.BF16) float32 { return scalar.BF16(uint16(x)) }),
	"from_f8e4m3": converts(func(x kernel.F8E4M3) float32 { return scalar.F8E4M3(uint8(x)) }),
	"from_f8e5m2": converts(func(x kernel.F8E5M2) float32 { return scalar.F8E5M2(uint8(x)) }),
	"quantize_int8": func(c *call) error {
		x, group := c.floats("x"), c.int("group")
		codes, scales := make([]int8, len(x)), make([]float32, len(x)/group)
		err := numeric.QuantizeInt8(codes, scales, x, group, kernel.Exec{})
		c.out["codes"], c.out["scales"] = encode(codes), encode(scales)
		return err
	},
	"quantize_int4": func(c *call) error {
		x, group := c.floats("x"), c.int("group")
		pairs, scales := make([]kernel.Int4x2, len(x)/2), make([]float32, len(x)/group)
		err := numeric.QuantizeInt4(pairs, scales, x, group, kernel.Exec{})
		codes := make([]int8, len(x))
		for i, p := range pairs {
			codes[2*i], codes[2*i+1] = p.Numbers()
		}
		c.out["codes"], c.out["scales"] = encode(codes), encode(scales)
		return err
	},
	"philox": func(c *call) error {
		keys := scalar.PhiloxKeys(numbers[uint64](c, "seed")[0])
		var counter [4]uint32
		for i, x := range numbers[int32](c, "counter") {
			counter[i] = uint32(x)
		}
		words := scalar.Philox(keys[:], counter)
		c.out["words"] = encode([]int32{int32(words[0]), int32(words[1]), int32(words[2]), int32(words[3])})
		return nil
	},
}

// specials are numbers at which functions change.
var specials = bits(
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
	0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f2aaaaa, 0x3f2aaaab, 0x3faaaaaa, 0x3faaaaab, 0x3f000000, 0xbf000000,
)

// around are the floats from 2 below to 2 above each number.
func around(x ...float32) (list []float32) {
	for _, x := range x {
		b := math.Float32bits(x)
		list = append(list, bits(b-2, b-1, b, b+1, b+2)...)
	}
	return list
}

// spread are n floats from lo to hi, with all bits of the mantissa.
func spread(seed, n int, lo, hi float32) []float32 {
	r := randOf(seed)
	x := make([]float32, n)
	for i := range x {
		x[i] = lo + float32((hi-lo)*(float32(r.Uint64()>>40)/(1<<24)))
	}
	return x
}

func numberCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	x := func(parts ...[]float32) map[string]any {
		return map[string]any{"x": encode(slices.Concat(append(parts, specials)...))}
	}
	add("exp2", "exp2", x(around(-126, -100, -.5, .5, 1.5, 127, 127.5, 128), spread(1, 40, -130, 130), spread(2, 40, -1, 1)))
	add("tanh", "tanh", x(around(.6, 1.8, 3, 4.2, 5.4, 6.6, 7.8, 9.0110, 9.01171875), spread(3, 60, -9.5, 9.5), random(testutil.Mantissas, 4, 20), random(testutil.Tinies, 5, 5)))
	add("log2", "log2", x(around(.66666669, 1.3333334, 1), spread(6, 30, 0, 4), random(testutil.Mantissas, 7, 30), random(testutil.Specials, 8, 30)))
	three := func(name string, kinds ...testutil.Kind) {
		in := map[string]any{}
		for i, name := range []string{"x", "y", "z"} {
			in[name] = encode(random(kinds[i], 10+i, 60))
		}
		add(name, "fma", in)
	}
	three("fma", testutil.Mantissas, testutil.Mantissas, testutil.Mantissas)
	three("fma-subnormal", testutil.Tinies, testutil.Tinies, testutil.Specials)
	three("fma-special", testutil.NonFinite, testutil.Specials, testutil.NonFinite)
	add("fma-halfway", "fma", map[string]any{ // the sum in binary64 lies halfway between two floats, the exact one does not
		"x": encode(bits(0x3f800001, 0x3f800001, 0x3f800003)), "y": encode(bits(0x3f800001, 0xbf800001, 0x3f7fffff)), "z": encode(bits(0x32ffffff, 0x00000001, 0x80000001)),
	})
	add("add", "add", map[string]any{"x": encode(random(testutil.NonFinite, 20, 80)), "y": encode(random(testutil.Specials, 21, 80))})
	for i, n := range []int{16, 32, 128} {
		kind := []testutil.Kind{testutil.NonFinite, testutil.Mantissas, testutil.Tinies}[i]
		add(fmt.Sprint("hadamard-", n), "hadamard", map[string]any{"n": n, "x": encode(random(kind, 24+i, 2*n))})
	}
	narrow := encode(slices.Concat(specials, around(65504, 65520, 5.9604645e-08, 2.9802322e-08, 6.1035156e-05, 448, 464, 57344, 61440, .015625, .001953125, .0009765625, 1.0625, 1.1875, 1.125, 1.00048828125, 1.00390625), random(testutil.Mantissas, 22, 40)))
	for _, name := range []string{"to_f16", "to_bf16", "to_f8e4m3", "to_f8e5m2"} {
		add(name, name, map[string]any{"x": narrow})
	}
	halves := make([]kernel.F16, 0, 150)
	r := randOf(23)
	for _, b := range []uint16{0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x3c00} {
		halves = append(halves, kernel.F16(b))
	}
	for range 60 {
		halves = append(halves, kernel.F16(r.Uint64()))
	}
	bf16 := make([]kernel.BF16, len(halves))
	for i := range bf16 {
		bf16[i] = kernel.BF16(halves[i])
	}
	e4m3, e5m2 := make([]kernel.F8E4M3, 256), make([]kernel.F8E5M2, 256)
	for i := range 256 {
		e4m3[i], e5m2[i] = kernel.F8E4M3(i), kernel.F8E5M2(i)
	}
	add("from_f16", "from_f16", map[string]any{"x": encode(halves)})
	add("from_bf16", "from_bf16", map[string]any{"x": encode(bf16)})
	add("from_f8e4m3", "from_f8e4m3", map[string]any{"x": encode(e4m3)})
	add("from_f8e5m2", "from_f8e5m2", map[string]any{"x": encode(e5m2)})
	for i, kind := range []testutil.Kind{testutil.Mantissas, testutil.Specials, testutil.Tinies, testutil.Zeros, testutil.Dyadics} {
		add("quantize_int8-"+kind.String(), "quantize_int8", map[string]any{"x": encode(random(kind, 30+i, 48)), "group": 16})
		add("quantize_int4-"+kind.String(), "quantize_int4", map[string]any{"x": encode(random(kind, 40+i, 48)), "group": 16})
	}
	add("quantize_int8-least", "quantize_int8", map[string]any{"x": encode(tiny(127*0x1p-126, 50, 24)), "group": 2})
	add("quantize_int4-least", "quantize_int4", map[string]any{"x": encode(tiny(8*0x1p-126, 51, 24)), "group": 2})
	add("quantize_int8-most", "quantize_int8", map[string]any{"x": encode([]float32{math.MaxFloat32, 1e38, -math.MaxFloat32, 1, math.Nextafter32(math.MaxFloat32, 0), -2e38}), "group": 2})
	add("quantize_int4-most", "quantize_int4", map[string]any{"x": encode([]float32{math.MaxFloat32, 1e38, -math.MaxFloat32, 1}), "group": 2})
	add("philox-zeros", "philox", map[string]any{"seed": single(uint64(0)), "counter": encode(make([]int32, 4))})
	add("philox", "philox", map[string]any{"seed": single(uint64(0x299f31d0a4093822)), "counter": encode([]int32{0x243f6a88, -0x7a5cf72d, 0x13198a2e, 0x03707344})})
	return list
}
