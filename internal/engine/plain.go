package engine

import (
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A plain call is softmax(q·kᵀ·scale)·v and nothing else: float32 throughout, at most one block
// of keys, all of which every row sees. Its tiles take the kernel calls of loop.go in the same
// order. But as no block follows and no option can apply, a tile needs hardly any instruction
// between these calls. The kernels of a short call take so little time that it feels every one.

// isPlain tells whether the call is plain, with tiles of at most so many lanes.
func (j *Job) isPlain(lanes int, skinny bool) bool {
	return j.derived.sameKeys && !j.Call.Quantized && j.isOneProduct() && j.hasPlainTensors() && j.hasPlainOutput() && j.isOneCallEach(lanes, skinny)
}

// hasPlainTensors tells whether the elements of Q, V and Out are used as they lie in memory.
func (j *Job) hasPlainTensors() bool {
	for _, x := range [...]*view.Tensor{&j.Call.Q, &j.Call.V, &j.Call.Out} {
		if x.DType() != view.Float32 || x.IsPaged() || x.IsRagged() {
			return false
		}
	}
	return true
}

// hasPlainOutput tells whether weights are neither dropped nor joined by sinks, and nothing but
// Out is wanted.
func (j *Job) hasPlainOutput() bool {
	return j.Call.Dropout.Rate == 0 && j.Call.Sinks == nil && !j.derived.otherOutputs && !j.Call.Partial.isSet()
}

// isOneCallEach tells whether the keys are one block, and so few that each stage of a tile is
// one call of a kernel. Skinny tiles have other kernels for SkinnyKeys keys and more.
func (j *Job) isOneCallEach(lanes int, skinny bool) bool {
	see, d, dv := &j.derived.frame.visible, j.d(), j.dv()
	n := see.Len()
	switch {
	case n == 0 || blockStart(see.Lo) != blockStart(see.Hi-1):
		return false
	case skinny && n >= ukernel.SkinnyKeys:
		return false
	}
	return ukernel.IsOneCall(max(d, dv), lanes) && ukernel.RowsPerCall(n, lanes*d) == n && ukernel.RowsPerCall(dv, lanes*n) == dv
}

// plainFloats bounds Q̂ᵀ, S and Oᵀ of the tiles that go through a stage together, see
// batchFloats: they stay in L1.
const plainFloats = 6 << 10

// plainTask is task for a plain call.
func (j *Job) plainTask(s *scratch, b *bucket, first, n, count int) {
	if j.isMixed() {
		j.mixedTask(s, first, count)
		return
	}
	h, rows, keys := j.kvHead(first), j.rows(), j.keys()
	batch := max(1, min(plainFloats/(j.plan.lanes*(j.d()+j.dv()+keys)), len(s.scores)/(j.plan.lanes*keys)))
	s.queryRows.n, s.outRows.n = 0, 0
	for count > 0 {
		tiles := s.tiles[:min(batch, count)]
		count -= len(tiles)
		used := 0
		for x := range tiles {
			t := &tiles[x]
			t.placePlain(s, h, n*j.plan.width, rows)
			size := keys * t.kern.Lanes
			t.block.scores = s.scores[used : used+size]
			used += size
			t.packPlain()
			if n++; n == b.tiles {
				h, n = j.next(h), 0
			}
		}
		s.plainBatch(j, tiles)
	}
}

// placePlain makes t the tile of the rows of h from row on, of which there are so many. (To ask the
// tier for the kernels of every tile takes 1% of a call.)
func (t *tile) placePlain(s *scratch, h kvHead, row, rows int) {
	plan := &t.job.plan
	n, kern := min(plan.width, rows-row), plan.kern
	if n < plan.rows {
		kern = t.job.tier.Tile(n)
	}
	t.place(s, h, row, n, kern, plan.shape.skinny)
}

// plainBatch computes the tiles, whose queries are packed.
func (s *scratch) plainBatch(j *Job, tiles []tile) {
	keys, d, skinny := j.keys(), j.d(), j.tier.Skinny()
	all, ld := j.Call.K.F32(), j.Call.K.Stride(2)
	size := (keys-1)*ld + d
	for x := range tiles {
		t := &tiles[x]
		at := j.Call.K.At(t.head.batch, t.head.head, 0)
		t.kern.GemmMax(t.block.scores, t.kern.Lanes, all[at:at+size], ld, 1, t.q, t.kern.Lanes, keys, d, ukernel.ColumnSegment, t.max)
	}
	for x := range tiles {
		tiles[x].exponentiate(keys, tiles[x].max, tiles[x].sum)
	}
	for x := range tiles {
		tiles[x].valuesPlain(skinny)
	}
	for x := range tiles {
		tiles[x].unpackPlain(skinny)
	}
}

// headKeys is the largest number of keys for which HeadValues is faster than a product and
// Unpack. On Zen 3, 12 heads of D = 64 gain 10% with 8 keys, 6% with 16 and 4% with 32; with 128
// they lose 2%. Tuning.HeadKeys may say another number.
const headKeys = 64

// usesHeadValues tells whether the tile's values go to Out in one step.
func (t *tile) usesHeadValues() bool {
	j, most := t.job, headKeys
	if j.tier.HeadKeys != 0 && j.dv() == ukernel.ColumnSegment {
		most = j.tier.HeadKeys
	}
	return j.keys() <= most
}

// valuesPlain multiplies the weights with the values, unless unpackPlain does it.
func (t *tile) valuesPlain(skinny *ukernel.SkinnyKernels) {
	if t.usesHeadValues() {
		return
	}
	keys, dv := t.job.keys(), t.job.dv()
	v, ld := t.plainValues()
	if t.skinny {
		skinny.PV(t.o, dv, v, ld, t.block.scores, t.kern.Lanes, t.n, keys, dv, false, v, 0)
	} else {
		t.kern.Gemm(t.o, t.kern.Lanes, v, 1, ld, t.block.scores, t.kern.Lanes, dv, keys, keys, false)
	}
}

// plainValues returns the values of the tile and the distance of their rows.
func (t *tile) plainValues() (v []float32, ld int) {
	j := t.job
	at, ld := j.Call.V.At(t.head.batch, t.head.head, 0), j.Call.V.Stride(2)
	return j.Call.V.F32()[at : at+(j.keys()-1)*ld+j.dv()], ld
}

// packPlain packs the queries of the tile and sets its maximum to -Inf.
func (t *tile) packPlain() {
	j := t.job
	at := j.Call.Q.At(t.head.batch, t.head.head*j.derived.group, t.query)
	off := t.scratch.queryRows.of(t, &j.Call.Q)
	t.kern.Pack(t.q, len(off), j.Call.Q.F32()[at:], off, t.n, j.d(), j.derived.scale)
	copy(t.max, negInfs[:])
}

// unpackPlain writes the tile's rows to Out.
func (t *tile) unpackPlain(skinny *ukernel.SkinnyKernels) {
	j, dv := t.job, t.job.dv()
	at := j.Call.Out.At(t.head.batch, t.head.head*j.derived.group, t.query)
	off := t.scratch.outRows.of(t, &j.Call.Out)
	dst := j.Call.Out.F32()[at:]
	var nan uint64
	switch {
	case t.usesHeadValues():
		v, ld := t.plainValues()
		nan = skinny.HeadValues(dst, off, v, sameRows[:len(off)], ld, t.block.scores, len(off), t.n, j.keys(), dv, t.sum)
	case t.skinny:
		nan = skinny.Unpack(dst, off, t.o, dv, t.n, dv, t.sum)
	default:
		nan = t.kern.Unpack(dst, off, t.o, len(off), t.n, dv, t.sum)
	}
	if nan&(1<<t.n-1) != 0 {
		t.finishNaNs(nan)
	}
}

// sameRows are the offsets of lanes that share their values.
var sameRows [ukernel.MaxLanes]int

// tileOffsets are the offsets of a tile's rows, see tile.offsets, from that of its first query in
// the first head of the group. No row lies before it. The tiles of a task have the same
// offsets, but for the last ones of KV heads.
type tileOffsets struct {
	n, groupHead int // of the tile that off is for; n = 0: of none
	off          [ukernel.MaxLanes]int
}

// of returns the offsets of the rows of t in x.
func (o *tileOffsets) of(t *tile, x *view.Tensor) []int {
	if o.n != t.n || o.groupHead != t.groupHead { // the lanes depend on n
		o.set(t, x)
	}
	return o.off[:t.kern.Lanes]
}

func (o *tileOffsets) set(t *tile, x *view.Tensor) {
	o.n, o.groupHead = t.n, t.groupHead
	t.setOffsets(x, o.off[:t.kern.Lanes], t.groupHead*x.Stride(1))
}
