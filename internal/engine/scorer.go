package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Scorer computes the scores of one query tile at a time, for the backward pass: the same
// numbers as in the forward pass, with all score modifications and masks. It is the memory
// of one goroutine, and recycled by its owner.
//
// Begin chooses a tile for the other methods, and for the methods of its lanes.Rows. Keys are
// counted so that the blocks of the contract begin at multiples of their size, see Key.
type Scorer struct {
	tile
	memory scratch
}

// NewScores returns a Job for Scorers of a call, with tiles of at most rows rows. It does
// not run.
func NewScores(c *Call, t *tier.Tier, rows int) *Job {
	j := New()
	j.Call, j.tier, j.keepsCapped = *c, t, c.Softcap != 0
	j.derive()
	j.plan = plan{Cut: tasks.Cut{Buckets: j.plan.Buckets[:0]}, lanes: t.WideTile(min(rows, max(1, j.rows()))).Lanes, isProduct: j.isProduct()}
	return j
}

// Lanes returns the most lanes of a tile.
func (j *Job) Lanes() int { return j.plan.lanes }

// Rows returns the number of query rows of a KV head of batch row b.
func (j *Job) Rows(b int) int { return j.rowsOf(b) }

// Group returns the number of query heads for each KV head.
func (j *Job) Group() int { return j.derived.group }

// Fit makes room for tiles of j, counted by its owner's m. If it widens, rows of another
// type than float32 pass through its memory.
func (s *Scorer) Fit(j *Job, m *parallel.Memory, widens bool) {
	x := &s.memory
	x.keys.Fit(m, &j.Call.K, kvrows.Need{Gather: true})
	x.values.Fit(m, &j.Call.V, kvrows.Need{Gather: true})
	x.keys.Begin(j.tier, &j.Call.K, nil)
	x.values.Begin(j.tier, &j.Call.V, nil)
	s.fitScores(j, m, j.plan.lanes)
	if widens {
		parallel.Fit(m, &x.rowsUsage, &x.rows, j.plan.lanes*max(j.d(), j.dv()), rows.Aligned)
	}
}

// Begin makes n rows of KV head kv, from row on, the current tile.
func (s *Scorer) Begin(kv, row, n int) {
	s.place(&s.memory, s.job.kvHead(kv), row, n, s.job.tier.WideTile(n), &panel)
	s.find(s.job, &s.Rows)
}

// Visible returns the keys that any row of the tile sees.
func (s *Scorer) Visible() mask.Span { return s.visible }

// Score computes the scores of keys that VisibleOf has returned, at least one:
// [keys][Lanes]. If there is a softcap, it also sets capped to what it gives.
func (s *Scorer) Score(keys mask.Span, scores, capped []float32) {
	s.block.lo, s.block.keys, s.block.scores, s.memory.capped = keys.Lo, keys, scores, capped
	s.prepare()
	s.score()
}

// Kernels returns the kernels of the tile.
func (s *Scorer) Kernels() *ukernel.TileKernels { return s.kern }

// Keys returns n rows of the KV head's keys as float32, from row lo of the tensor on, and
// their distance.
func (s *Scorer) Keys(lo, n int) (data []float32, stride int) {
	data, stride, _ = s.memory.keys.Floats(s.Head, lo, n)
	return data, stride
}

// Values is Keys for values.
func (s *Scorer) Values(lo, n int) (data []float32, stride int) {
	data, stride, _ = s.memory.values.Floats(s.Head, lo, n)
	return data, stride
}

// CapFactor returns what scores after the softcap are multiplied by to be tanh's.
func (s *Scorer) CapFactor() float32 {
	_, inv := s.job.capFactors()
	return inv
}

// keepCapped is no modification but keeps the scores for the Scorer.
func (t *tile) keepCapped(part mask.Span, _ []float32) {
	n := part.Len() * t.Lanes
	at := (part.Lo - t.block.keys.Lo) * t.Lanes
	copy(t.scratch.capped[at:at+n], t.scoresFrom(part))
}
