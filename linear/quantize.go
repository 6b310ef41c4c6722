package linear

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// QuantizeInt8 is [New] for weights that it rounds to [Q8_0], so that calls can have Options.DynamicInt8. w has a
// type as in New, and K is positive. With the largest magnitude a of a block of 32
// inputs of an output, the last of which may have fewer,
//
//	d = a/127 rounded to binary16
//	q = w/d rounded to an integer, ties to even, and at most 127 in magnitude; 0 if d is 0
//
// Both quotients are those of float32. The layer takes 34 bytes for 32 weights. If K is no multiple of
// 32, calls copy the last inputs of each row of x, which changes no bit.
//
// Errors are those of New. A weight that is NaN or infinite, or whose d would be (from some 8.3·10⁶ on),
// is an error, too.
func QuantizeInt8(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error) {
	t, err := elementwise.Begin("linear.QuantizeInt8", &exec, checkInt8(&w, bias))
	if err != nil {
		return nil, err
	}
	if view.Races {
		w.announce(view.Read)
	}
	l := &Linear{n: w.rows, k: w.cols, format: Q8_0, packed: Q8_0.row().Packed}
	l.blocks = hugepages.Make[byte](l.blockBytes(l.lanes()))
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
		Q8_0.row().Pack(l.packed, l.panelBlocks(p), rows, l.panelWidth(p), l.depth(), nil)
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
