package engine

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
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
			n := len(s.scores) + len(s.partial) + len(s.rows) + len(s.keys.memory) + len(s.values.memory)
			for i := range s.tiles {
				n += len(s.tiles[i].q) + len(s.tiles[i].o) + len(s.tiles[i].stats)
			}
			return n
		}
		if a, b := size(2000), size(20000); a != b {
			t.Errorf("%d floats of scratch memory for length 2000, %d for 20000", a, b)
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
				if j.plan.buckets[0].blocksPerTile == 0 || j.plan.threads != threads {
					t.Fatalf("%d keys: %d blocks for each tile, %d threads, want a split for %d", keys, j.plan.buckets[0].blocksPerTile, j.plan.threads, threads)
				}
				if n := len(j.ring.slots); n != slotsPerThread*threads {
					t.Errorf("%d keys: %d slots for %d threads", keys, n, threads)
				}
			}
		}
	})
}

// TestTilesAreAsWideAsRows: a call with few rows has tiles for these rows alone, not for
// those of the widest tile.
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

// TestWideRowsAreKept: rows that have been widened are not widened again, and only rows
// that are asked for are read.
func TestWideRowsAreKept(t *testing.T) {
	const d = 3
	bits := make([]uint16, 2*300*d)
	x := view.Other(view.BFloat16, bits, [4]int{1, 2, 300, d}, [3]int{0, 300 * d, d})
	for i := range bits {
		bits[i] = uint16(math.Float32bits(float32(i/d%128)) >> 16) // exact up to 256
	}
	span := func(lo, hi int) mask.Span { return mask.Span{Lo: lo, Hi: hi} }
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		var f floatRows
		f.fit(new(parallel.Memory), &x, false)
		for _, step := range []struct {
			h, lo, n int
			have     mask.Span
		}{
			{0, 0, 4, span(0, 4)}, {0, 4, 2, span(0, 6)}, {0, 2, 3, span(0, 6)}, {0, 5, 3, span(0, 8)},
			{0, 10, 2, span(10, 12)}, {0, 9, 1, span(9, 10)}, {0, 10, 255, span(9, 265)}, {0, 265, 35, span(265, 300)},
			{1, 265, 35, span(265, 300)}, {1, 299, 1, span(265, 300)}, {1, 0, 256, span(0, 256)},
		} {
			rows, stride, n := f.get(tier, &x, kvHead{0, step.h}, step.lo, step.n)
			if f.cached != step.have || stride != d || n != step.n || len(rows) != n*d {
				t.Fatalf("%+v: have %v, %d elements at a distance of %d", step, f.cached, len(rows), stride)
			}
			for i, got := range rows {
				if want := float32((step.h*300 + step.lo + i/d) % 128); got != want {
					t.Fatalf("%+v: element %d is %v, want %v", step, i, got, want)
				}
			}
		}
	})
}

// TestPrefetchHints: what is prefetched are rows to come, in pages that may lie anywhere.
func TestPrefetchHints(t *testing.T) {
	const d = 128
	for _, test := range []struct{ size, lo, n, near, more, run int }{
		{16, 0, 200, 16, 32, 16},
		{16, 176, 24, 192, 192, 16}, // the last but one page: nothing after the next
		{16, 192, 8, 192, 192, 8},   // nothing to wait for
		{64, 0, 200, 16, 32, 32},    // then row 32 further on is one of another page
		{64, 32, 168, 48, 64, 16},
		{64, 48, 152, 64, 80, 16},
		{64, 64, 20, 80, 96, 20},
		{24, 0, 200, 16, 32, 16}, // 8 rows are too few for a call
		{256, 0, 200, 16, 32, 200},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			table := view.PageTable{Lengths: []int{200}, Pages: [][]int32{make([]int32, ints.CeilDiv(200, test.size))}}
			for i := range table.Pages[0] {
				table.Pages[0][i] = int32(len(table.Pages[0]) - 1 - i)
			}
			memory := make([]float32, 256*2*d)
			x := view.Floats(memory, [4]int{256 / test.size, 2, test.size, d}, [3]int{test.size * 2 * d, d, 2 * d}).Paged(&table)
			tier := &tier.Tier{Tuning: tier.Tuning{PrefetchBytes: 16 * d * 4, FarPrefetch: 1}}
			near, more := x.Index(0, 1, test.near), x.Index(0, 1, test.more)
			_, run, next, far := withHints(tier, &x, kvHead{0, 1}, test.lo, test.n, memory)
			if got := len(memory) - len(next); got != near || far != more-near || run != test.run {
				t.Errorf("next at %d, far %d, %d rows; want %d, %d", got, far, run, near, more-near)
			}
			tier.FarPrefetch = 0
			_, alone, next, far := withHints(tier, &x, kvHead{0, 1}, test.lo, test.n, memory)
			if got := len(memory) - len(next); got != near || far != 0 || alone < test.run {
				t.Errorf("without far prefetches: next at %d, far %d, %d rows; want %d, 0, %d or more", got, far, alone, near, test.run)
			}
		})
	}
}
