package linear_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// int8Sum computes an output of a call with Options.DynamicInt8 before the bias, as the contract
// has it, from the blocks as GGUF files have them.
func (c testCase) int8Sum(x, w *matrix, m, n int) (acc float32) {
	size, weights := blockSize(c.format), fileBlocks[c.format].weights
	half := func(b []byte) float32 { return kernel.F16(binary.LittleEndian.Uint16(b)).Float32() }
	for b := range c.k / 32 {
		block := w.blocks[(n*c.k+32*b)/weights*size:][:size]
		d, codes, total := int8Block(x, m, 32*b)
		if !slices.Contains(singleFormats, c.format) {
			acc = groupedSum(c.format, block, 32*b%weights, w.scale(n), d, &codes, acc)
			continue
		}
		sum := 0
		for i, q := range codes {
			switch c.format {
			case linear.Q8_0:
				sum += q * int(int8(block[2+i]))
			case linear.IQ4_NL:
				sum += q * iq4Values[nibble(block[2:], i)]
			case linear.Q4_0:
				sum += q * (int(nibble(block[2:], i)) - 8)
			case linear.Q4_1:
				sum += q * int(nibble(block[4:], i))
			}
		}
		acc = numeric.FMA(float32(sum), float32(d*half(block)), acc)
		if c.format == linear.Q4_1 {
			acc = numeric.FMA(half(block[2:]), float32(d*float32(total)), acc)
		}
	}
	return acc
}

// int8Block quantizes 32 numbers of row m of x, from column k on.
func int8Block(x *matrix, m, k int) (d float32, codes [32]int, total int) {
	a := 0.0
	for i := range codes {
		a = max(a, math.Abs(float64(x.at(m, k+i))))
	}
	switch {
	case math.IsNaN(a) || math.IsInf(a, 0):
		return float32(math.NaN()), codes, 0
	case a < 0x1p-100:
		return 0, codes, 0
	}
	inverse := 127 / float32(a)
	for i := range codes {
		codes[i] = int(math.RoundToEven(float64(float32(x.at(m, k+i) * inverse))))
		total += codes[i]
	}
	return float32(float32(a) * (float32(1) / 127)), codes, total
}

// Every format, all remainders of rows and lanes, all layouts and kinds of numbers.
func TestInt8(t *testing.T) {
	i := 0
	for _, f := range singleFormats {
		for _, n := range []int{1, 16, 31, 40, 48, 65, 100} {
			for _, m := range []int{1, 2, 3, 5, 6, 7, 8, 13, 15, 16, 20, 27} {
				if i++; testutil.Thin() && !testutil.Sampled(i) {
					continue
				}
				c := testCase{m: m, n: n, k: 32 * (1 + i%5), format: f, int8: true, bias: i%2 == 0,
					layout: layout(i) % layouts, kind: testutil.KindOf(i), seed: i}
				c.check(t, 1)
			}
		}
	}
}

// Sizes that are cut: into steps of K, blocks of rows and tasks.
func TestInt8Large(t *testing.T) {
	contracttest.ForceThreads(t)
	cases := []testCase{
		{m: 50, n: 130, k: 1120, format: linear.Q4_0, bias: true, layout: gappedRows, kind: testutil.Mantissas},
		{m: 1, n: 48 * 6, k: 2080, format: linear.Q8_0},
		{m: 330, n: 33, k: 64, format: linear.Q4_1, layout: scattered, kind: testutil.Mantissas},
		{m: 14, n: 130, k: 1120, format: linear.Q4_1, bias: true, layout: gappedRows},
		{m: 60, n: 20, k: 6016, format: linear.Q8_0, kind: testutil.Mantissas},
		{m: 172, n: 50, k: 288, format: linear.Q8_0, kind: testutil.Mantissas}, // 144 rows and 256 inputs in a call
	}
	if testutil.Quick() {
		cases = cases[:2]
	}
	for _, c := range cases {
		c.int8 = true
		c.check(t, 1, 2, 5)
	}
}

// Rows that fill no tile are continued to one, or leave the call to others, on any CPU whose tier
// has a unit for tiles.
func TestInt8Tiles(t *testing.T) {
	with := tier.Reference().Copy()
	with.Amend = func(table any, _ int) {
		if u, ok := table.(*ukernel.Unit); ok {
			u.GemmTiles = testutil.GemmTiles
		}
	}
	for i, m := range []int{12, 13, 14, 15, 16, 20, 27, 172} {
		for _, n := range []int{32, 50} {
			c := testCase{m: m, n: n, k: 288, format: singleFormats[i%len(singleFormats)], int8: true, bias: i%2 == 0,
				layout: layout(i) % layouts, kind: testutil.Mantissas, seed: i}
			c.compare(t, 1, 2)(t, kernel.Tier(with.Handle()))
		}
	}
}

// A row's result does not depend on the other rows of the call.
func TestInt8RowsAreIndependent(t *testing.T) {
	c := testCase{m: 61, n: 83, k: 160, format: linear.Q4_1, int8: true, bias: true, kind: testutil.Mantissas, seed: 3}
	x, w, bias := c.inputs()
	l := w.layer(t, bias)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want, got := c.output(), c.output()
		if err := l.Apply(want.Matrix, x.Matrix, c.options(tier, 0)); err != nil {
			t.Fatal(err)
		}
		for at, n := 0, 1; at < c.m; at, n = at+n, min(n+1, c.m-at-n) {
			if err := l.Apply(got.from(at, n).Matrix, x.from(at, n).Matrix, c.options(tier, 0)); err != nil {
				t.Fatal(err)
			}
		}
		contracttest.SameRow(t, "in parts", got.numbers, want.numbers)
	})
}

// The error of quantized rows compared with float32: an input is off by half a unit, a 254th of the
// largest of its block, at most, evenly distributed. The root mean square of a unit's error is
// 1/√12 of it.
func TestInt8Accuracy(t *testing.T) {
	c := testCase{m: 20, n: 70, k: 768, format: linear.Q8_0, kind: testutil.Mantissas, seed: 4}
	x, w, _ := c.inputs()
	l, exact, got := w.layer(t, nil), c.output(), c.output()
	if err := l.Apply(exact.Matrix, x.Matrix, linear.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Apply(got.Matrix, x.Matrix, linear.Options{DynamicInt8: true}); err != nil {
		t.Fatal(err)
	}
	for m := range c.m {
		for n := range c.n {
			variance := 0.0
			for k := 0; k < c.k; k += 32 {
				d, _, _ := int8Block(&x, m, k)
				for i := range 32 {
					variance += math.Pow(float64(d)*float64(w.at(n, k+i)), 2) / 12
				}
			}
			diff := math.Abs(float64(got.at(m, n) - exact.at(m, n)))
			if limit := 6*math.Sqrt(variance) + 1e-4*math.Abs(float64(exact.at(m, n))); !(diff <= limit) {
				t.Fatalf("row %d, output %d: %v off, want at most %v, six standard deviations", m, n, diff, limit)
			}
		}
	}
}

// QuantizeInt8 has the blocks of its documentation, for weights of all types and layouts.
func TestQuantizeInt8(t *testing.T) {
	for i, c := range []testCase{
		{n: 70, k: 96}, {n: 5, k: 32, dtype: kernel.Float16, layout: scattered}, {n: 50, k: 64, dtype: kernel.BFloat16, layout: transposed},
		{n: 20, k: 64, kind: testutil.Mantissas, layout: gappedRows}, {n: 20, k: 64, kind: testutil.Tinies}, {n: 33, k: 32, kind: testutil.Zeros},
	} {
		c.seed = i
		_, w, _ := c.inputs()
		blocks := make([]byte, c.n*c.k/32*34)
		for b := range c.n * c.k / 32 {
			row, col, a := 32*b/c.k, 32*b%c.k, float32(0)
			for i := range 32 {
				a = max(a, float32(math.Abs(float64(w.at(row, col+i)))))
			}
			half := numeric.ToF16(a / 127)
			binary.LittleEndian.PutUint16(blocks[34*b:], uint16(half))
			for i := range 32 {
				if d := half.Float32(); d > 0 {
					q := math.RoundToEven(float64(w.at(row, col+i) / d))
					blocks[34*b+2+i] = byte(int8(max(-127, min(127, q))))
				}
			}
		}
		want, err := linear.FromBlocks(linear.Q8_0, blocks, c.n, c.k, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := linear.QuantizeInt8(w.Matrix, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		if string(packed(t, got)) != string(packed(t, want)) {
			t.Errorf("%v: other blocks", c)
		}
	}
}

func TestQuantizeInt8Errors(t *testing.T) {
	weights := func(x float32) linear.Matrix {
		data := make([]float32, 2*64)
		data[70] = x
		return linear.DenseMatrix(data, 2, 64)
	}
	for _, c := range []struct {
		what      string
		w         linear.Matrix
		bias      []float32
		arg, want string
	}{
		{"NaN", weights(float32(math.NaN())), nil, "w", "row 1"},
		{"infinite", weights(float32(math.Inf(-1))), nil, "w", "row 1"},
		{"too large", weights(1e7), nil, "w", "row 1"},
		{"many rows", linear.DenseMatrix(testutil.Filled(200*32, float32(math.Inf(1))), 200, 32), nil, "w", "row 0"},
		{"no inputs", linear.DenseMatrix([]float32(nil), 2, 0), nil, "w", "positive number of columns"},
		{"NaN in the last block", linear.DenseMatrix(testutil.Filled(33, float32(math.NaN())), 1, 33), nil, "w", "row 0"},
		{"short", linear.DenseMatrix(make([]float32, 63), 2, 32), nil, "w", "64 elements"},
		{"short bias", weights(1), make([]float32, 1), "bias", "2, one per output"},
	} {
		_, err := linear.QuantizeInt8(c.w, c.bias, kernel.Exec{})
		contracttest.CheckArgument(t, c.what, err, c.arg, c.want)
	}
	if _, err := linear.QuantizeInt8(weights(127*65504), nil, kernel.Exec{}); err != nil {
		t.Errorf("the largest weight: %v", err)
	}
}

// DynamicInt8 does not depend on what tuning chooses for float32 rows.
func TestInt8Tunings(t *testing.T) {
	for _, rows := range []int{1, 100} {
		t.Run(fmt.Sprintf("QuantizedRows=%d", rows), func(t *testing.T) {
			tune(t, func(x *tier.Tuning) { x.QuantizedRows = rows })
			testCase{m: 9, n: 101, k: 416, format: linear.Q4_0, int8: true, bias: true}.check(t, 1, 2)
		})
	}
}
