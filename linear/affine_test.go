package linear_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// An affineCase is weights of integers that the test knows.
type affineCase struct {
	n, k, bits, group int
	packing           linear.Packing
	dtype             kernel.DType // of the scales
	zeros             string       // "", "codes", "offset", "numbers" or "fractions"
	byOrder           bool         // inputs are in groups without order
	format            linear.Format
	bytes             float64 // a weight, with all of 16 outputs
}

// affine returns the weights, and the same as numbers.
func (c affineCase) affine(seed int) (w linear.AffineWeights, numbers []float32) {
	r := testutil.Rand(uint64(seed + 1))
	groups, most := (c.k+c.group-1)/c.group, 1<<c.bits-1
	w = linear.AffineWeights{N: c.n, K: c.k, Bits: c.bits, GroupSize: c.group, Packing: c.packing}
	codes, zeros, scales := make([][]int, c.n), make([][]int, c.n), make([]float32, c.n*groups)
	for n := range codes {
		codes[n], zeros[n] = make([]int, c.k), make([]int, groups)
		for k := range codes[n] {
			codes[n][k] = r.IntN(most + 1)
		}
		for g := range zeros[n] {
			zeros[n][g] = 1 << (c.bits - 1)
			if c.zeros != "" {
				zeros[n][g] = r.IntN(most + 1)
			}
		}
	}
	for i := range scales {
		scales[i] = float32(r.IntN(4000)-2000) / 0x1p13
		if c.dtype == kernel.Float32 {
			scales[i] *= 1.0000001
		}
	}
	w.Scales = c.numbers(scales, groups)
	shift := make([]float32, len(scales))
	switch c.zeros {
	case "codes", "offset":
		if c.zeros == "offset" {
			w.ZeroOffset = 1
		}
		w.ZeroCodes = c.packZeros(zeros, groups, w.ZeroOffset)
	case "fractions", "numbers":
		for i := range shift {
			if c.zeros == "fractions" {
				shift[i] = float32(r.IntN(8)) / 8
			}
			shift[i] += float32(zeros[i/groups][i%groups])
		}
		w.Zeros = linear.DenseMatrix(shift, c.n, groups)
	}
	w.Codes = c.packCodes(codes, groups)
	if c.byOrder {
		for range c.k {
			w.GroupOf = append(w.GroupOf, int32(r.IntN(groups)))
		}
	}
	for n := range codes {
		for k, q := range codes[n] {
			g := k / c.group
			if c.byOrder {
				g = int(w.GroupOf[k])
			}
			z := float64(zeros[n][g])
			if c.zeros == "fractions" {
				z = float64(shift[n*groups+g])
			}
			d := float64(c.round(scales[n*groups+g]))
			numbers = append(numbers, float32(d*(float64(q)-z))+0) // the difference is exact
		}
	}
	return w, numbers
}

func (c affineCase) round(x float32) float32 {
	switch c.dtype {
	case kernel.Float16:
		return numeric.ToF16(x).Float32()
	case kernel.BFloat16:
		return numeric.ToBF16(x).Float32()
	}
	return x
}

// numbers returns a matrix [n, groups] of the case's type, which lies as [groups, n] for words.
func (c affineCase) numbers(x []float32, groups int) linear.Matrix {
	rows, cols, turned := c.n, groups, x
	if c.packing >= linear.GPTQ {
		rows, cols, turned = groups, c.n, make([]float32, len(x))
		for i := range x {
			turned[i%groups*c.n+i/groups] = x[i]
		}
	}
	m := linear.DenseMatrix(turned, rows, cols)
	switch c.dtype {
	case kernel.Float16:
		halves := make([]kernel.F16, len(x))
		for i := range x {
			halves[i] = numeric.ToF16(turned[i])
		}
		m = linear.DenseMatrix(halves, rows, cols)
	case kernel.BFloat16:
		halves := make([]kernel.BF16, len(x))
		for i := range x {
			halves[i] = numeric.ToBF16(turned[i])
		}
		m = linear.DenseMatrix(halves, rows, cols)
	}
	if c.packing >= linear.GPTQ {
		m = m.T()
	}
	return m
}

// packCodes is the pack function of each project: AutoGPTQ's QuantLinear, AutoAWQ's WQLinear_GEMM
// and onnxruntime's MatMulNBitsQuantizer.
func (c affineCase) packCodes(codes [][]int, groups int) []byte {
	switch c.packing {
	case linear.GPTQ:
		words, each := make([]uint32, c.k*c.bits/32*c.n), 32/c.bits
		for n := range c.n {
			for row := range c.k / each {
				for j := range each {
					words[row*c.n+n] |= uint32(codes[n][row*each+j]) << (c.bits * j)
				}
			}
		}
		return bytesOfWords(words)
	case linear.AWQ:
		return bytesOfWords(awqWords(codes, c.k))
	case linear.ByteRows:
		data := make([]byte, c.n*groups*c.group*c.bits/8)
		for n := range codes {
			for k, q := range codes[n] {
				bit := (n*groups*c.group + k) * c.bits
				data[bit/8] |= byte(q << (bit % 8))
			}
		}
		return data
	}
	data := []byte{}
	for n := range codes {
		for _, q := range codes[n] {
			data = append(data, byte(q))
		}
	}
	return data
}

func (c affineCase) packZeros(zeros [][]int, groups, offset int) []byte {
	most := 1<<c.bits - 1
	stored := make([][]int, len(zeros))
	for n := range zeros {
		for _, z := range zeros[n] {
			stored[n] = append(stored[n], (z-offset)&most)
		}
	}
	switch c.packing {
	case linear.GPTQ:
		each := 32 / c.bits
		words := make([]uint32, groups*c.n/each)
		for g := range groups {
			for col := range c.n / each {
				for j := range each {
					words[g*c.n/each+col] |= uint32(stored[col*each+j][g]) << (c.bits * j)
				}
			}
		}
		return bytesOfWords(words)
	case linear.AWQ:
		return bytesOfWords(awqWords(stored, groups))
	case linear.ByteRows:
		row := (groups*c.bits + 7) / 8
		data := make([]byte, c.n*row)
		for n := range stored {
			for g, z := range stored[n] {
				data[n*row+g*c.bits/8] |= byte(z << (g * c.bits % 8))
			}
		}
		return data
	}
	data := []byte{}
	for n := range stored {
		for _, z := range stored[n] {
			data = append(data, byte(z))
		}
	}
	return data
}

// awqWords packs 8 outputs into a word, by AutoAWQ's order_map.
func awqWords(x [][]int, rows int) []uint32 {
	words := make([]uint32, rows*len(x)/8)
	for r := range rows {
		for col := range len(x) / 8 {
			for i, from := range []int{0, 2, 4, 6, 1, 3, 5, 7} {
				words[r*len(x)/8+col] |= uint32(x[col*8+from][r]) << (4 * i)
			}
		}
	}
	return words
}

func bytesOfWords(words []uint32) (data []byte) {
	for _, x := range words {
		data = binary.LittleEndian.AppendUint32(data, x)
	}
	return data
}

var affineCases = []affineCase{
	// 18, 24, 28, 34 and 40 bytes for 32 weights
	{n: 64, k: 128, bits: 4, group: 32, dtype: kernel.Float16, format: linear.Affine, bytes: 18. / 32},
	{n: 64, k: 256, bits: 4, group: 128, packing: linear.GPTQ, dtype: kernel.Float16, zeros: "offset", format: linear.Affine, bytes: 24. / 32},
	{n: 64, k: 256, bits: 4, group: 64, packing: linear.AWQ, dtype: kernel.Float16, zeros: "codes", format: linear.Affine, bytes: 24. / 32},
	{n: 48, k: 64, bits: 4, group: 16, packing: linear.ByteRows, dtype: kernel.Float32, zeros: "codes", format: linear.Affine, bytes: 28. / 32},
	{n: 80, k: 96, bits: 4, group: 32, packing: linear.ByteRows, dtype: kernel.BFloat16, format: linear.Affine, bytes: 18. / 32},
	{n: 80, k: 96, bits: 4, group: 32, packing: linear.AWQ, dtype: kernel.Float32, format: linear.Affine, bytes: 28. / 32},
	{n: 48, k: 1024, bits: 4, group: 512, packing: linear.GPTQ, dtype: kernel.Float16, zeros: "numbers", format: linear.Affine, bytes: 24. / 32},
	{n: 48, k: 64, bits: 2, group: 32, packing: linear.GPTQ, dtype: kernel.Float16, zeros: "codes", format: linear.Affine, bytes: 18. / 32},
	{n: 48, k: 64, bits: 8, group: 1000, packing: linear.GPTQ, dtype: kernel.Float16, format: linear.Affine, bytes: 34. / 32},
	{n: 48, k: 64, bits: 8, group: 32, dtype: kernel.Float32, format: linear.Affine, bytes: 40. / 32},
	{n: 48, k: 96, bits: 8, group: 16, packing: linear.GPTQ, dtype: kernel.Float16, format: linear.Affine, bytes: 40. / 32},
	// float32
	{n: 48, k: 64, bits: 8, group: 32, packing: linear.GPTQ, dtype: kernel.Float16, zeros: "offset", bytes: 4},
	{n: 48, k: 64, bits: 4, group: 32, packing: linear.ByteRows, dtype: kernel.Float16, zeros: "fractions", bytes: 4},
	{n: 48, k: 128, bits: 4, group: 32, packing: linear.GPTQ, dtype: kernel.Float16, zeros: "offset", byOrder: true, bytes: 4},
	{n: 48, k: 64, bits: 4, group: 8, dtype: kernel.Float16, bytes: 4},
	// lanes and inputs that fill no panel and no block
	{n: 37, k: 75, bits: 4, group: 32, packing: linear.ByteRows, dtype: kernel.Float16, zeros: "codes", format: linear.Affine},
	{n: 5, k: 50, bits: 4, group: 16, dtype: kernel.Float32, zeros: "codes", format: linear.Affine},
	{n: 50, k: 45, bits: 8, group: 45, dtype: kernel.Float16, format: linear.Affine},
	{n: 7, k: 9, bits: 2, group: 4, packing: linear.ByteRows, zeros: "codes"},
}

// A layer has the weights as float32, the bits of New on them, and the size that its documentation
// says.
func TestAffine(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, c := range affineCases {
		w, numbers := c.affine(i)
		bias := testutil.Floats(c.n)
		l, err := linear.FromAffine(&w, bias, kernel.Exec{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		rows, all := make([]float32, len(numbers)), make([]int32, c.n)
		for i := range all {
			all[i] = int32(i)
		}
		if err := l.Rows(linear.DenseMatrix(rows, c.n, c.k), all, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		contracttest.SameRow(t, fmt.Sprintf("weights of %+v", c), rows, numbers)
		if l.Format() != c.format {
			t.Errorf("%+v: format %v", c, l.Format())
		}
		if size := float64(l.PackedSize()-64-4*c.n) / float64(c.n*c.k); c.bytes > 0 && size != c.bytes {
			t.Errorf("%+v: %v bytes a weight", c, size)
		}
		want, err := linear.New(linear.DenseMatrix(numbers, c.n, c.k), bias, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []int{1, 3, 40} {
			if testutil.Quick() && m == 40 && i%3 != 0 {
				continue
			}
			sameOutputs(t, fmt.Sprintf("%+v", c), testCase{m: m, n: c.n, k: c.k, seed: i}, l, want, linear.Options{})
		}
		again, err := linear.FromPacked(packed(t, l))
		if err != nil || string(packed(t, again)) != string(packed(t, l)) {
			t.Errorf("%+v: read again: %v", c, err)
		}
	}
}

// With Options.DynamicInt8 the bits do not depend on the tier, and the numbers are near the widened
// weights', up to the error of rows of 8 bits, half a 127th of the largest of a block for each
// input.
func TestAffineInt8(t *testing.T) {
	for i, c := range affineCases {
		if c.format == 0 {
			continue
		}
		w, numbers := c.affine(i)
		l, err := linear.FromAffine(&w, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		const m = 3
		x := testCase{m: m, n: c.n, k: c.k, seed: i}
		rows, _, _ := x.inputs()
		var first []float32
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			out := make([]float32, m*c.n)
			if err := l.Apply(linear.DenseMatrix(out, m, c.n), rows.Matrix, linear.Options{DynamicInt8: true, Exec: kernel.Exec{Tier: tier}}); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = out
			}
			contracttest.SameRow(t, fmt.Sprintf("%+v", c), out, first)
		})
		for r := range m {
			largest := 0.0
			for k := range c.k {
				largest = max(largest, math.Abs(float64(rows.at(r, k))))
			}
			for n := range c.n {
				want, limit := 0.0, 0.0
				for k := range c.k {
					want += float64(rows.at(r, k)) * float64(numbers[n*c.k+k])
					limit += math.Abs(float64(numbers[n*c.k+k])) * largest / 253
				}
				if got := float64(first[r*c.n+n]); !(math.Abs(got-want) <= limit) {
					t.Fatalf("%+v: row %d output %d is %v, want %v ± %v", c, r, n, got, want, limit)
				}
			}
		}
	}
}

// Symmetric weights of 4 bits equal Q4_0's, also with Options.DynamicInt8.
func TestAffineIsQ4_0(t *testing.T) {
	const n, k = 50, 96
	r := testutil.Rand(5)
	codes, scales, blocks := make([]byte, n*k), make([]kernel.F16, n*k/32), []byte{}
	for b := range scales {
		scales[b] = numeric.ToF16(float32(r.IntN(4000)-2000) / 0x1p13)
		blocks = binary.LittleEndian.AppendUint16(blocks, uint16(scales[b]))
		q := codes[32*b:][:32]
		for i := range q {
			q[i] = byte(r.IntN(16))
		}
		for i := range 16 {
			blocks = append(blocks, q[i]|q[i+16]<<4)
		}
	}
	w := linear.AffineWeights{N: n, K: k, Bits: 4, GroupSize: 32, Codes: codes, Scales: linear.DenseMatrix(scales, n, k/32)}
	got, err := linear.FromAffine(&w, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := linear.FromBlocks(linear.Q4_0, blocks, n, k, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, int8 := range []bool{false, true} {
		sameOutputs(t, "Q4_0", testCase{m: 5, n: n, k: k, kind: testutil.Mantissas}, got, want, linear.Options{DynamicInt8: int8})
	}
}

func TestAffineErrors(t *testing.T) {
	good := func() *linear.AffineWeights {
		return &linear.AffineWeights{N: 8, K: 32, Bits: 4, GroupSize: 16, Codes: make([]byte, 128), Packing: linear.GPTQ,
			Scales: linear.DenseMatrix(testutil.Filled(16, 1), 2, 8).T(), ZeroCodes: make([]byte, 8), ZeroOffset: 1}
	}
	type fault struct {
		change    func(w *linear.AffineWeights)
		arg, want string
	}
	faults := []fault{
		{func(w *linear.AffineWeights) { w.N = -1 }, "AffineWeights.N", "0 to"},
		{func(w *linear.AffineWeights) { w.N = 9 }, "AffineWeights.N", "a multiple of 8"},
		{func(w *linear.AffineWeights) { w.K = math.MinInt }, "AffineWeights.K", "1 to"},
		{func(w *linear.AffineWeights) { w.K = 33 }, "AffineWeights.K", "a multiple of 8"},
		{func(w *linear.AffineWeights) { w.Bits = 3 }, "AffineWeights.Bits", "2, 4 or 8"},
		{func(w *linear.AffineWeights) { w.Bits, w.Packing = 8, linear.AWQ }, "AffineWeights.Bits", "of AWQ 4"},
		{func(w *linear.AffineWeights) { w.GroupSize = 0 }, "AffineWeights.GroupSize", "at least 1"},
		{func(w *linear.AffineWeights) { w.GroupSize, w.Packing = 15, linear.ByteRows }, "AffineWeights.GroupSize", "whole bytes"},
		{func(w *linear.AffineWeights) { w.Packing = 4 }, "AffineWeights.Packing", "AWQ"},
		{func(w *linear.AffineWeights) { w.Codes = w.Codes[1:] }, "AffineWeights.Codes", "128, for [8 32] of 4 bits"},
		{func(w *linear.AffineWeights) { w.ZeroCodes = w.ZeroCodes[1:] }, "AffineWeights.ZeroCodes", "8, for"},
		{func(w *linear.AffineWeights) { w.ZeroOffset = 2 }, "AffineWeights.ZeroOffset", "0 or 1"},
		{func(w *linear.AffineWeights) { w.ZeroCodes = nil }, "AffineWeights.ZeroOffset", "without ZeroCodes"},
		{func(w *linear.AffineWeights) { w.Zeros = w.Scales }, "AffineWeights.Zeros", "zero Matrix"},
		{func(w *linear.AffineWeights) {
			w.ZeroCodes, w.ZeroOffset, w.Zeros = nil, 0, linear.DenseMatrix(testutil.Filled(16, testutil.NaN), 8, 2)
		}, "AffineWeights.Zeros", "finite"},
		{func(w *linear.AffineWeights) { w.Scales = w.Scales.T() }, "AffineWeights.Scales", "[8 2]"},
		{func(w *linear.AffineWeights) { w.Scales = linear.DenseMatrix(make([]float32, 15), 8, 2) }, "AffineWeights.Scales", "16 elements"},
		{func(w *linear.AffineWeights) { w.Scales = linear.DenseMatrix(testutil.Filled(16, testutil.Inf), 8, 2) }, "AffineWeights.Scales", "finite"},
		{func(w *linear.AffineWeights) { w.GroupOf = make([]int32, 31) }, "AffineWeights.GroupOf", "32, one per input"},
		{func(w *linear.AffineWeights) { w.GroupOf = make([]int32, 32); w.GroupOf[5] = 2 }, "AffineWeights.GroupOf[5]", "0 to 1"},
		{func(w *linear.AffineWeights) {
			w.Packing, w.Codes, w.ZeroCodes = linear.Unpacked, make([]byte, 256), make([]byte, 16)
			w.Codes[9] = 16
		}, "AffineWeights.Codes[9]", "0 to 15"},
	}
	if math.MaxInt > math.MaxInt32 { // else these sizes are none too many
		faults = append(faults, []fault{
			{func(w *linear.AffineWeights) { w.N = math.MaxInt }, "AffineWeights.N", "0 to"},
			{func(w *linear.AffineWeights) { w.GroupSize, w.Packing = math.MaxInt-1, linear.ByteRows }, "AffineWeights.GroupSize", "at most"},
		}...)
	}
	for _, c := range faults {
		w := good()
		c.change(w)
		_, err := linear.FromAffine(w, nil, kernel.Exec{})
		contracttest.CheckArgument(t, fmt.Sprintf("%+v", *w), err, c.arg, c.want)
	}
	_, err := linear.FromAffine(nil, nil, kernel.Exec{})
	contracttest.CheckArgument(t, "nil", err, "w", "weights")
	_, err = linear.FromAffine(good(), make([]float32, 7), kernel.Exec{})
	contracttest.CheckArgument(t, "bias", err, "bias", "8, one per output")
	if _, err := linear.FromAffine(good(), nil, kernel.Exec{}); err != nil {
		t.Error(err)
	}
}

// Weights of 4 bits as MatMulNBits of ONNX has them: an output of 16 inputs with one scale and one
// zero point.
func ExampleFromAffine() {
	layer, err := linear.FromAffine(&linear.AffineWeights{
		N: 1, K: 16, Bits: 4, GroupSize: 16,
		Codes:     []byte{0x21, 0xf3, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33}, // the first of a byte is in its lower half
		Packing:   linear.ByteRows,
		Scales:    linear.DenseMatrix([]float32{0.5}, 1, 1),
		ZeroCodes: []byte{0x03},
	}, nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := make([]float32, 16)
	err = layer.Rows(linear.DenseMatrix(row, 1, 16), []int32{0}, kernel.Exec{})
	fmt.Println(layer.Format(), row[:5], err)

	// Output: Affine [-1 -0.5 0 6 0] <nil>
}
