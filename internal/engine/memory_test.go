package engine

import (
	"testing"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// floats returns a contiguous [B, H, L, D] of zeros.
func floats(b, h, l, d int) view.Tensor {
	shape := [4]int{b, h, l, d}
	return view.Floats(make([]float32, b*h*l*d), shape, view.Contiguous(shape))
}

// newPlanned returns a job on a tier that is planned for so many threads.
func newPlanned(t *tier.Tier, c Call, threads int) *Job {
	j := newJob()
	j.Call, j.tier, j.splittable = c, t, true
	j.derive()
	j.plan.begin(j)
	j.plan.make(j, threads)
	j.ring.prepare(j)
	return j
}

// eachTier calls test for every tier that this CPU can run.
func eachTier(t *testing.T, test func(t *testing.T, tier *tier.Tier)) {
	for i := range tier.Tiers {
		if tier := &tier.Tiers[i]; tier.Lacks() == "" {
			t.Run("tier="+tier.Name, func(t *testing.T) { test(t, tier) })
		}
	}
}

// TestScratchDoesNotGrow: the scratch memory of a worker does not depend on the numbers of
// queries and keys.
func TestScratchDoesNotGrow(t *testing.T) {
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		size := func(l int) int {
			j := newPlanned(tier, Call{Out: floats(1, 1, l, 8), Q: floats(1, 1, l, 8), K: floats(1, 1, l, 8), V: floats(1, 1, l, 8)}, 1)
			var s scratch
			s.fit(j)
			n := len(s.scores) + len(s.partial) + len(s.rows) + s.keys.Len() + s.values.Len()
			for i := range s.tiles {
				n += len(s.tiles[i].q) + len(s.tiles[i].o) + len(s.tiles[i].block.stats)
			}
			return n
		}
		const whole = 3072 // tasks of eight tiles, whatever the width
		if a, b := size(whole), size(10*whole); a != b {
			t.Errorf("%d floats of scratch memory for length %d, %d for 10 times that", a, whole, b)
		}
	})
}

// TestMemoryOfWholeHalves: only calls whose kernels take rows of bfloat16 up to whole groups of
// columns have memory for copies of such rows.
func TestMemoryOfWholeHalves(t *testing.T) {
	halves := func(l, d int) view.Tensor {
		shape := [4]int{1, 1, l, d}
		return view.Other(view.BFloat16, make([]uint16, l*d), shape, view.Contiguous(shape))
	}
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		has := tier.Skinny().QKEvenOdd != nil && tier.Skinny().PVEvenOdd != nil
		for _, test := range []struct {
			queries, d int
			want       bool
		}{{1, 24, has}, {1000, 24, false}, {1, maxContinued + 1, false}} {
			c := Call{Out: floats(1, 1, test.queries, test.d), Q: floats(1, 1, test.queries, test.d), K: halves(100, test.d), V: halves(100, test.d)}
			c.BFloat16 = true
			if got := newPlanned(tier, c, 1).plan.shape.wholeHalves; got != test.want {
				t.Errorf("%+v: %v", test, got)
			}
		}
	})
}

// TestRingDoesNotGrow: the ring buffer of a call with split tiles has some slots for each
// thread, however many keys there are.
func TestRingDoesNotGrow(t *testing.T) {
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		eager := *tier
		eager.ThreadFMAs = 1
		for _, keys := range []int{20 * BlockKeys, 200 * BlockKeys} {
			for _, threads := range []int{2, 7} {
				j := newPlanned(&eager, Call{Out: floats(1, 4, 1, 12), Q: floats(1, 4, 1, 16), K: floats(1, 1, keys, 16), V: floats(1, 1, keys, 12)}, threads)
				if j.plan.Buckets[0].BlocksPerTile == 0 || j.plan.Threads != threads {
					t.Fatalf("%d keys: %d blocks for each tile, %d threads, want a split for %d", keys, j.plan.Buckets[0].BlocksPerTile, j.plan.Threads, threads)
				}
				if n := len(j.ring.slots); n != slotsPerThread*threads {
					t.Errorf("%d keys: %d slots for %d threads", keys, n, threads)
				}
			}
		}
	})
}

// TestRingHasRoomForLess: a ring for some threads and split tiles has room for calls with fewer.
func TestRingHasRoomForLess(t *testing.T) {
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		c := Call{Out: floats(1, 1, 1, 12), Q: floats(1, 1, 1, 16), K: floats(1, 1, BlockKeys, 16), V: floats(1, 1, BlockKeys, 12)}
		for _, most := range [][2]int{{2, 1}, {2, 9}, {3, 12}, {5, 40}} {
			j := newPlanned(tier, c, 1)
			j.plan.Ring.Threads, j.plan.Ring.Tiles = most[0], most[1]
			for threads := 1; threads <= most[0]; threads++ {
				for tiles := 1; tiles <= most[1]; tiles++ {
					j.plan.Threads, j.plan.Split.Tiles = threads, tiles
					j.ring.prepare(j)
					for i := range j.ring.slots {
						if j.ring.slots[i].tile[0].q == nil {
							t.Fatalf("%d threads of %d, %d tiles of %d: slot %d has no memory", threads, most[0], tiles, most[1], i)
						}
					}
				}
			}
		}
	})
}

// TestTilesAreAsWideAsRows: a call with few rows has tiles for these rows alone, not for the rows
// of the widest tile.
func TestTilesAreAsWideAsRows(t *testing.T) {
	const d, dv = 16, 12
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		eager := *tier
		eager.ThreadFMAs = 1
		j := newPlanned(&eager, Call{Out: floats(1, 1, 1, dv), Q: floats(1, 1, 1, d), K: floats(1, 1, 20*BlockKeys, d), V: floats(1, 1, 20*BlockKeys, dv)}, 3)
		lanes := tier.Tile(1).Lanes
		for i := range j.ring.slots {
			if s := &j.ring.slots[i].tile[0]; len(s.q) != lanes*d || len(s.o) != lanes*dv {
				t.Fatalf("slot %d has %d and %d floats for one row, want %d and %d", i, len(s.q), len(s.o), lanes*d, lanes*dv)
			}
		}
		var s scratch
		if s.fit(j); len(s.tiles[0].q) != lanes*d || len(s.partial) != lanes*dv {
			t.Errorf("a thread has %d and %d floats for one row, want %d and %d", len(s.tiles[0].q), len(s.partial), lanes*d, lanes*dv)
		}
	})
}
