package kvrows

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// TestCodesOfSeenKeys: rows of int8 lie in place with the columns that kernels take after their
// end, and are copied where the keys end that are seen.
func TestCodesOfSeenKeys(t *testing.T) {
	const size, pages = 96, 3
	for _, test := range []struct {
		d, gap, lo, n int
		more          int  // keys seen after those
		inPlace       int  // rows of Codes, 0 for copies
		segment       bool // is in place
	}{
		{d: 16, lo: size - 4, n: 4, inPlace: 4, segment: true}, // whole groups of columns
		{d: 72, lo: 0, n: 32, more: 1, inPlace: 32, segment: true},
		{d: 72, lo: 0, n: 32, inPlace: 31}, // with rows needed soon
		{d: 72, lo: size - 5, n: 4, more: 1, inPlace: 4, segment: true},
		{d: 72, lo: size - 5, n: 4},
		{d: 72, lo: size - 4, n: 4},
		{d: 72, lo: size - 32, n: 32, inPlace: 31},
		{d: 72, lo: size - 16, n: 16}, // fewer than a kernel takes would be left
		{d: 72, lo: size - 1, n: 1},
		{d: 72, gap: 8, lo: size - 24, n: 24, inPlace: 23}, // memory ends with the last row
		{d: 3, lo: size - 24, n: 24, inPlace: 19},          // 13 columns more: 5 rows
		{d: 3, lo: size - 24, n: 16, more: 5, inPlace: 16, segment: true},
		{d: 3, lo: size - 24, n: 16, more: 4},
	} {
		for _, paged := range []bool{false, true} {
			stride := test.d + test.gap
			data := make([]int8, (pages*size-1)*stride+test.d, pages*size*stride+64) // what follows is not the tensor's
			for i := range data {
				data[i] = int8(i*7 + i/256)
			}
			x, lo := view.Other(view.Int8, data, [4]int{1, 1, pages * size, test.d}, [3]int{0, 0, stride}), test.lo+(pages-1)*size
			row := func(i int) []int8 { return data[(lo+i)*stride:][:test.d] }
			if paged { // the last page has the first rows
				table := view.PageTable{Lengths: []int{pages * size}, Pages: [][]int32{{2, 1, 0}}}
				x = view.Other(view.Int8, data, [4]int{pages, 1, size, test.d}, [3]int{size * stride, 0, stride}).Paged(&table)
				row = func(i int) []int8 { return data[((pages-1)*size+test.lo+i)*stride:][:test.d] }
				lo = test.lo
			}
			scales := view.Floats(make([]float32, pages*size), [4]int{x.Dim(0), 1, x.Dim(2), 1}, [3]int{size, 0, 1})
			x = x.Scaled(&scales)
			for i := range tier.Tiers {
				tier := &tier.Tiers[i]
				if tier.Lacks() != "" {
					continue
				}
				var r Reader
				r.Fit(new(parallel.Memory), &x, Need{Pairs: true})
				r.Begin(tier, &x, nil)
				check := func(what string, codes []int8, off []int, inPlace bool) {
					t.Helper()
					what = fmt.Sprintf("%s, tier %s, paged %v, %+v", what, tier.Name, paged, test)
					end := off[len(off)-1] + test.d + r.more()
					got := &codes[off[0]] == &row(0)[0]
					if got != inPlace {
						t.Errorf("%s: in place is %v", what, got)
					}
					if most := off[0] + (test.n+test.more-1)*stride + test.d; got && end > most {
						t.Errorf("%s: %d integers, and %d are of seen keys", what, end, most)
					}
					if !got && len(codes) < end {
						t.Fatalf("%s: %d integers, want %d", what, len(codes), end)
					}
					for i, at := range off {
						for c, want := range row(i) {
							if got := codes[at+c]; got != want {
								t.Fatalf("%s: column %d of row %d is %d, want %d", what, c, i, got, want)
							}
						}
					}
				}
				codes, off, _ := r.Codes(lanes.Head{}, lo, test.n, min(test.n, ukernel.SkinnyKeys), test.n+test.more, false)
				if got, want := len(off), test.inPlace; got > test.n || want > 0 && got > want || want == 0 && got != test.n {
					t.Errorf("%+v: %d rows", test, got)
				}
				check("Codes", codes, off, test.inPlace > 0)
				if test.n <= contract.ValueSegment {
					codes, stride := r.Segment(lanes.Head{}, lo, test.n, test.n+test.more)
					off := make([]int, test.n)
					for i := range off {
						off[i] = i * stride
					}
					check("Segment", codes, off, test.segment)
				}
			}
		}
	}
}

// TestReadable: numbers after the rows of seen keys are read only if they are another head's, of a
// key that is seen.
func TestReadable(t *testing.T) {
	const b, h, l, d = 2, 3, 40, 10
	data := make([]uint16, b*h*l*(d+2))
	for _, test := range []struct {
		name    string
		strides [3]int
		head    int
		want    int
	}{
		{"rows side by side", [3]int{h * l * d, l * d, d}, 0, 6*d + d},
		{"rows of a head with gaps", [3]int{h * l * (d + 2), l * (d + 2), d + 2}, 0, 6*(d+2) + d},
		{"heads of a row side by side", [3]int{h * l * d, d, h * d}, 1, 6*h*d + 2*d},
		{"the last head of rows side by side", [3]int{h * l * d, d, h * d}, 2, 6*h*d + d},
		{"heads of batch rows side by side", [3]int{h * d, d, b * h * d}, 1, 6*b*h*d + 2*d},
		{"the last head of batch rows side by side", [3]int{h * d, d, b * h * d}, 2, d},
	} {
		x := view.Other(view.BFloat16, data, [4]int{b, h, l, d}, test.strides)
		r := Reader{x: &x}
		if got := r.readable(lanes.Head{Head: test.head}, 3, 7); got != test.want {
			t.Errorf("%s: %d numbers, want %d", test.name, got, test.want)
		}
	}
}
