package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestDecodeNarrow compares few rows on keys and values of narrow types with the
// contract, where they are widened on the way and where they can't be: sizes that 16
// does not divide, scales for any number of columns, side by side or not, one for all
// keys, and pages that do not hold 16 keys.
func TestDecodeNarrow(t *testing.T) {
	shapes := []attnCase{
		{b: 1, h: 4, hkv: 1, lq: 1, lk: 300, d: 64, dv: 128},
		{b: 2, h: 3, hkv: 3, lq: 1, lk: 261, d: 16, dv: 16, layout: tokenMajor},
		{b: 1, h: 10, hkv: 2, lq: 2, lk: 528, d: 48, dv: 32, mask: kernel.Causal(526), layout: gaps},
		{b: 1, h: 9, hkv: 1, lq: 1, lk: 97, d: 128, dv: 80},
		{b: 1, h: 2, hkv: 1, lq: 1, lk: 273, d: 24, dv: 32},
		{b: 1, h: 2, hkv: 1, lq: 1, lk: 273, d: 32, dv: 24},
	}
	for n, types := range allTypes() {
		c := shapes[n%len(shapes)]
		c.types, c.seed = types, uint64(n)
		if types.k == kernel.Float32 && types.v == kernel.Float32 || thin() && n%5 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.inputs()
			if n%3 == 0 {
				r := rng(n)
				r.sprinkle(&q, &k, &v)
			}
			for form := range scaleForms {
				if form >= 3 && types.k != kernel.Int8 && types.v != kernel.Int8 {
					break // all page sizes were there
				}
				tq, tk, tv := c.typed(q, k, v)
				tk, tv = tk.scaledAs(form), tv.scaledAs(form)
				want := c.contract(tq, tk, tv)
				size := []int{8, 16, 40}[form%3]
				lengths := make([]int, c.b)
				for b := range lengths {
					lengths[b] = c.lk
				}
				pk, pv := paged(tk.widened(), tv.widened(), lengths, size, pageLayouts[n%2], 3, 5)
				pk, pv = pk.pagesAs(types.k), pv.pagesAs(types.v)
				pages := c.contract(tq, pk, pv)
				eachTier(t, func(t *testing.T, tier *tier) {
					for _, threads := range []int{1, 3} {
						got := c.run(t, tq, tk, tv, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
						same(t, fmt.Sprintf("scales %d, threads=%d", form, threads), &got, &want)
					}
					got := c.run(t, tq, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 1}})
					same(t, fmt.Sprintf("pages of %d", size), &got, &pages)
				})
			}
		})
	}
}

// scaleForms is how many ways scaledAs knows.
const scaleForms = 6

// scaledAs gives an Int8 tensor other scales: one for a row, side by side or not; one
// for 8, 16 or 32 columns where they divide a row; one for all rows of a head.
func (t kernel.Tensor) scaledAs(form int) kernel.Tensor {
	if t.dtype != kernel.Int8 {
		return t
	}
	b, h, l, groups, row := t.shape[0], t.shape[1], t.shape[2], 1, 1
	switch form {
	case 1:
		row = 3
	case 2, 3, 4:
		if n := 4 << (form - 1); t.shape[3]%n == 0 {
			groups, row = t.shape[3]/n, t.shape[3]/n
		}
	case 5:
		row = 0
	}
	data := make([]float32, b*h*l*max(row, 1))
	r := rng(form)
	for i := range data {
		data[i] = mantissas.next(&r) / 1024
	}
	s := kernel.Strided(data, [4]int{b, h, l, groups}, [3]int{h * l * row, l * row, row})
	t.scales = &s
	return t
}

// pagesAs converts a float32 tensor in pages.
func (t kernel.Tensor) pagesAs(dtype kernel.DType) kernel.Tensor {
	memory := t
	memory.grid, memory.paging = t.storage(), paging{}
	return memory.as(dtype).Paged(t.table)
}
