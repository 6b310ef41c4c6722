package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A tile is a query tile: rows of one KV head, one per lane, with everything that is
// kept of them from block to block.
type tile struct {
	lanes.Rows
	sight   // the keys that they see
	queries // as the strategy has packed them
	result  // of all blocks so far

	job      *Job
	scratch  *scratch // of the worker that works on the tile
	strategy *strategy
	kern     *ukernel.TileKernels

	block   block
	weights weightsState
}

// queries are the queries of a tile.
type queries struct {
	packed bool
	q      []float32 // panel Q̂ᵀ [D][lanes], or padded rows for additive scores
	unit   []float32 // of rounded queries, one element per lane, and these in units:
	pairs  []int32   // see ukernel.QKCodesArgs for skinny tiles, ukernel.CodeScoresArgs for others
	words  []uint32  // pairs of bfloat16 for a unit for tiles, see ukernel.Unit

	qUsage, pairsUsage, wordsUsage parallel.Usage
}

// A result is what some blocks of keys give.
type result struct {
	started  bool      // there has been a block
	max, sum []float32 // one element per lane
	o        []float32 // Oᵀ [Dv][lanes], or O [n][Dv]: the strategy's layout

	oUsage parallel.Usage
}

// A block is the current key block of a tile.
type block struct {
	lo     int       // tile coordinate of its first key
	keys   mask.Span // its keys that any row sees
	scores []float32 // S of keys, later their weights
	few    []float32 // memory of keys until S is computed, if they are few, see prepare

	max, sum, alpha, beta []float32 // its statistics, and the factors that merge it; one element per lane
	stats                 []float32 // their memory, and the memory of unit and of the result's statistics
	usage                 parallel.Usage
}

// fit makes room for a tile of j with at most so many lanes.
func (t *tile) fit(j *Job, m *parallel.Memory, lanes int) {
	t.fitScores(j, m, lanes)
	parallel.Fit(m, &t.oUsage, &t.o, lanes*j.roomColumns(), rows.Aligned)
}

// fitScores makes room for all but the output.
func (t *tile) fitScores(j *Job, m *parallel.Memory, lanes int) {
	t.job = j
	d := j.d()
	if j.plan.shape.codes {
		d, _ = j.codeColumns()
	} else if j.Call.BFloat16 {
		d = kvrows.WholeColumns(&j.Call.K)
	}
	parallel.Fit(m, &t.qUsage, &t.q, lanes*max(d, len(j.derived.additive)), rows.Aligned)
	parallel.Fit(m, &t.spansUsage, &t.rowSpans, lanes, parallel.Make[mask.Span])
	if j.Call.Mask.HasUnions() {
		parallel.Fit(m, &t.gapsUsage, &t.rowGaps, lanes, parallel.Make[mask.Gaps])
	}
	if parallel.Fit(m, &t.block.usage, &t.block.stats, 7*lanes, rows.Aligned); len(t.max) > 0 && &t.max[0] != &t.block.stats[0] {
		t.max = nil // they lie in the old memory
	}
	if n := kvrows.Depth(j.d()) / 2 * lanes; j.plan.shape.unit {
		if j.Call.DynamicInt12 {
			n *= 2 // both halves of them
		}
		parallel.Fit(m, &t.wordsUsage, &t.words, n, parallel.Make[uint32])
	}
	if j.plan.shape.codes {
		parallel.Fit(m, &t.pairsUsage, &t.pairs, d/2*lanes, parallel.Make[int32])
	}
}

// begin makes t the tile of up to width rows of h, from its row number row on. If the call resumes
// partial results, it loads the rows'.
func (t *tile) begin(s *scratch, h lanes.Head, row, width int, how *strategy) {
	t.reset(s, h, row, width, how)
	if t.job.Call.Partial.Resume {
		t.resume()
	}
}

// reset makes t the tile of up to width rows of h, from its row number row on, before any key.
func (t *tile) reset(s *scratch, h lanes.Head, row, width int, how *strategy) {
	n := min(width, t.job.rowsOf(h.Batch)-row)
	t.place(s, h, t.job.firstRow(h)+row, n, t.job.tileOf(n, how), how)
	t.sight.find(t.job, &t.Rows)
}

// place makes t the tile of n rows of h, from row on, counted from query 0 on. Its kernels set its
// width.
func (t *tile) place(s *scratch, h lanes.Head, row, n int, kern *ukernel.TileKernels, how *strategy) {
	t.scratch, t.kern, t.strategy = s, kern, how.forLanes(kern.Lanes)
	t.Place(h, row, n, t.job.derived.group, kern.Lanes)
	t.packed, t.started, t.weights = false, false, weightsLater
	if w := kern.Lanes; len(t.max) != w {
		t.setWidth(w)
	}
}

func (t *tile) setWidth(w int) {
	s, b := t.block.stats, &t.block
	t.max, t.sum, b.max, b.sum = s[:w], s[w:2*w], s[2*w:3*w], s[3*w:4*w]
	b.alpha, b.beta, t.unit = s[4*w:5*w], s[5*w:6*w], s[6*w:7*w]
}

// pack makes the queries what the strategy takes, once.
func (t *tile) pack() {
	if !t.packed {
		t.packed = true
		t.strategy.pack(t)
	}
}

// keys and values return the readers of the worker.
func (t *tile) keys() *kvrows.Reader   { return &t.scratch.keys }
func (t *tile) values() *kvrows.Reader { return &t.scratch.values }

// Key returns the number in the tensor of keys of the key with tile coordinate x.
func (t *tile) Key(x int) int { return x - t.phase }

// top returns the memory of the maximum of the current block. The maximum of the first block is the
// maximum of all.
func (t *tile) top() []float32 {
	if t.started {
		return t.block.max
	}
	return t.max
}

// ignored returns memory for a maximum that is not needed.
func (t *tile) ignored() []float32 { return t.scratch.ignored[:t.Lanes] }

// orIgnored returns top, or such memory if it is nil.
func (t *tile) orIgnored(top []float32) []float32 {
	if top == nil {
		return t.ignored()
	}
	return top
}

// scoresFrom returns S of the current block from the first key of part on.
func (t *tile) scoresFrom(part mask.Span) []float32 {
	return t.block.scores[(part.Lo-t.block.keys.Lo)*t.Lanes:]
}

// offsets returns where the rows start in x, or their parts from element e on: one entry
// per lane. The next call overwrites it.
func (t *tile) offsets(x *view.Tensor, e int) []int {
	off := t.scratch.off[:t.Lanes]
	t.Offsets(off, x, e)
	return off
}

// packedOffsets returns the offsets of rows of size elements that lie one after the other.
func (t *tile) packedOffsets(size int) []int {
	off := t.scratch.off[:t.Lanes]
	t.Packed(off, size)
	return off
}

// Floats returns the tile's rows of x, a tensor with the heads and queries of Q, as
// float32, and where they start, for every lane. The next call overwrites both.
func (t *tile) Floats(x *view.Tensor) (data []float32, off []int) {
	off = t.offsets(x, 0)
	if x.DType() == view.Float32 {
		return x.F32(), off
	}
	d := x.Dim(3)
	data = t.scratch.rows
	for lane, at := range off[:t.N] {
		rows.WidenRow(t.job.tier, data[lane*d:], x, at, d)
	}
	return data, t.packedOffsets(d)
}

// PackRows transposes d columns of the rows of src, off[lane] being where a lane's row starts, into
// a panel [d][Lanes], and scales them.
func (t *tile) PackRows(dst, src []float32, off []int, d int, scale float32) {
	for e, n := 0, 0; e < d; e += n {
		n = ukernel.ColumnsPerCall(d-e, t.Lanes)
		t.kern.Pack(dst[e*t.Lanes:], t.Lanes, src[e:], off, t.N, n, scale)
	}
}

// negInfs are the maxima before the first key. ones are sums that divide by 1, the sums of
// sinks, and the 1×1 matrix A of a merge without a product.
var negInfs, ones = constant(scalar.NegInf), constant(1)

func constant(x float32) (s [ukernel.MaxLanes]float32) {
	rows.Fill(s[:], x)
	return s
}
