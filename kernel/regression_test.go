package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Regression tests: each guards against something that went wrong for users of other
// libraries of attention, in a call as small as shows it.

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
			s[x] = contracttest.NegInf
		}
	}
	return kernel.BHLD(s, shape[0], shape[1], shape[2], shape[3])
}

// TestPaddingRowIsZeros: a query of padding that sees no key gave NaN, from a softmax over
// nothing.
func TestPaddingRowIsZeros(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 9, Lk: 300, D: 8, Dv: 8}
	q, k, v := c.Inputs()
	shape := [4]int{c.B, 1, c.Lq, c.Lk}
	visible := bools(shape, func(b, _, i, j int) bool { return !(b == 1 && i >= 6) && j%3 != 0 })
	hidden := make([]bool, len(visible))
	for x := range visible {
		hidden[x] = !visible[x]
	}
	for name, o := range map[string]kernel.Options{
		"visible": {Scoring: kernel.Scoring{Mask: kernel.Visible(visible, shape)}},
		"hidden":  {Scoring: kernel.Scoring{Mask: kernel.Hidden(hidden, shape)}},
		"bias":    {Scoring: kernel.Scoring{Bias: biasOf(visible, shape)}},
	} {
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			o.Tier = tier
			o.LSE, o.Weights = c.Output(1), c.Output(c.Lk)
			out := attend(t, q, k, v, o)
			contracttest.EachRow(&out, func(b, h, i int, row []float32) {
				at := fmt.Sprintf("%s: row %d %d %d", name, b, h, i)
				if b == 1 && i >= 6 {
					contracttest.SameRow(t, at, row, make([]float32, c.Dv))
					contracttest.SameRow(t, at+" LSE", contracttest.Row(&o.LSE, b, h, i), []float32{contracttest.NegInf})
					contracttest.SameRow(t, at+" weights", contracttest.Row(&o.Weights, b, h, i), make([]float32, c.Lk))
				} else if row[0] == 0 || row[0] != row[0] {
					t.Fatalf("%s sees keys and is %v", at, row)
				}
			})
		})
	}
}

// TestNaNInPadding: NaN and Inf in the padding of a batch, left there by whoever allocated it,
// leaked into the results, as 0·NaN is NaN. However the padding is masked, the bits are as with
// clean padding.
func TestNaNInPadding(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 5, Lk: 270, D: 8, Dv: 8}
	lengths := []int{270, 260}
	shape := [4]int{c.B, 1, 1, c.Lk}
	visible := bools(shape, func(b, _, _, j int) bool { return j < lengths[b] })
	hidden := bools(shape, func(b, _, _, j int) bool { return j >= lengths[b] })
	clean := func(b, j int) bool { return j < lengths[b] }
	for name, o := range map[string]kernel.Options{
		"lengths":  {Scoring: kernel.Scoring{Mask: kernel.KeyLengths(lengths)}},
		"visible":  {Scoring: kernel.Scoring{Mask: kernel.Visible(visible, shape)}},
		"hidden":   {Scoring: kernel.Scoring{Mask: kernel.Hidden(hidden, shape)}},
		"bias":     {Scoring: kernel.Scoring{Bias: biasOf(visible, shape)}},
		"segments": {Scoring: kernel.Scoring{Mask: kernel.Segments(make([]int32, c.B*c.Lq), padIDs(c, clean))}},
	} {
		q, k, v := c.Inputs()
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			o.Tier = tier
			var want kernel.Tensor
			for n, x := range []float32{0, testutil.NaN, testutil.Inf, -testutil.Inf} {
				for _, in := range []*kernel.Tensor{&k, &v} {
					contracttest.EachRow(in, func(b, _, j int, row []float32) {
						if !clean(b, j) {
							contracttest.Fill(row, x)
						}
					})
				}
				out := attend(t, q, k, v, o)
				if n == 0 {
					want = out
				}
				contracttest.Same(t, fmt.Sprintf("%s: %v in the padding", name, x), &out, &want)
			}
		})
	}
}

// padIDs gives padding keys an id of their own.
func padIDs(c contracttest.Case, clean func(b, j int) bool) []int32 {
	ids := make([]int32, c.B*c.Lk)
	for x := range ids {
		if !clean(x/c.Lk, x%c.Lk) {
			ids[x] = 1
		}
	}
	return ids
}

// TestBandedMask: a banded mask longer than a tile came out wrong where whole blocks are
// hidden from some rows. Window, bool mask, bias and bitmap mean the same, to the bit.
func TestBandedMask(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 600, Lk: 600, D: 8, Dv: 8}
	const left, right = 20, 7
	shape := [4]int{1, 1, c.Lq, c.Lk}
	band := bools(shape, func(_, _, i, j int) bool { return i-left <= j && j <= i+right })
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Window(left, right)}})
		for name, o := range map[string]kernel.Options{
			"visible":      {Scoring: kernel.Scoring{Mask: kernel.Visible(band, shape)}},
			"bias":         {Scoring: kernel.Scoring{Bias: biasOf(band, shape)}},
			"block-sparse": {Scoring: kernel.Scoring{Mask: kernel.BlockSparse(band, 1, 1)}},
		} {
			o.Tier = tier
			got := attend(t, q, k, v, o)
			contracttest.Same(t, name, &got, &want)
		}
	})
}

// TestCausalOfDifferentLengths: if there are more keys than queries, or fewer, libraries
// disagree on where the diagonal of a causal mask lies. Equal scores make every row the
// mean of the values that it sees, 0 to n-1.
func TestCausalOfDifferentLengths(t *testing.T) {
	for _, l := range [][2]int{{5, 9}, {9, 5}, {1, 300}, {300, 1}, {250, 270}, {270, 250}} {
		lq, lk := l[0], l[1]
		q, k := kernel.BHLD(make([]float32, lq), 1, 1, lq, 1), kernel.BHLD(make([]float32, lk), 1, 1, lk, 1)
		v := kernel.BHLD(make([]float32, lk), 1, 1, lk, 1)
		for j := range lk {
			contracttest.Floats(v)[j] = float32(j)
		}
		check := func(t *testing.T, what string, o kernel.Options, sees func(i int) int) {
			t.Helper()
			out := attend(t, q, k, v, o)
			for i := range lq {
				n := min(max(sees(i), 0), lk)
				if want := float64(max(n-1, 0)) / 2; math.Abs(float64(contracttest.Floats(out)[i])-want) > 1e-6*want {
					t.Fatalf("%d queries, %d keys, %s: row %d is %v, want the mean of the first %d keys", lq, lk, what, i, contracttest.Floats(out)[i], n)
				}
			}
		}
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			topLeft := func(i int) int { return i + 1 }
			bottomRight := func(i int) int { return i + 1 + lk - lq }
			check(t, "top left", kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, topLeft)
			check(t, "bottom right by QueryStart", kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{lk - lq}}}, bottomRight)
			check(t, "bottom right by offset", kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Causal(lk - lq)}}, bottomRight)
		})
	}
}

// TestMinusInfAcrossBlocks: rows whose keys are all -Inf up to the border of a block, or
// from it on, were NaN, from the maximum of nothing.
func TestMinusInfAcrossBlocks(t *testing.T) {
	for _, lk := range []int{255, 256, 257, 511, 512, 513} {
		c := contracttest.Case{B: 1, H: 2, HKV: 2, Lq: 6, Lk: lk, D: 4, Dv: 4}
		q, k, v := c.Inputs()
		// Row 0 sees nothing, each other one a single key.
		single := []int{-1, 0, min(254, lk-1), min(255, lk-1), min(256, lk-1), lk - 1}
		shape := [4]int{1, 1, c.Lq, lk}
		visible := bools(shape, func(_, _, i, j int) bool { return j == single[i] })
		for name, o := range map[string]kernel.Options{"bias": {Scoring: kernel.Scoring{Bias: biasOf(visible, shape)}}, "visible": {Scoring: kernel.Scoring{Mask: kernel.Visible(visible, shape)}}} {
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o.Tier = tier
				out := attend(t, q, k, v, o)
				contracttest.EachRow(&out, func(b, h, i int, row []float32) {
					want := make([]float32, c.Dv)
					if i > 0 {
						copy(want, contracttest.Row(&v, b, h, single[i]))
					}
					contracttest.SameRow(t, fmt.Sprintf("%s: %d keys, row %d of head %d", name, lk, i, h), row, want)
				})
			})
		}
	}
}

// TestSoftcapComesBeforeMask: a softcap after the mask brings hidden keys back, at -cap,
// and a bias before it is capped.
func TestSoftcapComesBeforeMask(t *testing.T) {
	const keys = 4
	q := kernel.BHLD([]float32{1}, 1, 1, 1, 1)
	k := kernel.BHLD([]float32{-3, 0, 50, 1}, 1, 1, keys, 1)
	v := kernel.BHLD([]float32{1, 2, 3, 4}, 1, 1, keys, 1)
	shape := [4]int{1, 1, 1, keys}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		weights := func(o kernel.Options) []float32 {
			w := make([]float32, keys)
			o.Tier, o.Scale, o.Softcap, o.Weights = tier, 1, 2, kernel.BHLD(w, 1, 1, 1, keys)
			attend(t, q, k, v, o)
			return w
		}
		want := make([]float64, keys)
		sum := 0.0
		for j, k := range contracttest.Floats(k)[:3] {
			want[j] = math.Exp(2 * math.Tanh(float64(k)/2))
			sum += want[j]
		}
		masked := weights(kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Visible([]bool{true, true, true, false}, shape)}})
		for j, w := range masked {
			if math.Abs(float64(w)-want[j]/sum) > 1e-6 {
				t.Errorf("weights with a mask are %v, want %v divided by their sum", masked, want)
			}
		}
		if w := weights(kernel.Options{Scoring: kernel.Scoring{Bias: kernel.BHLD([]float32{0, 100, 0, 0}, 1, 1, 1, keys)}}); w[1] != 1 {
			t.Errorf("weights with a bias of 100 for key 1 are %v", w)
		}
	})
}

// TestNoLookAhead: a change to a token changes no bit of the rows before it. A model that
// looks ahead trains well and generates nonsense.
func TestNoLookAhead(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 300, Lk: 300, D: 8, Dv: 8, Mask: contracttest.Causal(0)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier}}
		before := c.Run(t, q, k, v, o)
		for _, token := range []int{0, 1, 7, 64, 254, 255, 256, 257, 299} {
			q, k, v := c.Inputs()
			for _, in := range []*kernel.Tensor{&q, &k, &v} {
				contracttest.EachRow(in, func(_, _, i int, row []float32) {
					if i >= token {
						contracttest.Fill(row, row[0]+1)
					}
				})
			}
			after := c.Run(t, q, k, v, o)
			contracttest.EachRow(&after, func(b, h, i int, row []float32) {
				if same := slices.Equal(row, contracttest.Row(&before, b, h, i)); same != (i < token) {
					t.Fatalf("token %d and those after it changed: row %d the same: %v", token, i, same)
				}
			})
		}
	})
}

// TestEvictedKeys: a cache that drops what has left the sliding window gave other bits than
// one that keeps everything. Here keys keep their positions, and the bits are the same.
func TestEvictedKeys(t *testing.T) {
	const window, past = 100, 500
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 20, Lk: past + 20, D: 8, Dv: 8}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Window(window-1, 0), QueryStart: []int{past}, ALiBi: []float32{0.5, 0.25, 0.125, 0}}}
		want := attend(t, q, k, v, o)
		for _, dropped := range []int{1, 7, 255, 256, 257, past - window, past - window + 1} {
			o.KeyStart = []int{dropped}
			got := attend(t, q, contracttest.Rows(k, dropped, c.Lk), contracttest.Rows(v, dropped, c.Lk), o)
			contracttest.Same(t, fmt.Sprintf("%d keys dropped", dropped), &got, &want)
		}
	})
}

// TestStreamedKeys: keys that come in chunks, with the running state alone in between, gave
// other bits than all keys in one call.
func TestStreamedKeys(t *testing.T) {
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 9, Lk: 1100, D: 8, Dv: 8}
	q, k, v := c.Inputs()
	o := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{1000}, Softcap: 20}}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := o
		o.Tier = tier
		whole := o
		whole.Sinks, whole.LSE = []float32{0.5, -1}, c.Output(1)
		want := attend(t, q, k, v, whole)
		for _, chunk := range []int{256, 512, 1024} {
			state := contracttest.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
			for lo := 0; lo < c.Lk; lo += chunk {
				hi := min(lo+chunk, c.Lk)
				o.KeyStart = []int{lo}
				if err := kernel.AccumulatePartials(state, q, contracttest.Rows(k, lo, hi), contracttest.Rows(v, lo, hi), contracttest.PartialOptions(o)); err != nil {
					t.Fatal(err)
				}
			}
			out, lse := c.Output(c.Dv), c.Output(1)
			if err := kernel.MergePartials(out, []kernel.Partials{*state}, kernel.MergeOptions{Sinks: whole.Sinks, LSE: lse, Exec: kernel.Exec{Tier: tier}}); err != nil {
				t.Fatal(err)
			}
			contracttest.Same(t, fmt.Sprintf("chunks of %d", chunk), &out, &want)
			contracttest.Same(t, fmt.Sprintf("chunks of %d, LSE", chunk), &lse, &whole.LSE)
		}
	})
}

// scoreCase is a call whose scores are worth a look: every option that changes
// them, and hidden keys.
func scoreCase() (c contracttest.Case, o kernel.Options) {
	c = contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 21, Lk: 300, D: 16, Dv: 8}
	c.Mask = contracttest.Window(60, 5).And(contracttest.KeyLengths([]int{300, 257}))
	o = kernel.Options{Scoring: kernel.Scoring{
		Softcap: 3, ALiBi: []float32{0.5, 0.25, 0.0625, 0}, Sinks: []float32{1, 0, -2, contracttest.NegInf},
		Mask: c.Mask.Kernel(), QueryStart: []int{279, 240},
	}}
	return c, o
}

// TestLSE: the LSE by which calls are merged is the one that the result was divided by,
// sinks included.
func TestLSE(t *testing.T) {
	c, o := scoreCase()
	q, k, v := c.Inputs()
	model := c.Model(q, k, v, &o)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := o
		o.Tier, o.LSE = tier, c.Output(1)
		attend(t, q, k, v, o)
		contracttest.EachRow(&o.LSE, func(b, h, i int, row []float32) {
			want := model.ExactRow(b, h, i).LSE
			if !(math.Abs(float64(row[0])-want) <= 1e-6*(1+math.Abs(want))) {
				t.Fatalf("LSE of row %d %d %d is %v, want %v", b, h, i, row[0], want)
			}
		})
	})
}

// TestWeights: weights sum to 1 and weigh the values in the result.
func TestWeights(t *testing.T) {
	c, o := scoreCase()
	o.Sinks = nil
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := o
		o.Tier, o.Weights = tier, c.Output(c.Lk)
		out := attend(t, q, k, v, o)
		contracttest.EachRow(&o.Weights, func(b, h, i int, row []float32) {
			sum, mean := 0.0, make([]float64, c.Dv)
			for j, w := range row {
				sum += float64(w)
				for e, x := range contracttest.Row(&v, b, h/2, j) {
					mean[e] += float64(w) * float64(x)
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Fatalf("weights of row %d %d %d sum up to %v", b, h, i, sum)
			}
			for e, x := range contracttest.Row(&out, b, h, i) {
				if math.Abs(float64(x)-mean[e]) > 2e-6 {
					t.Fatalf("row %d %d %d: out[%d] is %v, weights times values are %v", b, h, i, e, x, mean[e])
				}
			}
		})
	})
}

// TestScoreIsAsGoodAsOptions: a program that writes softcap, ALiBi and a window as an
// Options.Score gets what the options give, to the bit.
func TestScoreIsAsGoodAsOptions(t *testing.T) {
	c, o := scoreCase()
	q, k, v := c.Inputs()
	scored := kernel.Options{Scoring: kernel.Scoring{Score: scoreOf(&o), Sinks: o.Sinks, QueryStart: o.QueryStart}}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		outputs := func(o kernel.Options) map[string]kernel.Tensor {
			o.Tier = tier
			o.LSE, o.Weights, o.Scores = c.Output(1), c.Output(c.Lk), c.Output(c.Lk)
			o.ScoreStage = kernel.ScoresMasked
			return map[string]kernel.Tensor{"out": attend(t, q, k, v, o), "LSE": o.LSE, "weights": o.Weights, "scores": o.Scores}
		}
		want := outputs(o)
		for name, got := range outputs(scored) {
			want := want[name]
			contracttest.Same(t, name, &got, &want)
		}
	})
}

// scoreOf returns the Options.Score that does what o's Softcap, ALiBi, Window(60, 5) and
// KeyLengths do.
func scoreOf(o *kernel.Options) func(tile *kernel.ScoreTile) {
	limit := float64(o.Softcap) * math.Log2E
	lengths := []int{300, 257}
	return func(tile *kernel.ScoreTile) {
		for x := range tile.Keys {
			for r, row := range tile.Rows {
				s := &tile.Scores[x*tile.Stride+r]
				*s = float32(limit) * numeric.Tanh(float32(*s*float32(1/limit)))
				distance := row.Position - tile.KeyPosition - x
				slope := float32(float64(o.ALiBi[row.Head]) * math.Log2E)
				*s = numeric.FMA(slope, -float32(max(distance, -distance)), *s)
				if distance > 60 || distance < -5 || tile.Key+x >= lengths[tile.Batch] {
					*s = contracttest.NegInf
				}
			}
		}
	}
}

// TestScoreComesFirst: Options.Score is called before softcap, ALiBi, bias and mask. What it
// adds is capped, and what a mask hides it cannot bring back.
func TestScoreComesFirst(t *testing.T) {
	q, k, v := kernel.BHLD([]float32{1}, 1, 1, 1, 1), kernel.BHLD(make([]float32, 3), 1, 1, 3, 1), kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1)
	hundred := func(tile *kernel.ScoreTile) { contracttest.Fill(tile.Scores, 100) }
	shape := [4]int{1, 1, 1, 3}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		s := make([]float32, 3)
		attend(t, q, k, v, kernel.Options{
			Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Score: hundred, Softcap: 2, Bias: kernel.BHLD([]float32{7, 7, 7}, 1, 1, 1, 3),
				Mask: kernel.Hidden([]bool{false, true, false}, shape)}, Outputs: kernel.Outputs{Scores: kernel.BHLD(s, 1, 1, 1, 3), ScoreStage: kernel.ScoresMasked},
		})
		if got := fmt.Sprint(s); got != "[9 -Inf 9]" {
			t.Errorf("scores are %v, want 2+7 and -Inf", got)
		}
	})
}
