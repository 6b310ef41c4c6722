package linear

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Format is a format of quantized weights: integers with a scale d, and perhaps a minimum m, for
// some neighbouring inputs of an output. The formats come from [GGUF] files: the type of a tensor
// there has the same name and number, and its bytes are the data of [FromBlocks].
//
// [GGUF]: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
type Format int

// The formats. A block of 32 weights is d and m as binary16, little-endian, followed by the
// integers q. Byte i of 16 holds the q of weights i, in its lower half, and i+16.
const (
	Q4_0 Format = 2 // 18 bytes: d, 16 bytes; a weight is d·q - 8d
	Q4_1 Format = 3 // 20 bytes: d, m, 16 bytes; a weight is d·q + m
	Q5_0 Format = 6 // 22 bytes: as Q4_0, with 4 bytes of fifth bits after d; a weight is d·q - 16d
	Q5_1 Format = 7 // 24 bytes: as Q4_1, with 4 bytes of fifth bits after m; a weight is d·q + m
	Q8_0 Format = 8 // 34 bytes: d, 32 int8; a weight is d·q

	// Blocks of 256 weights: d, and m in all but Q3_K and Q6_K, as binary16, with an integer s, and
	// t, for each 16 or 32 weights. A weight is (d·s)·q - m·t, of Q3_K (d·s)·(q-4), of Q6_K
	// (d·s)·(q-32). The bits lie as in [ggml].
	//
	// [ggml]: https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h
	Q2_K Format = 10 // 84 bytes: q of 2 bits, s and t of 4 for each 16
	Q3_K Format = 11 // 110 bytes: q of 3 bits, s of 6 for each 16
	Q4_K Format = 12 // 144 bytes: q of 4 bits, s and t of 6 for each 32
	Q5_K Format = 13 // 176 bytes: q of 5 bits, s and t of 6 for each 32
	Q6_K Format = 14 // 210 bytes: q of 6 bits, s of 8 for each 16

	// IQ2_XXS to IQ3_S, and IQ1_S and IQ1_M, are blocks of 256 weights whose numbers are rows of
	// codebooks. TQ1_0 and TQ2_0 have three numbers. A weight is (d·s)·q, where s is an odd integer
	// over 8, 4 or 1, or 1 of TQ1_0 and TQ2_0.
	IQ2_XXS Format = 16 // 66 bytes
	IQ2_XS  Format = 17 // 74 bytes
	IQ3_XXS Format = 18 // 98 bytes
	IQ1_S   Format = 19 // 50 bytes
	IQ3_S   Format = 21 // 110 bytes
	IQ2_S   Format = 22 // 82 bytes
	IQ1_M   Format = 29 // 56 bytes
	TQ1_0   Format = 34 // 54 bytes
	TQ2_0   Format = 35 // 66 bytes

	// IQ4_XS is 136 bytes for 256 weights: d, an integer s of 6 bits for each 32, and the numbers
	// of IQ4_NL. A weight is (d·s)·q.
	IQ4_XS Format = 23

	// IQ4_NL is 18 bytes, as Q4_0, whose numbers 0 to 15 stand for the q -127, -104, -83, -65, -49,
	// -35, -22, -10, 1, 13, 25, 38, 53, 69, 89 and 113; a weight is d·q.
	IQ4_NL Format = 20

	// MXFP4 is 17 bytes: e, and 16 bytes as in Q4_0, whose numbers 0 to 7 stand for the v 0, 0.5,
	// 1, 1.5, 2, 3, 4 and 6, and 8 to 15 for those negated; a weight is 2^(e-127)·v, rounded to
	// float32, and +0 if v is -0 or the weight is below 2^-126 (Open Compute Project: "OCP
	// Microscaling Formats (MX) Specification", version 1.0). With e of 253 and 254, weights from
	// 2^128 on are infinite; with e of 255 all are NaN. In a block of 32 zeros e may be any, and
	// the weights are +0.
	MXFP4 Format = 39

	// NVFP4 is 36 bytes for 64 weights: 4 d as E4M3, and 32 bytes of numbers for the v of MXFP4.
	// Byte i < 8 of the 8 bytes for each d has the numbers of weights i, in its lower half, and
	// i+8. A weight is d·v, and +0 if v is -0. If d is negative, so is its weight, which ggml takes
	// for positive, and if it is NaN, all 16 are, where ggml has 0: files of weights have neither.
	// [FromNVFP4] takes a scale of float32 beside.
	NVFP4 Format = 40
)

// String returns the format's name in GGUF files.
func (f Format) String() string {
	if row := f.row(); row != nil {
		return row.Name
	}
	if f == Affine {
		return "Affine"
	}
	return fmt.Sprintf("Format(%d)", int(f))
}

func (f Format) isValid() bool { return f.row() != nil }

// row is the format's in the table of formats, nil if there is none.
func (f Format) row() *quantized.Format { return quantized.Of(int(f)) }

// Block returns the number of weights of a block and its size in bytes, 0 and 0 if f is none of the
// formats.
func (f Format) Block() (weights, bytes int) {
	if row := f.row(); row != nil {
		return row.Weights, row.Bytes
	}
	return 0, 0
}

// Widen converts whole blocks to float32: dst has as many numbers as there are weights in data. A
// weight is what the format says, with every operation rounded as in ggml, so that the bits equal
// its functions': unlike in a layer, -0 keeps its sign, weights with an infinite scale are
// infinite, and subnormal ones keep their value. The bits of a NaN are open.
//
// Bad input is a [*kernel.Error].
func (f Format) Widen(dst []float32, data []byte) error {
	row := f.row()
	if row == nil {
		return (*kernel.Error)(f.failure().In("linear.Format.Widen"))
	}
	if len(data)%row.Bytes != 0 {
		return &kernel.Error{Where: "linear.Format.Widen: data", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("a multiple of %d, a block of %v", row.Bytes, f)}
	}
	if bad := cmp.Or(
		check.Length("dst", len(dst), ints.MulSat(len(data)/row.Bytes, row.Weights), "as data has so many weights"),
		view.CheckApart(1, []string{"dst", "data"}, view.MemoryOf(dst), view.MemoryOf(data)),
	); bad != nil {
		return (*kernel.Error)(bad.In("linear.Format.Widen"))
	}
	if view.Races {
		view.Announce(view.Read, data)
		view.Announce(view.Write, dst)
	}
	row.Float32(dst, data)
	return nil
}

// failure says that f is none of the formats.
func (f Format) failure() *check.Failure {
	return &check.Failure{Where: "format", Got: f.String(), Want: "one of the formats of package linear, such as Q8_0"}
}

// FromBlocks packs quantized weights, [N, K] for N outputs and K inputs, and the bias, N numbers or
// nil for none. data has the blocks of output 0, then of output 1, and so on: K/32, K/64 or K/256
// blocks each; K is a positive multiple of 32, 64 or 256, see [Format.Block]. All is copied, and
// data is not needed any more. exec and its errors are as for New.
//
// A weight is fma(d, q, m), rounded to float32 once. q is unsigned, and m compensates for that: it
// is -8d for Q4_0, and -128d for Q8_0 and IQ4_NL, whose q are stored 128 larger. The weight is
// exact without minima, and NaN if d is infinite. The layer has the bits of [New] on these weights
// as float32, with any number of rows. A call with many rows takes as long as with float32.
//
// Layers take these bits a weight:
//
//	4.5     Q4_0, TQ1_0, TQ2_0, MXFP4, IQ4_NL
//	4.75    Q4_K
//	5       Q4_1
//	5.75    Q5_K
//	6       Q2_K, Q3_K
//	6.625   Q6_K, IQ3_S
//	7       Q5_0, Q5_1, NVFP4, IQ1_S, IQ1_M
//	8.5     Q8_0
//	10      IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ4_XS
//
// Calls with few rows mostly wait for this memory with Q8_0, Q4_0, Q4_1, MXFP4 and IQ4_NL, and on
// CPUs with AVX2 with Q4_K. With other formats a call widens the weights to float32. CPUs with AVX2
// do without for one or two rows, some with AVX-512 for up to four. On CPUs without AVX2, NEON and
// RVV, Go code widens, and multiplies with Options.DynamicInt8: both are slow there.
//
// Errors are as for [New].
func FromBlocks(format Format, data []byte, n, k int, bias []float32, exec kernel.Exec) (*Linear, error) {
	return newQuantized("linear.FromBlocks", checkQuantized(format, data, n, k, bias), format, data, nil, n, k, bias, exec)
}

// newQuantized packs weights unless the check of a function has found bad. Scales are none, one, or
// one per output.
func newQuantized(function string, bad *check.Failure, format Format, data []byte, scales []float32, n, k int, bias []float32, exec kernel.Exec) (*Linear, error) {
	t, err := elementwise.Begin(function, &exec, bad)
	if err != nil {
		return nil, err
	}
	f := format.row()
	l := &Linear{n: n, k: k, format: format, packed: f.Packed}
	l.blocks = hugepages.Share[byte](l.blockBytes(l.lanes()))
	row := k / f.Weights * f.Bytes
	l.eachPanel(t, &exec, func(p int) {
		first := p * ukernel.PanelLanes
		rows, some := data[first*row:min(first+ukernel.PanelLanes, n)*row], scales
		if len(scales) > 1 {
			some = scales[first:]
		}
		f.Pack(l.panelBlocks(p), rows, l.panelWidth(p), k, some)
	})
	l.bias = l.paddedBias(bias)
	return l, nil
}

// checkQuantized reports the first argument of FromBlocks that does not fit.
func checkQuantized(format Format, data []byte, n, k int, bias []float32) *check.Failure {
	f := format.row()
	if f == nil {
		return format.failure()
	}
	if bad := check.Least("n", n, 0); bad != nil {
		return bad
	}
	if k <= 0 || k%f.Weights != 0 {
		return &check.Failure{Where: "k", Got: fmt.Sprint(k), Want: fmt.Sprintf("a positive multiple of %d, the weights of a block", f.Weights)}
	}
	if want := ints.MulSat(n, ints.MulSat(k/f.Weights, f.Bytes)); len(data) != want {
		return &check.Failure{Where: "data", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("%d, for [%d %d] weights of %v", want, n, k, format)}
	}
	if f := checkBias(bias, n); f != nil {
		return f
	}
	packed := ints.MulSat(ints.AddSat(n, ukernel.PanelStep), ints.MulSat(k/f.Packed.HeadSteps(), f.Packed.PanelBytes(1, f.Packed.HeadSteps())))
	if !hugepages.Fits(packed, 1) {
		return check.TooLarge("data", fmt.Sprintf("%d bytes", len(data)))
	}
	return nil
}

// Format returns the format of quantized weights, or 0 if they are not quantized.
func (l *Linear) Format() Format { return l.format }

// blockBytes is the size of the blocks of some lanes, for all inputs.
func (l *Linear) blockBytes(lanes int) int {
	return l.packed.PanelBytes(lanes, l.depth())
}

// panelBlocks are the blocks of panel p.
func (l *Linear) panelBlocks(p int) []byte {
	return l.blocks[l.blockBytes(p*ukernel.PanelLanes):][:l.blockBytes(l.panelWidth(p))]
}

// QuantizeInt8 is [New] for weights that it rounds to [Q8_0], so that calls can have
// Options.DynamicInt8. w has a type as in New, and K is positive. With the largest magnitude a of a
// block of 32 inputs of an output, the last of which may have fewer,
//
//	d = a/127 rounded to binary16
//	q = w/d rounded to an integer, ties to even, and at most 127 in magnitude; 0 if d is 0
//
// Both quotients are rounded to float32 first. The layer takes 34 bytes for 32 weights. If K is no
// multiple of 32, calls copy the last inputs of each row of x, which changes no bit.
//
// Errors are as for New. A weight that is NaN or infinite, or whose d would be (from some 8.3·10⁶
// on), is an error, too.
func QuantizeInt8(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error) {
	t, err := elementwise.Begin("linear.QuantizeInt8", &exec, checkInt8(&w, bias))
	if err != nil {
		return nil, err
	}
	if view.Races {
		w.announce(view.Read)
	}
	l := &Linear{n: w.rows, k: w.cols, format: Q8_0, packed: Q8_0.row().Packed}
	l.blocks = hugepages.Share[byte](l.blockBytes(l.lanes()))
	unfit := make([]int, l.panels()) // of each panel, 1 + the first row that does not fit, or 0
	l.eachPanel(t, &exec, func(p int) {
		first := p * ukernel.PanelLanes
		n := min(ukernel.PanelLanes, l.n-first)
		rows := make([]byte, n*l.blockBytes(1))
		for i := range n {
			if !roundRow(rows[i*l.blockBytes(1):][:l.blockBytes(1)], &w, first+i) {
				unfit[p] = 1 + first + i
				return
			}
		}
		Q8_0.row().Pack(l.panelBlocks(p), rows, l.panelWidth(p), l.depth(), nil)
	})
	if p := slices.IndexFunc(unfit, func(row int) bool { return row > 0 }); p >= 0 {
		f := w.failure("w", "finite weights up to %g in row %d", float32(127*largestF16), unfit[p]-1)
		return nil, (*kernel.Error)(f.In("linear.QuantizeInt8"))
	}
	l.bias = l.paddedBias(bias)
	return l, nil
}

// checkInt8 reports the first argument of QuantizeInt8 that does not fit.
func checkInt8(w *Matrix, bias []float32) *check.Failure {
	if f := cmp.Or(w.check("w"), checkBias(bias, w.rows)); f != nil {
		return f
	}
	if f := checkWeights("w", w, 2); f != nil { // 34 bytes for 32 weights
		return f
	}
	if w.cols <= 0 {
		return w.failure("w", "a positive number of columns")
	}
	blocks := ints.MulSat(ints.AddSat(w.rows, ukernel.PanelStep), ints.CeilDiv(w.cols, ukernel.BlockSteps))
	if !hugepages.Fits(ints.MulSat(blocks, Q8_0.row().Bytes), 1) {
		return check.TooLarge("w", w.failure("w", "").Got)
	}
	return nil
}

const largestF16 = 65504

// roundRow writes the blocks of a row of w, and reports whether its weights fit them.
func roundRow(dst []byte, w *Matrix, row int) bool {
	var block [ukernel.BlockSteps]float32
	for k := 0; k < w.cols; k += len(block) {
		block = [ukernel.BlockSteps]float32{} // zeros are behind the last weight
		for i := range min(len(block), w.cols-k) {
			block[i] = w.float(row, k+i)
		}
		if !roundBlock(dst[:2+len(block)], &block) {
			return false
		}
		dst = dst[2+len(block):]
	}
	return true
}

// roundBlock writes a block of Q8_0, and reports whether the weights fit it.
func roundBlock(dst []byte, weights *[ukernel.BlockSteps]float32) bool {
	var a float32
	for _, x := range weights {
		if x != x {
			return false
		}
		a = max(a, x, -x)
	}
	half := scalar.ToF16(a / 127)
	d := scalar.F16(half)
	if d > largestF16 {
		return false
	}
	binary.LittleEndian.PutUint16(dst, half)
	for i, x := range weights {
		q := 0.0
		if d > 0 {
			q = min(max(math.RoundToEven(float64(x/d)), -127), 127)
		}
		dst[2+i] = byte(int8(q))
	}
	return true
}

// float returns an element as float32.
func (m *Matrix) float(i, j int) float32 {
	at := i*m.rowStride + j*m.colStride
	switch m.dtype {
	case view.Float32:
		return m.f32[at]
	case view.Float16:
		return scalar.F16(m.u16[at])
	default:
		return scalar.BF16(m.u16[at])
	}
}
