package layer

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Introductions to self-attention draw it as products of matrices: five tokens of ten
// numbers, X [5, 10], give Q [5, 20], K [5, 20] and V [5, 25]; then scores are [5, 5],
// the weights of every token sum up to 1 and its context has 25 numbers.
func TestMatrices(t *testing.T) {
	x := normalTensor(1, 1, 1, 5, 10)
	project := func(seed uint64, n int) kernel.Tensor {
		y := newTensor(1, 1, 5, n)
		must(t, newLinear(t, seed, n, 10).Project(y, x, linear.Options{}))
		return y
	}
	q, k, v := project(2, 20), project(3, 20), project(4, 25)
	scores, context := newTensor(1, 1, 5, 5), newTensor(1, 1, 5, 25)
	must(t, Scores(scores, q, k, ScaledDot{}, kernel.Options{}))
	weights := scores
	for i := range 5 {
		row := row(&weights, 0, 0, i)
		must(t, Softmax(row, row, 5, nil))
		sum := float32(0)
		for _, w := range row {
			sum += w
		}
		near(t, "the sum of weights", []float32{sum}, 3e-7, 1)
	}
	must(t, WeightedSum(context, weights, v))
	fused := newTensor(1, 1, 5, 25)
	must(t, ScaledDot{}.Attend(fused, q, k, v, kernel.Options{}))
	if d := distance(&context, &fused); d > 4e-7 {
		t.Errorf("the fused call differs by %v", d)
	}

	// A query of 1 × d and keys of n × d give a context of 1 × dv.
	one := newTensor(1, 1, 1, 25)
	must(t, ScaledDot{}.Attend(one, kernel.BHLD(row(&q, 0, 0, 2), 1, 1, 1, 20), k, v, kernel.Options{}))
	if !slices.Equal(row(&one, 0, 0, 0), row(&fused, 0, 0, 2)) {
		t.Error("a query by itself has another context than among others")
	}
}

// A module for self- and cross-attention in the usual shapes: queries of 10 numbers
// and lengths of 5 and 7. A row that sees nothing is zeros.
func TestSelfAndCross(t *testing.T) {
	x, memory := normalTensor(1, 1, 1, 5, 10), normalTensor(2, 1, 1, 7, 13)
	values := normalTensor(3, 1, 1, 7, 15)
	cross := &MultiHead{Heads: 1, Q: newLinear(t, 4, 20, 10), K: newLinear(t, 5, 20, 13), V: newLinear(t, 6, 25, 15)}
	self := &MultiHead{Heads: 1, Q: cross.Q, K: newLinear(t, 7, 20, 10), V: newLinear(t, 8, 25, 10)}
	hidden := make([]bool, 5*7)
	for j := range 7 {
		hidden[3*7+j] = true // from token 3
	}
	out := newTensor(1, 1, 5, 25)
	must(t, cross.Attend(out, x, memory, values, kernel.Options{Mask: kernel.Hidden(hidden, [4]int{1, 1, 5, 7})}))
	for i := range 5 {
		zeros := !slices.ContainsFunc(row(&out, 0, 0, i), func(x float32) bool { return x != 0 })
		if zeros != (i == 3) {
			t.Errorf("cross-attention: row %d is zeros: %v", i, zeros)
		}
	}
	must(t, self.Attend(out, x, x, x, kernel.Options{}))
}

// The product of two vectors of D independent numbers of variance 1 has the variance D,
// after division by √D 1: this is why the scores are scaled (Vaswani et al., section
// 3.2.1).
func TestVarianceOfScores(t *testing.T) {
	const n, d = 320, 64 // 102,400 products
	q, k := normalTensor(1, 1, 1, n, d), normalTensor(2, 1, 1, n, d)
	scores := newTensor(1, 1, n, n)
	for _, c := range []struct {
		similarity Similarity
		want       float64
	}{{Dot{}, d}, {ScaledDot{}, 1}} {
		must(t, Scores(scores, q, k, c.similarity, kernel.Options{}))
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

// Twice as many tokens do not need a larger workspace, whatever becomes of the time:
// see BenchmarkLength.
func TestWorkspaceOfTwiceTheTokens(t *testing.T) {
	attend := func(n int) func() {
		x, out := normalTensor(1, 1, 1, n, 16), newTensor(1, 1, n, 16)
		return func() { must(t, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Exec: kernel.Exec{Threads: 1}})) }
	}
	attend(1024)()
	twice := attend(2048)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	twice()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1024 {
		t.Errorf("a call with 2048 tokens after one with 1024 allocates %d bytes", n)
	}
}

// BenchmarkLength: twice as many tokens take four times as long.
func BenchmarkLength(b *testing.B) {
	for n := 512; n <= 4096; n *= 2 {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			x, out := normalTensor(1, 1, 1, n, 64), newTensor(1, 1, n, 64)
			for b.Loop() {
				must(b, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Exec: kernel.Exec{Threads: 1}}))
			}
		})
	}
}

// Dropout as in training (Srivastava et al.): with a rate of 0 nothing changes; otherwise
// a weight is 0 or 1/(1-rate) times what it was, and the mean over seeds is the result
// without it, within four times its standard error.
func TestDropout(t *testing.T) {
	const n, d, rate, seeds = 12, 8, .25, 400
	x, plain, out := normalTensor(1, 1, 1, n, d), newTensor(1, 1, n, d), newTensor(1, 1, n, d)
	weights, dropped := newTensor(1, 1, n, n), newTensor(1, 1, n, n)
	must(t, ScaledDot{}.Attend(plain, x, x, x, kernel.Options{Weights: weights}))
	must(t, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Dropout: kernel.Dropout{Seed: 1}}))
	equal(t, "with a rate of 0", &out, &plain)

	sums, squares := make([]float64, n*d), make([]float64, n*d)
	for seed := range uint64(seeds) {
		must(t, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Weights: dropped, Dropout: kernel.Dropout{Rate: rate, Seed: seed}}))
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
