package kernel_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

var poison = []float32{testutil.NaN, testutil.Inf, -testutil.Inf}

// TestHiddenNeverMatters poisons all keys and values that a row may not see: the
// bits of finite rows stay what they are without the poison. Quick tests start each poison
// at every third place.
func TestHiddenNeverMatters(t *testing.T) {
	for _, c := range []contracttest.Case{
		{B: 1, H: 2, HKV: 1, Lq: 70, Lk: 300, D: 16, Dv: 16, Mask: contracttest.Causal(200)},
		{B: 2, H: 2, HKV: 1, Lq: 9, Lk: 300, D: 16, Dv: 16, Mask: contracttest.KeyLengths([]int{270, 3})},
		{B: 3, H: 1, HKV: 1, Lq: 40, Lk: 40, D: 8, Dv: 20, Mask: contracttest.Causal(-5).And(contracttest.KeyLengths([]int{40, 20, 0}))},
	} {
		q, k, v := c.Inputs()
		clean, model := c.Contract(q, k, v), c.Model(q, k, v, &kernel.Options{})
		for n, x := range poison {
			// Every row in turn hides something else: poison from key i on, and
			// look at the rows that see none of it.
			for place, from := range []int{0, 1, 3, 20, 36, 201, 230, 256, 269} {
				if from >= c.Lk || testutil.Quick() && place%3 != n {
					continue
				}
				pk, pv := inputsPoisoned(c, from, x)
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					out := c.Run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier}})
					contracttest.EachRow(&out, func(b, h, i int, row []float32) {
						for j := from; j < c.Lk; j++ {
							if model.Sees(b, h, i, j) {
								return
							}
						}
						want := contracttest.Row(&clean, b, h, i)
						for e := range row {
							if row[e] != want[e] {
								t.Fatalf("%v: keys from %d on are %v: row %d %d %d, which does not see them, is %v, want %v", c, from, x, b, h, i, row[e], want[e])
							}
						}
					})
				})
			}
		}
	}
}

// inputsPoisoned returns the case's keys and values with x from key number from on.
func inputsPoisoned(c contracttest.Case, from int, x float32) (k, v kernel.Tensor) {
	_, k, v = c.Inputs()
	for _, t := range []*kernel.Tensor{&k, &v} {
		contracttest.EachRow(t, func(_, _, j int, row []float32) {
			if j >= from {
				copy(row, testutil.Filled(len(row), x))
			}
		})
	}
	return k, v
}

// TestNonFinite puts NaN and Inf anywhere and compares with the contract, to the
// bit: NaN rows are canonical, keys with a score of -Inf are hidden.
func TestNonFinite(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		r := testutil.Rand(seed)
		c := contracttest.Case{B: 1 + r.IntN(2), H: 2, HKV: 1 + r.IntN(2), Lq: 1 + r.IntN(40), Lk: 1 + r.IntN(300), D: 1 + r.IntN(20), Dv: 1 + r.IntN(20), Seed: r.Uint64()}
		if r.IntN(2) == 0 {
			c.Mask = contracttest.Causal(r.IntN(c.Lk))
		}
		q, k, v := c.Inputs()
		for _, in := range []*kernel.Tensor{&q, &k, &v} {
			for range r.IntN(3) {
				row := contracttest.Row(in, r.IntN(c.B), r.IntN(in.Shape()[1]), r.IntN(in.Shape()[2]))
				row[r.IntN(len(row))] = []float32{testutil.NaN, testutil.Inf, -testutil.Inf, math.MaxFloat32, -math.MaxFloat32}[r.IntN(5)]
			}
		}
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, fmt.Sprintf("seed %d %v", seed, c), &got, &want)
		})
	}
}

// TestMinusInfHides: a key whose score is -Inf is hidden, so that its value does
// not matter, not even NaN; a row of such keys is zeros.
func TestMinusInfHides(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		q := kernel.BHLD([]float32{1, 0}, 1, 1, 2, 1)
		k := kernel.BHLD([]float32{-testutil.Inf, 0, -testutil.Inf}, 1, 1, 3, 1)
		v := kernel.BHLD([]float32{testutil.NaN, 5, testutil.Inf}, 1, 1, 3, 1)
		out := make([]float32, 2)
		if err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 1), q, k, v, &kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Scale: 1}}); err != nil {
			t.Fatal(err)
		}
		if out[0] != 5 || math.Float32bits(out[1]) != 0x7FC00000 { // 0·-Inf is NaN in row 1
			t.Errorf("got %v, want [5 NaN]", out)
		}
		k = kernel.BHLD([]float32{-testutil.Inf, -testutil.Inf, -testutil.Inf}, 1, 1, 3, 1)
		if err := kernel.Attention(kernel.BHLD(out[:1], 1, 1, 1, 1), kernel.BHLD([]float32{1}, 1, 1, 1, 1), k, v, &kernel.Options{Exec: kernel.Exec{Tier: tier}}); err != nil {
			t.Fatal(err)
		}
		if math.Float32bits(out[0]) != 0 {
			t.Errorf("a row of hidden keys is %v, want 0", out[0])
		}
	})
}

// TestMaskedRowsAreZero: rows that see no key are +0, whatever out held.
func TestMaskedRowsAreZero(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 20, Lk: 30, D: 8, Dv: 8, Mask: contracttest.Causal(-10).And(contracttest.KeyLengths([]int{30, 0}))}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		contracttest.EachRow(&out, func(b, h, i int, row []float32) {
			for _, x := range row {
				if hidden := b == 1 || i < 10; hidden && math.Float32bits(x) != 0 {
					t.Fatalf("row %d %d %d: got %v, want +0", b, h, i, x)
				}
			}
		})
	})
}

// TestPastLengthDoesNotMatter: keys and values after a length may be NaN. (That they are
// not even read is tested by TestGuardKeyLengths.)
func TestPastLengthDoesNotMatter(t *testing.T) {
	c := contracttest.Case{B: 2, H: 1, HKV: 1, Lq: 3, Lk: 300, D: 5, Dv: 7, Mask: contracttest.KeyLengths([]int{300, 260})}
	q, k, v := c.Inputs()
	for _, in := range []*kernel.Tensor{&k, &v} {
		contracttest.EachRow(in, func(b, _, j int, row []float32) {
			if b == 1 && j >= 260 {
				copy(row, testutil.Filled(len(row), testutil.NaN))
			}
		})
	}
	want := c.Contract(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		contracttest.Same(t, "lengths", &got, &want)
	})
}

// TestDecodeHidden puts NaN and Inf into what no query sees, and into what only one
// sees: the others' bits stay.
func TestDecodeHidden(t *testing.T) {
	contracttest.ForceThreads(t)
	const visible = 301
	for _, group := range []int{1, 4, 7} {
		c := contracttest.Case{B: 2, H: group, HKV: 1, Lq: 2, Lk: visible + 1, D: 16, Dv: 21, Mask: contracttest.Causal(visible - 1).And(contracttest.KeyLengths([]int{visible + 1, visible})), Seed: uint64(group)}
		q, k, v := c.Inputs()
		clean := c.Contract(q, k, v)
		for _, x := range poison {
			for _, in := range []*kernel.Tensor{&k, &v} {
				for b := range c.B { // only query 1 of batch row 0 sees the last key
					contracttest.Fill(contracttest.Row(in, b, 0, visible), x)
				}
			}
			want := c.Contract(q, k, v)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
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

// TestCausalOffsets: an offset near the largest int hides nothing, also where
// offset + i overflows.
func TestCausalOffsets(t *testing.T) {
	for _, keys := range []int{0, 1, 300, position.Max - 1, position.Max} {
		for _, offset := range []int{math.MinInt, -1, 0, 1, 299, 300, math.MaxInt - 2, math.MaxInt - 1, math.MaxInt} {
			m := kernel.Causal(offset)
			v := mask.Mask(m)
			v.Resolve(&view.Scores{Batch: 1, Heads: 1, Queries: 5, Keys: keys})
			for i := range 5 {
				want := new(big.Int).Add(big.NewInt(int64(offset)), big.NewInt(int64(i+1)))
				if want.Cmp(big.NewInt(int64(keys))) > 0 {
					want.SetInt64(int64(keys))
				}
				if want.Sign() < 0 {
					want.SetInt64(0)
				}
				if got := v.Span(mask.Query{Index: i, Keys: keys, Diagonal: i}); got.Lo != 0 || int64(got.Hi) != want.Int64() {
					t.Errorf("Causal(%d) of query %d and %d keys is %v, want up to %v", offset, i, keys, got, want)
				}
			}
		}
	}
}

// TestMaskWindow: a mask that is a window says which, and no other does.
func TestMaskWindow(t *testing.T) {
	keep := kernel.Visible([]bool{true}, [4]int{1, 1, 1, 1})
	for _, x := range []struct {
		m           kernel.Mask
		left, right int
		ok          bool
	}{
		{kernel.Mask{}, -1, -1, true},
		{kernel.Causal(0), -1, 0, true},
		{kernel.Causal(5), -1, 5, true},
		{kernel.Causal(-1), 0, 0, false},
		{kernel.Window(7, -1), 7, -1, true},
		{kernel.Window(7, 3).And(kernel.Causal(2)).And(kernel.Window(8, 9)), 7, 2, true},
		{kernel.Window(-2, 0), 0, 0, false},
		{kernel.Window(7, 3).And(keep), 0, 0, false},
		{kernel.Causal(0).And(kernel.KeyLengths([]int{1})), 0, 0, false},
		{kernel.BlockSparse([]bool{true}, 1, 1), 0, 0, false},
		{kernel.Window(7, 3).Or(kernel.Window(9, 1)), 0, 0, false},
		{kernel.Window(7, 3).Or(kernel.Mask{}), -1, -1, true},
		{kernel.Chunked(4), 0, 0, false},
	} {
		if left, right, ok := x.m.Window(); left != x.left || right != x.right || ok != x.ok {
			t.Errorf("got %d, %d, %v, want %d, %d, %v", left, right, ok, x.left, x.right, x.ok)
		}
	}
}

// TestMaskPositions: masks that are stated in positions follow the positions of queries and
// keys, which differ from batch row to batch row.
func TestMaskPositions(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 30, Lk: 70, D: 8, Dv: 8, Layout: contracttest.TokenMajor, Seed: 3}
	q, k, v := c.Inputs()
	for name, mask := range map[string]contracttest.Mask{
		"causal":   contracttest.Causal(3),
		"window":   contracttest.Window(20, 5),
		"prefix":   contracttest.PrefixLM([]int{40}),
		"prefixes": contracttest.PrefixLM([]int{640, 20}),
	} {
		for _, starts := range [][2][]int{
			{nil, nil}, {{40}, nil}, {nil, {30}}, {{600}, {600}}, {{-10}, {0}}, {{630, 10}, {600, 5}}, {{10, 620}, {35, 600}},
		} {
			c.Mask = mask
			o := kernel.Options{Scoring: kernel.Scoring{QueryStart: starts[0], KeyStart: starts[1]}}
			model, want := c.Model(q, k, v, &o), c.Output(c.Dv)
			contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, model.Row(b, h, i).Out) })
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o := o
				o.Tier = tier
				got := c.Run(t, q, k, v, o)
				contracttest.Same(t, fmt.Sprintf("%s, starts %v", name, starts), &got, &want)
			})
		}
	}
}

// unionCases are masks with gaps, and one without that has a rule of its own.
var unionCases = map[string]contracttest.Mask{
	"sinks":           contracttest.Window(40, 0).Or(contracttest.KeyRange(0, 4)).And(contracttest.Causal(0)),
	"sinks of chunks": contracttest.Chunked(50).Or(contracttest.KeyRange(0, 4)).And(contracttest.Causal(0)),
	"chunks":          contracttest.Chunked(70),
	"global":          contracttest.Window(9, 9).Or(contracttest.KeyRange(3, 9)).Or(contracttest.QueryRange(3, 9)),
	"two ranges":      contracttest.Window(3, 3).Or(contracttest.KeyRange(300, 310)).Or(contracttest.KeyRange(-5, 2)),
	"of a product":    contracttest.Window(30, 0).And(contracttest.Causal(-2)).Or(contracttest.KeyRange(256, 258)),
	"two unions":      contracttest.Chunked(64).Or(contracttest.KeyRange(100, 101)).And(contracttest.Window(80, 0).Or(contracttest.PrefixLM([]int{17}))),
	"lengths":         contracttest.KeyLengths([]int{200, 3}).Or(contracttest.Window(2, 0)),
	"far":             contracttest.Window(4, 4).Or(contracttest.KeyRange(math.MaxInt-1, math.MaxInt)).Or(contracttest.KeyRange(math.MinInt, 1)),
	"nothing":         contracttest.KeyRange(9, 3).Or(contracttest.QueryRange(5, 5)),
}

// TestUnions: a union has the bits of a matrix of bools that says the same, for prompts and
// decoding, at any position. What it hides is poisoned.
func TestUnions(t *testing.T) {
	contracttest.ForceThreads(t)
	for name, union := range unionCases {
		for n, c := range []contracttest.Case{
			{B: 2, H: 2, HKV: 1, Lq: 70, Lk: 530, D: 16, Dv: 20, Mask: union, Seed: 4},
			{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 700, D: 8, Dv: 8, Mask: union, Seed: 5},
			{B: 2, H: 2, HKV: 2, Lq: 300, Lk: 300, D: 5, Dv: 4, Mask: union, Layout: contracttest.TokenMajor, Seed: 6},
		} {
			for m, start := range [][2][]int{{{c.Lk - c.Lq}, nil}, {{c.Lk + 90, 250}, {100, 3}}, {{-20}, nil}} {
				if testing.Short() && (n+m)%3 > 0 { // each shape and each start is there
					continue
				}
				q, k, v := c.Inputs()
				o := kernel.Options{Scoring: kernel.Scoring{QueryStart: start[0], KeyStart: start[1]}}
				keep, shape := seenBy(c, c.Model(q, k, v, &o))
				poisonUnseen(c, keep, &k, &v)
				same := c
				same.Mask = contracttest.Visible(keep, shape)
				want := same.Run(t, q, k, v, o)
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					for _, threads := range []int{1, 3} {
						o := o
						o.Tier, o.Threads = tier, threads
						got := c.Run(t, q, k, v, o)
						contracttest.Same(t, fmt.Sprintf("%s of %v at %v", name, c, start), &got, &want)
					}
				})
			}
		}
	}
}

// TestVisibleLast: a mask of the last keys has the bits of a mask of all keys, in each batch row's
// own length.
func TestVisibleLast(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range []contracttest.Case{
		{B: 2, H: 4, HKV: 2, Lq: 5, Lk: 300, D: 16, Dv: 8, Seed: 1},
		{B: 2, H: 2, HKV: 1, Lq: 70, Lk: 515, D: 8, Dv: 20, Seed: 2},
		{B: 2, H: 2, HKV: 2, Lq: 3, Lk: 7, D: 5, Dv: 3, Seed: 3, Layout: contracttest.TokenMajor},
	} {
		for _, lengths := range [][]int{nil, {c.Lk, c.Lk - 2}, {c.Lq - 1, 0}} {
			for _, n := range []int{min(c.Lq, c.Lk), 1, c.Lk, 0} {
				r := testutil.Rand(n)
				shape := [4]int{c.B, 1, c.Lq, n}
				bools := make([]bool, c.B*c.Lq*n)
				for x := range bools {
					bools[x] = r.IntN(2) == 0
				}
				c.Mask = contracttest.VisibleLast(bools, shape)
				if lengths != nil {
					c.Mask = c.Mask.And(contracttest.KeyLengths(lengths))
				}
				q, k, v := c.Inputs()
				keep, whole := seenBy(c, c.Model(q, k, v, &kernel.Options{}))
				all := c
				all.Mask = contracttest.Visible(keep, whole)
				want := all.Run(t, q, k, v, kernel.Options{})
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					for _, threads := range []int{1, 3} {
						got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
						contracttest.Same(t, fmt.Sprintf("the last %d of %v, lengths %v", n, c, lengths), &got, &want)
					}
				})
			}
		}
	}
}

// seenBy returns which keys each query sees, for all heads.
func seenBy(c contracttest.Case, m *contracttest.Model) (keep []bool, shape [4]int) {
	shape = [4]int{c.B, 1, c.Lq, c.Lk}
	for b := range c.B {
		for i := range c.Lq {
			for j := range c.Lk {
				keep = append(keep, m.Sees(b, 0, i, j))
			}
		}
	}
	return keep, shape
}

// poisonUnseen makes keys and values NaN that no query sees.
func poisonUnseen(c contracttest.Case, keep []bool, tensors ...*kernel.Tensor) {
	for _, x := range tensors {
		contracttest.EachRow(x, func(b, _, j int, row []float32) {
			for i := range c.Lq {
				if keep[(b*c.Lq+i)*c.Lk+j] {
					return
				}
			}
			contracttest.Fill(row, testutil.NaN)
		})
	}
}
