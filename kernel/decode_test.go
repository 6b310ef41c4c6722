//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// decodeCases are calls of few rows that share many keys: lengths around blocks and
// tiles, groups around the tiles of queries and where panels take over, head sizes
// that divide by nothing.
func decodeCases() (list []contracttest.Case) {
	groups := [][2]int{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {8, 1}, {1, 8}, {3, 3}, {4, 3}, {13, 1}, {8, 2}, {4, 7}, {29, 1}, {8, 5}, {6, 3}, {11, 4}, {9, 5}}
	sizes := [][2]int{{8, 1}, {9, 7}, {15, 16}, {16, 19}, {23, 32}, {64, 20}, {20, 64}, {32, 33}}
	for _, lk := range []int{1, 7, 15, 16, 17, 31, 32, 33, 48, 255, 256, 257, 271, 272, 273, 511, 512, 513} {
		for x, g := range groups {
			i := len(list)
			s := sizes[(i+i/len(groups))%len(sizes)]
			c := contracttest.Case{B: 1, H: g[0], HKV: 1, Lq: g[1], Lk: lk, D: s[0], Dv: s[1], Seed: uint64(i), Layout: contracttest.Layout(i) % contracttest.Layouts}
			switch (i + x) % 4 {
			case 1:
				c.Mask = kernel.Causal(lk - g[1])
			case 2:
				c.B, c.Mask = 2, kernel.KeyLengths([]int{lk, lk - lk/3})
			case 3:
				c.H, c.HKV, c.Mask = 2*c.H, 2, kernel.Window(40, 0).And(kernel.Causal(lk/2))
			}
			list = append(list, c)
		}
	}
	return list
}

// TestDecode compares few rows with the contract, on all tiers, alone and on threads.
func TestDecode(t *testing.T) {
	for i, c := range decodeCases() {
		if testutil.Thin() && i%7 != 0 {
			continue
		}
		t.Run(c.String(), c.isContract)
	}
}

// TestDecodeIsPrefill compares a prompt with the same one token by token, and a few
// tokens at a time.
func TestDecodeIsPrefill(t *testing.T) {
	const tokens = 280
	c := contracttest.Case{B: 1, H: 8, HKV: 2, Lq: tokens, Lk: tokens, D: 24, Dv: 24, Mask: kernel.Causal(0), Seed: 5}
	q, k, v := c.Inputs()
	step := 1
	if testutil.Quick() {
		step = 23
	}
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for _, n := range []int{1, 2, 3, 5} {
			got := c.Tensor(1, c.H, tokens, c.Dv, contracttest.Canary)
			for at := 0; at < tokens; at += n {
				if at/n%step != 0 {
					n := min(n, tokens-at)
					from, to := contracttest.Rows(want, at, at+n), contracttest.Rows(got, at, at+n)
					contracttest.EachRow(&from, func(b, h, i int, row []float32) { copy(contracttest.Row(&to, b, h, i), row) })
					continue
				}
				end := min(at+n, tokens)
				err := kernel.Attention(contracttest.Rows(got, at, end), contracttest.Rows(q, at, end), contracttest.Rows(k, 0, end), contracttest.Rows(v, 0, end), kernel.Options{Exec: kernel.Exec{Tier: tier}, Mask: kernel.Causal(at)})
				if err != nil {
					t.Fatal(err)
				}
			}
			contracttest.Same(t, fmt.Sprintf("%d at a time", n), &got, &want)
		}
	})
}

// TestDecodeHidden puts NaN and Inf into what no query sees, and into what only one
// sees: the others' bits stay.
func TestDecodeHidden(t *testing.T) {
	const visible = 301
	for _, group := range []int{1, 4, 7} {
		c := contracttest.Case{B: 2, H: group, HKV: 1, Lq: 2, Lk: visible + 1, D: 16, Dv: 21, Mask: kernel.Causal(visible - 1).And(kernel.KeyLengths([]int{visible + 1, visible})), Seed: uint64(group)}
		q, k, v := c.Inputs()
		clean := c.Contract(q, k, v)
		for _, x := range poison {
			for _, in := range []*kernel.Tensor{&k, &v} {
				for b := range c.B { // only query 1 of batch row 0 sees the last key
					contracttest.Fill(contracttest.Row(in, b, 0, visible), x)
				}
			}
			want := c.Contract(q, k, v)
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				for _, threads := range []int{1, 2} {
					got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
					contracttest.Same(t, "poisoned", &got, &want)
					contracttest.EachRow(&got, func(b, h, i int, row []float32) {
						if b == 1 || i == 0 {
							contracttest.SameRow(t, "a row that does not see it", row, contracttest.Row(&clean, b, h, i))
						}
					})
				}
			})
		}
	}
}
