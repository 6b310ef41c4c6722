package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// The tests named TestStory are what went wrong for users of attention
// elsewhere, each in a call as small as shows it.

// attend makes a call with out of its own.
func attend(t *testing.T, q, k, v kernel.Tensor, o kernel.Options) kernel.Tensor {
	t.Helper()
	b, h, l, d := q.shape[0], q.shape[1], q.shape[2], v.shape[3]
	out := kernel.BHLD(filled(b*h*l*d, canary), b, h, l, d)
	if err := kernel.Attention(out, q, k, v, o); err != nil {
		t.Fatal(err)
	}
	return out
}

// bools makes a contiguous mask with f(b, h, i, j) as its elements.
func bools(shape [4]int, f func(b, h, i, j int) bool) []bool {
	var s []bool
	for b := range shape[0] {
		for h := range shape[1] {
			for i := range shape[2] {
				for j := range shape[3] {
					s = append(s, f(b, h, i, j))
				}
			}
		}
	}
	return s
}

// biasOf makes the bias that hides what a mask does not show.
func biasOf(visible []bool, shape [4]int) kernel.Tensor {
	s := make([]float32, len(visible))
	for x, yes := range visible {
		if !yes {
			s[x] = negInf[0]
		}
	}
	return kernel.BHLD(s, shape[0], shape[1], shape[2], shape[3])
}

// A query of padding that a bool mask shows no key to: NaN in other libraries, from a
// softmax over nothing.
func TestStoryPaddingRowIsZeros(t *testing.T) {
	c := attnCase{b: 2, h: 2, hkv: 1, lq: 9, lk: 300, d: 8, dv: 8}
	q, k, v := c.inputs()
	shape := [4]int{c.b, 1, c.lq, c.lk}
	visible := bools(shape, func(b, _, i, j int) bool { return !(b == 1 && i >= 6) && j%3 != 0 })
	hidden := make([]bool, len(visible))
	for x := range visible {
		hidden[x] = !visible[x]
	}
	for name, o := range map[string]kernel.Options{
		"visible": {Mask: kernel.Visible(visible, shape)},
		"hidden":  {Mask: kernel.Hidden(hidden, shape)},
		"bias":    {Bias: biasOf(visible, shape)},
	} {
		eachTier(t, func(t *testing.T, tier *tier) {
			o.Tier = tier.name
			o.LSE, o.Weights = c.tensor(c.b, c.h, c.lq, 1, canary), c.tensor(c.b, c.h, c.lq, c.lk, canary)
			out := attend(t, q, k, v, o)
			eachRow(&out, func(b, h, i int, row []float32) {
				at := fmt.Sprintf("%s: row %d %d %d", name, b, h, i)
				if b == 1 && i >= 6 {
					sameRow(t, at, row, make([]float32, c.dv))
					sameRow(t, at+" LSE", rowOf(&o.LSE, b, h, i), negInf[:1])
					sameRow(t, at+" weights", rowOf(&o.Weights, b, h, i), make([]float32, c.lk))
				} else if row[0] == 0 || row[0] != row[0] {
					t.Fatalf("%s sees keys and is %v", at, row)
				}
			})
		})
	}
}

// NaN and Inf in the padding of a batch, left there by whoever allocated it, leaked
// into the results, as 0·NaN is NaN. However the padding is told, the bits are those of
// clean padding.
func TestStoryNaNInPadding(t *testing.T) {
	c := attnCase{b: 2, h: 2, hkv: 1, lq: 5, lk: 270, d: 8, dv: 8}
	lengths := []int{270, 260}
	shape := [4]int{c.b, 1, 1, c.lk}
	visible := bools(shape, func(b, _, _, j int) bool { return j < lengths[b] })
	hidden := bools(shape, func(b, _, _, j int) bool { return j >= lengths[b] })
	clean := func(b, j int) bool { return j < lengths[b] }
	for name, o := range map[string]kernel.Options{
		"lengths":  {Mask: kernel.KeyLengths(lengths)},
		"visible":  {Mask: kernel.Visible(visible, shape)},
		"hidden":   {Mask: kernel.Hidden(hidden, shape)},
		"bias":     {Bias: biasOf(visible, shape)},
		"segments": {Mask: kernel.Segments(make([]int32, c.b*c.lq), padIDs(c, clean))},
	} {
		q, k, v := c.inputs()
		eachTier(t, func(t *testing.T, tier *tier) {
			o.Tier = tier.name
			var want kernel.Tensor
			for n, x := range []float32{0, nan32, inf32, -inf32} {
				for _, in := range []*kernel.Tensor{&k, &v} {
					eachRow(in, func(b, _, j int, row []float32) {
						if !clean(b, j) {
							fill(row, x)
						}
					})
				}
				out := attend(t, q, k, v, o)
				if n == 0 {
					want = out
				}
				same(t, fmt.Sprintf("%s: %v in the padding", name, x), &out, &want)
			}
		})
	}
}

// padIDs gives padding keys an id of their own.
func padIDs(c attnCase, clean func(b, j int) bool) []int32 {
	ids := make([]int32, c.b*c.lk)
	for x := range ids {
		if !clean(x/c.lk, x%c.lk) {
			ids[x] = 1
		}
	}
	return ids
}

// A banded mask longer than a tile came out wrong where whole blocks are hidden
// from some rows. Window, bool mask and bias mean the same, to the bit.
func TestStoryBandedMask(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 600, lk: 600, d: 8, dv: 8}
	const left, right = 20, 7
	shape := [4]int{1, 1, c.lq, c.lk}
	band := bools(shape, func(_, _, i, j int) bool { return i-left <= j && j <= i+right })
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		want := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Window(left, right)})
		for name, o := range map[string]kernel.Options{
			"visible":      {Mask: kernel.Visible(band, shape)},
			"bias":         {Bias: biasOf(band, shape)},
			"block-sparse": {Mask: kernel.BlockSparse(band, 1, 1)},
		} {
			o.Tier = tier.name
			got := attend(t, q, k, v, o)
			same(t, name, &got, &want)
		}
	})
}

// When there are more keys than queries, or fewer, libraries disagree on where the
// diagonal of a causal mask lies. Equal scores make every row the mean of the
// values that it sees: of 0..n-1.
func TestStoryCausalOfDifferentLengths(t *testing.T) {
	for _, l := range [][2]int{{5, 9}, {9, 5}, {1, 300}, {300, 1}, {250, 270}, {270, 250}} {
		lq, lk := l[0], l[1]
		q, k := kernel.BHLD(make([]float32, lq), 1, 1, lq, 1), kernel.BHLD(make([]float32, lk), 1, 1, lk, 1)
		v := kernel.BHLD(make([]float32, lk), 1, 1, lk, 1)
		for j := range lk {
			v.f32[j] = float32(j)
		}
		check := func(t *testing.T, what string, o kernel.Options, sees func(i int) int) {
			t.Helper()
			out := attend(t, q, k, v, o)
			for i := range lq {
				n := min(max(sees(i), 0), lk)
				if want := float64(max(n-1, 0)) / 2; math.Abs(float64(out.f32[i])-want) > 1e-6*want {
					t.Fatalf("%d queries, %d keys, %s: row %d is %v, want the mean of the first %d keys", lq, lk, what, i, out.f32[i], n)
				}
			}
		}
		eachTier(t, func(t *testing.T, tier *tier) {
			topLeft := func(i int) int { return i + 1 }
			bottomRight := func(i int) int { return i + 1 + lk - lq }
			check(t, "top left", kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Causal(0)}, topLeft)
			check(t, "bottom right by QueryStart", kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Causal(0), QueryStart: []int{lk - lq}}, bottomRight)
			check(t, "bottom right by offset", kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Causal(lk - lq)}, bottomRight)
		})
	}
}

// Rows whose keys are all -Inf up to the border of a tile, or from it on: the
// maximum of nothing made NaN.
func TestStoryMinusInfAcrossBlocks(t *testing.T) {
	for _, lk := range []int{255, 256, 257, 511, 512, 513} {
		c := attnCase{b: 1, h: 2, hkv: 2, lq: 6, lk: lk, d: 4, dv: 4}
		q, k, v := c.inputs()
		// Row 0 sees nothing, each other one a single key.
		single := []int{-1, 0, min(254, lk-1), min(255, lk-1), min(256, lk-1), lk - 1}
		shape := [4]int{1, 1, c.lq, lk}
		visible := bools(shape, func(_, _, i, j int) bool { return j == single[i] })
		for name, o := range map[string]kernel.Options{"bias": {Bias: biasOf(visible, shape)}, "visible": {Mask: kernel.Visible(visible, shape)}} {
			eachTier(t, func(t *testing.T, tier *tier) {
				o.Tier = tier.name
				out := attend(t, q, k, v, o)
				eachRow(&out, func(b, h, i int, row []float32) {
					want := make([]float32, c.dv)
					if i > 0 {
						copy(want, rowOf(&v, b, h, single[i]))
					}
					sameRow(t, fmt.Sprintf("%s: %d keys, row %d of head %d", name, lk, i, h), row, want)
				})
			})
		}
	}
}

// A softcap after the mask brings hidden keys back, at -cap; a bias before it
// is capped away.
func TestStorySoftcapComesBeforeTheMask(t *testing.T) {
	const keys = 4
	q := kernel.BHLD([]float32{1}, 1, 1, 1, 1)
	k := kernel.BHLD([]float32{-3, 0, 50, 1}, 1, 1, keys, 1)
	v := kernel.BHLD([]float32{1, 2, 3, 4}, 1, 1, keys, 1)
	shape := [4]int{1, 1, 1, keys}
	eachTier(t, func(t *testing.T, tier *tier) {
		weights := func(o kernel.Options) []float32 {
			w := make([]float32, keys)
			o.Tier, o.Scale, o.Softcap, o.Weights = tier.name, 1, 2, kernel.BHLD(w, 1, 1, 1, keys)
			attend(t, q, k, v, o)
			return w
		}
		want := make([]float64, keys)
		sum := 0.0
		for j, k := range k.f32[:3] {
			want[j] = math.Exp(2 * math.Tanh(float64(k)/2))
			sum += want[j]
		}
		masked := weights(kernel.Options{Mask: kernel.Visible([]bool{true, true, true, false}, shape)})
		for j, w := range masked {
			if math.Abs(float64(w)-want[j]/sum) > 1e-6 {
				t.Errorf("weights with a mask are %v, want %v divided by their sum", masked, want)
			}
		}
		if w := weights(kernel.Options{Bias: kernel.BHLD([]float32{0, 100, 0, 0}, 1, 1, 1, keys)}); w[1] != 1 {
			t.Errorf("weights with a bias of 100 for key 1 are %v", w)
		}
	})
}

// Rows before a token must not notice it, to the bit: a model that looks ahead
// trains well and talks nonsense.
func TestStoryNoLookAhead(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 300, lk: 300, d: 8, dv: 8, mask: kernel.Causal(0)}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier.name}}
		before := c.run(t, q, k, v, o)
		for _, token := range []int{0, 1, 7, 64, 254, 255, 256, 257, 299} {
			q, k, v := c.inputs()
			for _, in := range []*kernel.Tensor{&q, &k, &v} {
				eachRow(in, func(_, _, i int, row []float32) {
					if i >= token {
						fill(row, row[0]+1)
					}
				})
			}
			after := c.run(t, q, k, v, o)
			eachRow(&after, func(b, h, i int, row []float32) {
				if same := slices.Equal(row, rowOf(&before, b, h, i)); same != (i < token) {
					t.Fatalf("token %d and those after it changed: row %d the same: %v", token, i, same)
				}
			})
		}
	})
}

// A cache that drops what has left the sliding window gave other bits than one that
// keeps everything. Keys keep their positions, so that it need not.
func TestStoryEvictedCache(t *testing.T) {
	const window, past = 100, 500
	c := attnCase{b: 1, h: 4, hkv: 2, lq: 20, lk: past + 20, d: 8, dv: 8}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Window(window-1, 0), QueryStart: []int{past}, ALiBi: []float32{0.5, 0.25, 0.125, 0}}
		want := attend(t, q, k, v, o)
		for _, dropped := range []int{1, 7, 255, 256, 257, past - window, past - window + 1} {
			o.KeyStart = []int{dropped}
			got := attend(t, q, part(k, dropped, c.lk), part(v, dropped, c.lk), o)
			same(t, fmt.Sprintf("%d keys dropped", dropped), &got, &want)
		}
	})
}

// A prompt that comes in chunks, each attended to all before it by the running
// state alone, differed from the prompt in one piece.
func TestStoryStreamedKeys(t *testing.T) {
	c := attnCase{b: 2, h: 2, hkv: 1, lq: 9, lk: 1100, d: 8, dv: 8}
	q, k, v := c.inputs()
	o := kernel.Options{Mask: kernel.Causal(0), QueryStart: []int{1000}, Softcap: 20}
	eachTier(t, func(t *testing.T, tier *tier) {
		o := o
		o.Tier = tier.name
		whole := o
		whole.Sinks, whole.LSE = []float32{0.5, -1}, c.tensor(c.b, c.h, c.lq, 1, canary)
		want := attend(t, q, k, v, whole)
		for _, chunk := range []int{256, 512, 1024} {
			state := kernel.NewPartials(1, c.b, c.h, c.lq, c.dv)
			for lo := 0; lo < c.lk; lo += chunk {
				hi := min(lo+chunk, c.lk)
				o.KeyStart = []int{lo}
				if err := kernel.AccumulatePartials(state, q, part(k, lo, hi), part(v, lo, hi), o); err != nil {
					t.Fatal(err)
				}
			}
			out, lse := c.tensor(c.b, c.h, c.lq, c.dv, canary), c.tensor(c.b, c.h, c.lq, 1, canary)
			if err := kernel.MergePartials(out, []kernel.Partials{*state}, kernel.MergeOptions{Sinks: whole.Sinks, LSE: lse, Exec: kernel.Exec{Tier: tier.name}}); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("chunks of %d", chunk), &out, &want)
			same(t, fmt.Sprintf("chunks of %d, LSE", chunk), &lse, &whole.LSE)
		}
	})
}
