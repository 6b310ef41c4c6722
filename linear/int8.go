package linear

import (
	"github.com/attn-go/attn/internal/ukernel"
)

// Products of quantized rows with quantized weights, see Options.DynamicInt8. A goroutine quantizes
// a range of rows of x once, for all of its tasks with that range, which follow each other. That
// takes as long as the product with some 25 outputs, half of a panel.

const (
	// int8Bytes is the size of the quantized rows of a task: they stay in L2 while panels pass by,
	// unless int8Least of them are larger.
	int8Bytes = 256 << 10

	// int8Least is the fewest rows of a task if there are more: with fewer, weights are fetched and
	// widened too often.
	int8Least = 96

	// int8TileRows is a multiple of the rows of every kernel's highest tile: 16 with AMX, 24 with
	// VNNI.
	int8TileRows = 48

	// int8Steps is how many inputs of a panel a call of a kernel takes: so many stay in L1 for all
	// rows.
	int8Steps = 1024

	// int8ManySteps is the same for as many rows as then fit into one call, 96: kernels widen the
	// weights of a block once for all rows of a call.
	int8ManySteps = 384

	// int8Speed is how many times as many products as FMAs a thread computes in some time, about.
	int8Speed = 2
)

// rowWords is the number of words of a quantized row of k inputs.
func rowWords(k int) int { return k / ukernel.BlockSteps * ukernel.RowWords }

// int8Rows is the most rows of a task.
func (j *job) int8Rows() int {
	return min(maxRows/int8TileRows*int8TileRows, max(int8Least, int8Bytes/(4*rowWords(j.linear.depth()))/int8TileRows*int8TileRows))
}

// int8Task computes a range of rows times some panels.
func (s *scratch) int8Task(j *job, rows, panels interval) {
	l, words := j.linear, rowWords(j.linear.depth())
	if s.quantized != rows {
		for i := range rows.len() {
			j.tier.Weights().Quantize(s.codes[i*words:][:words], s.row(j, rows.lo+i))
		}
		s.quantized = rows
	}
	most := int8Steps
	if rows.len() >= int8TileRows {
		most = int8ManySteps
	}
	product := j.tier.Weights().Blocks[l.packed].GemmInt8
	for p := panels.lo; p < panels.hi; p++ {
		c, ldc := s.sums(j, rows, p, false)
		lanes := l.panelWidth(p)
		for k := 0; k < l.depth(); k += most {
			steps := interval{k, min(k+most, l.depth())}
			blocks, codes := l.stepBlocks(p, steps), s.codes[rowWords(k):]
			for lo := 0; lo < rows.len(); {
				m := ukernel.RowsPerCall(rows.len()-lo, lanes*steps.len())
				if m > int8TileRows && lo+m < rows.len() {
					m -= m % int8TileRows
				}
				product(c[lo*ldc:], ldc, codes[lo*words:], words, blocks, lanes, m, steps.len(), k > 0)
				lo += m
			}
		}
		finish(j, rows, p, c, ldc)
	}
}

// row returns row i of x without gaps.
func (s *scratch) row(j *job, i int) []float32 {
	x, k := j.x.f32[i*j.x.rowStride:], j.linear.k
	if j.x.colStride == 1 && !j.linear.hasTail() {
		return x[:k]
	}
	row := s.rows[:j.linear.depth()]
	j.copyRow(row, x, k)
	return row
}
