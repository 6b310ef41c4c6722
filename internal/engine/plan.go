package engine

import (
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// A plan cuts a call into query tiles, and these into tasks, and chooses how they are
// computed. It decides about speed alone: it changes no bit.
type plan struct {
	tasks.Cut
	work  tasks.Work
	rows  int                  // most rows of a tile of this call
	lanes int                  // most lanes of one
	kern  *ukernel.TileKernels // of the tiles with the most rows
	shape shape

	how       *strategies
	allSkinny bool // all buckets take the one for few rows
	anySkinny bool // some do

	// tiles computes count tiles of a task, from number n of KV head first on, and softmax makes
	// the weights of one block.
	tiles     func(j *Job, s *scratch, b *tasks.Bucket, first, n, count int)
	softmax   func(t *tile)
	narrow    narrow // of skinny tiles
	pairing   pairing
	isProduct bool // scores are products with the keys as they lie in memory, and nothing else
}

// begin begins a plan of the call of j, which is derived: it says how much work that is.
// (A short call would feel a plan that is cleared or copied as a whole.)
func (p *plan) begin(j *Job) {
	p.how, p.allSkinny, p.anySkinny = j.strategies(), true, false
	p.work = tasks.Work{
		Width: j.tileWidth(), Columns: j.d() + j.dv(), Group: j.derived.group, ThreadFMAs: j.tier.ThreadFMAs, Converts: j.usesUnit(),
		CanSplit: j.splittable && j.derived.keyRange == mask.Everything,
	}
}

// make makes the plan that has begun, for at most limit threads.
func (p *plan) make(j *Job, limit int) {
	p.rows = min(p.work.Width, max(1, j.rows()))
	p.kern = j.tier.Tile(p.rows)
	p.lanes = p.kern.Lanes
	p.Begin()
	p.findBuckets(j, limit > 1)
	p.Make(&p.work, limit)
	p.shape = j.shapeOf(p.lanes, p.MaxTiles)
	if p.isProduct = j.isProduct(); p.work.Converts {
		p.pairing = j.pairing()
	}
	p.chooseTiles(j)
}

// windowPerQuery: a tile spans at most window/windowPerQuery queries under a sliding
// window.
const windowPerQuery = 8

// tileWidth returns the number of lanes of a full tile.
//
// A tile wider than MainLanes is used if one such tile holds all rows, so that keys
// and values are read once. A narrower one is used under a sliding window: a tile
// computes the scores of all keys that any of its rows sees, which are as many more
// than the window as it has queries.
func (j *Job) tileWidth() int {
	t := j.tier
	width, least := t.MainLanes, t.Narrowest()
	switch {
	case j.usesUnit():
		width, least = min(width, t.Width(unitLanes)), t.Width(ukernel.PanelStep)
	case j.Call.BFloat16:
		width = min(width, t.Width(bfloat16Lanes))
	}
	if one := t.Width(j.rows()); j.rows() <= one {
		width = max(width, one)
	}
	most := max(least, j.Call.Mask.Window()/windowPerQuery*j.derived.group)
	for i, lanes := range t.Widths {
		if lanes <= most && lanes < width && (i+1 == len(t.Widths) || t.Widths[i+1] > most) {
			width = lanes
		}
	}
	return width
}

// findBuckets lists the KV heads. With one thread, only different numbers of rows make
// different buckets.
func (p *plan) findBuckets(j *Job, balanced bool) {
	k := &j.Call.K
	if !j.Call.Q.IsRagged() && !(balanced && (k.IsRagged() || k.IsPaged() || j.Call.Mask.HasLengths())) {
		p.addBucket(j, 0, j.kvHeads(), j.rows(), j.visibleKeys(0))
		return
	}
	for b := range k.Dim(0) {
		first, heads := b*j.kvHeadsOf(j.Call.Q.Dim(2)), j.kvHeadsOf(j.Call.Q.Length(b))
		rows, keys := j.rowsOf(b), j.visibleKeys(b)
		if rows == 0 {
			continue
		}
		if n := len(p.Buckets); n > 0 {
			if y := &p.Buckets[n-1]; y.First+y.Heads == first && y.Rows == rows && (!balanced || y.Keys == keys) {
				y.Heads += heads
				continue
			}
		}
		p.addBucket(j, first, heads, rows, keys)
	}
}

func (p *plan) addBucket(j *Job, first, heads, rows, keys int) {
	isSkinny := j.isSkinny(rows)
	p.allSkinny = p.allSkinny && isSkinny
	p.anySkinny = p.anySkinny || isSkinny
	p.Buckets = append(p.Buckets, tasks.Bucket{First: first, Heads: heads, Rows: rows, Keys: keys, Tiles: ints.CeilDiv(rows, p.work.Width), IsSkinny: isSkinny})
}

// visibleKeys returns the most keys that a row of batch row b sees. It ignores masks
// that depend on the row, except for sliding windows.
func (j *Job) visibleKeys(b int) int {
	return max(1, min(j.Call.Mask.Length(b, j.keysOf(b)), j.Call.Mask.Window(), j.derived.keyRange.Len()))
}

// chooseTiles sets what computes the tiles of a task.
func (p *plan) chooseTiles(j *Job) {
	switch {
	case !j.isPlain():
		if p.tiles = (*Job).wholeTiles; p.anySkinny {
			p.narrow = j.narrowFor()
		}
		if p.softmax = (*tile).softmax; j.Call.Weights.IsSet() {
			p.softmax = (*tile).softmaxForWeights
		}
	case j.isMixed() && j.widened.rounds == j.widened.inPairs:
		p.tiles = (*Job).mixedTiles
	default:
		p.tiles = (*Job).plainTiles
	}
}
