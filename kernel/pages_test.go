package kernel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// pageLayouts are FlashInfer's.
var pageLayouts = []string{"NHD", "HND"}

// paged returns k and v in pages of their own in some random order, with the lengths
// that a batch has. What is in no row is NaN: whole pages, rows behind a length, and
// gaps behind the keys and values of a page, which lie in turn.
func paged(k, v kernel.Tensor, lengths []int, size int, layout string, seed uint64, gap int) (pk, pv kernel.Tensor) {
	h, d, dv := k.shape[1], k.shape[3], v.shape[3]
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
	data := filled(pages*page, nan32)
	pk = kernel.Strided(data, shape, strides)
	shape[3] = dv
	pv = kernel.Strided(data[size*h*d:len(data)-gap], shape, strideV)
	fillPages(&pk, &k, &table)
	fillPages(&pv, &v, &table)
	return pk.Paged(&table), pv.Paged(&table)
}

// randomOrder returns the numbers from 0 to n-1.
func randomOrder(n int, seed uint64) []int32 {
	r, order := rng(seed), make([]int32, n)
	for i := range order {
		j := r.intn(i + 1)
		order[i], order[j] = order[j], int32(i)
	}
	return order
}

// fillPages copies the rows of t that the table has into pages.
func fillPages(pages, t *kernel.Tensor, table *kernel.PageTable) {
	size := pages.shape[2]
	for b, n := range table.Lengths {
		for h := range t.shape[1] {
			for l := range n {
				copy(rowOf(pages, int(table.Pages[b][l/size]), h, l%size), rowOf(t, b, h, l))
			}
		}
	}
}

// TestPages compares calls on pages with the same ones on contiguous keys and values.
func TestPages(t *testing.T) {
	for n, size := range []int{1, 7, 16, 16, 32, 48, 64, 128, 255, 256, 1000} {
		for m, c := range []attnCase{
			{b: 3, h: 4, hkv: 2, lq: 1, lk: 530, d: 16, dv: 24},
			{b: 2, h: 2, hkv: 2, lq: 5, lk: 300, d: 9, dv: 7, mask: kernel.Causal(280)},
			{b: 2, h: 4, hkv: 2, lq: 75, lk: 560, d: 8, dv: 20, mask: kernel.Window(300, 0)},
			{b: 1, h: 2, hkv: 1, lq: 130, lk: 257, d: 33, dv: 1, mask: kernel.Causal(0)},
		} {
			if testing.Short() && (n+m)%4 != 0 {
				continue
			}
			c.seed = uint64(n)
			layout := pageLayouts[(n+m)%2]
			t.Run(fmt.Sprintf("size=%d/%s/%v", size, layout, c), func(t *testing.T) { c.comparePages(t, size, layout) })
		}
	}
}

func (c attnCase) comparePages(t *testing.T, size int, layout string) {
	q, k, v := c.inputs()
	lengths := []int{c.lk, c.lk - 3, 0}[:c.b]
	starts := []int{0, 16, 1000}[:c.b]
	pk, pv := paged(k, v, lengths, size, layout, c.seed, 1)
	o := kernel.Options{KeyStart: starts, QueryStart: []int{c.lk - c.lq}}
	plain := c
	plain.mask = c.mask.And(kernel.KeyLengths(lengths))
	want := plain.run(t, q, k, v, kernel.Options{KeyStart: o.KeyStart, QueryStart: o.QueryStart, Exec: kernel.Exec{Threads: 1}})
	eachTier(t, func(t *testing.T, tier *tier) {
		o.Tier = tier.name
		for o.Threads = range 3 {
			got := c.run(t, q, pk, pv, o)
			same(t, fmt.Sprintf("threads=%d", o.Threads), &got, &want)
		}
	})
}

// TestPagesNaN: hidden keys and values in pages never matter, visible ones do.
func TestPagesNaN(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 20, lk: 300, d: 8, dv: 8, mask: kernel.Causal(280)}
	for _, special := range []float32{nan32, inf32} {
		q, k, v := c.inputs()
		rowOf(&v, 0, 0, 290)[3] = special
		rowOf(&k, 0, 0, 295)[1] = special
		pk, pv := paged(k, v, []int{300}, 16, "NHD", 1, 1)
		want := c.contract(q, k, v)
		eachTier(t, func(t *testing.T, tier *tier) {
			got := c.run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
			same(t, "pages", &got, &want)
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
			out = kernel.BHLD(filled(2*4*3*6, canary), 2, 4, 3, 6)
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o, &at)
			err := kernel.Attention(out, q, k, v, o)
			var arg *kernel.ArgumentError
			if !errors.As(err, &arg) || arg.Arg != test.arg || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an ArgumentError for %s: %s", err, test.arg, test.want)
			}
			for i, x := range out.f32 {
				if x != canary && x != 0 {
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
		table := kernel.PageTable{Lengths: []int{200}, Pages: [][]int32{make([]int32, ceilDiv(200, test.size))}}
		for i := range table.Pages[0] {
			table.Pages[0][i] = int32(len(table.Pages[0]) - 1 - i)
		}
		x := kernel.BLHD(make([]float32, 256*2*d), 256/test.size, test.size, 2, d).Paged(&table)
		near, more := x.index(0, 1, test.near), x.index(0, 1, test.more)
		_, next, far, run := coming(&x, unit{0, 1}, test.lo, test.n, x.f32)
		if got := len(x.f32) - len(next); got != near || far != more-near || run != test.run {
			t.Errorf("%+v: next at %d, far %d, %d rows; want %d, %d", test, got, far, run, near, more-near)
		}
	}
}
