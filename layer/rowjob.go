package layer

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/kernel"
)

// A rowJob computes the rows of one tensor on several goroutines, in float64.
type rowJob struct {
	to, w, x kernel.Tensor // w has the heads of the queries
	group    int           // query heads of a value head

	sums int // how many sums do needs, all 0
	do   func(j *rowJob, sums []float64, b, h, l int)
}

var rowJobs = parallel.Loop[rowJob, scratch]{Scratch: &scratches, Fit: func(j *rowJob, s *scratch) { s.takeDoubles(j.sums) }, Do: (*rowJob).task}

// doubleFMAs is how many FMAs of a product in float32 take as long as one in float64, in Go, on Zen 3.
const doubleFMAs = 50

// run computes a tensor whose rows take so many FMAs each.
func (j *rowJob) run(fmas, threadFMAs int, exec *kernel.Exec) {
	if shape := j.to.Shape(); !isEmpty(shape) {
		rows := product(shape[:3]...)
		rowJobs.Run(j, rows, float64(rows)*float64(fmas)*doubleFMAs/float64(threadFMAs), j.sums, exec.Threads, exec.ParallelFor)
	}
}

// task computes the rows lo to hi-1, numbered through all heads and batch rows.
func (j *rowJob) task(s *scratch, lo, hi int) {
	shape := j.to.Shape()
	for n := lo; n < hi; n++ {
		sums := s.doubles[:j.sums]
		clear(sums)
		j.do(j, sums, n/shape[2]/shape[1], n/shape[2]%shape[1], n%shape[2])
	}
}
