package engine

import (
	"slices"

	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A strategy is how tiles compute the two products of attention: which kernels, and how
// queries and output lie in memory for them. The plan chooses one for each bucket, and
// the loops over tiles and blocks call its steps without asking which one it is. None
// changes a bit of another's results.
type strategy struct {
	// pack makes the queries of t what scores takes.
	pack func(t *tile)

	// scores computes the products of the queries with keys of the current block, and
	// raises top to their maxima, or leaves these to what follows if top is nil.
	scores func(t *tile, keys mask.Span, top []float32)

	// softmax turns the scores of n keys into weights, given their maxima, and sets sum.
	softmax func(t *tile, n int, max, sum []float32)

	// values computes the product of the block's weights with its values. It writes the
	// output of the first block, and merges later blocks into the output so far.
	values func(t *tile)

	// merge merges the output of a block, in the layout of the strategy, by the block's
	// factors.
	merge func(t *tile, part []float32)

	*layout
}

// A layout is how the output of a tile lies in memory.
type layout struct {
	// mergeNone merges a block without values.
	mergeNone func(t *tile)

	// load makes rows of float32, which start at off, the output.
	load func(t *tile, src []float32, off []int)

	// unpack divides the output by sum and writes it to rows of dst that start at off. It
	// returns the set of those that hold a NaN.
	unpack func(t *tile, dst []float32, off []int, sum []float32) (nan uint64)
}

// The layouts: [Dv][lanes], and rows for few of them.
var (
	inLanes = layout{panelMergeNone, panelLoad, panelUnpack}
	inRows  = layout{skinnyMergeNone, skinnyLoad, skinnyUnpack}
)

// The strategies. Exact ones compute a row again, see exact.go.
var (
	panel          = strategy{packPanel, panelScores, panelSoftmax, panelValues, panelMerge, &inLanes}
	skinny         = strategy{packPanel, skinnyScores, skinnySoftmax, skinnyValues, skinnyMerge, &inRows}
	additivePanel  = strategy{packRows, additiveScores, panelSoftmax, panelValues, panelMerge, &inLanes}
	additiveSkinny = strategy{packRows, additiveScores, skinnySoftmax, skinnyValues, skinnyMerge, &inRows}

	integers       = strategy{packPairs, integersScores, panelSoftmax, integersValues, integersMerge, &inLanes}
	skinnyIntegers = strategy{packCodes, skinnyIntegersScores, skinnySoftmax, skinnyIntegersValues, skinnyMerge, &inRows}
	asFloats       = strategy{packRounded, asFloatsScores, panelSoftmax, asFloatsValues, panelMerge, &inLanes}

	bfloat16       = strategy{packBFloat16, bfloat16Scores, bfloat16Softmax, bfloat16Values, bfloat16Merge, &inLanes}
	skinnyBFloat16 = strategy{packBFloat16, skinnyBFloat16Scores, bfloat16Softmax, skinnyBFloat16Values, skinnyMerge, &inRows}

	// These are for tiles of whole PanelSteps alone, see forLanes.
	unitBFloat16 = strategy{packUnit, unitScores, unitSoftmax, unitValues, bfloat16Merge, &inLanes}
	unitIntegers = strategy{packHalves, unitIntegersScores, panelSoftmax, unitIntegersValues, bfloat16Merge, &inLanes}

	exactPanel    = strategy{packPanel, panelScores, exactSoftmax, exactValues, panelMerge, &inLanes}
	exactAdditive = strategy{packRows, additiveScores, exactSoftmax, exactValues, panelMerge, &inLanes}
	exactIntegers = strategy{packRounded, asFloatsScores, exactSoftmax, exactIntegersValues, panelMerge, &inLanes}
	exactBFloat16 = strategy{packBFloat16, bfloat16Scores, exactBFloat16Softmax, exactBFloat16Values, bfloat16Merge, &inLanes}
)

// strategies are a call's, for KV heads with many rows and with few, and for rows that are
// computed again.
type strategies struct{ many, few, exact *strategy }

var (
	ofFloats   = strategies{&panel, &skinny, &exactPanel}
	ofAdditive = strategies{&additivePanel, &additiveSkinny, &exactAdditive}
	ofIntegers = strategies{&integers, &skinnyIntegers, &exactIntegers}
	ofBFloat16 = strategies{&bfloat16, &skinnyBFloat16, &exactBFloat16}
	ofUnit     = strategies{&unitBFloat16, &skinnyBFloat16, &exactBFloat16}
	ofHalves   = strategies{&unitIntegers, &skinnyIntegers, &exactIntegers}
	ofOthers   = strategies{&asFloats, &skinnyIntegers, &exactIntegers} // integers that the kernels for many rows do not take
)

// forLanes returns the strategy of a tile of so many lanes, which has the same layout.
func (s *strategy) forLanes(lanes int) *strategy {
	switch {
	case lanes%ukernel.PanelStep == 0:
	case s == &unitBFloat16:
		return &bfloat16
	case s == &unitIntegers:
		return &asFloats
	}
	return s
}

// tileOf returns the kernels for n rows by a strategy. The last rows of a KV head take the unit as
// those before them, in a tile with idle lanes: other kernels would convert all keys once more.
func (j *Job) tileOf(n int, s *strategy) *ukernel.TileKernels {
	kern := j.tier.Tile(n)
	if s.forLanes(kern.Lanes) != s && kern.Lanes < ukernel.PanelStep && j.plan.lanes >= ukernel.PanelStep {
		kern = j.tier.Tile(ukernel.PanelStep)
	}
	return kern
}

// usesUnit tells whether a unit for tiles computes products. It takes too long to begin for short
// calls.
func (j *Job) usesUnit() bool {
	u := j.tier.Unit()
	switch {
	case j.widened.rounds:
		return false
	case j.Call.DynamicInt12:
		return u.GemmHalves != nil && j.Call.K.DType().IsScaled() && j.groupsFillSegments() && (j.rows() > halvesRows || !j.fitsCodes() || !j.hasCodeTiles())
	}
	return j.Call.BFloat16 && u.GemmTiles != nil
}

// halvesRows are the most rows that kernels for integers are as fast with as a unit for tiles: it
// takes a KV head's keys and values as bfloat16, which few rows make too little use of.
const halvesRows = 64

// of returns the strategy of a bucket.
func (s *strategies) of(b *tasks.Bucket) *strategy {
	if b.IsSkinny {
		return s.few
	}
	return s.many
}

// strategies returns the strategies of the call.
func (j *Job) strategies() *strategies {
	switch {
	case j.Call.DynamicInt12 && j.usesUnit():
		return &ofHalves
	case j.Call.DynamicInt12 && j.fitsCodes() && j.hasCodeTiles():
		return &ofIntegers
	case j.Call.DynamicInt12:
		return &ofOthers
	case j.usesUnit():
		return &ofUnit
	case j.Call.BFloat16:
		return &ofBFloat16
	case j.derived.additive != nil:
		return &ofAdditive
	}
	return &ofFloats
}

// MaxSkinnyWidth bounds D and Dv of skinny tiles, so that a call of 16 keys stays short.
const MaxSkinnyWidth = 4 << 10

// isSkinny tells whether KV heads with so many rows use the skinny kernels.
func (j *Job) isSkinny(rows int) bool {
	if j.Call.DynamicInt12 {
		return rows <= max(j.tier.SkinnyRows, j.tier.FarRows) && j.fitsCodes()
	}
	if j.Call.BFloat16 {
		return rows <= j.tier.SkinnyRows && j.fitsHalves() && !j.fillsTile() && !j.fillsUnit(rows)
	}
	least := ukernel.SkinnyColumns
	if rows > ukernel.SkinnyLanes { // short keys are read in little time
		least = ukernel.SkinnyGroup
	}
	return (rows <= j.tier.SkinnyRows || rows <= j.tier.FarRows && j.readsFar()) && j.d() >= least && max(j.d(), j.dv()) <= MaxSkinnyWidth && !j.fillsTile()
}

// farElements is how many elements of keys and values do not fit into a core's own caches. Kernels
// for tiles do not prefetch them.
const farElements = 1 << 20

// readsFar tells whether the call has farElements or more.
func (j *Job) readsFar() bool { return j.rowsOfKeys()*float64(j.d()+j.dv()) >= farElements }

// readsMore tells whether the keys are of float32 and have, together with the values, more bytes
// than a limit, which 0 does without.
func (j *Job) readsMore(bytes int) bool {
	k, v := &j.Call.K, &j.Call.V
	row := float64(k.DType().Bytes(j.d()) + v.DType().Bytes(j.dv()))
	return bytes > 0 && k.DType() == view.Float32 && j.rowsOfKeys()*row > float64(bytes)
}

// rowsOfKeys returns how many rows the keys of all heads have. A float64 holds the product of any
// sizes.
func (j *Job) rowsOfKeys() float64 {
	return float64(j.Call.Q.Dim(0)) * float64(j.Call.K.Dim(1)) * float64(j.keys())
}

// fillsUnit tells whether a unit for tiles is faster than the skinny kernels with so many rows of
// bfloat16: from unitKeys on, it takes no longer for a whole tile than they do for half of one.
func (j *Job) fillsUnit(rows int) bool {
	const unitKeys = 64
	return j.usesUnit() && j.keys() >= unitKeys && j.tier.Tile(rows).Lanes%ukernel.PanelStep == 0
}

// fillsTile tells whether a tile is faster all the same: the rows of a KV head leave
// no lane of it idle, and its keys are one block at most, so that reading them takes
// little of the time.
func (j *Job) fillsTile() bool {
	t, rows := j.tier, j.rows()
	least := t.FullRows
	if x := j.Call.K.DType(); x == view.Float16 || x == view.BFloat16 {
		least = t.FullHalfRows
	}
	return least > 0 && rows >= least && j.keys() <= BlockKeys && t.Tile(rows).Lanes == rows
}

// fitsCodes tells whether kernels for integers take the keys and values.
func (j *Job) fitsCodes() bool {
	k, v, kernels := &j.Call.K, &j.Call.V, j.tier.Skinny()
	return kernels.QKCodes != nil && kernels.Pairs != nil && kernels.PVCodes != nil && hasCodes(j.tier, k) && hasCodes(j.tier, v) &&
		(k.Group() <= ukernel.CodesColumns || k.Group() == j.d()) && max(j.d(), j.dv()) <= MaxSkinnyWidth
}

// fitsHalves tells whether kernels for products in bfloat16 and few rows take the keys and values.
func (j *Job) fitsHalves() bool {
	k, v, kernels := &j.Call.K, &j.Call.V, j.tier.Skinny()
	return kernels.QKEvenOdd != nil && kernels.PVEvenOdd != nil && k.DType() == view.BFloat16 && v.DType() == view.BFloat16 &&
		j.d() >= ukernel.SkinnyColumns && takesHalves(v) && max(j.d(), j.dv()) <= MaxSkinnyWidth
}

// hasCodes tells whether x has integers in groups of columns that such kernels take, of which half
// or more are columns of x. A unit for tiles takes longer than they do even with fewer.
func hasCodes(t *tier.Tier, x *view.Tensor) bool {
	if x.DType() != view.Int8 && x.DType() != view.Int4 {
		return false
	}
	columns, group := kvrows.CodeColumns(x)
	return group%ukernel.SkinnyGroup == 0 && (2*x.Dim(3) >= columns || t.Unit().GemmHalves != nil)
}

// hasCodeTiles tells whether the tier has them for tiles of every width.
func (j *Job) hasCodeTiles() bool {
	return !slices.ContainsFunc(j.tier.Tiles(), func(k ukernel.TileKernels) bool { return k.CodeScores == nil })
}
