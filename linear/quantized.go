package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// A Format is a format of quantized weights: integers with a scale d, and perhaps a minimum
// m, for some neighbouring inputs of an output. They are those of the [GGUF] file format: the type of a tensor
// there has the same name, and its bytes are the data of [NewQuantized].
//
// [GGUF]: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
type Format int

// The formats. A block of 32 weights is d and m as binary16, little-endian, followed by the
// integers q. Byte i of 16 holds those of weights i, in its lower half, and i+16.
const (
	Q8_0 Format = 1 + iota // 34 bytes: d, 32 int8; a weight is d·q
	Q4_0                   // 18 bytes: d, 16 bytes; a weight is d·q - 8d
	Q4_1                   // 20 bytes: d, m, 16 bytes; a weight is d·q + m
	Q5_0                   // 22 bytes: as Q4_0, with 4 bytes of fifth bits after d; a weight is d·q - 16d
	Q5_1                   // 24 bytes: as Q4_1, with 4 bytes of fifth bits after m; a weight is d·q + m

	// Blocks of 256 weights: d, and m in all but Q3_K and Q6_K, as binary16, with an integer s, and t, for
	// each 16 or 32 weights. A weight is (d·s)·q - m·t, of Q3_K (d·s)·(q-4), of Q6_K (d·s)·(q-32). The
	// places of the bits are those of [ggml].
	//
	// [ggml]: https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h
	Q2_K // 84 bytes: q of 2 bits, s and t of 4 for each 16
	Q3_K // 110 bytes: q of 3 bits, s of 6 for each 16
	Q4_K // 144 bytes: q of 4 bits, s and t of 6 for each 32
	Q5_K // 176 bytes: q of 5 bits, s and t of 6 for each 32
	Q6_K // 210 bytes: q of 6 bits, s of 8 for each 16

	// IQ4_NL is 18 bytes, as Q4_0, whose numbers 0 to 15 stand for the q -127, -104, -83, -65, -49, -35, -22,
	// -10, 1, 13, 25, 38, 53, 69, 89 and 113; a weight is d·q.
	IQ4_NL

	// MXFP4 is 17 bytes: e, and 16 bytes as in Q4_0, whose numbers 0 to 7 stand for the v
	// 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and 8 to 15 for those negated; a weight is
	// 2^(e-127)·v, and +0 if v is -0 or the weight is below 2^-126 (Open Compute Project:
	// "OCP Microscaling Formats (MX) Specification", version 1.0). With e of 255 all are
	// NaN, and e of 252 to 254, with which 2^(e-127)·8 is beyond float32, is an error; in a
	// block of 32 zeros e may be any, and they are +0.
	MXFP4
)

// String returns the format's name in GGUF files.
func (f Format) String() string {
	if !f.isValid() {
		return fmt.Sprintf("Format(%d)", int(f))
	}
	return f.source().Name
}

func (f Format) isValid() bool { return f >= Q8_0 && int(f-Q8_0) < len(quantized.Sources) }

// source is the format in files.
func (f Format) source() *quantized.Source { return &quantized.Sources[f-Q8_0] }

// layout is the format of the packed panels, which is quantized weights'.
func (l *Linear) layout() *quantized.Format { return quantized.Of(l.packed.Layout) }

// NewQuantized packs quantized weights, [N, K] for N outputs and K inputs, and the bias, N
// numbers or nil for none. data has the blocks of one output after those of another, K/32 of
// them each, or K/256; K is a positive multiple of 32 or 256. All is copied, and data is not
// needed any more. exec and its errors are those of New.
//
// A weight is fma(d, q, m), rounded to float32 once, where q is an integer of the block as
// an unsigned one and m makes up for that: -8d for Q4_0, and for Q8_0 and IQ4_NL, whose q
// are 128 too large, -128d. It is exact without minima, and NaN if d is infinite. Only
// scales of MXFP4 can be an error. The layer has the bits of [New] on these weights as
// float32, with any number of rows. A call with many rows takes as long as with float32.
//
// A layer of MXFP4 with a block whose e is below 104 or above 143 takes the same memory and
// has the bits of any other one, but calls with one row or two take longer.
//
// Layers of Q8_0, Q4_0 and Q4_1 take as much memory as data, and a call with few rows mostly waits for it. IQ4_NL
// is packed as Q8_0, which takes twice as much. The others take 7 bits a weight, Q2_K, Q3_K and Q4_K 6, and each call
// widens them to float32, but for one row or two on CPUs with AVX2. On CPUs with neither AVX2 nor NEON that is Go code,
// and so are products with Options.Int8: both are slow there.
//
// Errors are those of [New].
func NewQuantized(format Format, data []byte, n, k int, bias []float32, exec kernel.Exec) (*Linear, error) {
	if f := checkQuantized(format, data, n, k, bias); f != nil {
		return nil, (*kernel.Error)(f.In("linear.NewQuantized"))
	}
	t, err := elementwise.Tier("linear.NewQuantized", &exec)
	if err != nil {
		return nil, err
	}
	source, _ := format.source().For(data)
	l := &Linear{n: n, k: k, format: format, packed: source}
	l.blocks = hugepages.Make[byte](l.blockBytes(l.lanes()))
	row := k / source.Steps * source.Bytes
	l.eachPanel(t, &exec, func(p int) {
		first := p * ukernel.PanelLanes
		source.Pack(l.panelBlocks(p), data[first*row:min(first+ukernel.PanelLanes, n)*row], l.panelWidth(p), k)
	})
	l.bias = l.paddedBias(bias)
	return l, nil
}

// checkQuantized reports the first argument of NewQuantized that does not fit.
func checkQuantized(format Format, data []byte, n, k int, bias []float32) *check.Failure {
	if !format.isValid() {
		return &check.Failure{Where: "format", Got: format.String(), Want: "one of the formats of package linear, such as Q8_0"}
	}
	if n < 0 {
		return &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: "at least 0"}
	}
	source := format.source()
	if k <= 0 || k%source.Steps != 0 {
		return &check.Failure{Where: "k", Got: fmt.Sprint(k), Want: fmt.Sprintf("a positive multiple of %d, the weights of a block", source.Steps)}
	}
	if want := ints.MulSat(n, ints.MulSat(k/source.Steps, source.Bytes)); len(data) != want {
		return &check.Failure{Where: "data", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("%d, for [%d %d] weights of %v", want, n, k, format)}
	}
	if f := checkBlocks(source, data, k); f != nil {
		return f
	}
	if f := checkBias(bias, n); f != nil {
		return f
	}
	packed := ints.MulSat(ints.AddSat(n, ukernel.PanelStep), ints.MulSat(k/ukernel.BlockSteps, quantized.Of(source.Layout).Bytes(1)))
	if !hugepages.Fits(packed, 1) {
		return check.TooLarge("data", fmt.Sprintf("%d bytes", len(data)))
	}
	return nil
}

// checkBlocks reports a block that cannot be packed.
func checkBlocks(source *quantized.Source, data []byte, k int) *check.Failure {
	packed, unfit := source.For(data)
	if packed != nil {
		return nil
	}
	x := unfit * source.Steps
	return &check.Failure{Where: "data", Got: fmt.Sprintf("the scale 2^%d of weights [%d, %d] and following", int(data[unfit*source.Bytes])-127, x/k, x%k),
		Want: fmt.Sprintf("scales of %s up to 2^124", source.Name)}
}

// Format returns the format of quantized weights, or 0 if they are not quantized.
func (l *Linear) Format() Format { return l.format }

// blockBytes is the size of the blocks of some lanes, for all inputs.
func (l *Linear) blockBytes(lanes int) int {
	return l.k / ukernel.BlockSteps * l.layout().Bytes(lanes)
}

// panelBlocks are the blocks of panel p.
func (l *Linear) panelBlocks(p int) []byte {
	return l.blocks[l.blockBytes(p*ukernel.PanelLanes):][:l.blockBytes(l.panelWidth(p))]
}
