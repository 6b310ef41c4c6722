package kernel_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// What the text of the contract decides where a formula alone would leave a choice.

// handOut returns what a call of one head hands out, beside out, as [Lq·Lk] numbers.
func handOut(t *testing.T, q, k, v kernel.Tensor, o kernel.Options) (scores, weights []float32) {
	t.Helper()
	lq, lk := q.Shape()[2], k.Shape()[2]
	scores, weights = make([]float32, lq*lk), make([]float32, lq*lk)
	o.Scores, o.Weights = kernel.BHLD(scores, 1, 1, lq, lk), kernel.BHLD(weights, 1, 1, lq, lk)
	out := make([]float32, lq*v.Shape()[3])
	if err := kernel.Attention(kernel.BHLD(out, 1, 1, lq, v.Shape()[3]), q, k, v, &o); err != nil {
		t.Fatal(err)
	}
	return scores, weights
}

// TestScoresOfHiddenKeys: before the mask a hidden key has its score; a key beyond a length
// does not exist and is -Inf at every stage.
func TestScoresOfHiddenKeys(t *testing.T) {
	q := kernel.BHLD([]float32{2}, 1, 1, 1, 1)
	k := kernel.BHLD([]float32{1, 3, 5}, 1, 1, 3, 1)
	hidden := kernel.Hidden([]bool{false, true, false}, [4]int{1, 1, 1, 3})
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for stage, second := range map[kernel.ScoreStage]float32{kernel.ScoresScaled: 6, kernel.ScoresCapped: 6, kernel.ScoresMasked: contracttest.NegInf} {
			o := kernel.Options{
				Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Scale: 1, Mask: hidden.And(kernel.KeyLengths([]int{2}))},
				Outputs: kernel.Outputs{ScoreStage: stage},
			}
			got, weights := handOut(t, q, k, k, o)
			for j, want := range []float32{2, second, contracttest.NegInf} {
				// To the unit log2 e and back, with both factors rounded: less than 4 ulp.
				if want == contracttest.NegInf && got[j] != want || math.Abs(float64(got[j]-want)) > 4*0x1p-24*8 {
					t.Errorf("stage %d: score of key %d is %v, want %v", stage, j, got[j], want)
				}
			}
			if weights[0] != 1 || weights[1] != 0 || weights[2] != 0 {
				t.Errorf("stage %d: weights %v, want [1 0 0]", stage, weights)
			}
		}
	})
}

// TestWeightsOfNaN: a row of weights is NaN as a whole if its sum is, where a key is hidden
// or does not exist, too. Other rows are not.
func TestWeightsOfNaN(t *testing.T) {
	q := kernel.BHLD([]float32{testutil.NaN, 1}, 1, 1, 2, 1)
	k := kernel.BHLD([]float32{1, 1, 1, 1}, 1, 1, 4, 1)
	hidden := kernel.Hidden([]bool{false, true, false, false}, [4]int{1, 1, 1, 4})
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		_, weights := handOut(t, q, k, k, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: hidden.And(kernel.KeyLengths([]int{3}))}})
		for j, w := range weights {
			want := contracttest.CanonicalNaN
			if j >= 4 {
				want = []float32{0.5, 0, 0.5, 0}[j-4]
			}
			if math.Float32bits(w) != math.Float32bits(want) {
				t.Errorf("weight %d is %v, want %v", j, w, want)
			}
		}
	})
}

// TestPartialsOfNaN: the maximum of a block passes over NaN, and is -Inf if there is no other
// score; the sum is NaN. The output is what the chains give: finite, if dropout drops the
// weight that is NaN. The result is NaN all the same.
func TestPartialsOfNaN(t *testing.T) {
	q := kernel.BHLD([]float32{1}, 1, 1, 1, 1)
	v := kernel.BHLD([]float32{1, 1}, 1, 1, 2, 1)
	numbers := func(k ...float32) kernel.Tensor { return kernel.BHLD(k, 1, 1, 2, 1) }
	dropsFirst := func() kernel.Dropout { // of the two keys, and keeps the second
		for seed := range uint64(100) {
			d := kernel.Dropout{Rate: 0.5, Seed: seed}
			_, w := handOut(t, q, numbers(0, 0), v, kernel.Options{Scoring: kernel.Scoring{Dropout: d}})
			if w[0] == 0 && w[1] != 0 {
				return d
			}
		}
		t.Fatal("no seed drops the first key alone")
		panic("unreachable")
	}()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, c := range []struct {
			k       kernel.Tensor
			dropout kernel.Dropout
			max     float32
			finite  bool // o
		}{
			{numbers(testutil.NaN, -3), kernel.Dropout{}, float32(-3 * float64(float32(math.Log2E))), false},
			{numbers(testutil.NaN, testutil.NaN), kernel.Dropout{}, contracttest.NegInf, false},
			{numbers(testutil.NaN, 0), dropsFirst, 0, true},
		} {
			p := contracttest.NewPartials(1, 1, 1, 1, 1)
			if err := kernel.AttentionPartials(p, q, c.k, v, &kernel.PartialOptions{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Scale: 1, Dropout: c.dropout}}); err != nil {
				t.Fatal(err)
			}
			if p.Max[0] != c.max || math.Float32bits(p.Sum[0]) != 0x7fc00000 || (p.Out[0] == p.Out[0]) != c.finite {
				t.Errorf("keys %v: partials max %v, sum %v, out %v; want max %v, sum NaN, out finite: %v",
					contracttest.Floats(c.k), p.Max, p.Sum, p.Out, c.max, c.finite)
			}
			out := []float32{0}
			if err := kernel.MergePartials(kernel.BHLD(out, 1, 1, 1, 1), []kernel.Partials{*p}, kernel.MergeOptions{Exec: kernel.Exec{Tier: tier}}); err != nil {
				t.Fatal(err)
			}
			if math.Float32bits(out[0]) != 0x7fc00000 {
				t.Errorf("keys %v: merged to %v, want NaN", contracttest.Floats(c.k), out)
			}
		}
	})
}

// TestPositionLimits: positions are from -2^30+1 to 2^30-1, and positions of keys not below 0.
func TestPositionLimits(t *testing.T) {
	const most = 1 << 30
	q, k := kernel.BHLD([]float32{1, 1}, 1, 1, 2, 1), kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1)
	out := kernel.BHLD(make([]float32, 2), 1, 1, 2, 1)
	for _, c := range []struct {
		query, key int
		valid      bool
	}{
		{1 - most, 0, true}, {-most, 0, false},
		{most - 2, 0, true}, {most - 1, 0, false}, // the last query at most-1
		{0, most - 3, true}, {0, most - 2, false},
		{0, -1, false},
	} {
		err := kernel.Attention(out, q, k, k, &kernel.Options{Scoring: kernel.Scoring{QueryStart: []int{c.query}, KeyStart: []int{c.key}, ALiBi: []float32{0x1p-30}}})
		if (err == nil) != c.valid {
			t.Errorf("queries from %d, keys from %d: error %v, valid %v", c.query, c.key, err, c.valid)
		}
	}
}
