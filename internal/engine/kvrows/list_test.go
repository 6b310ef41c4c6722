package kvrows

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// TestUnits: offsets that fit an int of 32 bits in bytes are right there, too.
func TestUnits(t *testing.T) {
	for _, x := range []struct {
		dtype          view.DType
		elements, want int
	}{{view.Float32, 1 << 27, 1 << 29}, {view.Float32, 3 << 27, 3 << 29}, {view.BFloat16, 3 << 28, 3 << 29}, {view.Int8, 1<<31 - 1, 1<<31 - 1}, {view.Int4, 1<<31 - 2, 1<<30 - 1}} {
		if u := unitOf(x.dtype); u.of(0) != 0 || u.of(x.elements) != x.want {
			t.Errorf("%v: %d elements begin at %v, want %d", x.dtype, x.elements, u.of(x.elements), x.want)
		}
	}
}

// TestPathIsWalkedOnce: a reader keeps the path of a query, for pieces and heads after the first
// one, until the next call.
func TestPathIsWalkedOnce(t *testing.T) {
	const keys, past = 40, 30
	shape := [4]int{2, 2, keys, 4}
	x := view.Floats(make([]float32, 2*2*keys*4), shape, view.Contiguous(shape))
	s := Rows{Parents: make(view.Parents, 2*(keys-past)), Queries: keys - past, QueryStart: []int{past}}
	tree := func(b int, parents ...int32) { copy(s.Parents[b*s.Queries:], parents) }
	var r Reader
	r.Fit(new(parallel.Memory), &x, Need{Listed: true, Path: s.Queries})
	for _, want := range [][]int32{{30, 32, 33, 36}, {30, 31, 36}} {
		tree(0, -1, 0, 0, 2, 3, -1, want[len(want)-2]-past)
		tree(1, -1, -1, -1, -1, -1, -1, -1)
		r.Begin(nil, &x, &s)
		h := lanes.Head{Query: 6}
		if got := r.list.from(&x, h, past, 9); !slices.Equal(got, want) {
			t.Errorf("path %v, want %v", got, want)
		}
		tree(0, 9, 9, 9, 9, 9, 9, 9) // a walk would panic
		h.Head = 1
		if got := r.list.from(&x, h, past+2, 1); !slices.Equal(got, want[2:3]) {
			t.Errorf("a piece of the path %v, want %v", got, want[2:3])
		}
		h.Batch = 1
		if got := r.list.from(&x, h, past, 9); !slices.Equal(got, []int32{36}) {
			t.Errorf("path %v in batch row 1, want [36]", got)
		}
	}
}

// TestCopiesAreShort: one call of a kernel, in which the goroutine cannot be preempted, copies some
// of many long rows, all of which arrive.
func TestCopiesAreShort(t *testing.T) {
	const n, d = 9, 1 << 16
	shape := [4]int{1, 1, n, d}
	x := view.Floats(testutil.Floats(n*d), shape, view.Contiguous(shape))
	list := []int32{3, 8, 0, 1, 2, 7, 6, 5, 4}
	for i := range tier.Tiers {
		if tier.Tiers[i].Lacks() != "" {
			continue
		}
		most, of := 0, tier.Tiers[i].Copy()
		of.Amend = func(table any, _ int) {
			if to, ok := table.(*ukernel.Converters); ok {
				gather := to.Gather
				to.Gather = func(dst, src []byte, off []int, size int, next []int) {
					most = max(most, len(off)*size)
					gather(dst, src, off, size, next)
				}
			}
		}
		var r Reader
		r.Fit(new(parallel.Memory), &x, Need{Listed: true})
		r.Begin(of, &x, &Rows{Lists: &view.KeyRows{Rows: list, Shape: [4]int{1, 1, 1, n}}})
		rows, _, _ := r.Floats(lanes.Head{}, 0, n)
		for i, row := range list {
			testutil.CheckBits(t, fmt.Sprintf("%s: row %d", of.Name, i), rows[i*d:][:d], x.Row(0, 0, int(row)))
		}
		if most == 0 || most > callBytes {
			t.Errorf("%s: a call copies %d bytes", of.Name, most)
		}
	}
}

// TestSmallPages: from pages of fewer rows than kernels for few queries take, rows are copied side
// by side, so that a call has as many as there are.
func TestSmallPages(t *testing.T) {
	for i := range tier.Tiers {
		if of := &tier.Tiers[i]; of.Lacks() == "" {
			t.Run(of.Name, func(t *testing.T) { testSmallPages(t, of) })
		}
	}
}

func testSmallPages(t *testing.T, of *tier.Tier) {
	const d, keys, heads = 4, 50, 2
	for _, size := range []int{1, 3, 8, 15, 16} {
		n := (keys + size - 1) / size
		data := make([]float32, n*heads*size*d)
		for i := range data {
			data[i] = float32(i)
		}
		var pages []int32
		for i := range n {
			pages = append(pages, int32(n-1-i))
		}
		x := view.Floats(data, [4]int{n, heads, size, d}, [3]int{heads * size * d, size * d, d}).Paged(&view.PageTable{Pages: [][]int32{pages}, Lengths: []int{keys}})
		var r Reader
		r.Fit(new(parallel.Memory), &x, Need{SmallPages: size < ukernel.SkinnyKeys})
		r.Begin(of, &x, nil)
		for h := range heads {
			for lo, got := 0, 0; lo < keys; lo += got {
				var rows []float32
				var stride int
				rows, stride, got, _, _ = r.Hinted(lanes.Head{Head: h}, lo, keys-lo)
				if want := min(ukernel.SkinnyKeys, keys-lo); got < want {
					t.Fatalf("pages of %d: %d rows from row %d on, want %d or more", size, got, lo, want)
				}
				for i := range got {
					if want := x.Row(0, h, lo+i); !slices.Equal(rows[i*stride:][:d], want) {
						t.Fatalf("pages of %d: row %d is %v, want %v", size, lo+i, rows[i*stride:][:d], want)
					}
				}
			}
		}
	}
}
