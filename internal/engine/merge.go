package engine

import (
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A Merge merges partial results into results: rows of Out, [B, H, Lq, Dv].
type Merge struct {
	Out   view.Tensor
	Parts []Part
	Sinks []float32
	LSE   view.Tensor
}

// A Part is some blocks of partial results, [Blocks, B, H, Lq] each.
type Part struct {
	Blocks        int
	Max, Sum, Out []float32
}

// mergeJob is a Merge on its way.
type mergeJob struct {
	Merge
	tier    *ukernel.Tier
	kern    *ukernel.TileKernels
	chunk   int // rows of a task
	workers parallel.Group[mergeScratch]
}

// mergeScratch is the running result of a row, with its elements in the lanes of a
// tile.
type mergeScratch struct {
	o                     []float32 // up to the end of the last vector
	in, alpha, beta, zero [ukernel.MaxLanes]float32
	max, sum              float32
}

var (
	mergeJobs      = parallel.FreeList[mergeJob]{New: newMergeJob}
	mergeScratches = parallel.FreeList[mergeScratch]{New: func() *mergeScratch { return new(mergeScratch) }}
)

func newMergeJob() *mergeJob {
	j := new(mergeJob)
	j.workers.Init(&mergeScratches, func(s *mergeScratch) { s.fit(j) }, func(s *mergeScratch, i int) { j.task(s, i) })
	return j
}

// Run computes the merge on at most threads goroutines, 0 for all, or by the
// caller's parallel-for.
func (m *Merge) Run(t *ukernel.Tier, threads int, parallelFor func(n int, task func(i int))) {
	j := mergeJobs.Get()
	j.Merge, j.tier, j.kern = *m, t, &t.Tiles[0]
	blocks := 1
	for x := range m.Parts {
		blocks += m.Parts[x].Blocks
	}
	rows := j.rows()
	work := float64(rows) * float64(blocks) * float64(m.Out.Dim(3)) * mergeCost / float64(t.ThreadFMAs)
	threads = parallel.Threads(parallel.Limit(threads), 1+work, 1+parallel.WarmGain*work)
	j.chunk = max(1, ints.CeilDiv(rows, tasksPerThread*threads))
	tasks := ints.CeilDiv(rows, j.chunk)
	j.workers.Run(tasks, min(threads, max(1, tasks)), parallelFor)
	j.Merge = Merge{}
	mergeJobs.Put(j)
}

// mergeCost is how many FMAs of a product take as long as merging one number: it
// comes from memory and is used once.
const mergeCost = 16

func (j *mergeJob) rows() int { return j.Out.Dim(0) * j.Out.Dim(1) * j.Out.Dim(2) }

// task merges the rows of task i.
func (j *mergeJob) task(s *mergeScratch, i int) {
	for r := i * j.chunk; r < min((i+1)*j.chunk, j.rows()); r++ {
		s.row(j, r)
	}
}

// fit makes room for a row of j.
func (s *mergeScratch) fit(j *mergeJob) {
	n := ints.CeilDiv(j.Out.Dim(3), j.kern.Lanes) * j.kern.Lanes
	if cap(s.o) < n {
		s.o = make([]float32, n)
	}
	s.o = s.o[:n]
}

// row merges row r, counted over [B, H, Lq].
func (s *mergeScratch) row(j *mergeJob, r int) {
	heads, queries, dv := j.Out.Dim(1), j.Out.Dim(2), j.Out.Dim(3)
	b, h, i := r/queries/heads, r/queries%heads, r%queries
	s.max, s.sum = negInf, 0
	clear(s.o)
	for x := range j.Parts {
		p := &j.Parts[x]
		for n := range p.Blocks {
			at := n*j.rows() + r
			s.merge(j.kern, p.Max[at], p.Sum[at], p.Out[at*dv:][:dv])
		}
	}
	if j.Sinks != nil {
		s.merge(j.kern, log2Units(j.Sinks[h]), 1, nil)
	}
	row := s.o[:dv]
	s.normalise(row)
	store(j.tier, &j.Out, j.Out.Index(b, h, i), row)
	if j.LSE.IsSet() {
		value := lse(s.max, s.sum)
		if row[0] != row[0] {
			value = canonicalNaN
		}
		j.LSE.Row(b, h, i)[0] = value
	}
}

// merge merges a block, or the sink if o is nil.
func (s *mergeScratch) merge(kern *ukernel.TileKernels, max, sum float32, o []float32) {
	top := max
	if !(top > s.max) {
		top = s.max
	}
	z := top
	if z == negInf {
		z = 0
	}
	a, b := fallback.Exp2(s.max-z), fallback.Exp2(max-z)
	s.sum = fallback.FMA(sum, b, float32(s.sum*a))
	s.max = top
	lanes := kern.Lanes
	fill(s.alpha[:lanes], a)
	fill(s.beta[:lanes], b)
	for e := 0; e < len(s.o); e += lanes {
		in := s.zero[:lanes]
		if o != nil {
			in = s.in[:lanes]
			clear(in[copy(in, o[e:]):])
		}
		kern.GemmMerge(s.o[e:], lanes, ones[:1], 1, 1, in, lanes, 1, 1, s.alpha[:lanes], s.beta[:lanes])
	}
}

// normalise turns the merged sums into a result, in place.
func (s *mergeScratch) normalise(row []float32) {
	inv := float32(0)
	if s.sum != 0 {
		inv = 1 / s.sum
	}
	nan := false
	for e := range row {
		row[e] = float32(row[e]*inv) + 0
		nan = nan || row[e] != row[e]
	}
	if nan {
		fill(row, canonicalNaN)
	}
}
