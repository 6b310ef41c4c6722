//go:build moving

package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var (
	testutil.NaN  = float32(math.NaN())
	testutil.Inf  = float32(math.Inf(1))
	poison = []float32{testutil.NaN, testutil.Inf, -testutil.Inf}
)

// TestHiddenNeverMatters poisons all keys and values that a row may not see: the
// bits of finite rows stay what they are without the poison.
func TestHiddenNeverMatters(t *testing.T) {
	for _, c := range []contracttest.Case{
		{B: 1, H: 2, HKV: 1, Lq: 70, Lk: 300, D: 16, Dv: 16, Mask: kernel.Causal(200)},
		{B: 2, H: 2, HKV: 1, Lq: 9, Lk: 300, D: 16, Dv: 16, Mask: kernel.KeyLengths([]int{270, 3})},
		{B: 3, H: 1, HKV: 1, Lq: 40, Lk: 40, D: 8, Dv: 20, Mask: kernel.Causal(-5).And(kernel.KeyLengths([]int{40, 20, 0}))},
	} {
		q, k, v := c.Inputs()
		clean := c.Contract(q, k, v)
		for _, x := range poison {
			// Every row in turn hides something else: poison from key i on, and
			// look at the rows that see none of it.
			for _, from := range []int{0, 1, 3, 20, 36, 201, 230, 256, 269} {
				if from >= c.Lk {
					continue
				}
				pk, pv := c.inputsPoisoned(from, x)
				contracttest.EachTier(t, func(t *testing.T, tier string) {
					out := c.Run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier}})
					contracttest.EachRow(&out, func(b, h, i int, row []float32) {
						if c.Mask.span(place{batch: b, query: i, keys: c.Lk, diagonal: i}).hi > from {
							return
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

func (c contracttest.Case) inputsPoisoned(from int, x float32) (k, v kernel.Tensor) {
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
			c.Mask = kernel.Causal(r.IntN(c.Lk))
		}
		q, k, v := c.Inputs()
		for _, in := range []*kernel.Tensor{&q, &k, &v} {
			for range r.IntN(3) {
				row := contracttest.Row(in, r.IntN(c.B), r.IntN(in.Shape()[1]), r.IntN(in.Shape()[2]))
				row[r.IntN(len(row))] = []float32{testutil.NaN, testutil.Inf, -testutil.Inf, math.MaxFloat32, -math.MaxFloat32}[r.IntN(5)]
			}
		}
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, fmt.Sprintf("seed %d %v", seed, c), &got, &want)
		})
	}
}

// TestMinusInfHides: a key whose score is -Inf is hidden, so that its value does
// not matter, not even NaN; a row of such keys is zeros.
func TestMinusInfHides(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		q := kernel.BHLD([]float32{1, 0}, 1, 1, 2, 1)
		k := kernel.BHLD([]float32{-testutil.Inf, 0, -testutil.Inf}, 1, 1, 3, 1)
		v := kernel.BHLD([]float32{testutil.NaN, 5, testutil.Inf}, 1, 1, 3, 1)
		out := make([]float32, 2)
		if err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 1), q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scale: 1}); err != nil {
			t.Fatal(err)
		}
		if out[0] != 5 || math.Float32bits(out[1]) != 0x7FC00000 { // 0·-Inf is NaN in row 1
			t.Errorf("got %v, want [5 NaN]", out)
		}
		k = kernel.BHLD([]float32{-testutil.Inf, -testutil.Inf, -testutil.Inf}, 1, 1, 3, 1)
		if err := kernel.Attention(kernel.BHLD(out[:1], 1, 1, 1, 1), kernel.BHLD([]float32{1}, 1, 1, 1, 1), k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}}); err != nil {
			t.Fatal(err)
		}
		if math.Float32bits(out[0]) != 0 {
			t.Errorf("a row of hidden keys is %v, want 0", out[0])
		}
	})
}

// TestMaskedRowsAreZero: rows that see no key are +0, whatever out held.
func TestMaskedRowsAreZero(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 20, Lk: 30, D: 8, Dv: 8, Mask: kernel.Causal(-10).And(kernel.KeyLengths([]int{30, 0}))}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier string) {
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

// TestPastLengthIsNotRead lets the slices of K and V end with the last key that
// any row sees in the last batch row.
func TestPastLengthIsNotRead(t *testing.T) {
	c := contracttest.Case{B: 2, H: 1, HKV: 1, Lq: 3, Lk: 300, D: 5, Dv: 7, Mask: kernel.KeyLengths([]int{300, 260})}
	q, k, v := c.Inputs()
	for _, in := range []*kernel.Tensor{&k, &v} {
		contracttest.EachRow(in, func(b, _, j int, row []float32) {
			if b == 1 && j >= 260 {
				copy(row, testutil.Filled(len(row), testutil.NaN))
			}
		})
	}
	want := c.Contract(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		contracttest.Same(t, "lengths", &got, &want)
	})
}
