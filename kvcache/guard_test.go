package kvcache_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// fenced returns memory for pages of a cache, [pages, H, size, D] of E, in memory pages
// of the operating system, each with an inaccessible one before and after it. The pages
// lie right after the one before them or right before the one after them. closePage makes
// a page inaccessible, too.
func fenced[E kernel.Element](t *testing.T, pages, h, size, d int, layout kvcache.PageLayout, place testutil.Placement) (memory kernel.Tensor, closePage func(page int)) {
	var e E
	elem, unit := int(unsafe.Sizeof(e)), os.Getpagesize()
	x := kernel.BHLD[E](nil, 0, 0, 0, 0)
	per := contracttest.View(&x).DType().PerByte()
	bytes := h * size * d * elem / per
	used := (bytes + unit - 1) / unit * unit
	slot := used + unit
	mem := testutil.GuardedRegion(t, pages*slot)
	base := 0
	if place == testutil.AtEnd {
		base = used - bytes
	}
	for i := range pages {
		testutil.Fence(t, mem[i*slot+used:(i+1)*slot])
	}
	data := testutil.Typed[E](mem[base : base+(pages-1)*slot+bytes])
	strides := [3]int{slot / elem * per, size * d, d}
	if layout == kvcache.LayoutNHD {
		strides[1], strides[2] = d, h*d
	}
	return kernel.Strided(data, [4]int{pages, h, size, d}, strides), func(page int) {
		testutil.Fence(t, mem[page*slot:page*slot+used])
	}
}

// fencedOf is fenced for any element type. Scales lie in fenced pages of their own, so many for
// each row.
func fencedOf(t *testing.T, dtype kernel.DType, pages, h, size, d, groups int, layout kvcache.PageLayout, place testutil.Placement) (memory kernel.Tensor, closePage func(page int)) {
	switch dtype {
	case kernel.Float16:
		return fenced[kernel.F16](t, pages, h, size, d, layout, place)
	case kernel.BFloat16:
		return fenced[kernel.BF16](t, pages, h, size, d, layout, place)
	case kernel.Float8E4M3:
		return fenced[kernel.F8E4M3](t, pages, h, size, d, layout, place)
	case kernel.Float8E5M2:
		return fenced[kernel.F8E5M2](t, pages, h, size, d, layout, place)
	case kernel.Int8:
		scales, closeScales := fenced[float32](t, pages, h, size, groups, layout, place)
		memory, closeElements := fenced[int8](t, pages, h, size, d, layout, place)
		return memory.Scaled(&scales), func(page int) {
			closeScales(page)
			closeElements(page)
		}
	case kernel.Int4:
		scales, closeScales := fenced[float32](t, pages, h, size, groups, layout, place)
		memory, closeElements := fenced[kernel.Int4x2](t, pages, h, size, d, layout, place)
		return memory.Scaled(&scales), func(page int) {
			closeScales(page)
			closeElements(page)
		}
	}
	return fenced[float32](t, pages, h, size, d, layout, place)
}

// Attention over a cache reads nothing beside the pages, and no page that no query sees: neither
// pages without a sequence nor pages before a window.
func TestGuardPages(t *testing.T) {
	if !testutil.Guards {
		t.Log("guard pages are not available here: all pages can be read")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	n := 0
	for _, c := range guardCases() {
		for _, size := range []int{8, 11, 15, 16, 32, 64, 128, 256} {
			for _, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
				if n++; testing.Short() && n%4 != 0 {
					continue
				}
				layout := []kvcache.PageLayout{kvcache.LayoutNHD, kvcache.LayoutHND}[n/2%2]
				t.Run(fmt.Sprintf("%v/size=%d/layout=%d/%v", c.name, size, layout, place), func(t *testing.T) {
					testGuardPages(t, c, size, layout, place)
				})
			}
		}
	}
}

// A guardCase is a cache in pages and how its keys and values are multiplied.
type guardCase struct {
	name     string
	dtype    kernel.DType
	d, group int // of keys and values, 0 as in smallConfig
	products kernel.Scoring
}

// guardCases are all types, and products whose kernels take more columns than rows of 24 have.
func guardCases() (cases []guardCase) {
	for _, dtype := range contracttest.KeyTypes() {
		c := guardCase{name: dtype.String(), dtype: dtype}
		switch dtype {
		case kernel.Int8:
			c.d, c.group = 10, 5
		case kernel.Int4:
			c.d, c.group = 12, 6
		}
		cases = append(cases, c)
	}
	return append(cases,
		guardCase{name: "Float32, wide", dtype: kernel.Float32, d: 24},
		guardCase{name: "Float16, wide", dtype: kernel.Float16, d: 32},
		guardCase{name: "Int8, wide", dtype: kernel.Int8, d: 32, group: 16},
		guardCase{name: "BFloat16", dtype: kernel.BFloat16, d: 24, products: kernel.Scoring{BFloat16: true}},
		guardCase{name: "DynamicInt12", dtype: kernel.Int8, d: 24, group: 24, products: kernel.Scoring{DynamicInt12: true}},
	)
}

func testGuardPages(t *testing.T, of guardCase, size int, layout kvcache.PageLayout, place testutil.Placement) {
	c := smallConfig()
	c.Layers, c.PageSize, c.KeyType, c.ValueType, c.Pages, c.Group = 1, size, of.dtype, of.dtype, 1000/size+8, of.group
	if of.d > 0 {
		c.HeadSize, c.ValueSize = of.d, of.d
	}
	k, closeK := fencedOf(t, of.dtype, c.Pages, c.Heads, size, c.HeadSize, c.HeadSize/max(1, c.Group), layout, place)
	v, closeV := fencedOf(t, of.dtype, c.Pages, c.Heads, size, c.ValueSize, c.ValueSize/max(1, c.Group), layout, place)
	cache, err := kvcache.NewWithMemory([]kernel.Tensor{k}, []kernel.Tensor{v}, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := harnessOf(t, c, cache)
	a, b := h.begin(), h.begin()
	for range 2 { // pages of both in turn
		h.grow([]int{a, b}, []int{260, 45})
	}
	f := h.fork(b, 50)
	const tokens, window, heads = 20, 200, 4
	h.grow([]int{f, a, b}, []int{tokens, tokens, tokens})

	h.set(a, b, f)
	q := kernel.BHLD(testutil.Floats(3*heads*tokens*c.HeadSize), 3, heads, tokens, c.HeadSize)
	output := func() kernel.Tensor {
		return kernel.BHLD(testutil.Filled(3*heads*tokens*c.ValueSize, testutil.Canary), 3, heads, tokens, c.ValueSize)
	}
	want := output()
	plainK, plainV, o := h.contiguous(0, []int{a, b, f})
	if of.products.DynamicInt12 { // the harness has no integers
		plainK, plainV = h.batch.View(0)
		o = kernel.Options{Exec: kernel.Exec{Tier: contracttest.Generic()}, Scoring: h.batch.Scoring()}
	}
	o.Mask = o.Mask.And(kernel.Window(window, 0))
	o.BFloat16, o.DynamicInt12 = of.products.BFloat16, of.products.DynamicInt12
	h.must(kernel.Attention(want, q, plainK, plainV, &o))

	open := map[int32]bool{}
	for i, s := range h.sequences {
		unseen := max(0, h.models[i].length-tokens-window) / size
		for _, page := range s.Pages()[unseen:] {
			open[page] = true
		}
	}
	for page := range c.Pages {
		if !open[int32(page)] {
			closeK(page)
			closeV(page)
		}
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, n := range []int{tokens, 3, 1} { // many queries, and few
			o := kernel.Options{Scoring: h.batch.Scoring()}
			o.BFloat16, o.DynamicInt12 = of.products.BFloat16, of.products.DynamicInt12
			o.QueryStart = slices.Clone(o.QueryStart)
			for i := range o.QueryStart {
				o.QueryStart[i] += tokens - n
			}
			o.Mask, o.Tier, o.Threads = o.Mask.And(kernel.Window(window, 0)), tier, 1+n%2
			last := func(t kernel.Tensor) kernel.Tensor { return contracttest.Rows(t, tokens-n, tokens) }
			got, want := last(output()), last(want)
			keys, values := h.batch.View(0)
			if err := kernel.Attention(got, last(q), keys, values, &o); err != nil {
				t.Fatal(err)
			}
			contracttest.Same(t, fmt.Sprintf("%d queries", n), &got, &want)
		}
	})
}

// TestGuardPages can fail: what it closes is inaccessible, and what it leaves open is
// not.
func TestGuardPagesCatches(t *testing.T) {
	if !testutil.Guards {
		t.Skip("guard pages are not available here")
	}
	memory, closePage := fenced[float32](t, 3, 2, 16, 8, kvcache.LayoutHND, testutil.AtEnd)
	closePage(1)
	data, page := contracttest.Floats(memory), memory.Strides()[0]
	touched := func(i int) (fault bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { fault = recover() != nil }()
		data[i]++
		return false
	}
	var got []bool
	for _, i := range []int{0, 255, 256, page - 1, page, 2 * page, len(data) - 1} {
		got = append(got, touched(i))
	}
	if want := []bool{false, false, true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
}
