package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A finite bias hides no key and makes no NaN, however large it is.

const (
	lowest     = float32(-math.MaxFloat32) // what PyTorch calls finfo.min: the usual fill of masks
	lowestBF16 = float32(-0x1.fep127)
	highest    = float32(math.MaxFloat32)
)

// A biasCall has one query and a bias for each key.
type biasCall struct {
	name string
	bias []float32
	sees []int // the keys that share the weight; the others have none
}

// biasCalls have few keys, and keys of two blocks.
func biasCalls() (list []biasCall) {
	inf := float32(math.Inf(1))
	for _, n := range []int{3, 300} {
		add := func(name string, all float32, at map[int]float32, sees ...int) {
			bias := testutil.Filled(n, all)
			for j, x := range at {
				bias[j] = x
			}
			if sees == nil {
				for j := range n {
					if bias[j] == all {
						sees = append(sees, j)
					}
				}
			}
			list = append(list, biasCall{fmt.Sprintf("%s, %d keys", name, n), bias, sees})
		}
		for _, low := range []float32{lowest, lowestBF16, -2.4e38, -1e30} {
			add(fmt.Sprintf("all %v", low), low, nil)
			add(fmt.Sprintf("%v but for one", low), low, map[int]float32{1: 0.5}, 1)
			add(fmt.Sprintf("%v, one hidden", low), low, map[int]float32{n - 1: -inf})
		}
		add("the lowest numbers of both types", lowest, map[int]float32{1: lowestBF16, 2: -2.4e38}, allKeys(n)...)
		for _, high := range []float32{2.3e38, 2.4e38, highest} {
			add(fmt.Sprintf("one %v", high), 0, map[int]float32{2: high}, 2)
			add(fmt.Sprintf("all %v", high), high, nil)
		}
	}
	return list
}

func allKeys(n int) (list []int) {
	for j := range n {
		list = append(list, j)
	}
	return list
}

// tensors returns a query of 64 columns, and keys and values with whole numbers.
func (c *biasCall) tensors() (q, k, v kernel.Tensor) {
	n := len(c.bias)
	keys, values := make([]float32, 64*n), make([]float32, 64*n)
	for j := range n {
		for d := range 64 {
			keys[j*64+d], values[j*64+d] = float32((j+d)%3-1), float32((j*5+d)%7)
		}
	}
	return kernel.BHLD(testutil.Filled(64, 0), 1, 1, 1, 64), kernel.BHLD(keys, 1, 1, n, 64), kernel.BHLD(values, 1, 1, n, 64)
}

// checkOut compares a row with the mean of the values that the query sees. Sums of whole
// numbers are exact, so what is rounded is 1/n and the product with it: 2 units in the last
// place.
func (c *biasCall) checkOut(t *testing.T, what string, out []float32) {
	t.Helper()
	_, _, v := c.tensors()
	for d, got := range out {
		want := 0.0
		for _, j := range c.sees {
			want += float64(contracttest.Row(&v, 0, 0, j)[d]) / float64(len(c.sees))
		}
		if !(math.Abs(float64(got)-want) <= 2*0x1p-23*want) {
			t.Fatalf("%s: %s: column %d is %v, want %v", c.name, what, d, got, want)
		}
	}
}

// TestFiniteBias: keys whose biases are all the lowest number share the weight, as they do
// in PyTorch, and a key with the highest one has all of it, in all calls that take a bias.
func TestFiniteBias(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		exec := kernel.Exec{Tier: tier}
		for _, c := range biasCalls() {
			n := len(c.bias)
			bias := kernel.BHLD(c.bias, 1, 1, 1, n)
			q, k, v := c.tensors()
			out, lse, scores, weights := make([]float32, 64), make([]float32, 1), make([]float32, n), make([]float32, n)
			row := kernel.BHLD(out, 1, 1, 1, 64)
			o := kernel.Options{Exec: exec, Scoring: kernel.Scoring{Bias: bias}}
			run := func(what string, err error) {
				if err != nil {
					t.Fatalf("%s: %s: %v", c.name, what, err)
				}
				c.checkOut(t, what, out)
			}
			run("plain", kernel.Attention(row, q, k, v, &o))
			if lowestBF16 == min(c.bias[0], c.bias[n-1]) || c.bias[0] == -1e30 {
				o.Bias = contracttest.As(bias, kernel.BFloat16)
				run("bfloat16", kernel.Attention(row, q, k, v, &o))
				o.Bias = bias
			}
			o.LSE = kernel.BHLD(lse, 1, 1, 1, 1)
			o.Scores, o.Weights, o.ScoreStage = kernel.BHLD(scores, 1, 1, 1, n), kernel.BHLD(weights, 1, 1, 1, n), kernel.ScoresMasked
			run("all outputs", kernel.Attention(row, q, k, v, &o))
			c.checkOutputs(t, lse[0], scores, weights)
			o.Outputs = kernel.Outputs{}
			run("additive", kernel.Additive(row, q, k, v, testutil.Filled(64, 0), &o))
			o.DynamicInt12 = true
			run("quantized", kernel.Attention(row, q, contracttest.As(k, kernel.Int8), wholeInt8(v), &o))
			p := contracttest.NewPartials((n+255)/256, 1, 1, 1, 64)
			run("partials", func() error {
				if err := kernel.AttentionPartials(p, q, k, v, &kernel.PartialOptions{Exec: exec, Scoring: kernel.Scoring{Bias: bias}}); err != nil {
					return err
				}
				return kernel.MergePartials(row, []kernel.Partials{*p}, kernel.MergeOptions{Exec: exec})
			}())
			c.checkBackward(t, exec, o.Bias, kernel.BHLD(lse, 1, 1, 1, 1))
		}
	})
}

// wholeInt8 returns whole numbers as int8 with scales of 1.
func wholeInt8(t kernel.Tensor) kernel.Tensor {
	s := t.Shape()
	codes := make([]int8, s[2]*s[3])
	for i, x := range contracttest.Floats(t) {
		codes[i] = int8(x)
	}
	scales := kernel.BHLD(testutil.Filled(s[2], 1), 1, 1, s[2], 1)
	return kernel.BHLD(codes, 1, 1, s[2], s[3]).Scaled(&scales)
}

// checkOutputs compares weights with those that the biases say. Scores and LSE are finite where the
// biases are. A bias beyond the limit gives the limit, for the query is 0.
func (c *biasCall) checkOutputs(t *testing.T, lse float32, scores, weights []float32) {
	t.Helper()
	limit := math.Float32frombits(0x7f317217)
	for j, b := range c.bias {
		want := b
		if b-b == 0 {
			want = max(-limit, min(b, limit))
		}
		if math.Abs(float64(scores[j])-float64(want)) > 0x1p-23*math.Abs(float64(want)) { // log2 e and back, rounded twice
			t.Fatalf("%s: score %d is %v, want %v", c.name, j, scores[j], want)
		}
	}
	seen := map[int]bool{}
	for _, j := range c.sees {
		seen[j] = true
	}
	for j, w := range weights {
		if want := float32(1) / float32(len(c.sees)); seen[j] && w != want || !seen[j] && w != 0 {
			t.Fatalf("%s: weight %d is %v, want %v for the keys %v", c.name, j, w, want, c.sees)
		}
	}
	want := float64(scores[c.sees[0]])
	if math.Abs(want) < 1e9 {
		want += math.Log(float64(len(c.sees)))
	}
	if !(math.Abs(float64(lse)-want) <= 0x1p-22*max(1, math.Abs(want))) {
		t.Fatalf("%s: LSE is %v, want %v", c.name, lse, want)
	}
}

// checkBackward: the gradient of a value is dout times its weight, and the keys that share
// it share the gradient.
func (c *biasCall) checkBackward(t *testing.T, exec kernel.Exec, bias, lse kernel.Tensor) {
	t.Helper()
	q, k, v := c.tensors()
	n := len(c.bias)
	dv := make([]float32, 64*n)
	g := kernel.Gradients{V: kernel.BHLD(dv, 1, 1, n, 64)}
	if err := kernel.AttentionBackward(g, kernel.BHLD(testutil.Filled(64, 1), 1, 1, 1, 64), q, k, v, lse, &kernel.BackwardOptions{Exec: exec, Scoring: kernel.Scoring{Bias: bias}}); err != nil {
		t.Fatal(err)
	}
	want := make([]float32, n)
	for _, j := range c.sees {
		want[j] = float32(1) / float32(len(c.sees))
	}
	for j := range n {
		// The sum of weights that are equal is rounded less than once each for 32 keys.
		if got := dv[64*j]; math.Abs(float64(got)-float64(want[j])) > 32*0x1p-23*float64(want[j]) {
			t.Fatalf("%s: the gradient of value %d is %v, want %v", c.name, j, got, want[j])
		}
	}
}

// TestInfiniteBias: -Inf hides a key whatever its score is, and +Inf and NaN make the row NaN.
func TestInfiniteBias(t *testing.T) {
	inf := float32(math.Inf(1))
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, c := range []struct {
			bias, score, want float32 // of the first of two keys; the values are 1 and 2
		}{{-inf, 0, 2}, {-inf, inf, 2}, {-inf, testutil.NaN, 2}, {inf, 0, testutil.NaN}, {inf, -inf, testutil.NaN}, {testutil.NaN, 0, testutil.NaN}, {0, -inf, 2}, {lowest, -inf, 2}, {highest, -inf, 2}} {
			q, v, out := kernel.BHLD([]float32{0}, 1, 1, 1, 1), kernel.BHLD([]float32{1, 2}, 1, 1, 2, 1), []float32{0}
			o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Bias: kernel.BHLD([]float32{c.bias, 0}, 1, 1, 1, 2), Score: func(s *kernel.ScoreTile) {
				for j := range s.Keys {
					if s.Key+j == 0 {
						s.Scores[j*s.Stride] = c.score
					}
				}
			}}}
			if err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), q, v, v, &o); err != nil {
				t.Fatal(err)
			}
			if out[0] != c.want && (out[0] == out[0] || c.want == c.want) {
				t.Errorf("bias %v of a key with score %v: got %v, want %v", c.bias, c.score, out[0], c.want)
			}
		}
	})
}

// TestSteepALiBi: a slope hides no key, however steep it is: the query is far from all keys
// that it sees.
func TestSteepALiBi(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, slope := range []float32{1, 0x1p72, 0x1p100, 0x1p127, -0x1p127} {
			for _, far := range []int{4, 1000, 1<<30 - 3} {
				q, v, out, lse := kernel.BHLD([]float32{0}, 1, 1, 1, 1), kernel.BHLD([]float32{1, 2}, 1, 1, 2, 1), []float32{0}, []float32{0}
				o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{ALiBi: []float32{slope}, QueryStart: []int{far}, Bias: kernel.BHLD([]float32{lowest, lowest}, 1, 1, 1, 2)}}
				for range 2 {
					o.LSE = kernel.BHLD(lse, 1, 1, 1, 1)
					if err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), q, v, v, &o); err != nil {
						t.Fatal(err)
					}
					if !(out[0] >= 1 && out[0] <= 2) || math.IsInf(float64(lse[0]), 0) {
						t.Errorf("slope %v, %d keys away: got %v, LSE %v", slope, far, out[0], lse[0])
					}
					o.Bias = kernel.Tensor{}
				}
			}
		}
	})
}
