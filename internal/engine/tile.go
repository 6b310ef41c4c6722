package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
)

// A tile is a query tile: rows of one KV head, one per lane, with everything that is
// kept of them from block to block.
type tile struct {
	job     *Job
	scratch *scratch // of the worker that works on the tile
	kern    *ukernel.TileKernels

	head      kvHead
	row, n    int // first row within the KV head, number of rows ≤ lanes
	query     int // query of the first row
	groupHead int // query head of the first row, within its group

	q []float32 // packed panel Q̂ᵀ [D][lanes]
	o []float32 // Oᵀ [Dv][lanes], or O [n][Dv] if the tile is skinny

	// Statistics of all blocks so far and of the current block, and the factors that
	// merge them; one element per lane.
	max, sum, blockMax, blockSum, alpha, beta []float32
	unit                                      []float32 // of quantized queries
	stats                                     []float32 // their memory
	codes                                     []int16   // those queries in units, for skinny tiles, see ukernel.QKCodesArgs

	pairs []int32 // the same in pairs, for other tiles, see ukernel.CodeScoresArgs

	qUsage, oUsage, spansUsage, statsUsage, codesUsage, pairsUsage parallel.Usage

	keyFrame
	rowSpans []mask.Span // keys that each row sees; unused if all see the same

	skinny         bool // see skinny.go
	packed         bool // q is filled in
	started        bool // a block has been merged
	weightsWritten bool // Weights has its rows
	exact          bool // hidden values may not even be multiplied by 0, see nanpath.go
	whole          bool // computes all of its blocks itself, from the first to the last

	block block
}

// A block is the current key block of a tile.
type block struct {
	lo     int       // tile coordinate of its first key
	keys   mask.Span // its keys that any row sees
	scores []float32 // S of keys, later their weights
	plain  []float32 // memory of keys until S is computed, if that is one product; see prepare
}

// fit makes room for a tile of j with at most so many lanes.
func (t *tile) fit(j *Job, m *parallel.Memory, lanes int) {
	t.fitScores(j, m, lanes)
	parallel.Fit(m, &t.oUsage, &t.o, lanes*j.dv(), rows.Aligned)
}

// fitScores makes room for all but the output.
func (t *tile) fitScores(j *Job, m *parallel.Memory, lanes int) {
	t.job = j
	parallel.Fit(m, &t.qUsage, &t.q, lanes*max(j.d(), len(j.derived.additive)), rows.Aligned)
	parallel.Fit(m, &t.spansUsage, &t.rowSpans, lanes, parallel.Make[mask.Span])
	if parallel.Fit(m, &t.statsUsage, &t.stats, 7*lanes, rows.Aligned); len(t.max) > 0 && &t.max[0] != &t.stats[0] {
		t.max = nil // they lie in the old memory
	}
	if j.Call.Quantized {
		parallel.Fit(m, &t.codesUsage, &t.codes, j.codesOfQueries(lanes), parallel.Make[int16])
		parallel.Fit(m, &t.pairsUsage, &t.pairs, j.codesOfQueries(lanes)/2, parallel.Make[int32])
	}
}

// begin makes t the tile of up to width rows of h, from row on. If the call resumes
// partial results, it loads those of the rows.
func (t *tile) begin(s *scratch, h kvHead, row, width int, skinny bool) {
	t.reset(s, h, row, width, skinny)
	if t.job.Call.Partial.Resume {
		t.resume()
	}
}

// reset makes t the tile of up to width rows of h, from row on, before any key.
func (t *tile) reset(s *scratch, h kvHead, row, width int, skinny bool) {
	n := min(width, t.job.rowsOf(h.batch)-row)
	t.place(s, h, row, n, t.job.tier.Tile(n), skinny)
	t.findVisible()
}

// place makes t the tile of n rows of h, from row on. Its kernels set its width.
func (t *tile) place(s *scratch, h kvHead, row, n int, kern *ukernel.TileKernels, skinny bool) {
	t.scratch, t.kern, t.skinny = s, kern, skinny
	t.head, t.row, t.n = h, row, n
	t.query, t.groupHead = row, 0
	if group := t.job.derived.group; group > 1 {
		t.query, t.groupHead = row/group, row%group
	}
	t.packed, t.started, t.weightsWritten, t.exact, t.whole = false, false, false, false, false
	if n := kern.Lanes; len(t.max) != n {
		s := t.stats
		t.max, t.sum, t.blockMax = s[:n], s[n:2*n], s[2*n:3*n]
		t.blockSum, t.alpha, t.beta, t.unit = s[3*n:4*n], s[4*n:5*n], s[5*n:6*n], s[6*n:7*n]
	}
}

// findVisible sets which keys the rows see, and where their coordinates begin.
func (t *tile) findVisible() {
	j, b := t.job, t.head.batch
	if j.derived.sameKeys {
		t.keyFrame = j.derived.frame
		return
	}
	if t.keyFrame = j.keyFrameOf(b); !j.Call.Mask.PerRow() {
		return
	}
	t.visible, t.visibleToAll = mask.Nothing, mask.Everything
	i, g := t.query, t.groupHead
	s := j.visibleTo(b, i, t.phase)
	for lane := range t.n {
		t.rowSpans[lane] = s
		t.visibleToAll = t.visibleToAll.And(s)
		t.visible = t.visible.Union(s)
		if g++; g == j.derived.group && lane+1 < t.n {
			i, g = i+1, 0
			s = j.visibleTo(b, i, t.phase)
		}
	}
}

// A keyFrame says where the keys of a tile lie and which are visible.
type keyFrame struct {
	// Key j of the call has the tile coordinate phase + j, so that the blocks of the
	// contract begin at multiples of BlockKeys. start is the position of coordinate 0.
	phase, start int

	visible      mask.Span // keys that any row sees
	visibleToAll mask.Span // keys that all rows see
}

// keyFrameOf returns the frame of batch row b, for rows that see what query 0 sees.
func (j *Job) keyFrameOf(b int) (f keyFrame) {
	start := position.Of(j.Call.KeyStart, b)
	f.phase = start % BlockKeys
	f.start = start - f.phase
	f.visible = j.visibleTo(b, 0, f.phase)
	f.visibleToAll = f.visible
	return f
}

// visibleTo returns the tile coordinates of the keys that query i of batch row b may see.
func (j *Job) visibleTo(b, i, phase int) mask.Span {
	s := mask.Span{Lo: 0, Hi: j.Call.K.Length(b)}
	if j.Call.Mask.IsSet() {
		start := position.Of(j.Call.KeyStart, b)
		s = j.Call.Mask.Span(mask.Query{Batch: b, Index: i, Keys: s.Hi, KeyStart: start, Diagonal: i + position.Of(j.Call.QueryStart, b) - start})
	}
	if j.derived.biased {
		s = s.And(mask.Span{Lo: 0, Hi: j.Call.Bias.Dim(3)})
	}
	if s.Lo < s.Hi {
		s.Lo, s.Hi = s.Lo+phase, s.Hi+phase
	}
	return s.And(j.derived.keyRange)
}

// laneSpans returns, for every lane, which keys its row sees of the current block,
// counted from its first key.
func (t *tile) laneSpans() (lo, hi []int32) {
	lanes := t.kern.Lanes
	lo, hi = t.scratch.lo[:lanes], t.scratch.hi[:lanes]
	for lane := range lanes {
		s := t.rowSpans[min(lane, t.n-1)]
		lo[lane] = int32(clampBlock(s.Lo - t.block.lo))
		hi[lane] = int32(clampBlock(s.Hi - t.block.lo))
	}
	return lo, hi
}

func clampBlock(x int) int { return min(max(x, 0), BlockKeys) }

// eachLane calls f with the query head and the query of every lane. The lanes after
// the last row repeat it.
func (t *tile) eachLane(f func(lane, head, query int)) {
	group := t.job.derived.group
	i, g, first := t.query, t.groupHead, t.head.head*group
	for lane := range t.kern.Lanes {
		f(lane, first+g, i)
		if lane+1 >= t.n {
			continue
		}
		if g++; g == group {
			i, g = i+1, 0
		}
	}
}

// blockTop returns the memory of the maximum of the current block. The maximum of
// the first block is that of all.
func (t *tile) blockTop() []float32 {
	if t.started {
		return t.blockMax
	}
	return t.max
}

// ignored returns memory for a maximum that is not needed.
func (t *tile) ignored() []float32 { return t.scratch.ignored[:t.kern.Lanes] }

// negInfs are the maxima before the first key. ones are sums that divide by 1, the sums of
// sinks, and the 1×1 matrix A of a merge without a product.
var negInfs, ones = constant(negInf), constant(1)

func constant(x float32) (s [ukernel.MaxLanes]float32) {
	fill(s[:], x)
	return s
}
