package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// someTree has branches of several lengths and a second root.
func someTree(n int) []int32 {
	r := testutil.Rand(uint64(n))
	p := make([]int32, n)
	for i := range p {
		if p[i] = int32(i - 1); r.IntN(3) == 0 {
			p[i] = int32(r.IntN(i+1)) - 1
		}
	}
	return p
}

// TestTree: for all types of keys and values, a query of a tree has the bits that it has as the
// last token of a sequence: of the keys before the tree and those on its path, wherever blocks of
// keys end, with ALiBi and a window.
func TestTree(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	for n, types := range contracttest.KeyTypes() {
		for m, past := range []int{0, 9, 250, 500} {
			if testing.Short() && (n+m)%3 > 0 { // each type and each length is there
				continue
			}
			c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 14, Lk: past + 14, D: 32, Dv: 16, Seed: uint64(n), Layout: contracttest.Layout(m % 3)}
			c = c.With(contracttest.TypesOf(kernel.Float32, types, contracttest.KeyTypes()[(n+m)%len(contracttest.KeyTypes())], kernel.Float32))
			if m == 3 {
				c.H = 40
			}
			isSequence(t, c, past, someTree(c.Lq))
		}
	}
}

func isSequence(t *testing.T, c contracttest.Case, past int, tree []int32) {
	t.Helper()
	const start = 300 // of the keys
	q, k, v := c.Typed(c.Inputs())
	slopes := testutil.Floats(c.H)
	want := c.Output(c.Dv)
	for i := range c.Lq {
		path := []int32{int32(past + i)}
		for x := tree[i]; x >= 0; x = tree[x] {
			path = append([]int32{int32(past) + x}, path...)
		}
		depth := len(path) - 1
		rows := make([]int32, past, past+len(path))
		for j := range rows {
			rows[j] = int32(j)
		}
		rows = append(rows, path...)
		for h := range c.H {
			kv := h / (c.H / c.HKV)
			err := kernel.Attention(kernel.BHLD(contracttest.Row(&want, 0, h, i), 1, 1, 1, c.Dv), contracttest.Gathered(&q, 0, h, []int32{int32(i)}),
				contracttest.Gathered(&k, 0, kv, rows), contracttest.Gathered(&v, 0, kv, rows), &kernel.Options{
					Exec:    kernel.Exec{Threads: 1},
					Scoring: kernel.Scoring{ALiBi: slopes[h : h+1], Mask: kernel.Window(260, 0), QueryStart: []int{start + past + depth}, KeyStart: []int{start}},
				})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Mask = contracttest.Window(260, 0)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 3} {
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{
				ALiBi: slopes, Parents: tree, QueryStart: []int{start + past}, KeyStart: []int{start},
			}})
			contracttest.Same(t, fmt.Sprintf("%v %v, past=%d, threads=%d", c, c.Types, past, threads), &out, &want)
		}
	})
}

// TestChain: queries in a row are a tree, too, with the bits of a causal mask.
func TestChain(t *testing.T) {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 30, Lk: 300, D: 32, Dv: 16, Mask: contracttest.Causal(0), Seed: 3}
	chain := make([]int32, c.Lq)
	for i := range chain {
		chain[i] = int32(i) - 1
	}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{QueryStart: []int{270, 100}}}
		want := c.Run(t, q, k, v, o)
		o.Parents = chain
		got := c.Run(t, q, k, v, o)
		contracttest.Same(t, "", &got, &want)
	})
}

// TestParentsChangeDuringCall: parents that change while a call runs, against the rules, lead to a
// panic. No walk goes on for ever, and none leaves the slices of k and v.
func TestParentsChangeDuringCall(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 600, Lk: 600, D: 32, Dv: 32}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for name, parent := range map[string]func(i int) int32{
			"itself": func(i int) int32 { return int32(i) }, "a later one": func(i int) int32 { return int32(i) + 1 }, "none": func(int) int32 { return -5 },
		} {
			parents := make([]int32, c.Lq)
			for i := range parents {
				parents[i] = int32(i) - 1
			}
			o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: kernel.Scoring{Parents: parents}}
			o.Score = func(tile *kernel.ScoreTile) {
				for i := range parents {
					parents[i] = parent(i)
				}
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				if err := kernel.Attention(c.Out(), q, k, v, &o); err != nil {
					t.Error(err)
				}
			}()
		}
	})
}
