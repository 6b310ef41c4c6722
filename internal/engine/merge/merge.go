// Package merge merges partial results into results, or into one block.
package merge

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A Job merges partial results. It is recycled with its memory.
type Job struct {
	Out   view.Tensor // [B, H, Lq, Dv]
	Parts []Part      // in the order of their keys
	State Part        // if set, one block that Parts are merged into, in place of Sinks and LSE; Out is a view of its outputs
	Sinks []float32
	LSE   view.Tensor

	tier  *tier.Tier
	kern  *ukernel.TileKernels
	split parallel.Split[scratch, shape]

	parts      []Part // memory of Parts
	partsUsage parallel.Usage
	memory     parallel.Memory
}

// A Part is some blocks of partial results, [Blocks, B, H, Lq] each.
type Part struct {
	Blocks        int
	Max, Sum, Out []float32
}

// A scratch is the running result of some rows, which lie one after the other, each with
// a lane of the statistics.
type scratch struct {
	o, zeros, rows                            []float32 // rows: of an Out that is not float32
	max, sum, blockMax, blockSum, alpha, beta []float32
	off                                       [ukernel.MaxLanes]int

	floats []float32
	usage  parallel.Usage
	memory parallel.Memory
}

// shape is what scratch.fit depends on.
type shape struct{ d, lanes int }

var (
	jobs = parallel.FreeList[Job]{
		New:    newJob,
		Memory: func(j *Job) *parallel.Memory { return &j.memory },
	}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func newJob() *Job {
	j := new(Job)
	j.split.Init(&scratches, func(s *scratch) { s.fit(j) }, j.task, j.memory.Forget)
	return j
}

// New returns a Job without parts, with room for n.
func New(n int) *Job {
	j := jobs.Get()
	parallel.Fit(&j.memory, &j.partsUsage, &j.parts, n, parallel.Make[Part])
	j.Parts = j.parts[:0]
	return j
}

// Release gives the job back. It forgets the caller's memory.
func (j *Job) Release() {
	clear(j.Parts)
	j.Out, j.Parts, j.State, j.Sinks, j.LSE = view.Tensor{}, nil, Part{}, nil, view.Tensor{}
	jobs.Put(j)
}

// cost is how many FMAs of a product take as long as merging one number: it comes from
// memory and is used once.
const cost = 16

// Run merges on at most threads goroutines, 0 for all, or by the caller's parallel-for.
func (j *Job) Run(t *tier.Tier, threads int, parallelFor func(n int, task func(i int))) {
	j.tier, j.kern = t, t.Tile(0)
	blocks := 1
	for x := range j.Parts {
		blocks += j.Parts[x].Blocks
	}
	work := float64(j.rows()) * float64(blocks) * float64(j.dv()) * cost / float64(t.ThreadFMAs)
	j.split.Run(j.rows(), work, shape{j.dv(), j.kern.Lanes}, threads, parallelFor)
}

func (j *Job) rows() int { return j.Out.Dim(0) * j.Out.Dim(1) * j.Out.Dim(2) }
func (j *Job) dv() int   { return j.Out.Dim(3) }

// task merges the rows lo to hi-1, counted over [B, H, Lq].
func (j *Job) task(s *scratch, lo, hi int) {
	for n := 0; lo < hi; lo += n {
		n = min(hi-lo, j.kern.Lanes)
		s.merge(j, lo, n)
		if j.State.Blocks > 0 {
			s.leave(j, lo, n)
		} else {
			s.finish(j, lo, n)
		}
	}
}

// fit makes room for the rows of a tile.
func (s *scratch) fit(j *Job) {
	w, dv := j.kern.Lanes, j.dv()
	parallel.Fit(&s.memory, &s.usage, &s.floats, (2*w+1)*dv+6*w, rows.Aligned)
	rest := s.floats
	for _, x := range [...]struct {
		s *[]float32
		n int
	}{
		{&s.max, w}, {&s.sum, w}, {&s.blockMax, w}, {&s.blockSum, w}, {&s.alpha, w}, {&s.beta, w},
		{&s.o, w * dv}, {&s.rows, w * dv}, {&s.zeros, dv},
	} {
		*x.s, rest = rest[:x.n], rest[x.n:]
	}
	clear(s.zeros)
}

// merge merges n rows from lo on.
func (s *scratch) merge(j *Job, lo, n int) {
	dv := j.dv()
	for lane := range s.max {
		s.max[lane], s.sum[lane] = scalar.NegInf, 0
	}
	clear(s.o)
	if x := &j.State; x.Blocks > 0 {
		copy(s.max[:n], x.Max[lo:])
		copy(s.sum[:n], x.Sum[lo:])
		copy(s.o[:n*dv], x.Out[lo*dv:])
	}
	for x := range j.Parts {
		p := &j.Parts[x]
		for b := range p.Blocks {
			at := b*j.rows() + lo
			copy(s.blockMax[:n], p.Max[at:])
			copy(s.blockSum[:n], p.Sum[at:])
			s.block(j, p.Out[at*dv:], dv, n)
		}
	}
	if j.Sinks != nil {
		heads, queries := j.Out.Dim(1), j.Out.Dim(2)
		for lane := range n {
			s.blockMax[lane], s.blockSum[lane] = scalar.Log2Units(j.Sinks[(lo+lane)/queries%heads]), 1
		}
		s.block(j, s.zeros, 0, n)
	}
}

// block merges n rows of a block, ld apart, whose statistics are set.
func (s *scratch) block(j *Job, o []float32, ld, n int) {
	j.kern.MergeStats(s.max, s.sum, s.blockMax, s.blockSum, s.alpha, s.beta)
	for e, m := 0, 0; e < j.dv(); e += m {
		m = ukernel.ColumnsPerCall(j.dv()-e, n)
		j.tier.Skinny().Merge(s.o[e:], j.dv(), o[e:], ld, n, m, s.alpha, s.beta)
	}
}

// leave writes n rows from lo on to the state, with the canonical NaN as every partial
// result.
func (s *scratch) leave(j *Job, lo, n int) {
	x, dv := &j.State, j.dv()
	for lane := range n {
		x.Max[lo+lane], x.Sum[lo+lane] = s.max[lane]+0, scalar.Canonical(s.sum[lane])
	}
	for e, y := range s.o[:n*dv] {
		x.Out[lo*dv+e] = scalar.Canonical(y)
	}
}

// finish divides n rows from lo on by their sums and writes them. A row with a NaN is NaN.
func (s *scratch) finish(j *Job, lo, n int) {
	dv := j.dv()
	for lane := range n {
		s.off[lane] = lane * dv
	}
	var nan uint64
	for e, m := 0, 0; e < dv; e += m {
		m = ukernel.ColumnsPerCall(dv-e, n)
		nan |= j.tier.Skinny().Unpack(s.rows[e:], s.off[:n], s.o[e:], dv, n, m, s.sum)
	}
	heads, queries := j.Out.Dim(1), j.Out.Dim(2)
	for lane := range n {
		r := lo + lane
		b, h, i := r/queries/heads, r/queries%heads, r%queries
		row, lse := s.rows[lane*dv:][:dv], scalar.LSE(s.max[lane], s.sum[lane])
		if nan>>lane&1 != 0 {
			lse = scalar.NaN
			for e := range row {
				row[e] = lse
			}
		}
		rows.Store(j.tier, &j.Out, j.Out.Index(b, h, i), row)
		if j.LSE.IsSet() {
			j.LSE.Row(b, h, i)[0] = lse
		}
	}
}
