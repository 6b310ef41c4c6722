package engine

import (
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
)

// task computes task i.
func (j *Job) task(s *scratch, i int) {
	if i < j.plan.Split.Tasks {
		j.splitTask(s, i)
		return
	}
	b := j.plan.BucketOf(i)
	first, n, count := b.TilesOf(i)
	j.plan.tiles(j, s, b, first, n, count)
}

// wholeTiles computes count tiles of b from number n of KV head first on, key block by
// key block, so that all tiles use a block while it is in cache.
func (j *Job) wholeTiles(s *scratch, b *tasks.Bucket, first, n, count int) {
	tiles, visible, h := s.tiles[:count], mask.Nothing, j.kvHead(first)
	width, how := j.plan.work.Width, j.plan.how.of(b)
	for x := range tiles {
		t := &tiles[x]
		t.begin(s, h, n*width, width, how)
		t.weights = t.firstWeights()
		visible = visible.Union(t.visible)
		if n++; n == b.Tiles {
			h, n = j.next(h), 0
		}
	}
	for lo := blockStart(visible.Lo); lo < visible.Hi; lo = ints.AddSat(lo, BlockKeys) {
		s.computeBlock(tiles, lo)
	}
	for x := range tiles {
		tiles[x].finish()
	}
}

// blockStart returns the first key of the block of key x of a tile.
func blockStart(x int) int { return x &^ (BlockKeys - 1) }

// batchFloats bounds the scores of the tiles that go through a stage together: they
// stay in L1. The time of a small tile is the latency of its chains; with several tiles
// in a stage the processor overlaps them.
const batchFloats = 4 << 10

// computeBlock computes the block from key lo on for all tiles: scores, softmax, PV
// accumulation.
func (s *scratch) computeBlock(tiles []tile, lo int) {
	for len(tiles) > 0 {
		n := s.enterBlock(tiles, lo)
		batch := tiles[:n]
		tiles = tiles[n:]
		for x := range batch {
			if t := &batch[x]; t.block.keys.Len() > 0 {
				t.score()
			}
		}
		for x := range batch {
			batch[x].job.plan.softmax(&batch[x])
		}
		for x := range batch {
			if t := &batch[x]; t.block.keys.Len() > 0 {
				t.addValues()
			}
		}
	}
}

// enterBlock makes the block from key lo on the current one of the first tile, and of the tiles
// after it whose scores fit into a batch, and returns the number of these tiles.
func (s *scratch) enterBlock(tiles []tile, lo int) int {
	used := 0
	for x := range tiles {
		t := &tiles[x]
		n := t.enterBlock(lo) * t.Lanes
		if x > 0 && used+n > min(batchFloats, len(s.scores)) {
			return x
		}
		t.block.scores = s.scores[used : used+n]
		used += n
		if n > 0 {
			t.prepare()
		}
	}
	return len(tiles)
}

// enterBlock makes the block from key lo on the current block and returns how many
// of its keys are visible.
func (t *tile) enterBlock(lo int) int {
	t.block.lo, t.block.keys = lo, t.VisibleOf(lo, BlockKeys)
	return t.block.keys.Len()
}

// addValues adds the current block, whose weights are computed, to the result.
func (t *tile) addValues() {
	t.strategy.values(t)
	t.started = true
}

// scoreAgain computes the scores of the block from key lo on. It returns false if no
// key of it is visible.
func (t *tile) scoreAgain(lo int) bool {
	n := t.enterBlock(lo)
	if n == 0 {
		return false
	}
	t.block.scores = t.scratch.scores[:n*t.Lanes]
	t.prepare()
	t.score()
	return true
}
