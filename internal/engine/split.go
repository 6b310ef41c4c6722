package engine

import (
	"math"
	"sort"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
)

// Split-KV. If a KV head should have more tasks than it has tiles, see wantsSplit, each key
// block of a tile is a task: as where a few queries meet a long cache. The result of a
// block does not depend on the blocks before it; only the merging must happen in order. So
// threads leave the results of blocks in a ring buffer, and whoever finds the next one of a
// tile there merges it: the bits are those of one thread, and the memory does not grow with
// the number of blocks.
//
// The tasks of split tiles are the first ones of the plan: block 0 of every tile, then block
// 1 of every tile, and so on, so that several tiles are merged at the same time. Tasks are
// taken in order. A block waits for blocks of earlier tasks alone, so the first task that is
// not done never waits: there is no deadlock, even if one thread does all tasks.

// A splitPlan counts what is split.
type splitPlan struct {
	tiles   int // split tiles
	tasks   int // their blocks
	buckets int // that have them: the first ones, in ascending order of blocksPerTile
}

// canSplit tells whether split-KV is possible: threads may wait for each other, the call covers
// all blocks, and a tile of the bucket has several.
func (j *Job) canSplit(b *bucket) bool {
	return j.splittable && b.keys > BlockKeys && j.derived.keyRange == mask.Everything
}

// splitTiles makes every key block of a bucket's tiles a task, if a tile has several.
func (j *Job) splitTiles(b *bucket, width int) {
	if !j.canSplit(b) {
		return
	}
	// The most blocks, wherever the first one begins. A sliding window moves with the
	// queries of a tile.
	queries := min(b.rows, width)/j.derived.group + 1
	blocks := ints.CeilDiv(ints.AddSat(b.keys, queries+BlockKeys-1), BlockKeys)
	if n := ints.MulSat(b.heads*b.tiles, blocks); n <= math.MaxInt32 {
		b.blocksPerTile, b.tasks = blocks, n
	}
}

// numberSplitTasks numbers the split tiles, and the tasks by rounds: round n has block n of
// every tile that has so many. From bucket to bucket there are more rounds and fewer tiles.
func (p *plan) numberSplitTasks() {
	s := &p.split
	for x := range p.buckets {
		b := &p.buckets[x]
		if b.blocksPerTile == 0 {
			break
		}
		b.firstTile = s.tiles
		s.tiles += b.heads * b.tiles
		s.buckets++
	}
	round := 0
	for x := range p.buckets[:s.buckets] {
		b := &p.buckets[x]
		b.round, b.task = round, s.tasks
		b.tasks = (b.blocksPerTile - round) * (s.tiles - b.firstTile)
		round = b.blocksPerTile
		s.tasks += b.tasks
	}
}

// splitPart returns the tile and the block of task i.
func (p *plan) splitPart(i int) (tile, block int) {
	b := p.bucketOf(i)
	i -= b.task
	tiles := p.split.tiles - b.firstTile
	return b.firstTile + i%tiles, b.round + i/tiles
}

// splitTask returns the task of a block of a tile.
func (p *plan) splitTask(tile, block int) int {
	b := &p.buckets[0]
	if n := p.split.buckets; n > 1 {
		b = &p.buckets[sort.Search(n, func(x int) bool { return p.buckets[x].blocksPerTile > block })]
	}
	return b.task + (block-b.round)*(p.split.tiles-b.firstTile) + tile - b.firstTile
}

// splitBucket returns the bucket of a split tile.
func (p *plan) splitBucket(tile int) *bucket {
	n := p.split.buckets
	if n == 1 {
		return &p.buckets[0]
	}
	return &p.buckets[sort.Search(n, func(x int) bool { return p.buckets[x].firstTile > tile })-1]
}

// splitTask computes task i, one block of a split tile. Then it merges the blocks of that tile
// that are ready, unless another thread does. The last merge finishes the tile.
func (j *Job) splitTask(s *scratch, i int) {
	r := &j.ring
	if !r.waitFree(i) {
		return
	}
	tile, block := j.plan.splitPart(i)
	slot := r.slot(i)
	t := &slot.tile[0]
	if h, row := j.splitRows(tile); t.N == 0 || t.Head != h || t.First != row {
		t.reset(s, h, row, j.plan.width, j.plan.splitBucket(tile).strategy)
	}
	t.scratch = s
	t.started = false
	s.computeBlock(slot.tile[:], ints.AddSat(blockStart(t.visible.Lo), block*BlockKeys))
	slot.setReady(i)
	for c := &r.tiles[tile]; j.nextIsReady(tile) && c.merging.TryLock(); c.merging.Unlock() {
		j.mergeReady(s, tile)
	}
}

// splitRows returns the KV head and the first row of a split tile.
func (j *Job) splitRows(tile int) (h lanes.Head, row int) {
	b := j.plan.splitBucket(tile)
	tile -= b.firstTile
	return j.kvHead(b.first + tile/b.tiles), tile % b.tiles * j.plan.width
}

// nextIsReady tells whether the block of a split tile that is to be merged next is computed.
func (j *Job) nextIsReady(tile int) bool {
	block := int(j.ring.tiles[tile].next.Load())
	if block == j.plan.splitBucket(tile).blocksPerTile {
		return false
	}
	i := j.plan.splitTask(tile, block)
	return j.ring.slot(i).isReady(i)
}

// mergeReady merges the blocks of a split tile that are there, up to the first one that is not.
func (j *Job) mergeReady(s *scratch, tile int) {
	c, b := &j.ring.tiles[tile], j.plan.splitBucket(tile)
	c.merged.scratch = s
	for j.nextIsReady(tile) {
		block := int(c.next.Load())
		i := j.plan.splitTask(tile, block)
		if block == 0 {
			h, row := j.splitRows(tile)
			c.merged.begin(s, h, row, j.plan.width, b.strategy)
		}
		if part := &j.ring.slot(i).tile[0]; part.started {
			c.merged.merge(part)
		}
		if block == b.blocksPerTile-1 {
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
