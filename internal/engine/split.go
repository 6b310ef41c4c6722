package engine

import (
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/ints"
)

// Split-KV: each key block of a tile is a task, see tasks.Split. The result of a block does not depend on the blocks before it; only the merging must happen in order. So
// threads leave the results of blocks in a ring buffer, and whoever finds the next one of a
// tile there merges it: the bits are those of one thread, and the memory does not grow with
// the number of blocks.

// splitTask computes task i, one block of a split tile. Then it merges the blocks of that tile
// that are ready, unless another thread does. The last merge finishes the tile.
func (j *Job) splitTask(s *scratch, i int) {
	r := &j.ring
	if !r.waitFree(i) {
		return
	}
	tile, block := j.plan.PartOf(i)
	slot := r.slot(i)
	t := &slot.tile[0]
	if b, h, row := j.splitRows(tile); t.N == 0 || t.Head != h || t.First != row {
		t.reset(s, h, row, j.plan.work.Width, j.plan.how.of(b))
	}
	t.scratch = s
	t.started = false
	s.computeBlock(slot.tile[:], ints.AddSat(blockStart(t.visible.Lo), block*BlockKeys))
	slot.setReady(i)
	for c := &r.tiles[tile]; j.nextIsReady(tile) && c.merging.TryLock(); c.merging.Unlock() {
		j.mergeReady(s, tile)
	}
}

// splitRows returns the bucket, the KV head and the first row of a split tile.
func (j *Job) splitRows(tile int) (b *tasks.Bucket, h lanes.Head, row int) {
	b, n := j.plan.SplitBucket(tile)
	return b, j.kvHead(b.First + n/b.Tiles), n % b.Tiles * j.plan.work.Width
}

// nextIsReady tells whether the block of a split tile that is to be merged next is computed.
func (j *Job) nextIsReady(tile int) bool {
	block := int(j.ring.tiles[tile].next.Load())
	if b, _ := j.plan.SplitBucket(tile); block == b.BlocksPerTile {
		return false
	}
	i := j.plan.TaskOf(tile, block)
	return j.ring.slot(i).isReady(i)
}

// mergeReady merges the blocks of a split tile that are there, up to the first one that is not.
func (j *Job) mergeReady(s *scratch, tile int) {
	c := &j.ring.tiles[tile]
	b, h, row := j.splitRows(tile)
	c.merged.scratch = s
	for j.nextIsReady(tile) {
		block := int(c.next.Load())
		i := j.plan.TaskOf(tile, block)
		if block == 0 {
			c.merged.begin(s, h, row, j.plan.work.Width, j.plan.how.of(b))
		}
		if part := &j.ring.slot(i).tile[0]; part.started {
			c.merged.merge(part)
		}
		if block == b.BlocksPerTile-1 {
			c.merged.finish()
		}
		c.next.Add(1)
		j.ring.release(i)
	}
}

// merge merges tile x, the result of one block of the same rows, into t. It may swap their
// memory.
func (t *tile) merge(x *tile) {
	if !t.started {
		copy(t.max, x.max)
		copy(t.sum, x.sum)
		t.o, x.o, t.oUsage, x.oUsage = x.o, t.o, x.oUsage, t.oUsage
		t.started = true
		return
	}
	t.kern.MergeStats(t.max, t.sum, x.max, x.sum, t.block.alpha, t.block.beta)
	t.strategy.merge(t, x.o)
}
