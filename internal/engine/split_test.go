package engine

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// TestSplitTasksAreNumbered: every block of every split tile is one task, and the blocks of a
// tile come in order.
func TestSplitTasksAreNumbered(t *testing.T) {
	var r testutil.Rand
	for n := range 300 {
		var p plan
		for range 1 + n%5 {
			b := bucket{heads: 1 + r.IntN(4), tiles: 1 + r.IntN(3), blocksPerTile: r.IntN(6), tasks: 1}
			p.buckets = append(p.buckets, b)
		}
		slices.SortStableFunc(p.buckets, inOrderOfTasks)
		p.numberTasks()
		next := make([]int, p.split.tiles) // block of each tile
		for i := range p.split.tasks {
			tile, block := p.splitPart(i)
			if block != next[tile] {
				t.Fatalf("%+v: task %d is block %d of tile %d, want block %d", p.buckets, i, block, tile, next[tile])
			}
			next[tile]++
			if got := p.splitTask(tile, block); got != i {
				t.Fatalf("%+v: block %d of tile %d is task %d, want %d", p.buckets, block, tile, got, i)
			}
		}
		tile := 0
		for x := range p.buckets {
			b := &p.buckets[x]
			for range b.heads * b.tiles {
				if b.blocksPerTile == 0 {
					break
				}
				if got := p.splitBucket(tile); got != b {
					t.Fatalf("%+v: tile %d is in bucket %+v, want %+v", p.buckets, tile, got, b)
				}
				if next[tile] != b.blocksPerTile {
					t.Fatalf("%+v: %d tasks of tile %d, want %d", p.buckets, next[tile], tile, b.blocksPerTile)
				}
				tile++
			}
		}
		if tile != p.split.tiles {
			t.Fatalf("%+v: %d split tiles, want %d", p.buckets, p.split.tiles, tile)
		}
	}
}
