//go:build moving

package kernel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// pageLayouts are FlashInfer's.
var pageLayouts = []string{"NHD", "HND"}

// paged returns k and v in pages of their own in some random order, with the lengths
// that a batch has. What is in no row is NaN: whole pages, rows behind a length, and
// gaps behind the keys and values of a page, which lie in turn.
func paged(k, v kernel.Tensor, lengths []int, size int, layout string, seed uint64, gap int) (pk, pv kernel.Tensor) {
	h, d, dv := k.Shape()[1], k.Shape()[3], v.Shape()[3]
	table := kernel.PageTable{Lengths: lengths}
	pages := 3
	for _, n := range lengths {
		pages += n/size + 2
	}
	order := randomOrder(pages, seed)
	for _, n := range lengths {
		need := (n + size - 1) / size
		table.Pages = append(table.Pages, append(slices.Clone(order[:need]), -1, int32(pages)))
		order = order[need:]
	}
	shape, page := [4]int{pages, h, size, d}, size*h*(d+dv)+gap
	strides, strideV := [3]int{page, size * d, d}, [3]int{page, size * dv, dv}
	if layout == "NHD" {
		strides, strideV = [3]int{page, d, h * d}, [3]int{page, dv, h * dv}
	}
	data := testutil.Filled(pages*page, testutil.NaN)
	pk = kernel.Strided(data, shape, strides)
	shape[3] = dv
	pv = kernel.Strided(data[size*h*d:len(data)-gap], shape, strideV)
	fillPages(&pk, &k, &table)
	fillPages(&pv, &v, &table)
	return pk.Paged(&table), pv.Paged(&table)
}

// randomOrder returns the numbers from 0 to n-1.
func randomOrder(n int, seed uint64) []int32 {
	r, order := testutil.Rand(seed), make([]int32, n)
	for i := range order {
		j := r.IntN(i + 1)
		order[i], order[j] = order[j], int32(i)
	}
	return order
}

// fillPages copies the rows of t that the table has into pages.
func fillPages(pages, t *kernel.Tensor, table *kernel.PageTable) {
	size := pages.Shape()[2]
	for b, n := range table.Lengths {
		for h := range t.Shape()[1] {
			for l := range n {
				copy(contracttest.Row(pages, int(table.Pages[b][l/size]), h, l%size), contracttest.Row(t, b, h, l))
			}
		}
	}
}

// TestPages compares calls on pages with the same ones on contiguous keys and values.
func TestPages(t *testing.T) {
	for n, size := range []int{1, 7, 16, 16, 32, 48, 64, 128, 255, 256, 1000} {
		for m, c := range []contracttest.Case{
			{B: 3, H: 4, HKV: 2, Lq: 1, Lk: 530, D: 16, Dv: 24},
			{B: 2, H: 2, HKV: 2, Lq: 5, Lk: 300, D: 9, Dv: 7, Mask: kernel.Causal(280)},
			{B: 2, H: 4, HKV: 2, Lq: 75, Lk: 560, D: 8, Dv: 20, Mask: kernel.Window(300, 0)},
			{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 257, D: 33, Dv: 1, Mask: kernel.Causal(0)},
		} {
			if testing.Short() && (n+m)%4 != 0 {
				continue
			}
			c.Seed = uint64(n)
			layout := pageLayouts[(n+m)%2]
			t.Run(fmt.Sprintf("size=%d/%s/%v", size, layout, c), func(t *testing.T) { c.comparePages(t, size, layout) })
		}
	}
}

func (c contracttest.Case) comparePages(t *testing.T, size int, layout string) {
	q, k, v := c.Inputs()
	lengths := []int{c.Lk, c.Lk - 3, 0}[:c.B]
	starts := []int{0, 16, 1000}[:c.B]
	pk, pv := paged(k, v, lengths, size, layout, c.Seed, 1)
	o := kernel.Options{KeyStart: starts, QueryStart: []int{c.Lk - c.Lq}}
	plain := c
	plain.Mask = c.Mask.And(kernel.KeyLengths(lengths))
	want := plain.Run(t, q, k, v, kernel.Options{KeyStart: o.KeyStart, QueryStart: o.QueryStart, Exec: kernel.Exec{Threads: 1}})
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		o.Tier = tier
		for o.Threads = range 3 {
			got := c.Run(t, q, pk, pv, o)
			contracttest.Same(t, fmt.Sprintf("threads=%d", o.Threads), &got, &want)
		}
	})
}

// TestPagesNaN: hidden keys and values in pages never matter, visible ones do.
func TestPagesNaN(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 20, Lk: 300, D: 8, Dv: 8, Mask: kernel.Causal(280)}
	for _, special := range []float32{testutil.NaN, testutil.Inf} {
		q, k, v := c.Inputs()
		contracttest.Row(&v, 0, 0, 290)[3] = special
		contracttest.Row(&k, 0, 0, 295)[1] = special
		pk, pv := paged(k, v, []int{300}, 16, "NHD", 1, 1)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			got := c.Run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, "pages", &got, &want)
		})
	}
}

// TestPageErrors: what does not fit is named, and nothing is written.
func TestPageErrors(t *testing.T) {
	data, ints := make([]float32, 10*2*16*6), make([]int8, 10*2*16*6)
	pages := kernel.BHLD(data, 10, 2, 16, 6)
	table := func() kernel.PageTable {
		return kernel.PageTable{Pages: [][]int32{{9, 3}, {3, 0}}, Lengths: []int{17, 32}}
	}
	for _, test := range []struct {
		name, arg, want string
		call            func(out, q, k, v *kernel.Tensor, o *kernel.Options, table *kernel.PageTable)
	}{
		{"page too large", "the page table of k", "page 10, number 1 of batch row 0, want 0 to 9", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[0][1] = 10 }},
		{"page negative", "the page table of k", "page -1", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[1][0] = -1 }},
		{"table too short", "the page table of k", "1 pages for batch row 1, want at least 2", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[1] = t.Pages[1][:1] }},
		{"length over the table", "the page table of k", "at least 3", func(_, _, k, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			t.Lengths[1] = 33
			*k, *v = pages.Paged(t), pages.Paged(t)
		}},
		{"length over the view", "the page table of k", "length 33 of batch row 1, want 0 to 32", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Lengths[1] = 33 }},
		{"length negative", "the page table of k", "length -1", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Lengths[0] = -1 }},
		{"no list", "the page table of k", "1 lists of pages for 2 lengths", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages = t.Pages[:1] }},
		{"another batch", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*k = pages.Paged(&kernel.PageTable{Pages: [][]int32{{1}}, Lengths: []int{4}})
		}},
		{"no table", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) { *k = pages.Paged(nil) }},
		{"other lengths of v", "v", "length 16 of batch row 0, want 17", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*v = pages.Paged(&kernel.PageTable{Pages: t.Pages, Lengths: []int{16, 32}})
		}},
		{"plain v", "v", "length 32 of batch row 0, want 17", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*v = kernel.BHLD(data, 2, 2, 32, 6)
		}},
		{"slice too short", "k", "a slice of at least 1920", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data[:1919], 10, 2, 16, 6).Paged(t)
		}},
		{"page size 0", "k", "page size of at least 1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data, 10, 2, 0, 6).Paged(t)
		}},
		{"page size negative", "k", "negative dimension", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data, 10, 2, -5, 6).Paged(t)
		}},
		{"pages negative", "v", "negative dimension", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*v = kernel.BHLD(data, -10, 2, 16, 6).Paged(t)
		}},
		{"no scales", "k", "Tensor.Scaled", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Paged(t)
		}},
		{"scales of few pages", "the scales of k", "batch 10", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			s := kernel.BHLD(data, 2, 2, 32, 1)
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Scaled(&s).Paged(t)
		}},
		{"paged scales", "the scales of k", "not paged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			s := pages.Paged(t)
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Scaled(&s).Paged(t)
		}},
		{"paged q", "q", "not paged", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { *q = pages.Paged(t) }},
		{"paged out", "out", "not paged", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*out = kernel.BHLD(make([]float32, 2*4*3*6), 2, 4, 3, 6).Paged(&kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{3, 3}})
		}},
		{"paged bias", "Options.Bias", "not paged", func(_, _, _, _ *kernel.Tensor, o *kernel.Options, t *kernel.PageTable) { o.Bias = pages.Paged(t) }},
		{"out in pages", "out", "overlaps k", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*out = kernel.BHLD(data[1700:], 2, 4, 3, 6)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := table()
			k, v := pages.Paged(&at), pages.Paged(&at)
			out, q, _, _ := good()
			out = kernel.BHLD(testutil.Filled(2*4*3*6, contracttest.Canary), 2, 4, 3, 6)
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o, &at)
			err := kernel.Attention(out, q, k, v, o)
			var arg *kernel.ArgumentError
			if !errors.As(err, &arg) || arg.Arg != test.arg || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an ArgumentError for %s: %s", err, test.arg, test.want)
			}
			for i, x := range contracttest.Floats(out) {
				if x != contracttest.Canary && x != 0 {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
}

// TestPagesAhead: what is prefetched are rows to come, in pages that may lie anywhere.
func TestPagesAhead(t *testing.T) {
	const d = 128 // rowsAhead is 16
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
		table := kernel.PageTable{Lengths: []int{200}, Pages: [][]int32{make([]int32, ints.CeilDiv(200, test.size))}}
		for i := range table.Pages[0] {
			table.Pages[0][i] = int32(len(table.Pages[0]) - 1 - i)
		}
		x := kernel.BLHD(make([]float32, 256*2*d), 256/test.size, test.size, 2, d).Paged(&table)
		near, more := x.index(0, 1, test.near), x.index(0, 1, test.more)
		_, next, far, run := coming(&x, unit{0, 1}, test.lo, test.n, contracttest.Floats(x))
		if got := len(contracttest.Floats(x)) - len(next); got != near || far != more-near || run != test.run {
			t.Errorf("%+v: next at %d, far %d, %d rows; want %d, %d", test, got, far, run, near, more-near)
		}
	}
}
