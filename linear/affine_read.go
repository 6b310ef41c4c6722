package linear

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// groups is the number of groups of an output.
func (w *AffineWeights) groups() int { return ints.CeilDiv(w.K, min(w.GroupSize, w.K)) }

// group returns the group of an input.
func (w *AffineWeights) group(k int) int {
	if w.GroupOf != nil {
		return min(max(int(w.GroupOf[k]), 0), w.groups()-1) // GroupOf may have changed since it was checked
	}
	return k / w.GroupSize
}

// scale returns a scale: a zero is +0.
func (w *AffineWeights) scale(n, g int) float32 { return w.Scales.float(n, g) + 0 }

// zero returns a zero point.
func (w *AffineWeights) zero(n, g int) float32 {
	switch {
	case w.hasZeros():
		return w.Zeros.float(n, g)
	case w.ZeroCodes == nil:
		return float32(int(1) << (w.Bits - 1))
	}
	return float32((w.at(w.ZeroCodes, w.zeroAt(n, g)) + uint8(w.ZeroOffset)) & w.most())
}

// hasZeros tells whether Zeros is not the zero Matrix.
func (w *AffineWeights) hasZeros() bool {
	return w.Zeros.rows != 0 || w.Zeros.cols != 0 || w.Zeros.len() != 0
}

// most is the largest code.
func (w *AffineWeights) most() uint8 { return uint8(1<<w.Bits - 1) }

// at returns code i of packed ones.
func (w *AffineWeights) at(codes []byte, i int) uint8 {
	if w.Packing == Unpacked {
		return codes[i] & w.most()
	}
	n := w.perByte()
	return codes[i/n] >> (i % n * w.Bits) & w.most()
}

// readCodes writes the codes of an output.
func (w *AffineWeights) readCodes(dst []uint8, n int) {
	first, step, width := w.codesAt(n)
	if width == 1 {
		for k := range dst {
			dst[k] = w.at(w.Codes, first+k*step)
		}
		return
	}
	for k := range dst { // width codes of a word, and then another word's
		dst[k] = w.at(w.Codes, first+k/width*step+k%width)
	}
}

// codesAt returns the place of the first code of an output. Runs of width codes are step apart.
func (w *AffineWeights) codesAt(n int) (first, step, width int) {
	switch w.Packing {
	case Unpacked:
		return n * w.K, 1, 1
	case ByteRows:
		return n * w.groups() * w.GroupSize, 1, 1
	case GPTQ:
		return n * w.perWord(), w.N * w.perWord(), w.perWord()
	default:
		return w.outputAt(n), w.N, 1
	}
}

// zeroAt returns the place of a zero point.
func (w *AffineWeights) zeroAt(n, g int) int {
	switch w.Packing {
	case Unpacked:
		return n*w.groups() + g
	case ByteRows:
		return n*w.zeroRow()*w.perByte() + g
	default:
		return g*w.N + w.outputAt(n)
	}
}

// zeroRow is the bytes of the zero points of an output in ByteRows.
func (w *AffineWeights) zeroRow() int { return ints.CeilDiv(w.groups(), w.perByte()) }

// perByte is the number of codes in a byte.
func (w *AffineWeights) perByte() int { return 8 / w.Bits }

// perWord is the number of codes in a word.
func (w *AffineWeights) perWord() int { return 32 / w.Bits }

// outputAt returns the place of an output in a row of words.
func (w *AffineWeights) outputAt(n int) int {
	if w.Packing == AWQ {
		return n&^7 + int([8]uint8{0, 4, 1, 5, 2, 6, 3, 7}[n%8])
	}
	return n
}

// describe says what the weights are.
func (w *AffineWeights) describe() string {
	return fmt.Sprintf("[%d %d] of %d bits in groups of %d", w.N, w.K, w.Bits, w.GroupSize)
}

// check reports the first field that does not fit.
func (w *AffineWeights) check() *check.Failure {
	if w == nil {
		return &check.Failure{Where: "w", Got: "nil", Want: "weights"}
	}
	wrong := func(field string, got any, want string, args ...any) *check.Failure {
		return &check.Failure{Where: "AffineWeights." + field, Got: fmt.Sprint(got), Want: fmt.Sprintf(want, args...)}
	}
	switch {
	case w.N < 0 || w.N > math.MaxInt32:
		return wrong("N", w.N, "0 to %d", math.MaxInt32)
	case w.K < 1 || w.K > math.MaxInt32:
		return wrong("K", w.K, "1 to %d", math.MaxInt32)
	case w.Packing > AWQ:
		return wrong("Packing", uint8(w.Packing), "Unpacked, ByteRows, GPTQ or AWQ")
	case w.Bits != 2 && w.Bits != 4 && w.Bits != 8 || w.Packing == AWQ && w.Bits != 4:
		return wrong("Bits", w.Bits, "2, 4 or 8, of AWQ 4")
	case w.GroupSize < 1 || w.Packing == ByteRows && w.GroupSize%w.perByte() != 0:
		return wrong("GroupSize", w.GroupSize, "at least 1, of ByteRows whole bytes")
	case w.Packing == ByteRows && w.GroupSize > math.MaxInt32:
		return wrong("GroupSize", w.GroupSize, "at most %d", math.MaxInt32)
	case w.Packing == GPTQ && w.K%w.perWord() != 0:
		return wrong("K", w.K, "a multiple of %d, the codes of a word", w.perWord())
	case w.wordsOfOutputs() && w.N%w.perWord() != 0:
		return wrong("N", w.N, "a multiple of %d, the codes of a word", w.perWord())
	case w.ZeroOffset < 0 || w.ZeroOffset > 1:
		return wrong("ZeroOffset", w.ZeroOffset, "0 or 1")
	case w.ZeroOffset != 0 && w.ZeroCodes == nil:
		return wrong("ZeroOffset", w.ZeroOffset, "0 without ZeroCodes")
	case w.ZeroCodes != nil && w.hasZeros():
		return wrong("Zeros", w.Zeros, "the zero Matrix, as there are ZeroCodes")
	case w.GroupOf != nil && len(w.GroupOf) != w.K:
		return wrong("GroupOf", fmt.Sprintf("%d numbers", len(w.GroupOf)), "%d, one per input, or nil", w.K)
	}
	if f := w.checkCodes(); f != nil {
		return f
	}
	for k, g := range w.GroupOf {
		if g < 0 || int(g) >= w.groups() {
			return wrong(fmt.Sprintf("GroupOf[%d]", k), g, "0 to %d", w.groups()-1)
		}
	}
	if f := w.checkNumbers("AffineWeights.Scales", &w.Scales); f != nil || !w.hasZeros() {
		return f
	}
	return w.checkNumbers("AffineWeights.Zeros", &w.Zeros)
}

// wordsOfOutputs tells whether a word has codes of several outputs.
func (w *AffineWeights) wordsOfOutputs() bool {
	return w.Packing == AWQ || w.Packing == GPTQ && w.ZeroCodes != nil
}

// checkCodes reports Codes and ZeroCodes of another length, or of a code that has more bits.
func (w *AffineWeights) checkCodes() *check.Failure {
	codes, zeros := ints.MulSat(w.N, w.K), ints.MulSat(w.N, w.groups())
	switch w.Packing {
	case ByteRows:
		codes = ints.MulSat(w.N, ints.MulSat(w.groups(), w.GroupSize/w.perByte()))
		zeros = ints.MulSat(w.N, w.zeroRow())
	case GPTQ, AWQ:
		codes, zeros = codes/w.perByte(), zeros/w.perByte()
	}
	for _, x := range []struct {
		name  string
		bytes []byte
		want  int
	}{{"Codes", w.Codes, codes}, {"ZeroCodes", w.ZeroCodes, zeros}} {
		name := "AffineWeights." + x.name
		if len(x.bytes) != x.want && (x.name == "Codes" || x.bytes != nil) {
			return &check.Failure{Where: name, Got: fmt.Sprintf("%d bytes", len(x.bytes)), Want: fmt.Sprintf("%d, for %s", x.want, w.describe())}
		}
		for i, q := range x.bytes {
			if w.Packing == Unpacked && q > w.most() {
				return &check.Failure{Where: fmt.Sprintf("%s[%d]", name, i), Got: fmt.Sprint(q), Want: fmt.Sprintf("0 to %d", w.most())}
			}
		}
	}
	return nil
}

// checkNumbers reports scales or zero points that are no finite numbers for each group of each
// output.
func (w *AffineWeights) checkNumbers(name string, m *Matrix) *check.Failure {
	if f := m.check(name); f != nil {
		return f
	}
	if m.rows != w.N || m.cols != w.groups() {
		return m.failure(name, "[%d %d], one for each group of each output", w.N, w.groups())
	}
	for n := range m.rows {
		for g := range m.cols {
			if x := m.float(n, g); x-x != 0 {
				return &check.Failure{Where: name, Got: fmt.Sprintf("%v for group %d of output %d", x, g, n), Want: "finite numbers"}
			}
		}
	}
	return nil
}
