package tasks

import (
	"math"
	"sort"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ints"
)

// Split-KV. If a KV head should have more tasks than it has tiles, see wantsSplit, each key
// block of a tile is a task: as where a few queries meet a long cache.
//
// The tasks of split tiles are the first ones: block 0 of every tile, then block 1 of
// every tile, and so on, so that several tiles are merged at the same time. Tasks are
// taken in order. A block waits for blocks of earlier tasks alone, so the first task that
// is not done never waits: there is no deadlock, even if one thread does all tasks.

// Split counts what is split.
type Split struct {
	Tiles   int // split tiles
	Tasks   int // their blocks
	buckets int // that have them: the first ones, in ascending order of BlocksPerTile
}

// canSplit tells whether split-KV is possible: a tile of the bucket has several blocks.
func (w *Work) canSplit(b *Bucket) bool { return w.CanSplit && b.Keys > contract.KeyBlock }

// split makes every key block of a bucket's tiles a task, if a tile has several.
func (w *Work) split(b *Bucket) {
	if !w.canSplit(b) {
		return
	}
	// The most blocks, wherever the first one begins. A sliding window moves with the
	// queries of a tile.
	queries := min(b.Rows, w.Width)/w.Group + 1
	blocks := ints.CeilDiv(ints.AddSat(b.Keys, queries+contract.KeyBlock-1), contract.KeyBlock)
	if n := ints.MulSat(b.Heads*b.Tiles, blocks); n <= math.MaxInt32 {
		b.BlocksPerTile, b.tasks = blocks, n
	}
}

// numberSplit numbers the split tiles, and the tasks by rounds: round n has block n of
// every tile that has so many. From bucket to bucket there are more rounds and fewer tiles.
func (c *Cut) numberSplit() {
	s := &c.Split
	for x := range c.Buckets {
		b := &c.Buckets[x]
		if b.BlocksPerTile == 0 {
			break
		}
		b.firstTile = s.Tiles
		s.Tiles += b.Heads * b.Tiles
		s.buckets++
	}
	round := 0
	for x := range c.Buckets[:s.buckets] {
		b := &c.Buckets[x]
		b.round, b.task = round, s.Tasks
		b.tasks = (b.BlocksPerTile - round) * (s.Tiles - b.firstTile)
		round = b.BlocksPerTile
		s.Tasks += b.tasks
	}
}

// PartOf returns the split tile and the block of task i.
func (c *Cut) PartOf(i int) (tile, block int) {
	b := c.BucketOf(i)
	i -= b.task
	tiles := c.Split.Tiles - b.firstTile
	return b.firstTile + i%tiles, b.round + i/tiles
}

// TaskOf returns the task of a block of a split tile.
func (c *Cut) TaskOf(tile, block int) int {
	b := &c.Buckets[0]
	if n := c.Split.buckets; n > 1 {
		b = &c.Buckets[sort.Search(n, func(x int) bool { return c.Buckets[x].BlocksPerTile > block })]
	}
	return b.task + (block-b.round)*(c.Split.Tiles-b.firstTile) + tile - b.firstTile
}

// SplitBucket returns the bucket of a split tile, and the number of the tile in it.
func (c *Cut) SplitBucket(tile int) (b *Bucket, n int) {
	b = &c.Buckets[0]
	if n := c.Split.buckets; n > 1 {
		b = &c.Buckets[sort.Search(n, func(x int) bool { return c.Buckets[x].firstTile > tile })-1]
	}
	return b, tile - b.firstTile
}
