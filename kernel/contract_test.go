package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// cases are full calls of awkward shapes: every tile width, block borders,
// GQA, sizes that divide by nothing, every mask.
func cases() []contracttest.Case {
	var cs []contracttest.Case
	add := func(c contracttest.Case) {
		c.Seed = uint64(len(cs))
		c.Layout = contracttest.Layout(len(cs)) % contracttest.Layouts
		cs = append(cs, c)
	}
	for _, lq := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 33, 47, 49, 63, 64, 65, 72, 100, 129} {
		add(contracttest.Case{B: 1, H: 2, HKV: 2, Lq: lq, Lk: 19, D: 9, Dv: 5})
		add(contracttest.Case{B: 1, H: 1, HKV: 1, Lq: lq, Lk: lq, D: 16, Dv: 16, Mask: contracttest.Causal(0)})
	}
	for _, lk := range []int{1, 2, 6, 13, 255, 256, 257, 511, 512, 513, 700} {
		add(contracttest.Case{B: 2, H: 3, HKV: 1, Lq: 5, Lk: lk, D: 24, Dv: 17})
		add(contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 21, Lk: lk, D: 8, Dv: 8, Mask: contracttest.Causal(lk - 21)})
		add(contracttest.Case{B: 2, H: 2, HKV: 2, Lq: 3, Lk: lk, D: 4, Dv: 33, Mask: contracttest.KeyLengths([]int{lk, lk / 2})})
	}
	for _, d := range []int{1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 80, 128, 200} {
		add(contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 11, Lk: 40, D: d, Dv: d})
		add(contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 70, Lk: 30, D: d, Dv: 1 + d/2, Scale: 0.3})
	}
	for _, off := range []int{-300, -20, -1, 0, 1, 100, 255, 256, 600, math.MaxInt} {
		add(contracttest.Case{B: 1, H: 3, HKV: 1, Lq: 90, Lk: 300, D: 8, Dv: 8, Mask: contracttest.Causal(off)})
		add(contracttest.Case{B: 3, H: 2, HKV: 1, Lq: 40, Lk: 300, D: 8, Dv: 8, Mask: contracttest.Causal(off).And(contracttest.KeyLengths([]int{0, 270, 300}))})
	}
	add(contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 64, Lk: 9, D: 1500, Dv: 1500}) // rows that are packed in two parts
	add(contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 3, Lk: 0, D: 4, Dv: 4})
	add(contracttest.Case{B: 0, H: 2, HKV: 1, Lq: 3, Lk: 4, D: 4, Dv: 4})
	add(contracttest.Case{B: 2, H: 0, HKV: 0, Lq: 3, Lk: 4, D: 4, Dv: 4})
	add(contracttest.Case{B: 2, H: 2, HKV: 2, Lq: 0, Lk: 4, D: 4, Dv: 4})
	return cs
}

// TestContract compares every tier, with one thread and several, with the
// contract computed row by row.
func TestContract(t *testing.T) {
	for _, c := range cases() {
		if testing.Short() && c.Seed%5 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) { isContract(t, c) })
	}
}

// isContract compares a call with the contract on all tiers: on one thread, on three of
// the pool, and on the program's own parallel-for, which must get the share of all three.
func isContract(t *testing.T, c contracttest.Case) {
	contracttest.ForceThreads(t)
	q, k, v := c.Inputs()
	q, k, v = c.Typed(q, k, v)
	want := c.Contract(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 3} {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
		var own parallelFor
		got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 3, ParallelFor: own.run}})
		contracttest.Same(t, "own parallel-for", &got, &want)
		if least := min(3, leastTasks(c)); own.n < least {
			t.Errorf("the call was split for %d threads, want at least %d", own.n, least)
		}
	})
}

// leastTasks returns how many tasks a call has at least that is to use more threads: the
// query tiles of every key head, none of which is wider than MaxLanes.
func leastTasks(c contracttest.Case) int {
	if c.B == 0 || c.H == 0 || c.Lq == 0 {
		return 0
	}
	return c.B * c.HKV * ints.CeilDiv(c.H/c.HKV*c.Lq, ukernel.MaxLanes)
}

// decodeCases are calls of few rows that share many keys: lengths around blocks and
// tiles, groups around the tiles of queries and where the skinny kernels end, head sizes
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
				c.Mask = contracttest.Causal(lk - g[1])
			case 2:
				c.B, c.Mask = 2, contracttest.KeyLengths([]int{lk, lk - lk/3})
			case 3:
				c.H, c.HKV, c.Mask = 2*c.H, 2, contracttest.Window(40, 0).And(contracttest.Causal(lk/2))
			}
			list = append(list, c)
		}
	}
	return list
}

// TestDecode compares few rows with the contract, on all tiers, alone and on threads. Short
// tests have every seventh case, quick ones every eleventh: all lengths and sizes.
func TestDecode(t *testing.T) {
	step := 1
	switch {
	case testutil.Quick():
		step = 11
	case testutil.Thin():
		step = 7
	}
	for i, c := range decodeCases() {
		if i%step != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) { isContract(t, c) })
	}
}
