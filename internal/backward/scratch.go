package backward

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A scratch is the memory of one goroutine of a call. It grows to what calls need and is
// recycled.
type scratch struct {
	segments [mostSideBySide]segment
	memory   parallel.Memory
}

// A segment is the state of a segment of rows of a KV head, and the memory for it.
type segment struct {
	engine.Scorer

	kv, number int // KV head and number of the segment there
	hasRows    bool
	seen       mask.Span // blocks of keys
	isKept     bool      // weights and grads have room for all of them
	at         int       // where the current block's begin, if so
	set        int       // rows of dK and dV that the first segment of a KV head has set
	hasDQ      bool      // dq holds the sum of some blocks

	// Of the keys that the segment sees, or of a block of them: [keys][lanes].
	weights []float32 // S, then P
	grads   []float32 // dP, then dS
	capped  []float32 // scores after the softcap

	dOutT    []float32 // panel dOᵀ: [Dv][lanes]
	qRows    []float32 // copies of the rows of Q: [lanes][ldq]
	dOutRows []float32 // copies of the rows of dO, as they count: [lanes][ldv]
	q        matrix    // rows of Q, copied or not
	dq       []float32 // dQ: [lanes][ldq]

	kRows []float32 // rows of K of a block, if they cannot be used in place: [KeyBlock][ldq]
	part  []float32 // what a block gives to dK or dV: [KeyBlock][ldq or ldv]
	zeros []float32 // max(D, Dv)

	shape  shape
	usages [10]parallel.Usage

	// One element per lane, or per row of a move.
	lse, sum, dot, chainSum, chainDot, inv, mean, tops, factors, divisors [ukernel.MaxLanes]float32
	off                                                                   [ukernel.MaxLanes]int
}

// fit makes the scratch large enough for the tasks of j.
func (s *scratch) fit(j *Job) {
	for i := range j.plan.sideBySide {
		s.segments[i].fit(j, &s.memory)
	}
}

func (s *segment) fit(j *Job, m *parallel.Memory) {
	s.Fit(j.scores, m, j.Call.Forward.Q.DType() != view.Float32 || j.Call.DOut.DType() != view.Float32)
	lanes, ldq, ldv := j.scores.Lanes(), rowLength(j.d()), rowLength(j.dv())
	if s.shape != j.plan.shape {
		s.shape = j.plan.shape
		clear(s.qRows) // of another call: the columns after the last one must be finite
		clear(s.dOutRows)
		clear(s.kRows)
	}
	capped := 0
	if j.plan.shape.isCap {
		capped = j.plan.shape.keys * lanes
	}
	for i, x := range [len(s.usages)]struct {
		s *[]float32
		n int
	}{
		{&s.weights, j.plan.shape.keys * lanes}, {&s.grads, j.plan.shape.keys * lanes}, {&s.capped, capped},
		{&s.dOutT, j.dv() * lanes}, {&s.qRows, lanes * ldq}, {&s.dOutRows, lanes * ldv}, {&s.dq, lanes * max(ldq, ldv)},
		{&s.kRows, KeyBlock * ldq}, {&s.part, KeyBlock * max(ldq, ldv)}, {&s.zeros, max(j.d(), j.dv())},
	} {
		parallel.Fit(m, &s.usages[i], x.s, x.n, rows.Aligned)
	}
}

// rowLength returns the distance of rows of d numbers that are columns of a product: a whole
// number of steps of 16, and of them an odd number, so that the rows of a step lie in
// different sets of a cache.
func rowLength(d int) int { return wholeSteps(d) | columnStep }

// wholeSteps returns d rounded up to whole steps of columns.
func wholeSteps(d int) int { return (d + columnStep - 1) &^ (columnStep - 1) }

// columnStep is a number of columns that all tiers have tiles for.
const columnStep = 16
