package engine

import (
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A plain call is softmax(q·kᵀ·scale)·v and nothing else: float32 throughout, maybe of numbers
// that are rounded to bfloat16, at most one block of keys, all of which every row sees. Its
// tiles take the kernel calls of task.go in the same order. But as no block follows and no
// option can apply, a tile needs hardly any instruction between these calls. The kernels of a
// short call take so little time that it feels every one.

// isPlain tells whether the call, which is planned, is plain.
func (j *Job) isPlain() bool {
	return j.widened.inPairs || j.derived.sameKeys && (j.plan.isProduct || j.widened.rounds) && j.hasPlainTensors() && j.hasPlainOutput() && j.isOneCallEach()
}

// isProduct tells whether scores are products with the keys as they lie in
// memory, and nothing else.
func (j *Job) isProduct() bool {
	return !j.derived.listed && !j.derived.tree && j.Call.K.DType() == view.Float32 && !j.Call.K.IsPaged() && j.derived.mods.n == 0 && !j.Call.Mask.HasGaps() && j.derived.additive == nil && !j.Call.DynamicInt12 && !j.Call.BFloat16
}

// hasPlainTensors tells whether the elements of Q, V and Out are used as they lie in
// memory.
func (j *Job) hasPlainTensors() bool {
	for _, x := range [...]*view.Tensor{&j.Call.Q, &j.Call.V, &j.Call.Out} {
		if x.DType() != view.Float32 || x.IsPaged() || x.IsRagged() {
			return false
		}
	}
	return true
}

// hasPlainOutput tells whether weights are neither dropped nor joined by sinks, and
// nothing but Out is wanted.
func (j *Job) hasPlainOutput() bool {
	return j.Call.Dropout.Rate == 0 && j.Call.Sinks == nil && !j.derived.otherOutputs && !j.Call.Partial.isSet()
}

// isOneCallEach tells whether the keys are one block, and so few that each stage of a
// tile is one call of a kernel. Skinny tiles have other kernels for leastSkinny keys and
// more.
func (j *Job) isOneCallEach() bool {
	see, d, dv, lanes := &j.derived.frame.visible, j.d(), j.dv(), j.plan.lanes
	n := see.Len()
	switch {
	case n == 0 || blockStart(see.Lo) != blockStart(see.Hi-1):
		return false
	case j.plan.shape.skinny && n >= j.leastSkinny():
		return false
	}
	return ukernel.IsOneCall(max(d, dv), lanes) && ukernel.RowsPerCall(n, lanes*d) == n && ukernel.RowsPerCall(dv, lanes*n) == dv
}

// plainFloats bounds Q̂ᵀ, S and Oᵀ of the tiles that go through a stage together, see
// batchFloats: they stay in L1.
const plainFloats = 6 << 10

// plainTiles is wholeTiles for a plain call.
func (j *Job) plainTiles(s *scratch, b *tasks.Bucket, first, n, count int) {
	h, rows, keys := j.kvHead(first), j.rows(), j.keys()
	batch := max(1, min(plainFloats/(j.plan.lanes*(j.d()+j.dv()+keys)), len(s.scores)/(j.plan.lanes*keys)))
	s.queryRows.n, s.outRows.n = 0, 0
	for count > 0 {
		tiles := s.tiles[:min(batch, count)]
		count -= len(tiles)
		used := 0
		for x := range tiles {
			t := &tiles[x]
			t.placePlain(s, h, n*j.plan.work.Width, rows)
			size := keys * t.Lanes
			t.block.scores = s.scores[used : used+size]
			used += size
			t.packPlain()
			if n++; n == b.Tiles {
				h, n = j.next(h), 0
			}
		}
		s.plainBatch(j, tiles)
	}
}

// placePlain makes t the tile of the rows of h from row on, of which there are so many.
// (To ask the tier for the kernels of every tile takes 1% of a call.)
func (t *tile) placePlain(s *scratch, h lanes.Head, row, rows int) {
	plan := &t.job.plan
	n, kern := min(plan.work.Width, rows-row), plan.kern
	if n < plan.rows {
		kern = t.job.tier.Tile(n)
	}
	t.place(s, h, row, n, kern, plan.how.of(&plan.Buckets[0]))
}

// plainBatch computes the tiles, whose queries are packed.
func (s *scratch) plainBatch(j *Job, tiles []tile) {
	keys, d := j.keys(), j.d()
	all, ld := j.Call.K.F32(), j.Call.K.Stride(2)
	size := (keys-1)*ld + d
	for x := range tiles {
		t := &tiles[x]
		at := j.Call.K.At(t.Head.Batch, t.Head.Head, 0)
		if j.widened.rounds {
			t.kern.GemmEvenOdd(t.block.scores, t.Lanes, all[at:at+size], ld, 1, t.q, t.Lanes, keys, d, false)
			t.kern.ScaleRows(t.block.scores, t.Lanes, t.block.scores, t.Lanes, keys, j.derived.scales[:], 0, false, t.max)
			continue
		}
		t.kern.GemmMax(t.block.scores, t.Lanes, all[at:at+size], ld, 1, t.q, t.Lanes, keys, d, ukernel.ColumnSegment, t.max)
	}
	for x := range tiles {
		t := &tiles[x]
		t.strategy.softmax(t, keys, t.max, t.sum)
	}
	unpack := (*tile).unpackPlain
	switch {
	case j.widened.rounds:
		for x := range tiles {
			t := &tiles[x]
			t.keyFrame, t.block.keys = j.derived.frame, j.derived.frame.visible
			t.evenOddValues(j.Call.V.Rows(t.Head.Batch, t.Head.Head, 0, keys), j.Call.V.Stride(2))
		}
	case j.usesHeadValues():
		unpack = (*tile).unpackValues
	default:
		for x := range tiles {
			t := &tiles[x]
			t.keyFrame, t.block.keys = j.derived.frame, j.derived.frame.visible
			t.strategy.values(t)
		}
	}
	for x := range tiles {
		t := &tiles[x]
		dst, off := t.plainRows(&s.outRows, &j.Call.Out)
		if nan := unpack(t, dst, off); nan&(1<<t.N-1) != 0 {
			t.finishNaNs(nan)
		}
	}
}

// headKeys is the largest number of keys for which HeadValues is faster than a product
// and Unpack. On Zen 3, 12 heads of D = 64 gain 10% with 8 keys, 6% with 16 and 4% with
// 32; with 128 they lose 2%. Tuning.HeadKeys may say another number.
const headKeys = 64

// usesHeadValues tells whether values go to Out in one step.
func (j *Job) usesHeadValues() bool {
	most := headKeys
	if j.tier.HeadKeys != 0 && j.dv() == ukernel.ColumnSegment {
		most = j.tier.HeadKeys
	}
	return j.keys() <= most
}

// packPlain packs the queries of the tile and sets its maximum to -Inf.
func (t *tile) packPlain() {
	q, off := t.plainRows(&t.scratch.queryRows, &t.job.Call.Q)
	scale := t.job.derived.scale
	if t.job.widened.rounds {
		scale = 1
	}
	t.kern.Pack(t.q, len(off), q, off, t.N, t.job.d(), scale)
	copy(t.max, negInfs[:])
}

// unpackPlain writes the output to the rows of dst that start at off, and unpackValues
// the products of the weights and the values. Both return the set of those that hold a
// NaN.
func (t *tile) unpackPlain(dst []float32, off []int) (nan uint64) {
	return t.strategy.unpack(t, dst, off, t.sum)
}

func (t *tile) unpackValues(dst []float32, off []int) (nan uint64) {
	v, keys := &t.job.Call.V, t.job.keys()
	rows := v.Rows(t.Head.Batch, t.Head.Head, 0, keys)
	return t.job.tier.Skinny().HeadValues(dst, off, rows, sameRows[:len(off)], v.Stride(2), t.block.scores, len(off), t.N, keys, t.job.dv(), t.sum)
}

// sameRows are the offsets of lanes that share their values.
var sameRows [ukernel.MaxLanes]int

// tileOffsets are the offsets of a tile's rows, see lanes.Rows, from the offset of its first query
// in the first head of the group. No row lies before it. The tiles of a task have the same offsets,
// but for the last tiles of KV heads.
type tileOffsets struct {
	n, groupHead int // of the tile that off is for; n = 0: of none
	off          [ukernel.MaxLanes]int
}

// plainRows returns x from the row of the tile's first query in the first head of its
// group on, and the offsets of the tile's rows from there.
func (t *tile) plainRows(o *tileOffsets, x *view.Tensor) (data []float32, off []int) {
	if o.n != t.N || o.groupHead != t.GroupHead { // the lanes depend on n
		o.n, o.groupHead = t.N, t.GroupHead
		t.OffsetsFrom(o.off[:t.Lanes], x, t.GroupHead*x.Stride(1))
	}
	return x.F32()[x.At(t.Head.Batch, t.Head.Head*t.Group, t.Query):], o.off[:t.Lanes]
}
