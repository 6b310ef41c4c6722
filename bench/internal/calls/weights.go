package calls

import (
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// Weights are a type of weights, of which number inputs are a multiple, and whether the rows of x
// are quantized.
type Weights struct {
	Name  string
	Block int
	Int8  bool
	Layer func(n, k int) (*linear.Linear, error)
}

// Floats are the types of weights that are no integers.
var Floats = []Weights{
	{"float32", 1, false, func(n, k int) (*linear.Linear, error) {
		return linear.New(linear.DenseMatrix(numbers.Normals(n*k), n, k), nil, kernel.Exec{})
	}},
	{"float16", 1, false, func(n, k int) (*linear.Linear, error) {
		return linear.New(linear.DenseMatrix(numbers.Convert(numbers.Normals(n*k), numeric.ToF16), n, k), nil, kernel.Exec{})
	}},
	{"bfloat16, products too", 1, false, func(n, k int) (*linear.Linear, error) {
		return linear.RoundBFloat16(linear.DenseMatrix(numbers.Normals(n*k), n, k), nil, kernel.Exec{})
	}},
}

// BFloat16 are weights of that type, with products in float32.
var BFloat16 = Weights{"bfloat16", 1, false, func(n, k int) (*linear.Linear, error) {
	return linear.New(linear.DenseMatrix(numbers.Convert(numbers.Normals(n*k), numeric.ToBF16), n, k), nil, kernel.Exec{})
}}

// Quantized returns the types of formats, with float rows or with int8 rows.
func Quantized(int8 bool, formats ...linear.Format) (all []Weights) {
	for _, f := range formats {
		name := f.String()
		if int8 {
			name += " × int8"
		}
		block, _ := f.Block()
		all = append(all, Weights{name, block, int8, func(n, k int) (*linear.Linear, error) { return blocks(f, n, k) }})
	}
	return all
}

// blocks makes a layer of blocks with arbitrary integers. Wherever a scale is, in binary16 or as an
// exponent, it is small.
func blocks(f linear.Format, n, k int) (*linear.Linear, error) {
	weights, bytes := f.Block()
	data := make([]byte, n*k/weights*bytes)
	for i := range data {
		data[i] = 0x20 | byte(i*167>>3)&15
	}
	return linear.FromBlocks(f, data, n, k, nil, kernel.Exec{})
}
