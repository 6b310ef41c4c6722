package norm

import (
	"math"

	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
)

// A job is the state of one call. Jobs are recycled, so that in the steady state a call
// allocates nothing.
//
// The rows are numbered as they are in [B, H, L], those beyond a length too. A task is a range
// of them.
type job struct {
	call

	tier           *tier.Tier
	split          parallel.Split[scratch, int]
	constants      []float32 // a weight of ones, then a bias of -0
	constantsUsage parallel.Usage
	memory         parallel.Memory
}

// A scratch is the memory of one goroutine of a call: a row of sums, if the call does not want them.
type scratch struct {
	row    []float32
	usage  parallel.Usage
	memory parallel.Memory
}

const (
	// maxElements is the most elements of one call of a kernel, if a row has no more: 30 µs if
	// they come from memory. A longer row is one call, as its sums cannot be cut.
	maxElements = 64 << 10

	// An element takes as long as elementFMAs FMAs of a product: it comes from L2 or from memory.
	elementFMAs = 12
)

var (
	jobs = parallel.FreeList[job]{
		New:    newJob,
		Memory: func(j *job) *parallel.Memory { return &j.memory },
	}
	scratches = parallel.FreeList[scratch]{
		New:    func() *scratch { return new(scratch) },
		Memory: func(s *scratch) *parallel.Memory { return &s.memory },
	}
)

func newJob() *job {
	j := new(job)
	j.split.Init(&scratches, func(s *scratch) { s.fit(j) }, j.task, j.memory.Forget)
	return j
}

func (s *scratch) fit(j *job) {
	if j.residual.IsSet() && !j.sum.IsSet() {
		parallel.Fit(&s.memory, &s.usage, &s.row, j.x.Dim(3), parallel.Make[float32])
	}
}

// fillIn gives the call a weight of ones and a bias of -0, where it has none: x + -0 is x, also
// for x = -0.
func (j *job) fillIn() {
	d := j.x.Dim(3)
	if j.weight == nil || j.layer && j.bias == nil {
		parallel.Fit(&j.memory, &j.constantsUsage, &j.constants, 2*d, parallel.Make[float32])
	}
	if j.weight == nil {
		j.weight = filled(j.constants[:d], 1)
	}
	if j.layer && j.bias == nil {
		j.bias = filled(j.constants[d:2*d], float32(math.Copysign(0, -1)))
	}
}

func filled(s []float32, x float32) []float32 {
	for i := range s {
		s[i] = x
	}
	return s
}

// run computes the call.
func (j *job) run(t *tier.Tier, opts *Options) {
	j.tier = t
	rows, d := j.x.Dim(0)*j.x.Dim(1)*j.x.Dim(2), j.x.Dim(3)
	work := float64(rows) * float64(d) * elementFMAs / float64(t.ThreadFMAs)
	j.split.Run(rows, work, d, opts.Threads, opts.ParallelFor)
}

// task normalises the rows lo to hi-1, run by run: rows of a head follow each other.
func (j *job) task(s *scratch, lo, hi int) {
	heads, length := j.x.Dim(1), j.x.Dim(2)
	for r := lo; r < hi; {
		head, l := r/length, r%length
		n := min(length-l, hi-r)
		b, h := head/heads, head%heads
		j.rows(s, b, h, l, min(n, j.x.Length(b)-l))
		r += n
	}
}

// rows normalises n rows of a head. There may be none.
func (j *job) rows(s *scratch, b, h, l, n int) {
	d := j.x.Dim(3)
	for most := max(1, maxElements/d); n > 0; {
		m := 1
		if !j.residual.IsSet() {
			m = min(n, most)
			j.norm(j.out.Rows(b, h, l, m), j.out.Stride(2), j.x.Rows(b, h, l, m), j.x.Stride(2), m)
		} else {
			row := s.row
			if j.sum.IsSet() {
				row = j.sum.Row(b, h, l)
			}
			j.tier.Elementwise().Add(row[:d], j.x.Row(b, h, l), j.residual.Row(b, h, l))
			j.norm(j.out.Row(b, h, l), 0, row[:d], 0, 1)
		}
		l, n = l+m, n-m
	}
}

// norm calls the kernel.
func (j *job) norm(out []float32, ldd int, x []float32, lds, n int) {
	size := float32(j.x.Dim(3))
	if j.layer {
		j.tier.Norms().LayerNorm(out, ldd, x, lds, n, j.weight, j.bias, size, j.eps)
	} else {
		j.tier.Norms().RMSNorm(out, ldd, x, lds, n, j.weight, size, j.eps)
	}
}
