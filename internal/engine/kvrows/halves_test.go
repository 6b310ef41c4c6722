package kvrows

import (
	"testing"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// TestHalves: rows for units for tiles are rounded, and continued with zeros up to whole segments,
// whatever memory holds; of values, all numbers of the segments of rows are such rows or zeros.
// Rows that were there before count as well, rows of another block do not.
func TestHalves(t *testing.T) {
	const heads, keys, d = 2, 600, 37
	shape := [4]int{1, heads, keys, d}
	x := view.Floats(testutil.Floats(heads*keys*d), shape, view.Contiguous(shape))
	var k, v Reader
	k.Fit(new(parallel.Memory), &x, Need{BFloat16: true, Halves: true})
	v.Fit(new(parallel.Memory), &x, Need{BFloat16: true, Halves: true, Columns: true})
	for i := range v.halves.columns {
		k.halves.rows[i], v.halves.rows[i], v.halves.columns[i] = 0x7fc0, 0x7fc0, 0x7fc0
	}
	want := func(h, row, e int) uint16 {
		if row < 0 || e >= d {
			return 0
		}
		return scalar.ToBF16(scalar.RoundBF16(x.Row(0, h, row)[e]))
	}
	for _, phase := range []int{0, 5, 250} {
		k.Begin(&tier.Tiers[0], &x, nil)
		v.Begin(&tier.Tiers[0], &x, nil)
		for _, step := range []struct{ head, lo, hi int }{
			{0, 3, 6 - phase%3}, {0, 3, 70}, {0, 40, 41}, {1, 100, 200}, {1, 100, 256 - phase}, {1, 256 - phase, 356 - phase}, {1, 100, 256 - phase}, {1, 256 - phase, 512 - phase}, {0, 512 - phase, 600 - phase}, {0, 1, 4},
		} {
			if step.lo >= step.hi || (step.lo+phase)/blockKeys != (step.hi-1+phase)/blockKeys {
				continue
			}
			h := lanes.Head{Head: step.head}
			rows, first, from := k.Rounded(h, step.lo, step.hi-step.lo), step.lo+phase, 0
			for row := step.lo; row < step.hi; row++ {
				for e := range Depth(d) {
					if got := rows[(row-step.lo)*Depth(d)+e]; got != want(step.head, row, e) {
						t.Fatalf("phase %d, %+v: number %d of row %d is %#x", phase, step, e, row, got)
					}
				}
			}
			columns := v.Transposed(h, mask.Span{Lo: step.lo, Hi: step.hi}, phase)
			for place := first % blockKeys / 32 * 32; place < Depth((first+step.hi-step.lo-1)%blockKeys+1); place++ {
				from = place - first%blockKeys + step.lo
				if from < v.halves.cached.Lo || from >= v.halves.cached.Hi {
					from = -1
				}
				for e := range d {
					if got := columns[e*blockKeys+place]; got != want(step.head, from, e) {
						t.Fatalf("phase %d, %+v: number %d of column %d is %#x, want that of row %d", phase, step, place, e, got, from)
					}
				}
			}
			if c := v.halves.cached; c.Lo > step.lo || c.Hi < step.hi {
				t.Fatalf("phase %d, %+v: rows %v are kept", phase, step, c)
			}
		}
	}
}
