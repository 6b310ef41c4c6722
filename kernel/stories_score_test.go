package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// scoreCase is a call whose scores are worth a look: every option that changes
// them, and hidden keys.
func scoreCase() (c attnCase, o kernel.Options) {
	c = attnCase{b: 2, h: 4, hkv: 2, lq: 21, lk: 300, d: 16, dv: 8}
	o = kernel.Options{
		Softcap: 3, ALiBi: []float32{0.5, 0.25, 0.0625, 0}, Sinks: []float32{1, 0, -2, negInf[0]},
		Mask: kernel.Window(60, 5).And(kernel.KeyLengths([]int{300, 257})), QueryStart: []int{279, 240},
	}
	return c, o
}

// The LSE that other calls are merged by must be the one that the result was
// divided by, sinks included.
func TestStoryLSE(t *testing.T) {
	c, o := scoreCase()
	q, k, v := c.inputs()
	model := newModel(q, k, v, &o)
	eachTier(t, func(t *testing.T, tier *tier) {
		o := o
		o.Tier, o.LSE = tier.name, c.tensor(c.b, c.h, c.lq, 1, canary)
		attend(t, q, k, v, o)
		eachRow(&o.LSE, func(b, h, i int, row []float32) {
			want := model.exact(b, h, i).lse
			if !(math.Abs(float64(row[0])-want) <= 1e-6*(1+math.Abs(want))) {
				t.Fatalf("LSE of row %d %d %d is %v, want %v", b, h, i, row[0], want)
			}
		})
	})
}

// Weights that do not sum up to 1, or that are not those that the values were
// weighed with, explain nothing.
func TestStoryWeights(t *testing.T) {
	c, o := scoreCase()
	o.Sinks = nil
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		o := o
		o.Tier, o.Weights = tier.name, c.tensor(c.b, c.h, c.lq, c.lk, canary)
		out := attend(t, q, k, v, o)
		eachRow(&o.Weights, func(b, h, i int, row []float32) {
			sum, mean := 0.0, make([]float64, c.dv)
			for j, w := range row {
				sum += float64(w)
				for e, x := range rowOf(&v, b, h/2, j) {
					mean[e] += float64(w) * float64(x)
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Fatalf("weights of row %d %d %d sum up to %v", b, h, i, sum)
			}
			for e, x := range rowOf(&out, b, h, i) {
				if math.Abs(float64(x)-mean[e]) > 2e-6 {
					t.Fatalf("row %d %d %d: out[%d] is %v, weights times values are %v", b, h, i, e, x, mean[e])
				}
			}
		})
	})
}

// A program that writes softcap, ALiBi and a window as a score hook gets what the
// options give, to the bit.
func TestStoryHookIsAsGoodAsOptions(t *testing.T) {
	c, o := scoreCase()
	q, k, v := c.inputs()
	hook := kernel.Options{Score: hookOf(&o), Sinks: o.Sinks, QueryStart: o.QueryStart}
	eachTier(t, func(t *testing.T, tier *tier) {
		outputs := func(o kernel.Options) map[string]kernel.Tensor {
			o.Tier = tier.name
			o.LSE, o.Weights, o.Scores = c.tensor(c.b, c.h, c.lq, 1, canary), c.tensor(c.b, c.h, c.lq, c.lk, canary), c.tensor(c.b, c.h, c.lq, c.lk, canary)
			o.ScoreStage = kernel.ScoresMasked
			return map[string]kernel.Tensor{"out": attend(t, q, k, v, o), "LSE": o.LSE, "weights": o.Weights, "scores": o.Scores}
		}
		want := outputs(o)
		for name, got := range outputs(hook) {
			want := want[name]
			same(t, name, &got, &want)
		}
	})
}

// hookOf is the hook that does what o's Softcap, ALiBi, Window(60, 5) and
// KeyLengths do.
func hookOf(o *kernel.Options) func(tile *kernel.ScoreTile) {
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
					*s = negInf[0]
				}
			}
		}
	}
}

// A hook is called before softcap, ALiBi, bias and mask: what it adds is capped, and
// what a mask hides it cannot bring back.
func TestStoryHookComesFirst(t *testing.T) {
	q, k, v := kernel.BHLD([]float32{1}, 1, 1, 1, 1), kernel.BHLD(make([]float32, 3), 1, 1, 3, 1), kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1)
	hundred := func(tile *kernel.ScoreTile) { fill(tile.Scores, 100) }
	shape := [4]int{1, 1, 1, 3}
	eachTier(t, func(t *testing.T, tier *tier) {
		s := make([]float32, 3)
		attend(t, q, k, v, kernel.Options{
			Exec: kernel.Exec{Tier: tier.name}, Score: hundred, Softcap: 2, Bias: kernel.BHLD([]float32{7, 7, 7}, 1, 1, 1, 3),
			Mask: kernel.Hidden([]bool{false, true, false}, shape), Scores: kernel.BHLD(s, 1, 1, 1, 3), ScoreStage: kernel.ScoresMasked,
		})
		if got := fmt.Sprint(s); got != "[9 -Inf 9]" {
			t.Errorf("scores are %v, want 2+7 and -Inf", got)
		}
	})
}
