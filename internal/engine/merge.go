package engine

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A Merge merges partial results into results. Like a Job it is recycled.
type Merge struct {
	Out   view.Tensor // [B, H, Lq, Dv]
	Parts []Part      // in the order of their keys
	State Part        // if set, one block that Parts are merged into, in place of Sinks and LSE; Out is a view of its outputs
	Sinks []float32
	LSE   view.Tensor

	tier  *tier.Tier
	kern  *ukernel.TileKernels
	split parallel.Split[mergeScratch, mergeShape]

	parts      []Part // memory of Parts
	partsUsage parallel.Usage
	memory     parallel.Memory
}

// A Part is some blocks of partial results, [Blocks, B, H, Lq] each.
type Part struct {
	Blocks        int
	Max, Sum, Out []float32
}

// mergeScratch is the running result of a row, with its elements in the lanes of a
// tile.
type mergeScratch struct {
	o                     []float32 // up to the end of the last vector
	in, alpha, beta, zero [ukernel.MaxLanes]float32
	max, sum              float32

	oMemory []float32
	oUsage  parallel.Usage
	memory  parallel.Memory
}

// mergeShape is what mergeScratch.fit depends on.
type mergeShape struct{ d, lanes int }

var (
	merges = parallel.FreeList[Merge]{
		New:    newMerge,
		Memory: func(m *Merge) *parallel.Memory { return &m.memory },
	}
	mergeScratches = parallel.FreeList[mergeScratch]{
		New:    func() *mergeScratch { return new(mergeScratch) },
		Memory: func(s *mergeScratch) *parallel.Memory { return &s.memory },
	}
)

func newMerge() *Merge {
	m := new(Merge)
	m.split.Init(&mergeScratches, func(s *mergeScratch) { s.fit(m) }, m.task, m.memory.Forget)
	return m
}

// NewMerge returns a Merge without parts, with room for n.
func NewMerge(n int) *Merge {
	m := merges.Get()
	parallel.Fit(&m.memory, &m.partsUsage, &m.parts, n, parallel.Make[Part])
	m.Parts = m.parts[:0]
	return m
}

// Release gives the merge back. It forgets the caller's memory.
func (m *Merge) Release() {
	clear(m.Parts)
	m.Out, m.Parts, m.State, m.Sinks, m.LSE = view.Tensor{}, nil, Part{}, nil, view.Tensor{}
	merges.Put(m)
}

// Run computes the merge on at most threads goroutines, 0 for all, or by the
// caller's parallel-for.
func (m *Merge) Run(t *tier.Tier, threads int, parallelFor func(n int, task func(i int))) {
	m.tier, m.kern = t, t.Tile(0)
	blocks := 1
	for x := range m.Parts {
		blocks += m.Parts[x].Blocks
	}
	rows := m.rows()
	work := float64(rows) * float64(blocks) * float64(m.Out.Dim(3)) * mergeCost / float64(t.ThreadFMAs)
	m.split.Run(rows, work, mergeShape{m.Out.Dim(3), m.kern.Lanes}, threads, parallelFor)
}

// mergeCost is how many FMAs of a product take as long as merging one number: it
// comes from memory and is used once.
const mergeCost = 16

func (m *Merge) rows() int { return m.Out.Dim(0) * m.Out.Dim(1) * m.Out.Dim(2) }

// task merges the rows lo to hi-1.
func (m *Merge) task(s *mergeScratch, lo, hi int) {
	for r := lo; r < hi; r++ {
		s.row(m, r)
	}
}

// fit makes room for a row of m.
func (s *mergeScratch) fit(m *Merge) {
	n := ints.CeilDiv(m.Out.Dim(3), m.kern.Lanes) * m.kern.Lanes
	parallel.Fit(&s.memory, &s.oUsage, &s.oMemory, n, parallel.Make[float32])
	s.o = s.oMemory[:n]
}

// row merges row r, counted over [B, H, Lq].
func (s *mergeScratch) row(m *Merge, r int) {
	heads, queries, dv := m.Out.Dim(1), m.Out.Dim(2), m.Out.Dim(3)
	b, h, i := r/queries/heads, r/queries%heads, r%queries
	s.max, s.sum = negInf, 0
	clear(s.o)
	if m.State.Blocks > 0 {
		s.max, s.sum = m.State.Max[r], m.State.Sum[r]
		copy(s.o, m.State.Out[r*dv:][:dv])
	}
	for x := range m.Parts {
		p := &m.Parts[x]
		for n := range p.Blocks {
			at := n*m.rows() + r
			s.merge(m.kern, p.Max[at], p.Sum[at], p.Out[at*dv:][:dv])
		}
	}
	if m.State.Blocks > 0 {
		s.leave(&m.State, r, dv)
		return
	}
	if m.Sinks != nil {
		s.merge(m.kern, log2Units(m.Sinks[h]), 1, nil)
	}
	row := s.o[:dv]
	s.normalise(row)
	rows.Store(m.tier, &m.Out, m.Out.Index(b, h, i), row)
	if m.LSE.IsSet() {
		value := lse(s.max, s.sum)
		if row[0] != row[0] {
			value = canonicalNaN
		}
		m.LSE.Row(b, h, i)[0] = value
	}
}

// leave writes the running result of row r to a state, with the canonical NaN as every partial result.
func (s *mergeScratch) leave(state *Part, r, dv int) {
	out, sum := state.Out[r*dv:][:dv], state.Sum[r:r+1]
	copy(out, s.o)
	state.Max[r], sum[0] = s.max+0, s.sum
	canonize(out)
	canonize(sum)
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
	a, b := scalar.Weight(s.max-z), scalar.Weight(max-z)
	s.sum = scalar.FMA(sum, b, float32(s.sum*a))
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
