package linear_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// fp4Values are the values of E2M1, see OCP's specification of Microscaling formats.
var fp4Values = [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// e4m3 is a number of 8 bits by the definition of the type, in float64.
func e4m3(x byte) float64 {
	sign, e, m := 1-2*float64(x>>7), int(x>>3&15), float64(x&7)
	switch {
	case e == 15 && m == 7:
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m, -9)
	}
	return sign * math.Ldexp(8+m, e-10)
}

// TestNVFP4: every number with every scale, as safetensors have them, beside scales from the least
// to the largest. The scale of 16 weights is rounded, and then the weight, which float64 has
// exactly before.
func TestNVFP4(t *testing.T) {
	const n, k = 256, 64
	numbers, scales := make([]byte, n*k/2), make([]byte, n*k/16)
	for i := range numbers {
		numbers[i] = byte(2*i%16 | (2*i+1)%16<<4)
	}
	for i := range scales {
		scales[i] = byte(i/4 + i%4*64)
	}
	blocks, err := linear.NVFP4Blocks(numbers, scales)
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []float32{1, 0, -0.3, 0x1p-64, 0x1.fffffep-1, 0x1p64} {
		l, err := linear.FromNVFP4(blocks, []float32{beside}, n, k, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		got, want, rows := make([]float32, n*k), make([]float32, n*k), make([]int32, n)
		for row := range n {
			rows[row] = int32(row)
			for x := range k {
				d := float64(float32(e4m3(scales[row*k/16+x/16]) * float64(beside)))
				want[row*k+x] = float32(d * fp4Values[numbers[(row*k+x)/2]>>(x%2*4)&15])
				want[row*k+x] += 0 // +0 for -0
				if d != d {
					want[row*k+x] = contracttest.CanonicalNaN // mips has another NaN
				}
			}
		}
		if err := l.Rows(linear.DenseMatrix(got, n, k), rows, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		contracttest.SameRow(t, fmt.Sprintf("scale %g", beside), got, want)
	}
}

func TestNVFP4Errors(t *testing.T) {
	blocks := make([]byte, 3*36)
	for _, c := range []struct {
		what      string
		blocks    []byte
		scales    []float32
		k         int
		bias      []float32
		arg, want string
	}{
		{"a part of a block", blocks, []float32{1}, 96, nil, "k", "a positive multiple of 64"},
		{"short", blocks[1:], []float32{1}, 64, nil, "blocks", "108, for [3 64] weights of NVFP4"},
		{"bias", blocks, []float32{1}, 64, make([]float32, 2), "bias", "3, one per output"},
		{"no scales", blocks, nil, 64, nil, "scales", "1, or 3, one per output"},
		{"two scales", blocks, []float32{1, 2}, 64, nil, "scales", "1, or 3, one per output"},
		{"small", blocks, []float32{1, -1, 0x1p-65}, 64, nil, "scales[2]", "2^-64 to 2^64"},
		{"large", blocks, []float32{1, -0x1.000002p64, 1}, 64, nil, "scales[1]", "2^-64 to 2^64"},
		{"NaN", blocks, []float32{testutil.NaN}, 64, nil, "scales[0]", "2^-64 to 2^64"},
	} {
		_, err := linear.FromNVFP4(c.blocks, c.scales, 3, c.k, c.bias, kernel.Exec{})
		contracttest.CheckArgument(t, c.what, err, c.arg, c.want)
	}
	_, err := linear.NVFP4Blocks(make([]byte, 48), make([]byte, 6))
	contracttest.CheckArgument(t, "half a block", err, "numbers", "a multiple of 32")
	_, err = linear.NVFP4Blocks(make([]byte, 64), make([]byte, 7))
	contracttest.CheckArgument(t, "scales", err, "scales", "8, one for each 16 weights")
}

func TestWidenErrors(t *testing.T) {
	dst, data := testutil.Filled(64, testutil.Canary), make([]byte, 36)
	for _, c := range []struct {
		what      string
		format    linear.Format
		dst       []float32
		data      []byte
		arg, want string
	}{
		{"no format", 0, dst, data, "format", "one of the formats"},
		{"a part of a block", linear.Q4_0, dst, data[1:], "data", "a multiple of 18, a block of Q4_0"},
		{"short", linear.Q4_0, dst[1:], data, "dst", "64, as data has so many weights"},
	} {
		contracttest.CheckArgument(t, c.what, c.format.Widen(c.dst, c.data), c.arg, c.want)
	}
	for _, x := range dst {
		if x != testutil.Canary {
			t.Fatal("dst was written to")
		}
	}
}

// Weights of NVFP4 as safetensors of ModelOpt have them.
func ExampleFromNVFP4() {
	const outputs, inputs = 1, 64
	numbers, scales := make([]byte, outputs*inputs/2), make([]byte, outputs*inputs/16)
	numbers[0], numbers[1] = 0x71, 0x0f // 0.5, 6 and -6, 0
	scales[0] = 0x38                    // 1
	blocks, err := linear.NVFP4Blocks(numbers, scales)
	if err != nil {
		fmt.Println(err)
		return
	}
	layer, err := linear.FromNVFP4(blocks, []float32{0.25}, outputs, inputs, nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := make([]float32, inputs)
	err = layer.Rows(linear.DenseMatrix(row, 1, inputs), []int32{0}, kernel.Exec{})
	fmt.Println(row[:4], err)

	// Output: [0.125 1.5 -1.5 0] <nil>
}

func ExampleNVFP4Blocks() {
	numbers, scales := make([]byte, 32), []byte{0x38, 0x40, 0x38, 0x38}
	numbers[0], numbers[4], numbers[8] = 0x21, 0x43, 0x65
	blocks, err := linear.NVFP4Blocks(numbers, scales)
	fmt.Printf("% x, %v\n", blocks[:14], err)

	// Output: 38 40 38 38 31 42 00 00 00 00 00 00 05 06, <nil>
}

func ExampleFormat_Widen() {
	weights, size := linear.Q4_1.Block()
	data := make([]byte, size)
	data[1], data[3] = 0x38, 0x3c // the scale 0.5 and the minimum 1, as binary16
	data[4], data[5] = 0x32, 0x04 // 2 and 3 of weights 0 and 16, 4 and 0 of the next ones
	dst := make([]float32, weights)
	err := linear.Q4_1.Widen(dst, data)
	fmt.Println(dst[:3], dst[16:18], err)

	// Output: [2 3 1] [2.5 1] <nil>
}
