package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestKeyRows: for all types of keys and values, few queries and many, a call with lists has the
// bits of one over copies of the rows of each list, which has as many keys, on any number of
// threads.
func TestKeyRows(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	for n, types := range contracttest.KeyTypes() {
		for m, c := range []contracttest.Case{
			{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 700, D: 32, Dv: 16}, {B: 1, H: 8, HKV: 1, Lq: 9, Lk: 90, D: 18, Dv: 40},
			{B: 1, H: 40, HKV: 2, Lq: 3, Lk: 64, D: 64, Dv: 32, Layout: contracttest.TokenMajor}, {B: 2, H: 3, HKV: 3, Lq: 70, Lk: 30, D: 7, Dv: 6},
		} {
			if !testutil.Every(n+m, 3, 6) {
				continue
			}
			c = c.With(contracttest.TypesOf(kernel.Float32, types, contracttest.KeyTypes()[(n+m)%len(contracttest.KeyTypes())], kernel.Float32))
			for x, entries := range []int{17, 530} {
				for y, shape := range [][4]int{{1, 1, 1, entries}, {c.B, c.HKV, c.Lq, entries}} {
					if testing.Short() && (x+y+n)%2 > 0 {
						continue
					}
					c.Seed = uint64(n)
					listsAreCopies(t, c, randomLists(uint64(n+m), shape, c.Lk))
				}
			}
		}
	}
}

// randomLists draws lists that are full.
func randomLists(seed uint64, shape [4]int, rows int) kernel.KeyRows {
	x := kernel.KeyRows{Rows: make([]int32, shape[0]*shape[1]*shape[2]*shape[3]), Shape: shape}
	r := testutil.Rand(seed)
	for i := range x.Rows {
		x.Rows[i] = int32(r.IntN(rows))
	}
	return x
}

func listsAreCopies(t *testing.T, c contracttest.Case, x kernel.KeyRows) {
	t.Helper()
	q, k, v := c.Typed(c.Inputs())
	want := c.Output(c.Dv)
	for b := range c.B {
		for h := range c.H {
			for i := range c.Lq {
				at := 0
				for d, index := range [...]int{b, h / (c.H / c.HKV), i} {
					at = at*x.Shape[d] + min(index, x.Shape[d]-1)
				}
				list, kv := x.Rows[at*x.Shape[3]:][:x.Shape[3]], h/(c.H/c.HKV)
				row := kernel.BHLD(contracttest.Row(&want, b, h, i), 1, 1, 1, c.Dv)
				err := kernel.Attention(row, contracttest.Gathered(&q, b, h, []int32{int32(i)}), contracttest.Gathered(&k, b, kv, list), contracttest.Gathered(&v, b, kv, list),
					&kernel.Options{Exec: kernel.Exec{Threads: 1}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 3} {
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{KeyRows: x}})
			contracttest.Same(t, fmt.Sprintf("%v %v %v, threads=%d", c, c.Types, x.Shape, threads), &out, &want)
		}
	})
}

// TestAllKeyRows: a list of all rows in ascending order has the bits of a call without lists, with
// all outputs and a mask.
func TestAllKeyRows(t *testing.T) {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 5, Lk: 600, D: 32, Dv: 16, Mask: contracttest.Causal(400).And(contracttest.Window(300, -1)), Seed: 1}
	all := make([]int32, c.Lk)
	for i := range all {
		all[i] = int32(i)
	}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		var results [2][4]kernel.Tensor
		for x := range results {
			o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{KeyStart: []int{512}, QueryStart: []int{600}, Sinks: make([]float32, c.H)}}
			o.LSE, o.Weights, o.Scores = c.Output(1), c.Output(c.Lk), c.Output(c.Lk)
			if x == 1 {
				o.KeyRows = kernel.KeyRows{Rows: all, Shape: [4]int{1, 1, 1, c.Lk}}
			}
			results[x] = [4]kernel.Tensor{c.Run(t, q, k, v, o), o.LSE, o.Weights, o.Scores}
		}
		for x := range results[0] {
			contracttest.Same(t, fmt.Sprintf("output %d", x), &results[1][x], &results[0][x])
		}
	})
}

// TestListsChangeDuringCall: a list that changes while a call runs, against the rules, leads to a
// panic and not out of the slices of k and v.
func TestListsChangeDuringCall(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 600, D: 32, Dv: 32}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, row := range []int32{-5, 1 << 30} {
			rows := make([]int32, 600)
			o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: kernel.Scoring{KeyRows: kernel.KeyRows{Rows: rows, Shape: [4]int{1, 1, 1, len(rows)}}}}
			o.Score = func(tile *kernel.ScoreTile) { rows[599-tile.Key%2] = row }
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("row %d: no panic", row)
					}
				}()
				if err := kernel.Attention(c.Out(), q, k, v, &o); err != nil {
					t.Error(err)
				}
			}()
		}
	})
}
