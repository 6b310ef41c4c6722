package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A scratch is the memory of one worker. It grows to what the largest call needed
// and is recycled. floatRows caches rows of the current KV head from block to block;
// everything else is valid only within the function that has set it and the functions
// that it calls.
type scratch struct {
	tiles []tile
	exact tile // for a row that is computed again, see nanpath.go

	scores []float32 // S of a block of one tile, [BlockKeys][width], or of several small ones

	keys, values floatRows // of the current block, unless they are used in place
	rows         []float32 // query or output rows of a tile, if they are not float32
	paddedKeys   []float32 // for additive scores

	partial []float32   // output of one block, before it is merged
	runs    []mask.Span // memory of tile.visibleRuns

	// One element per lane: arguments of kernels.
	lo, hi          []int32
	off             []int
	ignored, slopes [ukernel.MaxLanes]float32
	positions       [ukernel.MaxLanes]int32
	dropHeads       [ukernel.MaxLanes]uint32
	dropPositions   [ukernel.MaxLanes]uint32

	scoreTile ScoreTile                           // argument of Call.ScoreMod
	scoreRows []ScoreRow                          // memory of its rows
	biases    [ukernel.MaxLanes * modKeys]float32 // rows of a bias, widened
}

// fit makes the scratch large enough for the tasks of j.
func (s *scratch) fit(j *Job) {
	for len(s.tiles) < j.maxTiles {
		s.tiles = append(s.tiles, tile{})
	}
	for i := range s.tiles[:j.maxTiles] {
		s.tiles[i].fit(j, j.width)
	}
	s.keys.fit(&j.K, false)
	s.values.fit(&j.V, !j.isSkinny(j.rows()))
	if n := j.width * max(j.d(), j.dv()); j.needsRows() && len(s.rows) < n {
		s.rows = rows.Aligned(n)
	}
	if n := j.width * j.dv(); len(s.partial) < n {
		s.partial = rows.Aligned(n)
	}
	if j.additive != nil {
		if n := additiveKeys * len(j.additive); len(s.paddedKeys) < n {
			s.paddedKeys = rows.Aligned(n)
		}
	}
	if j.ScoreMod != nil && s.scoreRows == nil {
		s.scoreRows = make([]ScoreRow, 0, ukernel.MaxLanes)
	}
	if len(s.off) >= j.width { // scores, lo, hi and off are allocated together
		return
	}
	s.scores = rows.Aligned(BlockKeys * j.width)
	s.lo, s.hi = make([]int32, j.width), make([]int32, j.width)
	s.off = make([]int, j.width)
}

// needsRows tells whether scratch.rows is needed.
func (j *Job) needsRows() bool {
	return j.Q.DType() != view.Float32 || j.Out.DType() != view.Float32 || j.Partial.isSet()
}
