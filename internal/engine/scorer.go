package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A Scorer computes the scores of one query tile at a time, for the backward pass: the same
// numbers as in the forward pass, with all score modifications and masks. It is the scratch
// memory of one goroutine, and recycled by its owner.
//
// Begin chooses a tile, which the other methods are for. Keys are counted so that the blocks of the
// contract begin at multiples of their size, see Key.
type Scorer struct {
	scratch scratch
	tile    tile
}

// NewScores returns a Job for Scorers of a call, with tiles of at most rows rows. It does not run.
func NewScores(c *Call, t *tier.Tier, rows int) *Job {
	j := New()
	j.Call, j.tier, j.keepsCapped = *c, t, c.Softcap != 0
	j.derive()
	j.plan = plan{buckets: j.plan.buckets[:0], lanes: t.WideTile(min(rows, max(1, j.rows()))).Lanes}
	return j
}

// Lanes returns the most lanes of a tile.
func (j *Job) Lanes() int { return j.plan.lanes }

// Rows returns the number of query rows of a KV head of batch row b.
func (j *Job) Rows(b int) int { return j.rowsOf(b) }

// Group returns the number of query heads for each KV head.
func (j *Job) Group() int { return j.derived.group }

// Fit makes room for tiles of j, counted by its owner's m. If it widens, rows of another type than
// float32 pass through its memory.
func (s *Scorer) Fit(j *Job, m *parallel.Memory, widens bool) {
	x := &s.scratch
	x.keys.fit(m, &j.Call.K, true)
	x.values.fit(m, &j.Call.V, true)
	x.keys.asCodes, x.values.asCodes = false, false
	x.keys.forget()
	x.values.forget()
	s.tile.fitScores(j, m, j.plan.lanes)
	if widens {
		parallel.Fit(m, &x.rowsUsage, &x.rows, j.plan.lanes*max(j.d(), j.dv()), rows.Aligned)
	}
}

// Begin makes the current tile that of n rows of KV head kv, from row on.
func (s *Scorer) Begin(kv, row, n int) {
	t := &s.tile
	t.place(&s.scratch, t.job.kvHead(kv), row, n, t.job.tier.WideTile(n), false)
	t.findVisible()
}

// Visible returns the keys that any row of the tile sees.
func (s *Scorer) Visible() mask.Span { return s.tile.visible }

// Key returns the number of key x in the tensor of keys.
func (s *Scorer) Key(x int) int { return x - s.tile.phase }

// VisibleOf returns those of the keys lo to lo+n-1 that any row may see.
func (s *Scorer) VisibleOf(lo, n int) mask.Span { return s.tile.visibleOf(lo, n) }

// Score computes the scores of keys that VisibleOf has returned, at least one: [keys][Lanes]. If
// there is a softcap, it also sets capped to what it gives.
func (s *Scorer) Score(keys mask.Span, scores, capped []float32) {
	t := &s.tile
	t.block.lo, t.block.keys, t.block.scores, s.scratch.capped = keys.Lo, keys, scores, capped
	t.prepare()
	t.score()
}

// Kernels returns the kernels of the tile.
func (s *Scorer) Kernels() *ukernel.TileKernels { return s.tile.kern }

// Rows returns the number of rows of the tile.
func (s *Scorer) Rows() int { return s.tile.n }

// Row returns the number of the tile's first row within its KV head.
func (s *Scorer) Row() int { return s.tile.row }

// KVHead returns the batch row and the KV head of the tile.
func (s *Scorer) KVHead() (batch, head int) { return s.tile.head.batch, s.tile.head.head }

// EachLane calls f with the query head and the query of every lane. The lanes after the last
// row repeat it.
func (s *Scorer) EachLane(f func(lane, head, query int)) { s.tile.eachLane(f) }

// Index returns where the row of x, a tensor with the heads and queries of Q, starts that
// belongs to a lane.
func (s *Scorer) Index(x *view.Tensor, lane int) int { return s.tile.indexOf(x, lane) }

// Floats returns the tile's rows of x, a tensor with the heads and queries of Q, as float32,
// and where they start, for every lane. The next call overwrites both.
func (s *Scorer) Floats(x *view.Tensor) (data []float32, off []int) { return s.tile.floatsOf(x) }

// Pack transposes rows of d columns, off[lane] being where that of a lane starts, into a
// panel [d][Lanes].
func (s *Scorer) Pack(dst, data []float32, off []int, d int) { s.tile.packTo(dst, data, off, d, 1) }

// Keys returns n rows of the KV head's keys as float32, from row lo of the tensor on, and
// their distance. Values returns those of its values.
func (s *Scorer) Keys(lo, n int) (data []float32, stride int) {
	data, stride, _ = s.scratch.keys.get(s.tile.job.tier, &s.tile.job.Call.K, s.tile.head, lo, n)
	return data, stride
}

// Values is Keys for values.
func (s *Scorer) Values(lo, n int) (data []float32, stride int) {
	data, stride, _ = s.scratch.values.get(s.tile.job.tier, &s.tile.job.Call.V, s.tile.head, lo, n)
	return data, stride
}

// Drop drops weights of keys, or gradients of these: [keys][Lanes].
func (s *Scorer) Drop(keys mask.Span, weights []float32) { s.tile.drop(keys, weights) }

// CapFactor returns what scores after the softcap are multiplied by to be those of tanh.
func (s *Scorer) CapFactor() float32 {
	_, inv := s.tile.job.capFactors()
	return inv
}

// keepCapped is no modification but keeps the scores for the Scorer.
func (t *tile) keepCapped(part mask.Span, _ []float32) {
	n := part.Len() * t.kern.Lanes
	at := (part.Lo - t.block.keys.Lo) * t.kern.Lanes
	copy(t.scratch.capped[at:at+n], t.scoresFrom(part))
}
