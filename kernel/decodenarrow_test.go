//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestDecodeNarrow compares few rows on keys and values of narrow types with the
// contract, where they are widened on the way and where they can't be: sizes that 16
// does not divide, scales for any number of columns, side by side or not, one for all
// keys, and pages that do not hold 16 keys.
func TestDecodeNarrow(t *testing.T) {
	shapes := []contracttest.Case{
		{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 128},
		{B: 2, H: 3, HKV: 3, Lq: 1, Lk: 261, D: 16, Dv: 16, Layout: contracttest.TokenMajor},
		{B: 1, H: 10, HKV: 2, Lq: 2, Lk: 528, D: 48, Dv: 32, Mask: kernel.Causal(526), Layout: contracttest.Gaps},
		{B: 1, H: 9, HKV: 1, Lq: 1, Lk: 97, D: 128, Dv: 80},
		{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 24, Dv: 32},
		{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 32, Dv: 24},
	}
	for n, types := range contracttest.AllTypes() {
		c := shapes[n%len(shapes)]
		c.Types, c.Seed = types, uint64(n)
		if types.K == kernel.Float32 && types.V == kernel.Float32 || testutil.Thin() && n%5 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%3 == 0 {
				r := testutil.Rand(n)
				r.sprinkle(&q, &k, &v)
			}
			for form := range scaleForms {
				if form >= 3 && types.K != kernel.Int8 && types.V != kernel.Int8 {
					break // all page sizes were there
				}
				tq, tk, tv := c.Typed(q, k, v)
				tk, tv = tk.scaledAs(form), tv.scaledAs(form)
				want := c.Contract(tq, tk, tv)
				size := []int{8, 16, 40}[form%3]
				lengths := make([]int, c.B)
				for b := range lengths {
					lengths[b] = c.Lk
				}
				pk, pv := paged(contracttest.Widened(tk), contracttest.Widened(tv), lengths, size, pageLayouts[n%2], 3, 5)
				pk, pv = pk.pagesAs(types.K), pv.pagesAs(types.V)
				pages := c.Contract(tq, pk, pv)
				contracttest.EachTier(t, func(t *testing.T, tier string) {
					for _, threads := range []int{1, 3} {
						got := c.Run(t, tq, tk, tv, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
						contracttest.Same(t, fmt.Sprintf("scales %d, threads=%d", form, threads), &got, &want)
					}
					got := c.Run(t, tq, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
					contracttest.Same(t, fmt.Sprintf("pages of %d", size), &got, &pages)
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
	b, h, l, groups, row := t.Shape()[0], t.Shape()[1], t.Shape()[2], 1, 1
	switch form {
	case 1:
		row = 3
	case 2, 3, 4:
		if n := 4 << (form - 1); t.Shape()[3]%n == 0 {
			groups, row = t.Shape()[3]/n, t.Shape()[3]/n
		}
	case 5:
		row = 0
	}
	data := make([]float32, b*h*l*max(row, 1))
	r := testutil.Rand(form)
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
	return contracttest.As(memory, dtype).Paged(t.table)
}
