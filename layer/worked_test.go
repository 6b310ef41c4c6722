package layer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// The shapes of self-attention as introductions draw it: X [5, 10] gives Q [5, 20], K
// [5, 20] and V [5, 25], scores and weights are [5, 5], every row of weights sums to 1,
// and the context is [5, 25].
func TestShapesOfSelfAttention(t *testing.T) {
	x := normalTensor(1, 1, 1, 5, 10)
	project := func(seed uint64, n int) kernel.Tensor {
		y := newTensor(1, 1, 5, n)
		must(t, newLinear(t, seed, n, 10).Project(y, x, linear.Options{}))
		return y
	}
	q, k, v := project(2, 20), project(3, 20), project(4, 25)
	scores, context := newTensor(1, 1, 5, 5), newTensor(1, 1, 5, 25)
	must(t, Scores(scores, q, k, ScaledDot{}, nil))
	weights := scores
	for i := range 5 {
		row := row(&weights, 0, 0, i)
		must(t, Softmax(row, row, 5, nil, kernel.Exec{}))
		sum := float32(0)
		for _, w := range row {
			sum += w
		}
		near(t, "sum of weights", []float32{sum}, 3e-7, 1)
	}
	must(t, WeightedSum(context, weights, v, kernel.Exec{}))
	fused := newTensor(1, 1, 5, 25)
	must(t, ScaledDot{}.Attend(fused, q, k, v, nil))
	if d := distance(&context, &fused); d > 4e-7 {
		t.Errorf("the result of Attend differs from that of the steps by %v", d)
	}

	// A query by itself gives the same bits as among others.
	one := newTensor(1, 1, 1, 25)
	must(t, ScaledDot{}.Attend(one, kernel.BHLD(row(&q, 0, 0, 2), 1, 1, 1, 20), k, v, nil))
	if !slices.Equal(row(&one, 0, 0, 0), row(&fused, 0, 0, 2)) {
		t.Error("a query by itself gives other bits than among others")
	}
}

// The module does self-attention and cross-attention, in which queries, keys and values
// have different widths and lengths. The row of a query that sees no key is zeros.
func TestSelfAndCrossAttention(t *testing.T) {
	x, memory := normalTensor(1, 1, 1, 5, 10), normalTensor(2, 1, 1, 7, 13)
	values := normalTensor(3, 1, 1, 7, 15)
	cross := &MultiHead{Heads: 1, Q: newLinear(t, 4, 20, 10), K: newLinear(t, 5, 20, 13), V: newLinear(t, 6, 25, 15)}
	self := &MultiHead{Heads: 1, Q: cross.Q, K: newLinear(t, 7, 20, 10), V: newLinear(t, 8, 25, 10)}
	hidden := make([]bool, 5*7)
	for j := range 7 {
		hidden[3*7+j] = true // token 3 sees no key
	}
	out := newTensor(1, 1, 5, 25)
	must(t, cross.Attend(out, x, memory, values, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Hidden(hidden, [4]int{1, 1, 5, 7})}}))
	for i := range 5 {
		zeros := !slices.ContainsFunc(row(&out, 0, 0, i), func(x float32) bool { return x != 0 })
		if zeros != (i == 3) {
			t.Errorf("cross-attention: row %d is zeros: %v", i, zeros)
		}
	}
	must(t, self.Attend(out, x, x, x, nil))
}

// If the numbers of q and k are independent, with mean 0 and variance 1, then q·k has
// variance D and q·k/√D has variance 1. This is why scores are scaled (Vaswani et al.,
// section 3.2.1).
func TestVarianceOfScores(t *testing.T) {
	const n, d = 320, 64 // 102,400 products
	q, k := normalTensor(1, 1, 1, n, d), normalTensor(2, 1, 1, n, d)
	scores := newTensor(1, 1, n, n)
	for _, c := range []struct {
		similarity Similarity
		want       float64
	}{{Dot{}, d}, {ScaledDot{}, 1}} {
		must(t, Scores(scores, q, k, c.similarity, nil))
		sum, squares := 0.0, 0.0
		for _, s := range all(&scores) {
			sum += float64(s)
			squares += float64(s) * float64(s)
		}
		mean := sum / (n * n)
		if v := squares/(n*n) - mean*mean; math.Abs(v/c.want-1) > .03 {
			t.Errorf("%T: the variance is %v, want %v", c.similarity, v, c.want)
		}
	}
}

// A call with twice as many tokens needs no more workspace than the call before it.
func TestWorkspaceDoesNotGrow(t *testing.T) {
	attend := func(n int) func() {
		x, out := normalTensor(1, 1, 1, n, 16), newTensor(1, 1, n, 16)
		return func() { must(t, ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Exec: kernel.Exec{Threads: 1}})) }
	}
	calls := []func(){attend(1024), attend(2048)}
	testutil.CheckNone(t, "allocations of a call with 2048 tokens after one with 1024", func() uint64 {
		kernel.ReleaseMemory()
		next := 0 // CountMallocs does not count the first call
		return testutil.CountMallocs(1, func() { calls[next](); next++ })
	})
}

// BenchmarkLength shows that twice as many tokens take four times as long.
func BenchmarkLength(b *testing.B) {
	for n := 512; n <= 4096; n *= 2 {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			x, out := normalTensor(1, 1, 1, n, 64), newTensor(1, 1, n, 64)
			for b.Loop() {
				must(b, ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Exec: kernel.Exec{Threads: 1}}))
			}
		})
	}
}

// BenchmarkMultiHead is self-attention with its four projections, of a BERT's width and heads.
func BenchmarkMultiHead(b *testing.B) {
	const width, heads = 768, 12
	weights := normals(7, 3*width*width)
	for i := range weights {
		weights[i] /= 28 // about the root of the width
	}
	m, err := FromTorch(width, heads, TorchWeights{InProjWeight: weights, OutProjWeight: weights[:width*width]}, kernel.Exec{})
	must(b, err)
	for _, x := range [][2]int{{1, 128}, {8, 128}, {1, 1024}} {
		b.Run(fmt.Sprintf("shape=%dx%dx%d", x[0], x[1], width), func(b *testing.B) {
			in, out := normalTensor(1, x[0], 1, x[1], width), newTensor(x[0], 1, x[1], width)
			for b.Loop() {
				must(b, m.Attend(out, in, in, in, &kernel.Options{Exec: kernel.Exec{Threads: 1}}))
			}
		})
	}
}

// Dropout (Srivastava et al.) makes a weight 0 or multiplies it by 1/(1-Rate). The mean
// over many seeds is the result without dropout, within four standard errors. A Rate of
// 0 does not change a bit.
func TestDropout(t *testing.T) {
	const n, d, rate, seeds = 12, 8, .25, 400
	x, plain, out := normalTensor(1, 1, 1, n, d), newTensor(1, 1, n, d), newTensor(1, 1, n, d)
	weights, dropped := newTensor(1, 1, n, n), newTensor(1, 1, n, n)
	must(t, ScaledDot{}.Attend(plain, x, x, x, &kernel.Options{Outputs: kernel.Outputs{Weights: weights}}))
	must(t, ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Dropout: kernel.Dropout{Seed: 1}}}))
	equal(t, "with a rate of 0", &out, &plain)

	sums, squares := make([]float64, n*d), make([]float64, n*d)
	for seed := range uint64(seeds) {
		must(t, ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Outputs: kernel.Outputs{Weights: dropped}, Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: rate, Seed: seed}}}))
		for i, w := range all(&dropped) {
			if want := float64(all(&weights)[i]) / (1 - rate); w != 0 && math.Abs(float64(w)-want) > 2e-7 {
				t.Fatalf("seed %d: weight %d is %v, want 0 or %v", seed, i, w, want)
			}
		}
		for i, y := range all(&out) {
			sums[i] += float64(y)
			squares[i] += float64(y) * float64(y)
		}
	}
	for i, want := range all(&plain) {
		mean := sums[i] / seeds
		deviation := math.Sqrt(squares[i]/seeds - mean*mean)
		if math.Abs(mean-float64(want)) > 4*deviation/math.Sqrt(seeds) {
			t.Errorf("element %d: the mean over seeds is %v, want %v", i, mean, want)
		}
	}
}
