package tasks

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// TestSplitTasksAreNumbered: every block of every split tile is one task, and the blocks
// of a tile come in order.
func TestSplitTasksAreNumbered(t *testing.T) {
	var r testutil.Rand
	for n := range 300 {
		var p Cut
		for range 1 + n%5 {
			b := Bucket{Heads: 1 + r.IntN(4), Tiles: 1 + r.IntN(3), BlocksPerTile: r.IntN(6), tasks: 1}
			p.Buckets = append(p.Buckets, b)
		}
		slices.SortStableFunc(p.Buckets, inOrder)
		p.number()
		next := make([]int, p.Split.Tiles) // block of each tile
		for i := range p.Split.Tasks {
			tile, block := p.PartOf(i)
			if block != next[tile] {
				t.Fatalf("%+v: task %d is block %d of tile %d, want block %d", p.Buckets, i, block, tile, next[tile])
			}
			next[tile]++
			if got := p.TaskOf(tile, block); got != i {
				t.Fatalf("%+v: block %d of tile %d is task %d, want %d", p.Buckets, block, tile, got, i)
			}
		}
		tile := 0
		for x := range p.Buckets {
			b := &p.Buckets[x]
			for range b.Heads * b.Tiles {
				if b.BlocksPerTile == 0 {
					break
				}
				if got, _ := p.SplitBucket(tile); got != b {
					t.Fatalf("%+v: tile %d is in bucket %+v, want %+v", p.Buckets, tile, got, b)
				}
				if next[tile] != b.BlocksPerTile {
					t.Fatalf("%+v: %d tasks of tile %d, want %d", p.Buckets, next[tile], tile, b.BlocksPerTile)
				}
				tile++
			}
		}
		if tile != p.Split.Tiles {
			t.Fatalf("%+v: %d split tiles, want %d", p.Buckets, p.Split.Tiles, tile)
		}
	}
}

// TestLongHeads: KV heads share a task if they are short or have many rows.
func TestLongHeads(t *testing.T) {
	for _, c := range []struct {
		keys   int
		skinny bool
		tasks  int
	}{{256, true, 1}, {257, true, 8}, {257, false, 1}} {
		p := Cut{Buckets: []Bucket{{Heads: 8, Rows: 4, Keys: c.keys, Tiles: 1, IsSkinny: c.skinny}}}
		p.Make(&Work{Width: 16, Columns: 256, Group: 4, ThreadFMAs: 1 << 30}, 1)
		if p.Tasks != c.tasks {
			t.Errorf("%d keys, skinny %t: %d tasks, want %d", c.keys, c.skinny, p.Tasks, c.tasks)
		}
	}
}
