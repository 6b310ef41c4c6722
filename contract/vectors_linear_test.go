package contract_test

import (
	"encoding/binary"
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

var linearFunctions = map[string]func(c *call) error{
	"linear": func(c *call) error {
		l, err := linear.New(c.matrix("w"), c.floats("bias"), kernel.Exec{})
		if err != nil {
			return err
		}
		return c.apply(l)
	},
	"linear_bf16": func(c *call) error {
		l, err := linear.RoundBFloat16(c.matrix("w"), c.floats("bias"), kernel.Exec{})
		if err != nil {
			return err
		}
		return c.apply(l)
	},
	"linear_quantized": func(c *call) error {
		l, err := c.quantized()
		if err != nil {
			return err
		}
		return c.apply(l)
	},
	"weights_quantized": func(c *call) error {
		l, err := c.quantized()
		if err != nil {
			return err
		}
		return c.weightsOf(l)
	},
	"weights_to_q8_0": func(c *call) error {
		l, err := linear.QuantizeInt8(c.matrix("w"), nil, kernel.Exec{})
		if err != nil {
			return err
		}
		return c.weightsOf(l)
	},
	"product": func(c *call) error {
		a, b := c.matrix("a"), c.matrix("b")
		m, _ := a.Shape()
		n, _ := b.Shape()
		out := c.held("out", m*n)
		err := linear.Product(linear.DenseMatrix(out, m, n), a, b, linear.ProductOptions{Accumulate: c.has("out")})
		c.out["out"] = encode(out, m, n)
		return err
	},
	"linear_backward": func(c *call) error {
		dy, x, w := c.matrix("dy"), c.matrix("x"), c.matrix("w")
		m, k := x.Shape()
		n, _ := w.Shape()
		dx, dw, db := c.held("dx", m*k), c.held("dw", n*k), c.held("dbias", n)
		err := linear.Backward(linear.Gradients{X: linear.DenseMatrix(dx, m, k), W: linear.DenseMatrix(dw, n, k), Bias: db}, dy, x, w, linear.ProductOptions{Accumulate: c.has("dw")})
		c.out["dx"], c.out["dw"], c.out["dbias"] = encode(dx, m, k), encode(dw, n, k), encode(db)
		return err
	},
	"add_rows": func(c *call) error {
		out := c.floats("out")
		shape := c.raw("out").Shape
		err := linear.AddRows(linear.DenseMatrix(out, shape[0], shape[1]), c.matrix("x"), numbers[int32](c, "rows"), kernel.Exec{})
		c.out["out"] = encode(out, shape...)
		return err
	},
}

// matrix returns an argument with two dimensions.
func (c *call) matrix(name string) linear.Matrix {
	t := c.raw(name)
	if len(t.Shape) != 2 {
		c.fail(name, fmt.Errorf("shape %v, want two dimensions", t.Shape))
		return linear.Matrix{}
	}
	switch t.Type {
	case "f16":
		return linear.DenseMatrix(numbers[kernel.F16](c, name), t.Shape[0], t.Shape[1])
	case "bf16":
		return linear.DenseMatrix(numbers[kernel.BF16](c, name), t.Shape[0], t.Shape[1])
	}
	return linear.DenseMatrix(c.floats(name), t.Shape[0], t.Shape[1])
}

// formats are the formats of quantized weights by name, with the bytes of a block, its weights and
// the places of its binary16.
var formats = map[string]struct {
	format         linear.Format
	bytes, weights int
	halves         []int
}{
	"Q8_0": {linear.Q8_0, 34, 32, []int{0}},
	"Q4_0": {linear.Q4_0, 18, 32, []int{0}},
	"Q4_1": {linear.Q4_1, 20, 32, []int{0, 2}},
	"Q5_0": {linear.Q5_0, 22, 32, []int{0}},
	"Q5_1": {linear.Q5_1, 24, 32, []int{0, 2}},
	"Q2_K": {linear.Q2_K, 84, 256, []int{80, 82}},
	"Q3_K": {linear.Q3_K, 110, 256, []int{108}},
	"Q4_K": {linear.Q4_K, 144, 256, []int{0, 2}},
	"Q5_K": {linear.Q5_K, 176, 256, []int{0, 2}},
	"Q6_K": {linear.Q6_K, 210, 256, []int{208}},

	"IQ4_NL": {linear.IQ4_NL, 18, 32, []int{0}},
	"MXFP4":  {linear.MXFP4, 17, 32, nil},
	"NVFP4":  {linear.NVFP4, 36, 64, nil},
	"IQ4_XS": {linear.IQ4_XS, 136, 256, []int{0}},
	"TQ1_0":  {linear.TQ1_0, 54, 256, []int{52}},
	"TQ2_0":  {linear.TQ2_0, 66, 256, []int{64}},
}

// formatNames are the names of all formats but NVFP4, whose vectors have scales beside the blocks.
// The numbers in vectors follow from their places, so new ones come last.
var formatNames = []string{"Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "MXFP4", "IQ4_XS", "TQ1_0", "TQ2_0"}

// quantized makes the layer of the blocks of a file.
func (c *call) quantized() (*linear.Linear, error) {
	f, ok := formats[c.text("format")]
	data := c.raw("blocks")
	if !ok || len(data.Shape) != 2 {
		return nil, fmt.Errorf("format %q, blocks of shape %v", c.text("format"), data.Shape)
	}
	n, k, blocks := data.Shape[0], data.Shape[1]/f.bytes*f.weights, numbers[uint8](c, "blocks")
	if scales := c.floats("scales"); scales != nil {
		return linear.FromNVFP4(blocks, scales, n, k, c.floats("bias"), kernel.Exec{})
	}
	return linear.FromBlocks(f.format, blocks, n, k, c.floats("bias"), kernel.Exec{})
}

// weightsOf has the weights of a layer as float32 as its result.
func (c *call) weightsOf(l *linear.Linear) error {
	n, k := l.Shape()
	w, rows := testutil.Filled(n*k, 77), make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	err := l.Rows(linear.DenseMatrix(w, n, k), rows, kernel.Exec{})
	c.out["w"] = encode(w, n, k)
	return err
}

// apply applies a layer to x.
func (c *call) apply(l *linear.Linear) error {
	x := c.matrix("x")
	m, _ := x.Shape()
	n, _ := l.Shape()
	o := linear.Options{DynamicInt8: c.int("int8") != 0}
	o.Activation = map[string]linear.Activation{"": linear.NoActivation, "silu": linear.SiLU, "gelu": linear.GELU, "gelu_tanh": linear.GELUTanh}[c.text("activation")]
	out := testutil.Filled(m*n, 77)
	err := l.Apply(linear.DenseMatrix(out, m, n), x, o)
	c.out["out"] = encode(out, m, n)
	return err
}

// blocks returns random blocks of a format for n outputs and k inputs. Scales are of either sign
// and about 2^-6.
func blocks(name string, seed, n, k int) tensor {
	f := formats[name]
	r := randOf(seed)
	data := make([]uint8, n*k/f.weights*f.bytes)
	for i := range data {
		data[i] = uint8(r.Uint64() >> 32)
	}
	for at := 0; at < len(data); at += f.bytes {
		if f.format == linear.MXFP4 {
			data[at] = 112 + data[at]%16
		}
		for _, h := range f.halves {
			x := r.Float32() / 64
			binary.LittleEndian.PutUint16(data[at+h:], uint16(numeric.ToF16(x)))
		}
	}
	return encode(data, n, len(data)/n)
}

// oddHalves are binary16 that are infinite, NaN, -0 and subnormal.
var oddHalves = []uint16{0x7c00, 0xfe01, 0x8000, 0x8001}

// specialScales puts oddHalves in the place of the scales of the rows of blocks, and then of their
// minima. MXFP4 gets the largest scale and the least, and any scale for blocks of zeros.
func specialScales(name string, t tensor) tensor {
	data, err := decode[uint8](t)
	if err != nil {
		panic(err) // of the vectors' own arguments
	}
	f := formats[name]
	for i, h := range oddHalves {
		block := data[i*f.bytes : (i+1)*f.bytes]
		if len(f.halves) > 0 {
			binary.LittleEndian.PutUint16(block[f.halves[i%len(f.halves)]:], h)
			continue
		}
		block[0] = []uint8{104, 143, 0, 255}[i] // of weights, and then of zeros
		for k := 1; i >= 2 && k < len(block); k++ {
			block[k] = 0x80
		}
	}
	return encode(data, t.Shape...)
}

// withScales puts the e of blocks of MXFP4.
func withScales(t tensor, es ...uint8) tensor {
	data, err := decode[uint8](t)
	if err != nil {
		panic(err) // of the vectors' own arguments
	}
	for i, e := range es {
		data[17*i] = e
	}
	return encode(data, t.Shape...)
}

func linearCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	for i, k := range []int{0, 1, 31, 128, 129, 300} {
		in := map[string]any{"x": array(10*i, 2, k), "w": array(10*i+1, 3, k)}
		if k%2 == 1 {
			in["bias"] = array(10*i+2, 3)
		}
		add(fmt.Sprintf("linear-%03d", k), "linear", in)
	}
	add("linear-f16", "linear", map[string]any{"x": array(1, 2, 9), "w": narrowed(2, numeric.ToF16, 4, 9), "activation": "silu"})
	add("linear-bf16", "linear", map[string]any{"x": array(1, 2, 9), "w": narrowed(2, numeric.ToBF16, 4, 9), "activation": "gelu"})
	add("linear-special", "linear", map[string]any{"x": encode(random(testutil.Specials, 1, 30), 2, 15), "w": encode(random(testutil.Specials, 2, 60), 4, 15), "bias": encode([]float32{0, nan, inf, bits(0x80000000)[0]})})
	add("linear-not-finite", "linear", map[string]any{"x": wild(testutil.NonFinite, 3, 3, 12), "w": wild(testutil.NonFinite, 4, 4, 12)})
	add("linear-subnormal", "linear", map[string]any{"x": array(12, 2, 12), "w": encode(tiny(0x1p-126, 13, 48), 4, 12)})
	add("linear-subnormal-bf16", "linear", map[string]any{"x": array(14, 2, 12), "w": encode(bf16s(tiny(0x1p-126, 15, 48)), 4, 12)})
	// The first product is rounded to -0, which a weight of -0 would keep.
	add("linear-zero-f16", "linear", map[string]any{"x": encode(bits(0x80000001, 0x3f800000), 1, 2), "w": encode([]kernel.F16{0x0001, 0x8000}, 1, 2)})
	add("linear-backward-subnormal", "linear_backward", map[string]any{"dy": array(16, 2, 4), "x": encode(tiny(0x1p-126, 17, 24), 2, 12), "w": encode(tiny(0x1p-126, 18, 48), 4, 12)})
	add("linear-tiny", "linear", map[string]any{"x": wild(testutil.Tinies, 5, 2, 12), "w": wild(testutil.Tinies, 6, 4, 12), "bias": wild(testutil.Zeros, 7, 4)})
	add("linear-backward-not-finite", "linear_backward", map[string]any{"dy": wild(testutil.NonFinite, 8, 5, 4), "x": wild(testutil.Specials, 9, 5, 4), "w": wild(testutil.Specials, 10, 4, 4)})
	add("quantized-int8-not-finite", "linear_quantized", map[string]any{"format": "Q6_K", "blocks": blocks("Q6_K", 11, 2, 256), "x": wild(testutil.NonFinite, 12, 2, 256), "int8": 1})
	add("linear-gelu-tanh", "linear", map[string]any{"x": array(1, 3, 9), "w": array(2, 4, 9), "activation": "gelu_tanh"})
	add("product", "product", map[string]any{"a": array(3, 2, 131), "b": array(4, 3, 131)})
	add("product-accumulate", "product", map[string]any{"a": array(3, 2, 131), "b": array(4, 3, 131), "out": replaced(array(5, 2, 3), map[int]float32{1: nan})})
	add("product-accumulate-nothing", "product", map[string]any{"a": array(3, 1, 0), "b": array(4, 3, 0), "out": encode([]float32{bits(0x80000000)[0], nan, 2}, 1, 3)})
	add("linear-backward", "linear_backward", map[string]any{"dy": array(6, 35, 3), "x": array(7, 35, 2), "w": array(8, 3, 2)})
	add("linear-backward-segments", "linear_backward", map[string]any{"dy": array(6, 131, 1), "x": array(7, 131, 1), "w": array(8, 1, 1)})
	add("linear-backward-groups", "linear_backward", map[string]any{"dy": array(6, 1060, 1), "x": array(7, 1060, 0), "w": array(8, 1, 0)})
	add("linear-backward-wide", "linear_backward", map[string]any{"dy": array(6, 1, 131), "x": array(7, 1, 1), "w": array(8, 131, 1)})
	add("linear-backward-accumulate", "linear_backward", map[string]any{"dy": array(6, 3, 2), "x": array(7, 3, 4), "w": array(8, 2, 4), "dx": array(9, 3, 4), "dw": array(10, 2, 4), "dbias": array(11, 2)})
	add("linear-backward-no-rows", "linear_backward", map[string]any{"dy": array(6, 0, 2), "x": array(7, 0, 2), "w": array(8, 2, 2), "dx": array(9, 0, 2), "dw": encode([]float32{nan, bits(0x80000000)[0], 1, 0}, 2, 2), "dbias": encode([]float32{bits(0x80000000)[0], nan})})
	add("add-rows", "add_rows", map[string]any{"out": replaced(array(12, 4, 3), map[int]float32{0: nan, 6: nan}), "x": array(13, 5, 3), "rows": encode([]int32{3, 1, 1, 3, 1})})
	for i, name := range formatNames {
		n, k := 2, max(96, formats[name].weights)
		x := replaced(array(20*i, 2, k), map[int]float32{5: 100})
		add("quantized-"+name, "linear_quantized", map[string]any{"format": name, "blocks": blocks(name, i, n, k), "x": x, "bias": array(20*i+3, n)})
		add("quantized-"+name+"-int8", "linear_quantized", map[string]any{"format": name, "blocks": blocks(name, i+100, n, k), "x": x, "int8": 1})
		add("weights-"+name, "weights_quantized", map[string]any{"format": name, "blocks": blocks(name, i+200, 1, formats[name].weights)})
	}
	for i, int8 := range []int{0, 1} {
		in := map[string]any{"format": "MXFP4", "blocks": withScales(blocks("MXFP4", 300, 3, 96), 0, 1, 2, 3, 86, 103, 144, 251, 255), "x": array(301+i, 2, 96), "int8": int8}
		add([]string{"quantized-MXFP4-wide", "quantized-MXFP4-wide-int8"}[i], "linear_quantized", in)
	}
	add("weights-MXFP4-wide", "weights_quantized", map[string]any{"format": "MXFP4", "blocks": withScales(blocks("MXFP4", 310, 4, 64), 0, 1, 2, 86, 103, 144, 251, 255)})
	special := random(testutil.Specials, 1, 128)
	copy(special[32:], make([]float32, 32))
	copy(special[64:], random(testutil.Tinies, 2, 32))
	special[96], special[127] = nan, bits(0x80000000)[0]
	add("quantized-int8-special", "linear_quantized", map[string]any{"format": "Q4_1", "blocks": blocks("Q4_1", 9, 3, 64), "x": encode(special, 2, 64), "int8": 1})
	infinite := blocks("Q8_0", 10, 3, 32)
	infinite.Bits = "007c" + infinite.Bits[4:68] + "0080" + infinite.Bits[72:136] + "0100" + infinite.Bits[140:]
	add("quantized-special-scale", "weights_quantized", map[string]any{"format": "Q8_0", "blocks": infinite})
	q8 := replaced(array(14, 2, 64), map[int]float32{3: 100, 40: 0})
	add("to-q8_0", "weights_to_q8_0", map[string]any{"w": q8})
	for i, name := range formatNames {
		k := formats[name].weights
		scales := specialScales(name, blocks(name, i+300, len(oddHalves), k))
		if k == 32 { // vectors of larger blocks would take much room
			add("weights-special-"+name, "weights_quantized", map[string]any{"format": name, "blocks": scales})
		}
		add("quantized-special-"+name, "linear_quantized", map[string]any{"format": name, "blocks": scales, "x": array(20*i+4, 1, k), "int8": 1})
	}
	add("to-q8_0-tiny", "weights_to_q8_0", map[string]any{"w": encode(append(make([]float32, 32), random(testutil.Tinies, 3, 32)...), 2, 32)})
	for i, int8 := range []int{0, 1} {
		suffix := []string{"", "-int8"}[i]
		largest := withScales(blocks("MXFP4", 320, 3, 64), 252, 120, 121, 253, 254, 119)
		add("quantized-MXFP4-largest"+suffix, "linear_quantized", map[string]any{"format": "MXFP4", "blocks": largest, "x": array(321+i, 2, 64), "int8": int8})
		x := replaced(array(330+i, 2, 128), map[int]float32{5: 100})
		add("quantized-NVFP4"+suffix, "linear_quantized", map[string]any{"format": "NVFP4", "blocks": blocks("NVFP4", 332, 3, 128), "x": x, "scales": array(333, 3), "bias": array(334, 3), "int8": int8})
		add("quantized-NVFP4-one"+suffix, "linear_quantized", map[string]any{"format": "NVFP4", "blocks": blocks("NVFP4", 335, 3, 64), "x": array(336, 1, 64), "int8": int8})
	}
	add("weights-MXFP4-largest", "weights_quantized", map[string]any{"format": "MXFP4", "blocks": withScales(blocks("MXFP4", 340, 3, 32), 252, 253, 254)})
	add("weights-NVFP4", "weights_quantized", map[string]any{"format": "NVFP4", "blocks": blocks("NVFP4", 341, 2, 64), "scales": encode([]float32{-0.3})})
	return append(list, bf16Cases()...)
}

// bf16Cases are products in bfloat16: tails of segments, ties, numbers near the least and the
// largest, and sums that cancel.
func bf16Cases() (list []vector) {
	add := func(name string, in map[string]any) {
		list = append(list, vector{"linear-bf16-" + name, "linear_bf16", in, nil})
	}
	for i, k := range []int{0, 1, 2, 31, 32, 33, 64, 95} {
		in := map[string]any{"x": array(400+10*i, 2, k), "w": array(401+10*i, 3, k)}
		if k%2 == 1 {
			in["bias"] = array(402+10*i, 3)
		}
		add(fmt.Sprintf("%02d", k), in)
	}
	add("f16", map[string]any{"x": array(490, 2, 9), "w": narrowed(491, numeric.ToF16, 4, 9), "activation": "silu"})
	add("bf16", map[string]any{"x": array(492, 2, 9), "w": narrowed(493, numeric.ToBF16, 4, 9), "activation": "gelu"})
	add("special", map[string]any{"x": encode(random(testutil.Specials, 494, 80), 2, 40), "w": encode(random(testutil.Specials, 495, 160), 4, 40), "bias": encode([]float32{0, nan, inf, bits(0x80000000)[0]})})
	add("not-finite", map[string]any{"x": wild(testutil.NonFinite, 496, 3, 12), "w": wild(testutil.NonFinite, 497, 4, 12)})
	add("tiny", map[string]any{"x": encode(tiny(0x1p-56, 498, 68), 2, 34), "w": encode(tiny(0x1p-56, 499, 136), 4, 34)})
	// The weights pick numbers of x: ties, those that round to 2^-56 and to less, to infinity and
	// to the largest.
	rounded := bits(0x3f808000, 0x3f818000, 0x3f808001, 0xbf817fff, 0x237fffff, 0x237f8000, 0x237f7fff, 0xa37f8000, 0x7f7f8000, 0xff7f7fff, 0x80000000, 0x00000001)
	one := make([]float32, len(rounded)*len(rounded))
	for i := range rounded {
		one[i*len(rounded)+i] = 1
	}
	add("rounded", map[string]any{"x": encode(rounded, 1, len(rounded)), "w": encode(one, len(rounded), len(rounded))})
	return list
}

// bf16s rounds numbers.
func bf16s(x []float32) []kernel.BF16 {
	y := make([]kernel.BF16, len(x))
	for i := range x {
		y[i] = numeric.ToBF16(x[i])
	}
	return y
}
