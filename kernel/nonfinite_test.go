package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var (
	nan32  = float32(math.NaN())
	inf32  = float32(math.Inf(1))
	poison = []float32{nan32, inf32, -inf32}
)

// TestHiddenNeverMatters poisons all keys and values that a row may not see: the
// bits of finite rows stay what they are without the poison.
func TestHiddenNeverMatters(t *testing.T) {
	for _, c := range []attnCase{
		{b: 1, h: 2, hkv: 1, lq: 70, lk: 300, d: 16, dv: 16, mask: kernel.Causal(200)},
		{b: 2, h: 2, hkv: 1, lq: 9, lk: 300, d: 16, dv: 16, mask: kernel.KeyLengths([]int{270, 3})},
		{b: 3, h: 1, hkv: 1, lq: 40, lk: 40, d: 8, dv: 20, mask: kernel.Causal(-5).And(kernel.KeyLengths([]int{40, 20, 0}))},
	} {
		q, k, v := c.inputs()
		clean := c.contract(q, k, v)
		for _, x := range poison {
			// Every row in turn hides something else: poison from key i on, and
			// look at the rows that see none of it.
			for _, from := range []int{0, 1, 3, 20, 36, 201, 230, 256, 269} {
				if from >= c.lk {
					continue
				}
				pk, pv := c.inputsPoisoned(from, x)
				eachTier(t, func(t *testing.T, tier *tier) {
					out := c.run(t, q, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
					eachRow(&out, func(b, h, i int, row []float32) {
						if c.mask.span(place{batch: b, query: i, keys: c.lk, diagonal: i}).hi > from {
							return
						}
						want := rowOf(&clean, b, h, i)
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

func (c attnCase) inputsPoisoned(from int, x float32) (k, v kernel.Tensor) {
	_, k, v = c.inputs()
	for _, t := range []*kernel.Tensor{&k, &v} {
		eachRow(t, func(_, _, j int, row []float32) {
			if j >= from {
				copy(row, filled(len(row), x))
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
		r := rng(seed)
		c := attnCase{b: 1 + r.intn(2), h: 2, hkv: 1 + r.intn(2), lq: 1 + r.intn(40), lk: 1 + r.intn(300), d: 1 + r.intn(20), dv: 1 + r.intn(20), seed: r.next()}
		if r.intn(2) == 0 {
			c.mask = kernel.Causal(r.intn(c.lk))
		}
		q, k, v := c.inputs()
		for _, in := range []*kernel.Tensor{&q, &k, &v} {
			for range r.intn(3) {
				row := rowOf(in, r.intn(c.b), r.intn(in.shape[1]), r.intn(in.shape[2]))
				row[r.intn(len(row))] = []float32{nan32, inf32, -inf32, math.MaxFloat32, -math.MaxFloat32}[r.intn(5)]
			}
		}
		want := c.contract(q, k, v)
		eachTier(t, func(t *testing.T, tier *tier) {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
			same(t, fmt.Sprintf("seed %d %v", seed, c), &got, &want)
		})
	}
}

// TestMinusInfHides: a key whose score is -Inf is hidden, so that its value does
// not matter, not even NaN; a row of such keys is zeros.
func TestMinusInfHides(t *testing.T) {
	eachTier(t, func(t *testing.T, tier *tier) {
		q := kernel.BHLD([]float32{1, 0}, 1, 1, 2, 1)
		k := kernel.BHLD([]float32{-inf32, 0, -inf32}, 1, 1, 3, 1)
		v := kernel.BHLD([]float32{nan32, 5, inf32}, 1, 1, 3, 1)
		out := make([]float32, 2)
		if err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 1), q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Scale: 1}); err != nil {
			t.Fatal(err)
		}
		if out[0] != 5 || math.Float32bits(out[1]) != 0x7FC00000 { // 0·-Inf is NaN in row 1
			t.Errorf("got %v, want [5 NaN]", out)
		}
		k = kernel.BHLD([]float32{-inf32, -inf32, -inf32}, 1, 1, 3, 1)
		if err := kernel.Attention(kernel.BHLD(out[:1], 1, 1, 1, 1), kernel.BHLD([]float32{1}, 1, 1, 1, 1), k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}}); err != nil {
			t.Fatal(err)
		}
		if math.Float32bits(out[0]) != 0 {
			t.Errorf("a row of hidden keys is %v, want 0", out[0])
		}
	})
}

// TestMaskedRowsAreZero: rows that see no key are +0, whatever out held.
func TestMaskedRowsAreZero(t *testing.T) {
	c := attnCase{b: 2, h: 2, hkv: 1, lq: 20, lk: 30, d: 8, dv: 8, mask: kernel.Causal(-10).And(kernel.KeyLengths([]int{30, 0}))}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		out := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		eachRow(&out, func(b, h, i int, row []float32) {
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
	c := attnCase{b: 2, h: 1, hkv: 1, lq: 3, lk: 300, d: 5, dv: 7, mask: kernel.KeyLengths([]int{300, 260})}
	q, k, v := c.inputs()
	for _, in := range []*kernel.Tensor{&k, &v} {
		eachRow(in, func(b, _, j int, row []float32) {
			if b == 1 && j >= 260 {
				copy(row, filled(len(row), nan32))
			}
		})
	}
	want := c.contract(q, k, v)
	eachTier(t, func(t *testing.T, tier *tier) {
		got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		same(t, "lengths", &got, &want)
	})
}
