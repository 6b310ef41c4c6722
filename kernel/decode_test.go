package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// decodeCases are calls of few rows that share many keys: lengths around blocks and
// tiles, groups around the tiles of queries and where panels take over, head sizes
// that divide by nothing.
func decodeCases() (list []attnCase) {
	groups := [][2]int{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {8, 1}, {1, 8}, {3, 3}, {4, 3}, {13, 1}, {8, 2}, {4, 7}, {29, 1}, {8, 5}, {6, 3}, {11, 4}, {9, 5}}
	sizes := [][2]int{{8, 1}, {9, 7}, {15, 16}, {16, 19}, {23, 32}, {64, 20}, {20, 64}, {32, 33}}
	for _, lk := range []int{1, 7, 15, 16, 17, 31, 32, 33, 48, 255, 256, 257, 271, 272, 273, 511, 512, 513} {
		for x, g := range groups {
			i := len(list)
			s := sizes[(i+i/len(groups))%len(sizes)]
			c := attnCase{b: 1, h: g[0], hkv: 1, lq: g[1], lk: lk, d: s[0], dv: s[1], seed: uint64(i), layout: layout(i) % layouts}
			switch (i + x) % 4 {
			case 1:
				c.mask = kernel.Causal(lk - g[1])
			case 2:
				c.b, c.mask = 2, kernel.KeyLengths([]int{lk, lk - lk/3})
			case 3:
				c.h, c.hkv, c.mask = 2*c.h, 2, kernel.Window(40, 0).And(kernel.Causal(lk/2))
			}
			list = append(list, c)
		}
	}
	return list
}

// TestDecode compares few rows with the contract, on all tiers, alone and on threads.
func TestDecode(t *testing.T) {
	for i, c := range decodeCases() {
		if thin() && i%7 != 0 {
			continue
		}
		t.Run(c.String(), c.isContract)
	}
}

// TestDecodeIsPrefill compares a prompt with the same one token by token, and a few
// tokens at a time.
func TestDecodeIsPrefill(t *testing.T) {
	const tokens = 280
	c := attnCase{b: 1, h: 8, hkv: 2, lq: tokens, lk: tokens, d: 24, dv: 24, mask: kernel.Causal(0), seed: 5}
	q, k, v := c.inputs()
	step := 1
	if quick() {
		step = 23
	}
	eachTier(t, func(t *testing.T, tier *tier) {
		want := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		for _, n := range []int{1, 2, 3, 5} {
			got := c.tensor(1, c.h, tokens, c.dv, canary)
			for at := 0; at < tokens; at += n {
				if at/n%step != 0 {
					n := min(n, tokens-at)
					from, to := part(want, at, at+n), part(got, at, at+n)
					eachRow(&from, func(b, h, i int, row []float32) { copy(rowOf(&to, b, h, i), row) })
					continue
				}
				end := min(at+n, tokens)
				err := kernel.Attention(part(got, at, end), part(q, at, end), part(k, 0, end), part(v, 0, end), kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Causal(at)})
				if err != nil {
					t.Fatal(err)
				}
			}
			same(t, fmt.Sprintf("%d at a time", n), &got, &want)
		}
	})
}

// TestDecodeHidden puts NaN and Inf into what no query sees, and into what only one
// sees: the others' bits stay.
func TestDecodeHidden(t *testing.T) {
	const visible = 301
	for _, group := range []int{1, 4, 7} {
		c := attnCase{b: 2, h: group, hkv: 1, lq: 2, lk: visible + 1, d: 16, dv: 21, mask: kernel.Causal(visible - 1).And(kernel.KeyLengths([]int{visible + 1, visible})), seed: uint64(group)}
		q, k, v := c.inputs()
		clean := c.contract(q, k, v)
		for _, x := range poison {
			for _, in := range []*kernel.Tensor{&k, &v} {
				for b := range c.b { // only query 1 of batch row 0 sees the last key
					fill(rowOf(in, b, 0, visible), x)
				}
			}
			want := c.contract(q, k, v)
			eachTier(t, func(t *testing.T, tier *tier) {
				for _, threads := range []int{1, 2} {
					got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
					same(t, "poisoned", &got, &want)
					eachRow(&got, func(b, h, i int, row []float32) {
						if b == 1 || i == 0 {
							sameRow(t, "a row that does not see it", row, rowOf(&clean, b, h, i))
						}
					})
				}
			})
		}
	}
}
