package kvrows

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

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
	for i := range tier.Tiers {
		tier := &tier.Tiers[i]
		if tier.Lacks() != "" {
			continue
		}
		t.Run("tier="+tier.Name, func(t *testing.T) {
			var r Reader
			r.Fit(new(parallel.Memory), &x, Need{})
			r.Begin(tier, &x, nil)
			for _, step := range []struct {
				h, lo, n int
				have     mask.Span
			}{
				{0, 0, 4, span(0, 4)}, {0, 4, 2, span(0, 6)}, {0, 2, 3, span(0, 6)}, {0, 5, 3, span(0, 8)},
				{0, 10, 2, span(10, 12)}, {0, 9, 1, span(9, 10)}, {0, 10, 255, span(9, 265)}, {0, 265, 35, span(265, 300)},
				{1, 265, 35, span(265, 300)}, {1, 299, 1, span(265, 300)}, {1, 0, 256, span(0, 256)},
			} {
				rows, stride, n := r.Floats(lanes.Head{Head: step.h}, step.lo, step.n)
				if r.cached.Span != step.have || stride != d || n != step.n || len(rows) != n*d {
					t.Fatalf("%+v: have %v, %d elements at a distance of %d", step, r.cached, len(rows), stride)
				}
				for i, got := range rows {
					if want := float32((step.h*300 + step.lo + i/d) % 128); got != want {
						t.Fatalf("%+v: element %d is %v, want %v", step, i, got, want)
					}
				}
			}
		})
	}
}

// TestPrefetchHints: what is prefetched are rows to come, in pages that may lie anywhere.
func TestPrefetchHints(t *testing.T) {
	const d = 128
	for _, test := range []struct{ size, lo, n, near, more, run int }{
		{16, 0, 200, 16, 32, 16},
		{16, 176, 24, 192, 192, 16}, // the last but one page: nothing after the next
		{16, 192, 8, 192, 192, 8},   // nothing to wait for
		{64, 0, 200, 16, 32, 32},    // then row 32 further on is in another page
		{64, 32, 168, 48, 64, 16},
		{64, 48, 152, 64, 80, 16},
		{64, 64, 20, 80, 96, 20},
		{24, 0, 200, 16, 32, 24}, // 8 rows are too few for a call of their own
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
			_, run, next, far := withHints(tier, &x, lanes.Head{Head: 1}, test.lo, test.n, memory)
			if got := len(memory) - len(next); got != near || far != more-near || run != test.run {
				t.Errorf("next at %d, far %d, %d rows; want %d, %d", got, far, run, near, more-near)
			}
			tier.FarPrefetch = 0
			_, alone, next, far := withHints(tier, &x, lanes.Head{Head: 1}, test.lo, test.n, memory)
			if got := len(memory) - len(next); got != near || far != 0 || alone < test.run {
				t.Errorf("without far prefetches: next at %d, far %d, %d rows; want %d, 0, %d or more", got, far, alone, near, test.run)
			}
		})
	}
}

// TestHintsAtTheEnd: prefetches begin in the memory of the tensor, and rows by offsets stay there.
func TestHintsAtTheEnd(t *testing.T) {
	const d, keys = 64, 100
	shape := [4]int{1, 1, keys, d}
	x := view.FromBytes(ukernel.Float8E4M3, make([]byte, keys*d), shape, view.Contiguous(shape))
	for _, further := range []int{-1, 0, 1} {
		r := Reader{tier: &tier.Tier{Tuning: tier.Tuning{PrefetchBytes: 32 * d, FarPrefetch: further}}, x: &x}
		for _, span := range []mask.Span{{Lo: 0, Hi: 100}, {Lo: 0, Hi: 32}, {Lo: 20, Hi: 100}, {Lo: 50, Hi: 80}, {Lo: 80, Hi: 100}, {Lo: 92, Hi: 100}} {
			lo, n := span.Lo, span.Len()
			_, _, next, far := withHints(r.tier, &x, lanes.Head{}, lo, n, x.Bytes())
			if at := keys*d - len(next); at < lo*d || at+far < lo*d || at+far >= keys*d {
				t.Errorf("%v, FarPrefetch %d: prefetches at %d and %d", span, further, at, at+far)
			}
			if ahead := ukernel.HalvesAhead * aheadOf(&x, lanes.Head{}, lo, n, lo*d); ahead != 0 && (lo+n)*d+ahead > keys*d {
				t.Errorf("%v: rows are copied with prefetches %d bytes ahead", span, ahead)
			}
			data, off, places := r.Offsets(lanes.Head{}, lo, n)
			if last := lo*d + places[n-1]; len(data) != n*d || len(off) != n || last < lo*d+off[n-1] || last > (keys-1)*d {
				t.Errorf("%v: the last row is prefetched at %d", span, last)
			}
		}
	}
}

// TestHintsOfCopies: while copies of rows are used, rows of the next page are prefetched, and where
// rows do not go on nothing is.
func TestHintsOfCopies(t *testing.T) {
	const d, heads, none = 32, 2, -1
	for _, test := range []struct{ size, lo, n, next, ahead int }{
		{32, 0, 32, 32, 64},
		{32, 128, 32, none, none}, // the last page has less
		{64, 32, 32, 64, 96},
		{64, 32, 16, 48, 96},
		{24, 16, 8, 24, 80},
		{24, 0, 16, none, none}, // rows 16 and 64 are near the ends of their pages
		{192, 0, 32, 32, 64},
	} {
		table := view.PageTable{Lengths: []int{188}, Pages: [][]int32{make([]int32, 192/test.size)}}
		for i := range table.Pages[0] {
			table.Pages[0][i] = int32(len(table.Pages[0]) - 1 - i)
		}
		memory := make([]byte, heads*192*d)
		x := view.FromBytes(ukernel.Float8E4M3, memory, [4]int{192 / test.size, heads, test.size, d}, [3]int{heads * test.size * d, test.size * d, d}).Paged(&table)
		h := lanes.Head{Head: 1}
		place, at := len(memory), x.Index(0, 1, test.lo)
		if test.next != none {
			place = x.Index(0, 1, test.next)
		}
		if got := len(memory) - len(following(&x, h, test.lo, test.n)); got != place {
			t.Errorf("%+v: what follows is at %d, want %d", test, got, place)
		}
		ahead := 0
		if test.ahead != none {
			ahead = x.Index(0, 1, test.ahead) - at
		}
		if got := ukernel.HalvesAhead * aheadOf(&x, h, test.lo, test.n, at); got != ahead {
			t.Errorf("%+v: %d bytes ahead, want %d", test, got, ahead)
		}
	}
}

// TestRowsOf8Bits: rows of 8 bits have the same numbers in 16 bits, also where they are fewer than
// a kernel takes, with gaps and without.
func TestRowsOf8Bits(t *testing.T) {
	for _, typ := range []view.DType{ukernel.Float8E4M3, ukernel.Float8E5M2} {
		for _, c := range []struct{ d, gap int }{{16, 0}, {24, 0}, {80, 0}, {64, 3}, {100, 1}} {
			const n = 70
			bytes := make([]byte, 2*n*(c.d+c.gap))
			for i := range bytes {
				bytes[i] = byte(i*7 + i/256)
			}
			x := view.FromBytes(typ, bytes, [4]int{1, 2, n, c.d}, [3]int{0, n * (c.d + c.gap), c.d + c.gap})
			for i := range tier.Tiers {
				tier := &tier.Tiers[i]
				half := HalfType(tier, &x)
				if tier.Lacks() != "" || half == typ {
					continue
				}
				var narrow, wide Reader
				for _, r := range []*Reader{&narrow, &wide} {
					r.Fit(new(parallel.Memory), &x, Need{})
					r.Begin(tier, &x, nil)
				}
				for _, step := range []struct{ lo, n int }{{0, n}, {n - 1, 1}, {n - 3, 3}, {5, 2}} {
					h := lanes.Head{Head: 1}
					rows, stride, got, _, _ := narrow.Halves(h, step.lo, step.n)
					numbers := make([]float32, got*c.d)
					tier.Convert().Widen[half](numbers, c.d, view.BytesOf(rows), 2*stride, got, c.d)
					want, _, _ := wide.Floats(h, step.lo, got)
					testutil.CheckBits(t, fmt.Sprintf("tier=%s %v d=%d+%d %+v", tier.Name, typ, c.d, c.gap, step), numbers, want)
				}
			}
		}
	}
}

// TestRowsOfWholeHalves: rows of bfloat16 that 16 does not divide have zeros up to whole groups of
// columns, and there is no memory for these without need.
func TestRowsOfWholeHalves(t *testing.T) {
	const n, d = 100, 24
	x := view.Other(view.BFloat16, make([]uint16, n*d), [4]int{1, 1, n, d}, [3]int{0, 0, d})
	for i := range x.U16() {
		x.U16()[i] = uint16(0x3f80 + i) // products take none as zero
	}
	var r Reader
	if r.Fit(new(parallel.Memory), &x, Need{BFloat16: true}); len(r.narrow) > 0 {
		t.Errorf("memory for %d numbers without need", len(r.narrow))
	}
	r.Fit(new(parallel.Memory), &x, Need{BFloat16: true, WholeHalves: true})
	for i := range tier.Tiers {
		tier := &tier.Tiers[i]
		if tier.Lacks() != "" {
			continue
		}
		for i := range r.narrow {
			r.narrow[i] = 0x7fc0
		}
		r.Begin(tier, &x, nil)
		rows, off := r.WholeHalves(lanes.Head{}, 3, n-3)
		stride := WholeColumns(&x)
		if len(off) < narrowRows || off[1] != 2*stride {
			t.Fatalf("tier=%s: %d rows, %v", tier.Name, len(off), off)
		}
		for i := range rows[:len(off)*stride] {
			want := uint16(0)
			if row, e := 3+i/stride, i%stride; e < d {
				want = x.U16()[row*d+e]
			}
			if rows[i] != want {
				t.Fatalf("tier=%s: number %d of row %d is %#x, want %#x", tier.Name, i%stride, i/stride, rows[i], want)
			}
		}
	}
}
