package linear

import (
	"math"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/ukernel"
)

// Quantized weights lie in blocks of 32 inputs. The last block of a layer may have fewer: zeros
// fill it, and rows of x are copied and end in as many -0. The product of both is -0, which
// changes no sum, not even one that is -0: the bits are those of a chain that ends at K.

// depth is the number of rows of a packed panel: the inputs, in whole blocks.
func (l *Linear) depth() int {
	if l.format == 0 {
		return l.k
	}
	return ints.CeilDiv(l.k, ukernel.BlockSteps) * ukernel.BlockSteps
}

// hasTail tells whether the last block has fewer inputs.
func (l *Linear) hasTail() bool { return l.depth() != l.k }

// mayHaveTail tells whether layers of a format may have any number of inputs.
func (f Format) mayHaveTail() bool { return f == Q8_0 || f == Affine }

// packedAs tells whether layers of the format may be packed as p.
func (f Format) packedAs(p ukernel.PackedFormat) bool {
	if f == Affine {
		return quantized.AffineAs(p)
	}
	return f.row().PackedAs(p)
}

// paddedRows copies the last steps of n rows, which begin at x.
func (s *scratch) paddedRows(j *job, x []float32, n int, steps interval) stepRows {
	ld := steps.len()
	for i := range n {
		j.copyRow(s.rows[i*ld:][:ld], x[i*j.x.rowStride:], j.linear.k-steps.lo)
	}
	return stepRows{s.rows, ld, 1, n}
}

// copyRow copies k numbers of a row, which begins at x, and fills dst with -0.
func (j *job) copyRow(dst, x []float32, k int) {
	if j.x.colStride == 1 {
		copy(dst[:k], x)
	} else {
		for i := range k {
			dst[i] = x[i*j.x.colStride]
		}
	}
	for i := k; i < len(dst); i++ {
		dst[i] = float32(math.Copysign(0, -1))
	}
}
