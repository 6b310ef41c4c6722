package engine

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/ukernel"
)

// A plan cuts a call into query tiles, and these into tasks of about the same work.
// It decides about speed alone: no cut changes a bit.
type plan struct {
	width     int      // lanes of a full tile; the last one of a KV head may be narrower
	rows      int      // most rows of a tile of this call
	lanes     int      // most lanes of one
	buckets   []bucket // ordered by their tasks
	how       strategies
	allSkinny bool // their strategies are those of few rows
	maxTiles  int  // most tiles of a task
	tasks     int
	threads   int
	shape     shape

	isProduct bool   // scores are products with the keys as they lie in memory, and nothing else
	narrow    narrow // of skinny tiles

	softmax func(t *tile) // of a block

	// tiles computes count tiles of a task, from number n of KV head first on.
	tiles func(j *Job, s *scratch, b *bucket, first, n, count int)

	kern *ukernel.TileKernels // of the tiles with the most rows

	// mostThreads is the most threads that the same call may get another time.
	mostThreads int
	split       splitPlan
	ring        struct{ threads, tiles int } // that the ring has memory for, in this call and later ones
}

// A bucket is a range of KV heads with equal numbers of rows and of keys. One of its
// tasks is either
//
//   - some tiles of one KV head, which share each key block, or
//   - all tiles of several KV heads, if these are small: then the processor finds
//     independent work while it waits for the chains of one, or
//   - one key block of one tile, if not even tiles are small enough; see split.go.
type bucket struct {
	first, heads int // KV heads
	rows, keys   int // of a KV head
	tiles        int // of a KV head
	tasksPerHead int // 1 if several KV heads share a task
	headsPerTask int // 1 if several tasks share a KV head
	task, tasks  int // number of the first task, and how many

	strategy *strategy
	isSkinny bool // it is one for few rows

	// If the tiles are split, tasks are those of some rounds, with the tiles of later buckets.
	blocksPerTile int // otherwise 0
	firstTile     int // number of the first tile among all split tiles
	round         int // block that the first of the tasks computes
}

const (
	// tilesPerTask tiles share a key block, so that K and V come from L2 for all but
	// the first.
	tilesPerTask = 8

	// taskFloats bounds the Q̂ᵀ and Oᵀ of a task's tiles (512 KiB), so that they stay
	// in L2 beside a block of K, V and S.
	taskFloats = 128 << 10

	// tasksPerThread is how many tasks a thread should find at least, so that no
	// thread waits long for the last ones.
	tasksPerThread = 4

	// A KV head with fewer than leastRows rows counts as one with leastRows: reading K and
	// V takes the same time.
	leastRows = 8

	// A tile spans at most window/windowPerQuery queries under a sliding window.
	windowPerQuery = 8
)

// make plans the call of j, which is derived, for at most limit threads. (It returns no plan, as a
// copy takes 3% of a short call.)
func (p *plan) make(j *Job, limit int) {
	*p = plan{width: j.tileWidth(), threads: limit, buckets: p.buckets[:0], how: j.strategies(), allSkinny: true}
	p.rows = min(p.width, max(1, j.rows()))
	p.kern = j.tier.Tile(p.rows)
	p.lanes = p.kern.Lanes
	p.findBuckets(j, limit > 1)
	total := j.totalWork(p.buckets)
	vary := false
	if limit > 1 {
		work := total / float64(j.tier.ThreadFMAs)
		p.threads, p.mostThreads, vary = parallel.Threads(limit, 1+work, 1+parallel.WarmGain*work)
	}
	p.cut(j, total)
	if vary {
		p.reserve(j, total)
	}
	if len(p.buckets) > 1 {
		slices.SortStableFunc(p.buckets, inOrderOfTasks)
	}
	p.numberTasks()
	p.threads = min(p.threads, p.tasks)
	if !vary {
		p.mostThreads = p.threads
	}
	if tiles := p.split.tiles; tiles > 0 {
		p.ring.threads, p.ring.tiles = max(p.ring.threads, p.threads), max(p.ring.tiles, tiles)
	}
	p.shape = j.shapeOf(p.lanes, p.maxTiles)
	p.isProduct = j.isProduct()
	p.chooseTiles(j)
}

// chooseTiles sets what computes the tiles of a task.
func (p *plan) chooseTiles(j *Job) {
	switch {
	case !j.isPlain():
		p.tiles, p.narrow = (*Job).wholeTiles, j.narrowFor()
		if p.softmax = (*tile).softmax; j.Call.Weights.IsSet() {
			p.softmax = (*tile).softmaxForWeights
		}
	case j.isMixed():
		p.tiles = (*Job).mixedTiles
	default:
		p.tiles = (*Job).plainTiles
	}
}

// usefulThreads returns how many threads the call is worth at most, before its plan is made.
func (j *Job) usefulThreads() float64 {
	all := bucket{heads: j.kvHeads(), rows: j.rows(), keys: max(1, j.keys())}
	return 1 + parallel.WarmGain*float64(all.heads)*j.headWork(&all)/float64(j.tier.ThreadFMAs)
}

// findBuckets lists the KV heads. With one thread, only different numbers of rows make different
// buckets.
func (p *plan) findBuckets(j *Job, balanced bool) {
	k := &j.Call.K
	if !j.Call.Q.IsRagged() && !(balanced && (k.IsRagged() || k.IsPaged() || j.Call.Mask.HasLengths())) {
		p.addBucket(j, 0, j.kvHeads(), j.rows(), j.visibleKeys(0))
		return
	}
	heads, last := k.Dim(1), -1
	for b := range k.Dim(0) {
		rows, keys := j.rowsOf(b), j.visibleKeys(b)
		if rows == 0 {
			continue
		}
		if y := p.buckets; last == b-1 && len(y) > 0 && y[len(y)-1].rows == rows && (!balanced || y[len(y)-1].keys == keys) {
			y[len(y)-1].heads += heads
		} else {
			p.addBucket(j, b*heads, heads, rows, keys)
		}
		last = b
	}
}

func (p *plan) addBucket(j *Job, first, heads, rows, keys int) {
	b := bucket{first: first, heads: heads, rows: rows, keys: keys, tiles: ints.CeilDiv(rows, p.width)}
	if b.isSkinny = j.isSkinny(rows); b.isSkinny {
		b.strategy = p.how.few
	} else {
		b.strategy, p.allSkinny = p.how.many, false
	}
	p.buckets = append(p.buckets, b)
}

// visibleKeys returns the most keys that a row of batch row b sees. It ignores masks
// that depend on the row, except for sliding windows.
func (j *Job) visibleKeys(b int) int {
	return max(1, min(j.Call.Mask.Length(b, j.Call.K.Length(b)), j.Call.Mask.Window(), j.derived.keyRange.Len()))
}

// totalWork returns the number of FMAs of all buckets, or of those that take as
// long. A float64 holds the product of any sizes that fit memory.
func (j *Job) totalWork(buckets []bucket) float64 {
	all := 0.0
	for x := range buckets {
		all += float64(buckets[x].heads) * j.headWork(&buckets[x])
	}
	return all
}

// headWork is totalWork for one KV head.
func (j *Job) headWork(b *bucket) float64 { return b.pairs() * float64(j.d()+j.dv()) }

// cut cuts each bucket into its share of all tasks, or more. total is the work of all.
func (p *plan) cut(j *Job, total float64) {
	wanted := 1
	if p.threads > 1 {
		wanted = tasksPerThread * p.threads
	}
	share := p.sharedTiles(j)
	for x := range p.buckets {
		b := &p.buckets[x]
		head := j.headWork(b) * float64(wanted)
		parts := head / total // that a KV head should have
		b.headsPerTask = 1
		b.tasksPerHead = max(ints.CeilDiv(b.tiles, share), int(math.Ceil(min(parts, float64(b.tiles)))))
		if b.tasksPerHead == 1 {
			b.headsPerTask = max(1, min(share/b.tiles, int(min(total/head, float64(b.heads)))))
		}
		b.tasks = ints.CeilDiv(b.heads, b.headsPerTask) * b.tasksPerHead
		if p.threads > 1 && p.wantsSplit(b, parts) {
			j.splitTiles(b, p.width)
		}
		p.maxTiles = max(p.maxTiles, ints.CeilDiv(b.tiles*b.headsPerTask, b.tasksPerHead))
	}
}

// reserve raises maxTiles and ring to what is needed if the same call is made on any number of
// threads up to mostThreads.
func (p *plan) reserve(j *Job, total float64) {
	for x := range p.buckets {
		b := &p.buckets[x]
		p.maxTiles = max(p.maxTiles, min(p.sharedTiles(j), b.heads*b.tiles))
		parts := j.headWork(b) / total * float64(tasksPerThread*p.mostThreads)
		if j.canSplit(b) && (parts > float64(b.tiles) || b.isSkinny && 2*parts > float64(b.tiles)) {
			p.ring.threads = p.mostThreads
			p.ring.tiles += b.heads * b.tiles
		}
	}
}

// sharedTiles returns the most tiles of a task.
func (p *plan) sharedTiles(j *Job) int {
	return min(tilesPerTask, max(1, taskFloats/(p.width*(j.d()+j.dv()))))
}

// wantsSplit decides about split-KV. parts is the number of tasks that a KV head should have.
// Tiles are split if parts > tiles, unless one bucket's tiles divide evenly among the
// threads. Skinny tiles are split if 2·parts > tiles: splitting them costs little, and
// their calls are so short that it matters that other threads start some 50 µs late.
func (p *plan) wantsSplit(b *bucket, parts float64) bool {
	if b.isSkinny {
		return 2*parts > float64(b.tiles)
	}
	even := len(p.buckets) == 1 && b.heads*b.tiles%p.threads == 0
	return parts > float64(b.tiles) && !even
}

// inOrderOfTasks orders buckets. Those of split tiles come before all others, as splitPlan
// wants them. The others end with the smallest tasks, which other threads may have to wait for.
func inOrderOfTasks(a, b bucket) int {
	if a.blocksPerTile > 0 && b.blocksPerTile > 0 {
		return cmp.Compare(a.blocksPerTile, b.blocksPerTile)
	}
	return cmp.Or(-cmp.Compare(min(a.blocksPerTile, 1), min(b.blocksPerTile, 1)), -cmp.Compare(a.taskWork(), b.taskWork()))
}

// numberTasks numbers the tasks of the buckets, which are in order.
func (p *plan) numberTasks() {
	p.numberSplitTasks()
	p.tasks = p.split.tasks
	for x := range p.buckets[p.split.buckets:] {
		b := &p.buckets[p.split.buckets+x]
		b.task = p.tasks
		p.tasks += b.tasks
	}
}

// pairs is proportional to the work of a KV head: rows times keys.
func (b *bucket) pairs() float64 { return float64(max(b.rows, leastRows)) * float64(b.keys) }

// taskWork is proportional to the work of a task.
func (b *bucket) taskWork() float64 {
	return b.pairs() * float64(b.headsPerTask) / float64(b.tasksPerHead)
}

// tileWidth returns the number of lanes of a full tile.
//
// A tile wider than MainLanes is used if one such tile holds all rows, so that keys
// and values are read once. A narrower one is used under a sliding window: a tile
// computes the scores of all keys that any of its rows sees, which are as many more
// than the window as it has queries.
func (j *Job) tileWidth() int {
	t := j.tier
	width := t.MainLanes
	if one := t.Width(j.rows()); j.rows() <= one {
		width = max(width, one)
	}
	most := max(t.Narrowest(), j.Call.Mask.Window()/windowPerQuery*j.derived.group)
	for i, lanes := range t.Widths {
		if lanes <= most && lanes < width && (i+1 == len(t.Widths) || t.Widths[i+1] > most) {
			width = lanes
		}
	}
	return width
}

// bucketOf returns the bucket that task i belongs to.
func (p *plan) bucketOf(i int) *bucket {
	if len(p.buckets) == 1 {
		return &p.buckets[0]
	}
	return &p.buckets[sort.Search(len(p.buckets), func(x int) bool { return p.buckets[x].task > i })-1]
}

// tilesOf returns the tiles of task i of a bucket that is not split: the KV head of
// the first, its number there, and how many. Tasks of a KV head come in descending
// order, as under a causal mask the last rows see most.
func (b *bucket) tilesOf(i int) (head, first, n int) {
	i -= b.task
	if b.tasksPerHead == 1 {
		i *= b.headsPerTask
		return b.first + i, 0, min(b.headsPerTask, b.heads-i) * b.tiles
	}
	h, g := i/b.tasksPerHead, b.tasksPerHead-1-i%b.tasksPerHead
	first = g * b.tiles / b.tasksPerHead
	return b.first + h, first, (g+1)*b.tiles/b.tasksPerHead - first
}
