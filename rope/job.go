package rope

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/view"
)

// elementFMAs is how many FMAs of a product take as long as an element, on Zen 3.
const elementFMAs = 50

// A job is one call of Apply. Jobs are recycled, so that in the steady state a call allocates nothing.
type job struct {
	rope      *Rope
	x         view.Tensor
	positions []int
	split     parallel.Split[scratch, int]
}

// A scratch holds the cosines and sines of a position that is not in the table.
type scratch struct {
	row    []float32
	usage  parallel.Usage
	memory parallel.Memory
}

var (
	jobs      = parallel.FreeList[job]{New: newJob}
	scratches = parallel.FreeList[scratch]{
		New:    func() *scratch { return new(scratch) },
		Memory: func(s *scratch) *parallel.Memory { return &s.memory },
	}
)

func newJob() *job {
	j := new(job)
	fit := func(s *scratch) {
		parallel.Fit(&s.memory, &s.usage, &s.row, j.rope.Dims(), parallel.Make[float32])
	}
	j.split.Init(&scratches, fit, j.task, nil)
	return j
}

// task rotates the tokens lo to hi-1, numbered through all batch rows.
func (j *job) task(s *scratch, lo, hi int) {
	length := j.x.Dim(2)
	for token := lo; token < hi; token++ {
		b, l := token/length, token%length
		at := l
		if len(j.positions) > length {
			at = token
		}
		row := j.rope.row(j.positions[at], s.row)
		for h := range j.x.Dim(1) {
			j.rope.rotate(j.x.Row(b, h, l)[:j.rope.Dims()], row)
		}
	}
}
