package engine

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// task computes task i: its tiles, key block by key block, so that all tiles use a
// block while it is in cache.
func (j *Job) task(s *scratch, i int) {
	if i < j.plan.split.tasks {
		j.doSplitTask(s, i)
		return
	}
	b := j.plan.bucketOf(i)
	first, n, count := b.tilesOf(i)
	if j.plan.plain {
		j.plainTask(s, b, first, n, count)
		return
	}
	tiles := s.tiles[:count]
	visible := mask.Nothing
	h, skinny := j.kvHead(first), j.isSkinny(b.rows)
	for x := range tiles {
		t := &tiles[x]
		t.begin(s, h, n*j.plan.width, j.plan.width, skinny)
		t.whole = true
		visible = visible.Union(t.visible)
		if n++; n == b.tiles {
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
		n := s.scoreBatch(tiles, lo)
		for x := range tiles[:n] {
			if t := &tiles[x]; t.job.Call.Weights.IsSet() {
				t.softmaxForWeights()
			} else {
				t.softmax()
			}
		}
		for x := range tiles[:n] {
			tiles[x].accumulatePV()
		}
		tiles = tiles[n:]
	}
}

// scoreBatch computes the scores of the first tile, and of those after it whose
// scores fit into a batch, and returns the number of these tiles.
func (s *scratch) scoreBatch(tiles []tile, lo int) int {
	used := 0
	for x := range tiles {
		t := &tiles[x]
		n := t.enterBlock(lo) * t.kern.Lanes
		if x > 0 && used+n > min(batchFloats, len(s.scores)) {
			tiles = tiles[:x]
			break
		}
		t.block.scores = s.scores[used : used+n]
		used += n
		if n > 0 {
			t.prepare()
		}
	}
	for x := range tiles {
		if t := &tiles[x]; t.block.keys.Len() > 0 {
			t.score()
		}
	}
	return len(tiles)
}

// enterBlock makes the block from key lo on the current block and returns how many
// of its keys are visible.
func (t *tile) enterBlock(lo int) int {
	t.block.lo, t.block.keys = lo, t.visibleOf(lo, BlockKeys)
	return t.block.keys.Len()
}

// visibleOf returns those of the keys lo to lo+n-1 that any row may see.
func (t *tile) visibleOf(lo, n int) mask.Span {
	keys := t.visible.And(mask.Span{Lo: lo, Hi: ints.AddSat(lo, n)})
	if t.job.Call.Mask.Sparse().IsSet() {
		keys = t.trimSparse(keys)
	}
	return keys
}

// accumulatePV multiplies V of the current block by its weights and merges the
// product into the tile's output.
func (t *tile) accumulatePV() {
	switch {
	case t.block.keys.Len() == 0:
		return
	case t.job.Call.Quantized:
		t.quantizedPV(nil)
	case t.skinny:
		t.skinnyPV()
	default:
		t.tilePV()
	}
	t.started = true
}

func (t *tile) tilePV() {
	lanes, dv, n := t.kern.Lanes, t.job.dv(), t.block.keys.Len()
	v, cs, _ := t.scratch.values.get(t.job.tier, &t.job.Call.V, t.head, t.block.keys.Lo-t.phase, n)
	for e := 0; e < dv; {
		m := min(ukernel.RowsPerCall(dv-e, lanes*n), ukernel.ColumnsPerCall(dv-e, lanes))
		o := t.o[e*lanes:]
		if t.started {
			t.kern.GemmMerge(o, lanes, v[e:], 1, cs, t.block.scores, lanes, m, n, t.alpha, t.beta)
		} else {
			t.kern.Gemm(o, lanes, v[e:], 1, cs, t.block.scores, lanes, m, n, n, false)
		}
		e += m
	}
}
