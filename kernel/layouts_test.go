package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// pageLayouts are FlashInfer's.
var pageLayouts = []string{"NHD", "HND"}

// paged returns k and v in pages; see inPages.
func paged(k, v kernel.Tensor, lengths []int, size int, layout string, seed uint64, gap int) (pk, pv kernel.Tensor) {
	pk, pv, table := inPages(k, v, lengths, size, layout, seed, gap)
	return pk.Paged(table), pv.Paged(table)
}

// inPages returns the memory of pages that hold k and v, in a random order, and the table
// of their rows, with the lengths that a batch has. What is in no row is NaN: whole pages,
// rows after a length, and gaps after the keys and values of a page, which lie in turn.
func inPages(k, v kernel.Tensor, lengths []int, size int, layout string, seed uint64, gap int) (pk, pv kernel.Tensor, table *kernel.PageTable) {
	h, d, dv := k.Shape()[1], k.Shape()[3], v.Shape()[3]
	table = &kernel.PageTable{Lengths: lengths}
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
	fillPages(&pk, &k, table)
	fillPages(&pv, &v, table)
	return pk, pv, table
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
				contracttest.CopyRow(pages, int(table.Pages[b][l/size]), h, l%size, t, b, h, l)
			}
		}
	}
}

// TestPages compares calls on pages with the same ones on contiguous keys and values.
func TestPages(t *testing.T) {
	for n, size := range []int{1, 7, 9, 16, 16, 25, 32, 48, 49, 64, 128, 255, 256, 1000} {
		for m, c := range []contracttest.Case{
			{B: 3, H: 4, HKV: 2, Lq: 1, Lk: 530, D: 16, Dv: 24},
			{B: 2, H: 2, HKV: 2, Lq: 5, Lk: 300, D: 9, Dv: 7, Mask: contracttest.Causal(280)},
			{B: 2, H: 4, HKV: 2, Lq: 75, Lk: 560, D: 8, Dv: 20, Mask: contracttest.Window(300, 0)},
			{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 257, D: 33, Dv: 1, Mask: contracttest.Causal(0)},
		} {
			if testing.Short() && (n+m)%4 != 0 {
				continue
			}
			c.Seed = uint64(n)
			layout := pageLayouts[(n+m)%2]
			t.Run(fmt.Sprintf("size=%d/%s/%v", size, layout, c), func(t *testing.T) { comparePages(t, c, size, layout) })
		}
	}
}

func comparePages(t *testing.T, c contracttest.Case, size int, layout string) {
	contracttest.ForceThreads(t)
	q, k, v := c.Inputs()
	lengths := []int{c.Lk, c.Lk - 3, 0}[:c.B]
	starts := []int{0, 16, 1000}[:c.B]
	pk, pv := paged(k, v, lengths, size, layout, c.Seed, 1)
	o := kernel.Options{Scoring: kernel.Scoring{KeyStart: starts, QueryStart: []int{c.Lk - c.Lq}}}
	plain := c
	plain.Mask = c.Mask.And(contracttest.KeyLengths(lengths))
	want := plain.Run(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{KeyStart: o.KeyStart, QueryStart: o.QueryStart}, Exec: kernel.Exec{Threads: 1}})
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o.Tier = tier
		for o.Threads = range 3 {
			got := c.Run(t, q, pk, pv, o)
			contracttest.Same(t, fmt.Sprintf("threads=%d", o.Threads), &got, &want)
		}
	})
}

// TestPagesNaN: hidden keys and values in pages never matter, visible ones do.
func TestPagesNaN(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 20, Lk: 300, D: 8, Dv: 8, Mask: contracttest.Causal(280)}
	for _, special := range []float32{testutil.NaN, testutil.Inf} {
		q, k, v := c.Inputs()
		contracttest.Row(&v, 0, 0, 290)[3] = special
		contracttest.Row(&k, 0, 0, 295)[1] = special
		pk, pv := paged(k, v, []int{300}, 16, "NHD", 1, 1)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			got := c.Run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, "pages", &got, &want)
		})
	}
}

// TestRagged compares a ragged batch with calls for each of its sequences: a prompt
// after none, or after keys of a cache.
func TestRagged(t *testing.T) {
	const h, hkv, d, dv = 4, 2, 24, 20
	queries := []int{3, 0, 70, 1, 1, 300, 17, 1}
	keys := []int{3, 9, 70, 700, 256, 300, 257, 0}
	if testutil.Quick() {
		queries[5], keys[5] = 90, 90
	}
	largest, longest := queries[5], keys[3]
	c := contracttest.Case{B: len(queries), H: h, HKV: hkv, Lq: largest, Lk: longest, D: d, Dv: dv, Seed: 31}
	q, k, v := c.Inputs()
	past := make([]int, c.B)
	for b := range past {
		past[b] = keys[b] - queries[b]
	}
	o := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: past, Sinks: []float32{1, 0, -1, 2}}}
	want := c.Output(dv)
	lse := c.Output(1)
	for b := range c.B {
		row := func(t *kernel.Tensor, l int) kernel.Tensor {
			return kernel.Strided(contracttest.Floats(*t)[contracttest.View(t).At(b, 0, 0):], [4]int{1, t.Shape()[1], l, t.Shape()[3]}, t.Strides())
		}
		alone := o
		alone.QueryStart, alone.LSE = past[b:b+1], row(&lse, queries[b])
		if err := kernel.Attention(row(&want, queries[b]), row(&q, queries[b]), row(&k, keys[b]), row(&v, keys[b]), &alone); err != nil {
			t.Fatal(err)
		}
	}
	lengths := raggedLengths{queries: queries, keys: keys, start: 2}
	rq, rk, rv := lengths.pack(q, k, v)
	want, lse = contracttest.Ragged(want, queries, 2), contracttest.Ragged(lse, queries, 2)
	step := 1
	if testutil.Quick() {
		step = 4
	}
	contracttest.ForceThreads(t)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for threads := 1; threads <= 9; threads += step {
			o := o
			o.Tier, o.Threads = tier, threads
			o.LSE = c.Output(1)
			out := lengths.packOutputs(c.Output(dv), &o)
			if err := kernel.Attention(out, rq, rk, rv, &o); err != nil {
				t.Fatal(err)
			}
			contracttest.CheckGaps(t, &out)
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &out, &want)
			contracttest.Same(t, fmt.Sprintf("LSE, threads=%d", threads), &o.LSE, &lse)
		}
	})
}

// Joint rows of 4 bits begin where their numbers do, two of which share a byte.
func TestPackedInt4(t *testing.T) {
	data := make([]kernel.Int4x2, 3*6*4/2)
	for i := range data {
		data[i] = kernel.Int4x2(i)
	}
	q, k, v := kernel.PackedQKV(data, 1, 3, 2, 2, 4)
	for i, x := range []kernel.Tensor{q, k, v} {
		for l := range 3 {
			row := kernel.Row[kernel.Int4x2](x, 0, 1, l)
			if want := kernel.Int4x2(l*12 + i*4 + 2); len(row) != 2 || row[0] != want || row[1] != want+1 {
				t.Errorf("tensor %d, token %d: %v, want %d and the next", i, l, row, want)
			}
		}
	}
}

// TestRaggedViews: a joint projection and any strides can be ragged.
func TestRaggedViews(t *testing.T) {
	data := testutil.Floats(9 * 6 * 4)
	starts := []int{1, 4, 4, 9}
	q, k, v := kernel.PackedQKV(data, 1, 9, 2, 2, 4)
	out := kernel.Ragged(testutil.Filled(9*2*4, contracttest.Canary), starts, 2, 4)
	if err := kernel.Attention(out, q.Ragged(starts), k.Ragged(starts), v.Ragged(starts), nil); err != nil {
		t.Fatal(err)
	}
	for b := range 3 {
		n := starts[b+1] - starts[b]
		q, k, v := kernel.PackedQKV(data[starts[b]*6*4:], 1, n, 2, 2, 4)
		want := kernel.BLHD(make([]float32, n*2*4), 1, n, 2, 4)
		if err := kernel.Attention(want, q, k, v, nil); err != nil {
			t.Fatal(err)
		}
		contracttest.EachRow(&want, func(_, h, l int, row []float32) {
			contracttest.SameRow(t, fmt.Sprint("row ", b, h, l), contracttest.Row(&out, b, h, l), row)
		})
	}
	contracttest.CheckGaps(t, &out)
}

// TestPagesOfTypes: pages of keys and values of all types, one after the other, are the contiguous
// ones that begin with the first, for one query and for many.
func TestPagesOfTypes(t *testing.T) {
	const keys = 530
	for _, dtype := range contracttest.KeyTypes() {
		for _, s := range []kernel.Scoring{{}, {BFloat16: true}, {DynamicInt12: true}} {
			if integers := dtype == kernel.Int8 || dtype == kernel.Int4; s.DynamicInt12 && !integers || s.BFloat16 && integers {
				continue
			}
			for i, size := range []int{1, 3, 8, 13, 16, 24, 25, 33, 49, 97, 200} {
				pages, d := (keys+size-1)/size, []int{32, 72}[i%2]
				c := contracttest.Case{B: 1, H: 4, HKV: 1, Lq: 1, Lk: pages * size, D: d, Dv: d, Seed: uint64(size), Layout: contracttest.Contiguous, Types: contracttest.TypesOf(kernel.Float32, dtype, dtype, kernel.Float32)}
				_, k, v := c.Typed(c.Inputs())
				table := kernel.PageTable{Pages: [][]int32{nil}, Lengths: []int{keys}}
				for page := range pages {
					table.Pages[0] = append(table.Pages[0], int32(page))
				}
				for _, c.Lq = range []int{1, 20} {
					c.Lk = keys
					q, _, _ := c.Inputs()
					o := kernel.Options{Scoring: s, Exec: kernel.Exec{Threads: 1}}
					contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
						o.Tier = tier
						want := c.Run(t, q, contracttest.Rows(k, 0, keys), contracttest.Rows(v, 0, keys), o)
						got := c.Run(t, q, cut(k, size).Paged(&table), cut(v, size).Paged(&table), o)
						contracttest.Same(t, fmt.Sprintf("%v, int12 %t, bfloat16 %t, pages of %d, %d queries", dtype, s.DynamicInt12, s.BFloat16, size, c.Lq), &got, &want)
					})
				}
			}
		}
	}
}

// cut returns the rows of a tensor with one head as pages.
func cut(t kernel.Tensor, size int) kernel.Tensor {
	v, row := contracttest.View(&t), t.Strides()[2]
	pages := kernel.Tensor(view.FromBytes(v.DType(), v.Bytes(), [4]int{t.Shape()[2] / size, 1, size, t.Shape()[3]}, [3]int{size * row, size * row, row}))
	if v.Scales() == nil {
		return pages
	}
	scales := cut(kernel.Tensor(*v.Scales()), size)
	return pages.Scaled(&scales)
}
