package linear

import (
	"unsafe"

	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Products in bfloat16 by a unit for tiles. A goroutine rounds a range of rows of x once, for all
// of its tasks with that range. Kernels take them and the pairs of weights as they lie.

const (
	// With fewer rows than leastTileRows a tile is not full, and the products of vectors are taken.
	// The prototype whose figures gen/amd64/gemm_tiles.go has was not measured with fewer than 32.
	leastTileRows = 16

	// tileRowsStep is the rows that a kernel multiplies at a time.
	tileRowsStep = 32

	// tileBytes is the size of the rounded rows of a task: they stay in L2 while panels pass by.
	tileBytes = 512 << 10

	// tileSteps is how many inputs of a panel a call of a kernel takes.
	tileSteps = 1024

	// tileSpeed is how many times as many products as FMAs a thread computes in some time, about.
	tileSpeed = 4
)

// tiles tells whether a unit for tiles multiplies m rows.
func (l *Linear) tiles(t *tier.Tier, m int) bool {
	return l.rounds && m >= leastTileRows && l.depth() > 0 && t.Unit().GemmTiles != nil
}

// tileRows is the most rows of a task.
func (j *job) tileRows() int {
	return min(maxRows, max(tileRowsStep, tileBytes/(2*j.linear.depth())/tileRowsStep*tileRowsStep))
}

// tileTask computes a range of rows times some panels.
func (s *scratch) tileTask(j *job, rows, panels interval) {
	l, depth := j.linear, j.linear.depth()
	if s.quantized != rows {
		s.narrowRows(j, rows)
	}
	x := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(s.codes))), 2*len(s.codes))
	for p := panels.lo; p < panels.hi; p++ {
		c, ldc := s.sums(j, rows, p, false)
		lanes := l.panelWidth(p)
		for k := 0; k < depth; k += tileSteps {
			steps := interval{k, min(k+tileSteps, depth)}
			for lo := 0; lo < rows.len(); {
				m := ukernel.RowsPerCall(rows.len()-lo, lanes*steps.len())
				if m > tileRowsStep && lo+m < rows.len() {
					m -= m % tileRowsStep
				}
				j.tier.Unit().GemmTiles(c[lo*ldc:], ldc, x[lo*depth+k:], depth, l.stepPairs(p, steps), lanes, m, steps.len(), k > 0)
				lo += m
			}
		}
		finish(j, rows, p, c, ldc)
	}
}

// narrowRows rounds some rows of x to bfloat16.
func (s *scratch) narrowRows(j *job, some interval) {
	depth := j.linear.depth()
	for i := range some.len() {
		row := s.rows[:depth]
		s.roundRow(j, row, some.lo+i, interval{0, depth})
		for to := view.BytesOf(s.codes[i*depth/2:][:depth/2]); len(row) > 0; {
			n := min(len(row), rows.MaxConvert)
			j.tier.Convert().Narrow[view.BFloat16](to, 0, row, 0, 1, n)
			to, row = to[2*n:], row[n:]
		}
	}
	s.quantized = some
}
