package engine

import (
	"math"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
)

// Split-KV. If there are fewer tiles than threads, or tiles that take much longer
// than others, as where a few queries meet a long cache, each key block of a tile is
// a task. The result of a block does not depend on the blocks before it; only the
// merging must happen in order. So threads leave the results of blocks in a ring
// buffer, and whoever finds the next one there merges it: the bits are those of one
// thread, and the memory does not grow with the number of blocks.
//
// The blocks of all split tiles are numbered consecutively and are the first tasks of
// the plan. Tasks are taken in order, so the block that all others wait for has always
// been taken: there is no deadlock, even if one thread does all tasks.

// canSplit tells whether a tile of a bucket has several key blocks.
func (j *Job) canSplit(b *bucket) bool {
	return j.splittable && b.keys > BlockKeys && j.keyRange == mask.Everything
}

// split makes every key block of a bucket's tiles a task, if a tile has several.
func (j *Job) split(b *bucket) {
	if !j.canSplit(b) {
		return
	}
	// The most blocks, wherever the first one begins. A sliding window moves with the
	// queries of a tile.
	queries := min(b.rows, j.width)/j.group + 1
	blocks := ints.CeilDiv(ints.AddSat(b.keys, queries+BlockKeys-1), BlockKeys)
	if n := ints.MulSat(b.heads*b.tiles, blocks); n <= math.MaxInt32 {
		b.blocksPerTile, b.tasks = blocks, n
	}
}

// splitTask computes task i, one block of a split tile of bucket b.
func (j *Job) splitTask(s *scratch, b *bucket, i int) {
	r := &j.ring
	if !r.waitFree(i) {
		return
	}
	slot := r.slot(i)
	t := &slot.tile[0]
	h, row, n := j.splitPart(b, i)
	if t.n == 0 || t.head != h || t.row != row {
		t.reset(s, h, row, j.width, j.isSkinny(b.rows))
	}
	t.scratch = s
	t.started = false
	s.computeBlock(slot.tile[:], ints.AddSat(blockStart(t.visible.Lo), n*BlockKeys))
	slot.ready.Store(true)
	for r.nextReady() && r.merging.TryLock() {
		j.mergeReady(s)
		r.merging.Unlock()
	}
}

// splitPart returns the KV head and the first row of the tile of task i of b, and
// the number of the block in that tile.
func (j *Job) splitPart(b *bucket, i int) (h kvHead, row, block int) {
	i -= b.task
	tile := i / b.blocksPerTile
	return j.kvHead(b.first + tile/b.tiles), tile % b.tiles * j.width, i % b.blocksPerTile
}

// mergeReady merges the blocks that are there, up to the first one that is not.
func (j *Job) mergeReady(s *scratch) {
	r := &j.ring
	for {
		i := int(r.next.Load())
		slot := r.slot(i)
		if !slot.ready.Load() {
			return
		}
		b := j.bucketOf(i)
		h, row, n := j.splitPart(b, i)
		if n == 0 {
			r.merged.begin(s, h, row, j.width, j.isSkinny(b.rows))
		}
		r.merged.scratch = s
		if slot.tile[0].started {
			r.merged.merge(&slot.tile[0])
		}
		if n == b.blocksPerTile-1 {
			r.merged.finish()
		}
		slot.ready.Store(false)
		r.advance()
	}
}

// merge merges the result of one block b, which must be one of the same rows. It may
// keep b's memory.
func (t *tile) merge(b *tile) {
	if !t.started {
		copy(t.max, b.max)
		copy(t.sum, b.sum)
		t.o, b.o, t.oUsage, b.oUsage = b.o, t.o, b.oUsage, t.oUsage
		t.started = true
		return
	}
	t.kern.MergeStats(t.max, t.sum, b.max, b.sum, t.alpha, t.beta)
	lanes, dv := t.kern.Lanes, t.job.dv()
	if t.skinny {
		t.job.tier.Skinny.Merge(t.o, dv, b.o, dv, t.n, dv, t.alpha, t.beta)
		return
	}
	for e := range dv {
		t.kern.GemmMerge(t.o[e*lanes:], lanes, ones[:1], 1, 1, b.o[e*lanes:], lanes, 1, 1, t.alpha, t.beta)
	}
}
