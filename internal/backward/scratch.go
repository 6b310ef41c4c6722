package backward

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A scratch is the memory of one goroutine of a call: the scores of a segment and a block,
// and what is below. It grows to what calls need and is recycled.
type scratch struct {
	engine.Scorer

	dp       []float32 // dP, then dS, of a segment and a block: [KeyBlock][lanes]
	dOutT    []float32 // panel dOᵀ of a segment: [Dv][lanes]
	outT     []float32 // panel Oᵀ: [Dv][lanes]
	qRows    []float32 // rows of Q of a segment: [lanes][ldq]
	dOutRows []float32 // rows of dO: [lanes][ldv]
	dq       []float32 // what a block adds to dQ: [lanes][ldq]

	kRows  []float32 // rows of K of a task: [span·KeyBlock][ldq]
	dk, dv []float32 // dK and dV of a task: [span·KeyBlock][ldq] and [ldv]
	packed mask.Span // the rows in kRows, counted like first
	zeros  []float32 // max(D, Dv)
	shape  shape
	usages [10]parallel.Usage

	// One element per lane, or per row of a move.
	lse, delta [ukernel.MaxLanes]float32
	off        [ukernel.MaxLanes]int
	factors    [ukernel.MaxLanes]float32
}

// fit makes the scratch large enough for the tasks of j.
func (s *scratch) fit(j *Job) {
	widens := j.Forward.Q.DType() != view.Float32 || j.Forward.Out.DType() != view.Float32 || j.DOut.DType() != view.Float32
	s.Fit(j.scores, KeyBlock, widens)
	lanes, ldq, ldv, keys := j.scores.Lanes(), rowLength(j.d()), rowLength(j.dv()), j.span*KeyBlock
	if s.shape != j.shape {
		s.shape = j.shape
		clear(s.qRows) // of another call: the columns after the last one must be finite
		clear(s.dOutRows)
		clear(s.kRows)
	}
	m := s.Memory()
	for i, x := range []struct {
		s *[]float32
		n int
	}{
		{&s.dp, KeyBlock * lanes}, {&s.dOutT, j.dv() * lanes}, {&s.outT, j.dv() * lanes},
		{&s.qRows, lanes * ldq}, {&s.dOutRows, lanes * ldv}, {&s.dq, max(lanes*ldq, j.dv())},
		{&s.kRows, keys * ldq}, {&s.dk, keys * ldq}, {&s.dv, keys * ldv}, {&s.zeros, max(j.d(), j.dv())},
	} {
		parallel.Fit(m, &s.usages[i], x.s, x.n, rows.Aligned)
	}
}

// rowLength returns the distance of rows of d numbers that are columns of a product: a whole
// number of pieces of 16, and of them an odd number, so that the rows of a piece lie in
// different sets of a cache.
func rowLength(d int) int {
	lines := (d + 15) / 16
	return 16 * (lines | 1)
}

// columns returns d rounded up to whole pieces.
func columns(d int) int { return (d + 15) / 16 * 16 }
