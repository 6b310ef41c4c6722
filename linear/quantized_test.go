package linear_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// blockSize is the size of a block of a file.
func blockSize(f linear.Format) int { return fileBlocks[f].bytes }

// quantizedWeights makes random blocks. Their scales and minima are below 2, or any binary16
// if kind has numbers that are not finite.
func quantizedWeights(r *testutil.Rand, f linear.Format, n, k int, kind testutil.Kind) matrix {
	size, weights := blockSize(f), fileBlocks[f].weights
	m := newMatrix(make([]float32, n*k), n, k, k, 1)
	m.format, m.blocks = f, make([]byte, n*k/weights*size)
	for i := range m.blocks {
		m.blocks[i] = byte(r.Uint64() >> 40)
	}
	wide := r.IntN(2) == 0
	if f == linear.NVFP4 {
		for range []int{0, 1, n}[r.IntN(3)] {
			x := float32(math.Ldexp(1+float64(r.Float32()), r.IntN(20)-14))
			m.scales = append(m.scales, x*float32(1-r.IntN(4)/3*2)) // some are negative
		}
	}
	for b := range n * k / weights {
		block := m.blocks[b*size:][:size]
		if f == linear.MXFP4 {
			block[0] = mx4Scale(r, wide, kind)
		}
		if kind != testutil.NonFinite {
			for _, at := range fileBlocks[f].halves {
				block[at+1] &^= 0x40
			}
		}
		if f == linear.NVFP4 && kind != testutil.NonFinite {
			for i, e := range block[:4] {
				if e&127 == 127 { // NaN
					block[i] = e - 1
				}
			}
		}
		dequantize(f, m.numbers[weights*b:][:weights], block, m.scale(b*weights/k))
	}
	return m
}

// mx4Scale returns the e of a block of MXFP4, of a wide range or as models have it.
func mx4Scale(r *testutil.Rand, wide bool, kind testutil.Kind) byte {
	switch {
	case !wide || r.IntN(3) == 0:
		return byte(104 + r.IntN(40))
	case kind == testutil.NonFinite && r.IntN(4) == 0:
		return 255
	}
	return byte(r.IntN([]int{4, 104, 255}[r.IntN(3)]))
}

// dequantize computes the weights of a block as the documentation of FromBlocks defines
// them, with a scale beside. In float64 the sums are exact.
func dequantize(f linear.Format, dst []float32, block []byte, scale float32) {
	if !slices.Contains(singleFormats, f) {
		for i := range dst {
			w := grouped(f, block, i)
			w.d, w.c = float32(w.d*scale), float32(w.c*scale)
			product := float64(w.d) * float64(w.s) * float64(w.q)
			if f == linear.Q6_K { // NaN if d is infinite
				product = float64(w.d)*float64(w.s)*float64(w.q+32) - 32*float64(w.d)*float64(w.s)
			}
			if f != linear.Q6_K {
				product -= float64(float64(w.c) * float64(w.t))
			}
			dst[i] = float32(product)
		}
		return
	}
	half := func(i int) float64 { return float64(kernel.F16(binary.LittleEndian.Uint16(block[i:])).Float32()) }
	d := half(0)
	for i := range dst {
		switch f {
		case linear.Q8_0:
			dst[i] = float32(float64(d*float64(int(int8(block[2+i]))+128)) - float64(128*d)) // NaN if d is infinite
		case linear.IQ4_NL:
			dst[i] = float32(float64(d*float64(iq4Values[nibble(block[2:], i)]+128)) - float64(128*d))
		case linear.Q4_0:
			dst[i] = float32(float64(d*float64(nibble(block[2:], i))) - float64(8*d)) // fused, a zero could be -0
		case linear.Q4_1:
			dst[i] = float32(float64(d*float64(nibble(block[4:], i))) + half(2))
		}
	}
}

// nibble returns number i of 16 bytes.
func nibble(bytes []byte, i int) byte {
	if i < 16 {
		return bytes[i] & 15
	}
	return bytes[i-16] >> 4
}

// A quantized layer has the bits of one with its weights as float32, which Rows returns.
func TestRows(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, c := range []testCase{
		{n: 5, k: 32, format: linear.Q8_0}, {n: 100, k: 288, format: linear.Q4_0}, {n: 48, k: 96, format: linear.Q4_1}, {n: 70, k: 64, format: linear.Q4_1, kind: testutil.NonFinite}, {n: 50, k: 96, format: linear.IQ4_NL}, {n: 50, k: 96, format: linear.MXFP4},
		{n: 70, k: 31}, {n: 3, k: 50, dtype: kernel.Float16, layout: scattered}, {n: 130, k: 9, dtype: kernel.BFloat16}, {n: 20, k: 3, kind: testutil.NonFinite}, {n: 7, k: 0},
	} {
		c.seed = i
		_, w, _ := c.inputs()
		l := w.layer(t, nil)
		var ids []int32
		for n := c.n - 1; n >= 0; n -= 3 {
			ids = append(ids, int32(n), int32(n/2))
		}
		out := newMatrix(testutil.Filled(len(ids)*(c.k+2), testutil.Canary), len(ids), c.k, c.k+2, 1)
		if err := l.Rows(out.Matrix, ids, kernel.Exec{Threads: i%3 + 1}); err != nil {
			t.Fatal(err)
		}
		for i, n := range ids {
			for k := range c.k + 2 {
				got, want := out.numbers[i*(c.k+2)+k], float32(testutil.Canary)
				if k < c.k {
					want = w.at(int(n), k)
				}
				if !testutil.SameBits(got, want) || got != got && math.Float32bits(got) != 0x7fc00000 {
					t.Fatalf("%v: row %d, input %d: got %v, want %v", c, n, k, got, want)
				}
			}
		}
	}
}

// The blocks of GGUF files, written by hand.
func TestBlocks(t *testing.T) {
	half := func(x float32) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(numeric.ToF16(x))) }
	q8, q40, q41 := half(0.5), half(2), append(half(-1), half(100)...)
	want := [3][32]float32{}
	for i := range 32 {
		q8 = append(q8, byte(int8(4*i-60)))
		want[0][i] = 0.5 * float32(4*i-60)
		if i < 16 {
			b := byte(i | (15-i)<<4)
			q40, q41 = append(q40, b), append(q41, b)
			want[1][i], want[1][i+16] = 2*float32(i-8), 2*float32(7-i)
			want[2][i], want[2][i+16] = 100-float32(i), 85+float32(i)
		}
	}
	for i, data := range [][]byte{q8, q40, q41} {
		format := singleFormats[i]
		l, err := linear.FromBlocks(format, data, 1, 32, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 32)
		if err := l.Rows(linear.DenseMatrix(got, 1, 32), []int32{0}, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		contracttest.SameRow(t, format.String(), got, want[i][:])
		if l.Format() != format || l.DType() != kernel.Float32 {
			t.Errorf("%v: says %v, %v", format, l.Format(), l.DType())
		}
	}
}

func TestFromBlocksErrors(t *testing.T) {
	data := make([]byte, 340)
	for _, c := range []struct {
		what      string
		format    linear.Format
		data      []byte
		n, k      int
		bias      []float32
		arg, want string
	}{
		{"no format", 0, data, 1, 32, nil, "format", "one of the formats"},
		{"unknown format", 9, data, 1, 32, nil, "format", "one of the formats"},
		{"negative outputs", linear.Q8_0, data, -1, 32, nil, "n", "at least 0"},
		{"no inputs", linear.Q8_0, nil, 1, 0, nil, "k", "multiple of 32"},
		{"negative inputs", linear.Q8_0, nil, 1, -32, nil, "k", "multiple of 32"},
		{"half a block", linear.Q8_0, data, 1, 48, nil, "k", "multiple of 32"},
		{"a part of a block", linear.Q4_K, data, 1, 288, nil, "k", "multiple of 256"},
		{"short", linear.Q8_0, data[:339], 5, 64, nil, "data", "340, for [5 64] weights of Q8_0"},
		{"long", linear.Q4_0, data, 5, 64, nil, "data", "180"},
		{"overflow", linear.Q4_1, data, math.MaxInt, math.MaxInt &^ 31, nil, "data", "Q4_1"},
		{"bias", linear.Q8_0, data, 5, 64, make([]float32, 4), "bias", "5, one per output"},
	} {
		_, err := linear.FromBlocks(c.format, c.data, c.n, c.k, c.bias, kernel.Exec{})
		contracttest.CheckArgument(t, c.what, err, c.arg, c.want)
	}
}

// TestMXFP4: all values with all scales, and zeros of both signs. Weights below 2^-126 are
// +0, those from 2^128 on infinite, the others exact.
func TestMXFP4(t *testing.T) {
	values := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	for e := range 256 {
		for _, zeros := range []bool{false, true} {
			block, want := []byte{byte(e)}, make([]float32, 32)
			for i := range 16 {
				b := byte(i | (15-i)<<4)
				if zeros {
					b = byte(i%2*8 | i%3*8<<4)
				}
				block = append(block, b)
				for k, x := range []byte{b & 15, b >> 4} {
					w := math.Ldexp(values[x], e-127)
					switch {
					case !zeros && e == 255:
						w = math.NaN()
					case math.Abs(w) < 0x1p-126:
						w = 0
					}
					want[i+16*k] = scalar.Canonical(float32(w)) // mips has another NaN
				}
			}
			what := fmt.Sprintf("the scale 2^%d, zeros=%v", e-127, zeros)
			l, err := linear.FromBlocks(linear.MXFP4, block, 1, 32, nil, kernel.Exec{})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got := make([]float32, 32)
			if err := l.Rows(linear.DenseMatrix(got, 1, 32), []int32{0}, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			contracttest.SameRow(t, what, got, want)
		}
	}
}

// TestMXFP4Rows: an output has the same bits, whatever scales others have.
func TestMXFP4Rows(t *testing.T) {
	r := testutil.Rand(1)
	const n, k, m = 49, 96, 5
	usual := quantizedWeights(&r, linear.MXFP4, n, k, testutil.Mantissas)
	for b := range len(usual.blocks) / 17 {
		usual.blocks[17*b] = byte(104 + b%40)
	}
	other := usual
	other.blocks = slices.Clone(usual.blocks)
	other.blocks[len(other.blocks)-17] = 86 // of the last output
	x := testCase{kind: testutil.Mantissas}.input(&r, m, k)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, int8 := range []bool{false, true} {
			var out [2][]float32
			for i, w := range []*matrix{&usual, &other} {
				out[i] = make([]float32, m*n)
				if err := w.layer(t, nil).Apply(linear.DenseMatrix(out[i], m, n), x.Matrix, testCase{int8: int8}.options(tier, 1)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range m {
				testutil.CheckBits(t, fmt.Sprintf("int8=%v, row %d", int8, i), out[1][i*n:][:n-1], out[0][i*n:][:n-1])
			}
			if slices.Equal(out[0], out[1]) {
				t.Error("the other scale changes nothing")
			}
		}
	})
}

// Weights that are larger than the memory limit of the program are refused before they are read.
func TestFromBlocksMemoryLimit(t *testing.T) {
	const n, k = 1 << 20, 32
	data := make([]byte, n*34)
	_, err := allocatedBy(func() error { _, err := linear.FromBlocks(linear.Q8_0, data, n, k, nil, kernel.Exec{}); return err })
	contracttest.CheckArgument(t, "weights of 34 MB", err, "data", "the memory limit")
}

func TestRowsErrors(t *testing.T) {
	l := mustNew(t, linear.DenseMatrix(make([]float32, 20), 4, 5), nil)
	data := testutil.Filled(100, testutil.Canary)
	for _, c := range []struct {
		what      string
		out       linear.Matrix
		rows      []int32
		arg, want string
	}{
		{"short", linear.DenseMatrix(data[:9], 2, 5), []int32{0, 1}, "out", "10 elements"},
		{"f16", linear.DenseMatrix(make([]kernel.F16, 10), 2, 5), []int32{0, 1}, "out", "float32"},
		{"rows", linear.DenseMatrix(data, 3, 5), []int32{0, 1}, "out", "[2 5]"},
		{"columns", linear.DenseMatrix(data, 2, 4), []int32{0, 1}, "out", "[2 5]"},
		{"transposed", linear.DenseMatrix(data, 5, 2).T(), []int32{0, 1}, "out", "contiguous rows"},
		{"broadcast", linear.StridedMatrix(data, 2, 5, 0, 1), []int32{0, 1}, "out", "overlap"},
		{"negative row", linear.DenseMatrix(data, 2, 5), []int32{0, -1}, "rows[1]", "0 to 3"},
		{"row beyond", linear.DenseMatrix(data, 2, 5), []int32{4, 0}, "rows[0]", "0 to 3"},
	} {
		contracttest.CheckArgument(t, c.what, l.Rows(c.out, c.rows, kernel.Exec{}), c.arg, c.want)
	}
	for _, x := range data {
		if x != testutil.Canary {
			t.Fatal("out was written to")
		}
	}
	if err := l.Rows(linear.DenseMatrix[float32](nil, 0, 5), nil, kernel.Exec{}); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// It does not matter whether quantized weights are widened on the way or before.
func TestQuantizedRows(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, f := range singleFormats {
		for _, rows := range []int{0, 100} {
			t.Run(fmt.Sprintf("%v/QuantizedRows=%d", f, rows), func(t *testing.T) {
				tune(t, func(x *tier.Tuning) { x.QuantizedRows = rows })
				for _, m := range []int{1, 2, 5, 40} {
					testCase{m: m, n: 101, k: 416, format: f, bias: true, seed: m}.check(t, 1, 2)
				}
			})
		}
	}
}
