package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A scratch is the memory of one goroutine of a call. It grows to what the largest call
// of late needed and is recycled. keys and values hold rows of the current KV head from
// block to block, tiles are valid for a task, scores for the stages of one block. shape,
// epoch and the usages stay from call to call. The rest is valid until the function that
// has set it returns.
type scratch struct {
	tiles []tile
	exact tile // for a row that is computed again, see exact.go

	scores []float32 // S of a block of one tile, [BlockKeys][width], or of several small ones

	keys, values kvrows.Reader // of the current block
	rows         []float32     // query or output rows of a tile, if they are not float32
	paddedKeys   []float32     // for additive scores
	capped       []float32     // of a Scorer

	partial []float32   // output of one block, before it is merged
	rounded []float32   // weights of a block, rounded, see integers.go
	pairs   []int32     // the same as integers, of a segment
	segment []float32   // values of a segment, or outputs of mixed tiles or with columns to leave out
	words   []uint32    // pairs of weights of a block, see unit.go
	runs    []mask.Span // of keys that an exact tile sees
	seen    []bool      // some keys of lists: whether the rows see them

	shape                                             shape  // of the last call
	epoch                                             uint32 // of the memory, then
	memory                                            parallel.Memory
	rowsUsage, paddedUsage, partialUsage, scoresUsage parallel.Usage
	roundedUsage, pairsUsage, seenUsage, segmentUsage parallel.Usage
	wordsUsage                                        parallel.Usage

	repeated [ukernel.SkinnyKeys]int // offsets of keys, of which the last one stands for more

	// One element per lane: arguments of kernels.
	spans           laneSpans
	off             [ukernel.MaxLanes]int
	ignored, slopes [ukernel.MaxLanes]float32
	units           [ukernel.MaxLanes]float32
	valueScales     [contract.ValueSegment]float32
	positions       [ukernel.MaxLanes]int32
	keyPositions    [modKeys]int32
	dropHeads       [ukernel.MaxLanes]uint32
	dropPositions   [ukernel.MaxLanes]uint32

	queryRows, outRows tileOffsets // of the tiles of a plain task
	mixed              mixedTile

	scoreTile scoring.Tile                        // argument of Call.Score
	scoreRows []scoring.Row                       // memory of its rows
	biases    [ukernel.MaxLanes * modKeys]float32 // rows of a bias, widened
}

// fit makes the scratch large enough for the tasks of j.
func (s *scratch) fit(j *Job) {
	if s.shape != j.plan.shape || s.epoch != s.memory.Epoch() {
		s.fitAll(j)
		s.shape, s.epoch = j.plan.shape, s.memory.Epoch()
	}
	s.keys.Begin(j.tier, &j.Call.K, j.keyRows())
	s.values.Begin(j.tier, &j.Call.V, j.keyRows())
	s.values.Share(&s.keys)
	for i := range s.tiles[:j.plan.MaxTiles] {
		s.tiles[i].job = j
	}
}

func (s *scratch) fitAll(j *Job) {
	m := &s.memory
	need := kvrows.Need{Pairs: j.plan.shape.codes, Codes: j.Call.DynamicInt12, BFloat16: j.Call.BFloat16, Halves: j.plan.shape.unit, Listed: j.derived.listed || j.derived.tree, Path: j.treeQueries()}
	need.SmallPages = j.plan.shape.kSmall
	s.keys.Fit(m, &j.Call.K, need)
	need.Gather, need.Columns, need.SmallPages, need.WholeHalves = !j.plan.shape.skinny, true, j.plan.shape.vSmall, j.plan.shape.wholeHalves
	s.values.Fit(m, &j.Call.V, need)
	if j.Call.DynamicInt12 {
		s.fitIntegers(j)
	}
	if j.Call.BFloat16 {
		s.fitBFloat16(j)
	}
	for len(s.tiles) < j.plan.MaxTiles {
		s.tiles = append(s.tiles, tile{})
	}
	for i := range s.tiles[:j.plan.MaxTiles] {
		s.tiles[i].fit(j, m, j.plan.lanes)
	}
	if j.plan.shape.rows {
		parallel.Fit(m, &s.rowsUsage, &s.rows, j.plan.lanes*max(j.d(), j.dv()), rows.Aligned)
	}
	parallel.Fit(m, &s.partialUsage, &s.partial, j.plan.lanes*j.roomColumns(), rows.Aligned)
	if j.derived.additive != nil {
		parallel.Fit(m, &s.paddedUsage, &s.paddedKeys, additiveKeys*len(j.derived.additive), rows.Aligned)
	}
	if j.derived.listed {
		parallel.Fit(m, &s.seenUsage, &s.seen, modKeys*j.plan.lanes, parallel.Make[bool])
	}
	if j.Call.Score != nil && s.scoreRows == nil {
		s.scoreRows = make([]scoring.Row, 0, ukernel.MaxLanes)
	}
	parallel.Fit(m, &s.scoresUsage, &s.scores, max(BlockKeys*j.plan.lanes, batchFloats), rows.Aligned)
}

// A shape is all that the size of a call's scratch memory depends on. Most calls have the
// shape of the call before, and then no memory is fitted: that would take 2% of a small
// call.
type shape struct {
	lanes, d, dv   int
	tiles          int // of a task, at most
	additive       int // weights of additive scores, or 0
	kType, vType   view.DType
	kPaged, vPaged bool
	kSmall, vSmall bool // pages, see hasSmallPages
	skinny         bool
	rows           bool // queries or outputs pass through scratch memory
	scoreMod       bool
	quantized      bool
	bfloat16       bool
	wholeHalves    bool // some buckets take skinnyBFloat16
	unit           bool // for tiles, see unit.go
	unions         bool // of the mask
	listed         bool // keys come from lists
	tree           int  // queries of a tree
	codes          bool // tiles may take kernels for integers, see integers.go

	kScales, vScales int // of a row
}

// shapeOf returns the shape of the call, for tasks of at most so many tiles and lanes.
func (j *Job) shapeOf(lanes, tiles int) shape {
	return shape{
		lanes: lanes, d: j.d(), dv: j.dv(), tiles: tiles, additive: len(j.derived.additive),
		kType: j.Call.K.DType(), vType: j.Call.V.DType(), kPaged: j.Call.K.IsPaged(), vPaged: j.Call.V.IsPaged(),
		kSmall: j.hasSmallPages(&j.Call.K), vSmall: j.hasSmallPages(&j.Call.V), kScales: scalesOf(&j.Call.K), vScales: scalesOf(&j.Call.V),
		skinny:   j.plan.allSkinny,
		rows:     j.Call.Q.DType() != view.Float32 || j.Call.Out.DType() != view.Float32 || j.Call.Partial.isSet(),
		scoreMod: j.Call.Score != nil, quantized: j.Call.DynamicInt12, bfloat16: j.Call.BFloat16, wholeHalves: j.Call.BFloat16 && j.plan.anySkinny, unit: j.usesUnit() && !j.plan.allSkinny, unions: j.Call.Mask.HasUnions(), listed: j.derived.listed, tree: j.treeQueries(), codes: j.Call.DynamicInt12 && j.fitsCodes(),
	}
}

// runKeys is the least number of rows of a page for which reading them in place is faster than
// copying them.
const runKeys = 8

// tableKeys is the least number of rows of a page for which a call of a kernel for each page takes
// no longer than kernels that take all rows by their offsets. Pages of whole tiles take a call each
// from half as many rows on.
const tableKeys = 256

// hasSmallPages tells whether rows of x are copied as a list's are, where kernels for few rows of
// queries take them in place: pages have fewer rows than a kernel takes, or so few that a call for
// each page takes longer than the copies. Kernels that take rows from anywhere need no copies of
// them, so that larger pages are small ones for these. Products in bfloat16, and tiles of integers,
// take whole segments, which begin within pages of other sizes. Few rows copy segments on several
// pages only where takesOffsets is false: rows that 16 does not divide, and int4 that become int8.
func (j *Job) hasSmallPages(x *view.Tensor) bool {
	const segment = max(contract.BF16Segment, contract.ValueSegment)
	n, least := x.PageSize(), ukernel.SkinnyKeys
	switch {
	case !x.IsPaged():
		return false
	case j.takesOffsets(x):
		if least = tableKeys; n%ukernel.SkinnyKeys == 0 {
			least /= 2
		}
	case j.Call.BFloat16, j.Call.DynamicInt12 && !j.plan.allSkinny:
		most := 3 * segment
		if j.plan.allSkinny { // few rows copy only the segments that lie on several pages
			most = 2 * segment
		}
		return n < least || n%segment != 0 && n < most
	case j.takesAnywhere(x): // some rows of queries are for tiles, which copy
	case j.Call.DynamicInt12:
		least = segment
	case x == &j.Call.V && x.DType() == view.Float32:
		least = runKeys
	}
	return n < least
}

// takesOffsets tells whether all tiles take kernels for few rows of queries, and these take rows of
// x from anywhere.
func (j *Job) takesOffsets(x *view.Tensor) bool {
	isKeys := x == &j.Call.K
	switch {
	case !j.plan.allSkinny:
		return false
	case j.Call.BFloat16:
		return isKeys || kvrows.WholeColumns(x) == x.Dim(3)
	case j.Call.DynamicInt12:
		return kvrows.CodesLieAnywhere(x, isKeys && j.keys4() || !isKeys && j.values4())
	}
	return j.takesAnywhere(x)
}

// scalesOf returns how many scales a row of x has.
func scalesOf(x *view.Tensor) int {
	if s := x.Scales(); s != nil {
		return s.Dim(3)
	}
	return 0
}
