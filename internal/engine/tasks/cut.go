// Package tasks cuts query tiles into tasks of about the same work, which goroutines take
// one by one. It decides about speed alone: no cut changes a bit.
package tasks

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
)

// A Cut is what a call is cut into.
type Cut struct {
	Buckets  []Bucket // ordered by their tasks
	MaxTiles int      // most tiles of a task
	Tasks    int
	Threads  int

	// MostThreads is the most threads that the same call may get another time.
	MostThreads int

	Split Split
	Ring  struct{ Threads, Tiles int } // of split tiles, in this call and later ones
}

// A Bucket is a range of KV heads with equal numbers of rows and of keys. One of its
// tasks is either
//
//   - some tiles of one KV head, which share each key block, or
//   - all tiles of several KV heads, if these are small and not isLong: then the processor
//     finds independent work while it waits for the chains of one, or
//   - one key block of one tile, if not even tiles are small enough; see split.go.
type Bucket struct {
	First, Heads int // KV heads
	Rows, Keys   int // of a KV head
	Tiles        int // of a KV head
	IsSkinny     bool

	tasksPerHead int // 1 if several KV heads share a task
	headsPerTask int // 1 if several tasks share a KV head
	task, tasks  int // number of the first task, and how many

	// If the tiles are split, tasks belong to some rounds, with the tiles of later buckets.
	BlocksPerTile int // otherwise 0
	firstTile     int // number of the first tile among all split tiles
	round         int // block that the first of the tasks computes
}

// Work says how much work a call is.
type Work struct {
	Width      int  // lanes of a full tile; a KV head's last one may be narrower
	Columns    int  // of keys and values together
	Group      int  // query heads per KV head
	ThreadFMAs int  // that are worth a thread
	Converts   bool // tiles share converted keys and values
	CanSplit   bool // threads may wait for each other, and the call covers all blocks
}

const (
	// tilesPerTask tiles share a key block, so that K and V come from L2 for all but
	// the first.
	tilesPerTask = 8

	// convertingTiles share one that is converted for them.
	convertingTiles = 32

	// taskFloats bounds the Q̂ᵀ and Oᵀ of a task's tiles (512 KiB), so that they stay
	// in L2 beside a block of K, V and S.
	taskFloats = 128 << 10

	// convertingFloats is taskFloats for such tiles: CPUs with a unit for tiles have a larger L2.
	convertingFloats = 256 << 10

	// tasksPerThread is how many tasks a thread should find at least, so that no
	// thread waits long for the last ones.
	tasksPerThread = 4

	// A KV head with fewer than leastRows rows counts as one with leastRows: reading K and
	// V takes the same time.
	leastRows = 8
)

// UsefulThreads returns how many threads so many KV heads are worth at most.
func (w *Work) UsefulThreads(heads, rows, keys int) float64 {
	return 1 + parallel.WarmGain*float64(heads)*pairs(rows, max(1, keys))*float64(w.Columns)/float64(w.ThreadFMAs)
}

// Begin begins a call without buckets.
func (c *Cut) Begin() { *c = Cut{Buckets: c.Buckets[:0]} }

// Make cuts the buckets, whose exported fields but the last are set, for at most limit
// threads.
func (c *Cut) Make(w *Work, limit int) {
	total, vary := w.of(c.Buckets), false
	if c.Threads = limit; limit > 1 {
		work := total / float64(w.ThreadFMAs)
		c.Threads, c.MostThreads, vary = parallel.Threads(limit, 1+work, 1+parallel.WarmGain*work)
	}
	c.cut(w, total)
	if vary {
		c.reserve(w, total)
	}
	if len(c.Buckets) > 1 {
		slices.SortStableFunc(c.Buckets, inOrder)
	}
	c.number()
	c.Threads = min(c.Threads, c.Tasks)
	if !vary {
		c.MostThreads = c.Threads
	}
	if tiles := c.Split.Tiles; tiles > 0 {
		c.Ring.Threads, c.Ring.Tiles = max(c.Ring.Threads, c.Threads), max(c.Ring.Tiles, tiles)
	}
}

// of returns the number of FMAs of all buckets, or of those that take as
// long. A float64 holds the product of any sizes that fit memory.
func (w *Work) of(buckets []Bucket) float64 {
	all := 0.0
	for x := range buckets {
		all += float64(buckets[x].Heads) * w.ofHead(&buckets[x])
	}
	return all
}

// ofHead is of for one KV head.
func (w *Work) ofHead(b *Bucket) float64 { return b.pairs() * float64(w.Columns) }

// cut cuts each bucket into its share of all tasks, or more. total is the work of all.
func (c *Cut) cut(w *Work, total float64) {
	wanted := 1
	if c.Threads > 1 {
		wanted = tasksPerThread * c.Threads
	}
	share := w.sharedTiles()
	for x := range c.Buckets {
		b := &c.Buckets[x]
		head := w.ofHead(b) * float64(wanted)
		parts := head / total // that a KV head should have
		b.headsPerTask = 1
		b.tasksPerHead = max(ints.CeilDiv(b.Tiles, share), int(math.Ceil(min(parts, float64(b.Tiles)))))
		if b.tasksPerHead == 1 && !b.isLong() {
			b.headsPerTask = max(1, min(min(share, tilesPerTask)/b.Tiles, int(min(total/head, float64(b.Heads)))))
		}
		b.tasks = ints.CeilDiv(b.Heads, b.headsPerTask) * b.tasksPerHead
		if c.Threads > 1 && c.wantsSplit(b, parts) {
			w.split(b)
		}
		c.MaxTiles = max(c.MaxTiles, ints.CeilDiv(b.Tiles*b.headsPerTask, b.tasksPerHead))
	}
}

// reserve raises MaxTiles and Ring to what is needed if the same call is made on any
// number of threads up to MostThreads.
func (c *Cut) reserve(w *Work, total float64) {
	for x := range c.Buckets {
		b := &c.Buckets[x]
		c.MaxTiles = max(c.MaxTiles, min(w.sharedTiles(), b.Heads*b.Tiles))
		parts := w.ofHead(b) / total * float64(tasksPerThread*c.MostThreads)
		if w.canSplit(b) && (parts > float64(b.Tiles) || b.IsSkinny && 2*parts > float64(b.Tiles)) {
			c.Ring.Threads = c.MostThreads
			c.Ring.Tiles += b.Heads * b.Tiles
		}
	}
}

// sharedTiles returns the most tiles of a task.
func (w *Work) sharedTiles() int {
	most, floats := tilesPerTask, taskFloats
	if w.Converts {
		most, floats = convertingTiles, convertingFloats
	}
	return min(most, max(1, floats/(w.Width*w.Columns)))
}

// isLong tells whether reading keys and values takes the time of a bucket, of more than one block
// for each KV head. Tiles of one task take turns block by block. Then what is prefetched at the end
// of a block, and what the processor itself reads ahead, would have left L1 before it is used.
func (b *Bucket) isLong() bool { return b.IsSkinny && b.Keys > contract.KeyBlock }

// wantsSplit decides about split-KV. parts is the number of tasks that a KV head should
// have. Tiles are split if parts > tiles, unless one bucket's tiles divide evenly among
// the threads. Skinny tiles are split if 2·parts > tiles: splitting them costs little,
// and their calls are so short that it matters that other threads start some 50 µs late.
func (c *Cut) wantsSplit(b *Bucket, parts float64) bool {
	if b.IsSkinny {
		return 2*parts > float64(b.Tiles)
	}
	even := len(c.Buckets) == 1 && b.Heads*b.Tiles%c.Threads == 0
	return parts > float64(b.Tiles) && !even
}

// inOrder orders buckets. Buckets of split tiles come before all others, as Split wants them. The
// others end with the smallest tasks, which other threads may have to wait for.
func inOrder(a, b Bucket) int {
	if a.BlocksPerTile > 0 && b.BlocksPerTile > 0 {
		return cmp.Compare(a.BlocksPerTile, b.BlocksPerTile)
	}
	return cmp.Or(-cmp.Compare(min(a.BlocksPerTile, 1), min(b.BlocksPerTile, 1)), -cmp.Compare(a.taskWork(), b.taskWork()))
}

// number numbers the tasks of the buckets, which are in order.
func (c *Cut) number() {
	c.numberSplit()
	c.Tasks = c.Split.Tasks
	for x := range c.Buckets[c.Split.buckets:] {
		b := &c.Buckets[c.Split.buckets+x]
		b.task = c.Tasks
		c.Tasks += b.tasks
	}
}

// pairs is proportional to the work of a KV head.
func pairs(rows, keys int) float64 { return float64(max(rows, leastRows)) * float64(keys) }

func (b *Bucket) pairs() float64 { return pairs(b.Rows, b.Keys) }

// taskWork is proportional to the work of a task.
func (b *Bucket) taskWork() float64 {
	return b.pairs() * float64(b.headsPerTask) / float64(b.tasksPerHead)
}

// BucketOf returns the bucket that task i belongs to.
func (c *Cut) BucketOf(i int) *Bucket {
	if len(c.Buckets) == 1 {
		return &c.Buckets[0]
	}
	return &c.Buckets[sort.Search(len(c.Buckets), func(x int) bool { return c.Buckets[x].task > i })-1]
}

// TilesOf returns the tiles of task i of a bucket that is not split: the KV head of
// the first, its number there, and how many. Tasks of a KV head come in descending
// order, as under a causal mask the last rows see most.
func (b *Bucket) TilesOf(i int) (head, first, n int) {
	i -= b.task
	if b.tasksPerHead == 1 {
		i *= b.headsPerTask
		return b.First + i, 0, min(b.headsPerTask, b.Heads-i) * b.Tiles
	}
	h, g := i/b.tasksPerHead, b.tasksPerHead-1-i%b.tasksPerHead
	first = g * b.Tiles / b.tasksPerHead
	return b.First + h, first, (g+1)*b.Tiles/b.tasksPerHead - first
}
