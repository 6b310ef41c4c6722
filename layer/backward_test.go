package layer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// sizes are the sizes of a small attention.
type sizes struct{ b, h, hkv, lq, lk, d, dk, dv int }

// small has heads that share keys, and keys of another size for similarities that allow it.
var small = sizes{b: 2, h: 4, hkv: 2, lq: 3, lk: 5, d: 3, dk: 3, dv: 2}

// visible is the mask of these tests, kernel.Causal(2).
func visible(i, j int) bool { return j <= i+2 }

// loss64 computes the sum of dout∘attention in float64 from contiguous tensors.
func loss64[E float32 | float64](z *sizes, q, k, v, dout []E, score func(q, k []float64) float64) (sum float64) {
	at := func(x []E, heads, length, d, b, h, l int) []float64 {
		y := make([]float64, d)
		for e := range y {
			y[e] = float64(x[((b*heads+h)*length+l)*d+e])
		}
		return y
	}
	for b := range z.b {
		for h := range z.h {
			for i := range z.lq {
				query, all, total := at(q, z.h, z.lq, z.d, b, h, i), 0.0, 0.0
				for j := range z.lk {
					if !visible(i, j) {
						continue
					}
					p := math.Exp(score(query, at(k, z.hkv, z.lk, z.dk, b, h/(z.h/z.hkv), j)))
					all += p
					value := at(v, z.hkv, z.lk, z.dv, b, h/(z.h/z.hkv), j)
					for e, x := range at(dout, z.h, z.lq, z.dv, b, h, i) {
						total += p * x * value[e]
					}
				}
				sum += total / all
			}
		}
	}
	return sum
}

// drawn returns n numbers that are the same on every CPU.
func drawn(seed uint64, n int) []float32 {
	r, x := testutil.Rand(seed), make([]float32, n)
	r.Fill(x)
	return x
}

func dot64(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// times64 returns w·x + bias, w being [len(w)/len(x), len(x)].
func times64(w, bias []float32, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for i := range y {
		if bias != nil {
			y[i] = float64(bias[i])
		}
		for e := range x {
			y[i] += float64(w[i*len(x)+e]) * x[e]
		}
	}
	return y
}

// checkDifferences compares gradients with symmetric differences of a loss in float64. The step is
// a power of 2, so that the error of the difference is of the order of 1e-6.
func checkDifferences(t *testing.T, name string, x, gradient []float32, loss func() float64) {
	t.Helper()
	const step = 0x1p-10
	for i, before := range x {
		x[i] = before + step
		up, plus := loss(), x[i]
		x[i] = before - step
		down, minus := loss(), x[i]
		x[i] = before
		want := (up - down) / (float64(plus) - float64(minus))
		if d := math.Abs(float64(gradient[i]) - want); !(d < 4e-5) {
			t.Errorf("%s[%d] is %v, the difference says %v", name, i, gradient[i], want)
		}
	}
}

// hashOf returns the SHA-256 of the bits of all slices.
func hashOf(all ...[]float32) string {
	h := sha256.New()
	for _, x := range all {
		binary.Write(h, binary.LittleEndian, x)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// A scored is a similarity with the gradients of all that it depends on.
type scored struct {
	name       string
	z          sizes
	scale      float32 // Options.Scale
	similarity Similarity
	score      func(q, k []float64) float64
	parameters [][]float32 // beside q, k and v

	// backward computes the gradients of q, k, v and the parameters.
	backward func(g kernel.Gradients, parameters [][]float32, dout, q, k, v, weights kernel.Tensor, o kernel.Options) error
}

func scoredCases(t *testing.T) []scored {
	const scale, hidden = float32(0.7), 4
	scaled := func(f func(q, k []float64) float64) func(q, k []float64) float64 {
		return func(q, k []float64) float64 { return float64(scale) * f(q, k) }
	}
	plain := func(s Differentiable) func(kernel.Gradients, [][]float32, kernel.Tensor, kernel.Tensor, kernel.Tensor, kernel.Tensor, kernel.Tensor, kernel.Options) error {
		return func(g kernel.Gradients, _ [][]float32, dout, q, k, v, _ kernel.Tensor, o kernel.Options) error {
			return s.Backward(g, dout, q, k, v, o.LSE, contracttest.BackwardOptions(o))
		}
	}
	other := small
	other.dk = 5
	w := drawn(31, other.d*other.dk)
	general, err := NewGeneral(linear.DenseMatrix(w, other.d, other.dk), kernel.Exec{})
	must(t, err)
	wq, bq, wk, bk, scoring := drawn(32, hidden*other.d), drawn(33, hidden), drawn(34, hidden*other.dk), drawn(35, hidden), drawn(36, hidden)
	layerOf := func(w, bias []float32, inputs int) *linear.Linear {
		l, err := linear.New(linear.DenseMatrix(w, hidden, inputs), bias, kernel.Exec{})
		must(t, err)
		return l
	}
	additive := Additive{Query: layerOf(wq, bq, other.d), Key: layerOf(wk, bk, other.dk), V: scoring}
	return []scored{
		{name: "ScaledDot", z: small, similarity: ScaledDot{}, score: func(q, k []float64) float64 { return dot64(q, k) / math.Sqrt(float64(len(q))) }, backward: plain(ScaledDot{})},
		{name: "Dot", z: small, similarity: Dot{}, score: dot64, backward: plain(Dot{})},
		{name: "Cosine", scale: scale, z: small, similarity: Cosine{}, backward: plain(Cosine{}), score: scaled(func(q, k []float64) float64 {
			return dot64(q, k) / math.Sqrt(dot64(q, q)*dot64(k, k))
		})},
		{
			name: "General", scale: scale, z: other, similarity: general, parameters: [][]float32{w},
			score: scaled(func(q, k []float64) float64 { return dot64(q, times64(w, nil, k)) }),
			backward: func(g kernel.Gradients, p [][]float32, dout, q, k, v, _ kernel.Tensor, o kernel.Options) error {
				return general.Backward(GeneralGradients{Gradients: g, W: p[0]}, dout, q, k, v, o.LSE, w, contracttest.BackwardOptions(o))
			},
		},
		{
			name: "Additive", scale: scale, z: other, similarity: additive, parameters: [][]float32{wq, bq, wk, bk, scoring},
			score: scaled(func(q, k []float64) float64 {
				x, y, sum := times64(wq, bq, q), times64(wk, bk, k), 0.0
				for e := range x {
					sum += float64(scoring[e]) * math.Tanh(x[e]+y[e])
				}
				return sum
			}),
			backward: func(g kernel.Gradients, p [][]float32, dout, q, k, v, weights kernel.Tensor, o kernel.Options) error {
				all := AdditiveGradients{Q: g.Q, K: g.K, V: g.V, Query: Parameters{p[0], p[1]}, Key: Parameters{p[2], p[3]}, Scoring: p[4]}
				return additive.Backward(all, dout, q, k, v, weights, AdditiveWeights{wq, wk}, kernel.AdditiveBackwardOptions{Exec: o.Exec, Scale: o.Scale})
			},
		},
	}
}

// TestSimilarityBackward compares the gradients of every similarity with differences, and their
// bits on all tiers, in other layouts and with threads.
func TestSimilarityBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	hashes := map[string]string{
		"ScaledDot": "42ebe429009a186a10ad55cf2451ff696cfe55dfb397f7187a4455ad729442d5", "Dot": "ece5d12ad81588e2d4a5baeb44d5e84b88c64a78211445f7a1933a6021031537", "Cosine": "71ee335bf5850772e9b3d8ecade70f36bd8dec8e7caa86726898fc331c5f9818", "General": "73f730d4fbab89437ed917168758756ea4a3c0ad548f25cf2e501c4fd93f2956", "Additive": "a14edbff83fa66b09faec961dbf10af805024138f33572f3b77c2ad4db0f0e7f",
	}
	for _, c := range scoredCases(t) {
		t.Run(c.name, func(t *testing.T) {
			z := &c.z
			shapes := [][4]int{{z.b, z.h, z.lq, z.d}, {z.b, z.hkv, z.lk, z.dk}, {z.b, z.hkv, z.lk, z.dv}, {z.b, z.h, z.lq, z.dv}}
			var inputs []kernel.Tensor
			for i, s := range shapes {
				inputs = append(inputs, kernel.BHLD(drawn(uint64(20+i), s[0]*s[1]*s[2]*s[3]), s[0], s[1], s[2], s[3]))
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for threads, tokenMajor := range map[int]bool{1: false, 3: true} {
					call := c.call(t, inputs, tokenMajor, kernel.Exec{Tier: tier, Threads: threads})
					if got := hashOf(call...); got != hashes[c.name] {
						t.Errorf("token-major %v: sha256 %s, want %s", tokenMajor, got, hashes[c.name])
					}
				}
			})
			got := c.call(t, inputs, false, kernel.Exec{})
			data := func(i int) []float32 { return viewOf(&inputs[i]).F32() }
			loss := func() float64 { return loss64(z, data(0), data(1), data(2), data(3), c.score) }
			for i, x := range append([][]float32{data(0), data(1), data(2)}, c.parameters...) {
				checkDifferences(t, fmt.Sprint("gradient ", i), x, got[i], loss)
			}
		})
	}
}

// call computes forward and backward, and returns the gradients, row by row.
func (c *scored) call(t *testing.T, inputs []kernel.Tensor, tokenMajor bool, exec kernel.Exec) (gradients [][]float32) {
	t.Helper()
	z := &c.z
	like := func(x *kernel.Tensor) kernel.Tensor {
		s := x.Shape()
		data := testutil.Filled(s[0]*s[1]*s[2]*s[3], canary)
		if tokenMajor {
			return kernel.BLHD(data, s[0], s[2], s[1], s[3])
		}
		return kernel.BHLD(data, s[0], s[1], s[2], s[3])
	}
	x := make([]kernel.Tensor, len(inputs))
	for i := range inputs {
		x[i] = like(&inputs[i])
		put(&x[i], &inputs[i], false)
	}
	out, weights := newTensor(z.b, z.h, z.lq, z.dv), newTensor(z.b, z.h, z.lq, z.lk)
	o := kernel.Options{Scoring: kernel.Scoring{Scale: c.scale, Mask: kernel.Causal(2)}, Exec: exec, Outputs: kernel.Outputs{LSE: newTensor(z.b, z.h, z.lq, 1), Weights: weights}}
	must(t, c.similarity.Attend(out, x[0], x[1], x[2], &o))
	g := kernel.Gradients{Q: like(&x[0]), K: like(&x[1]), V: like(&x[2])}
	for _, p := range c.parameters {
		gradients = append(gradients, testutil.Filled(len(p), canary))
	}
	must(t, c.backward(g, gradients, x[3], x[0], x[1], x[2], weights, o))
	return append([][]float32{all(&g.Q), all(&g.K), all(&g.V)}, gradients...)
}

// TestCosineBackwardHidden: rows of zeros, of which the cosine has no derivative, have gradients of
// zeros, and so have rows that no other row sees, whatever they hold.
func TestCosineBackwardHidden(t *testing.T) {
	q, k := rowTensor([]float32{1, 2}, []float32{0, 0}), rowTensor([]float32{0, 0}, []float32{3, 1}, []float32{testutil.NaN, 1})
	v, dout := rowTensor([]float32{1}, []float32{2}, []float32{testutil.NaN}), rowTensor([]float32{1}, []float32{1})
	out := newTensor(1, 1, 2, 1)
	o := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{2})}, Outputs: kernel.Outputs{LSE: newTensor(1, 1, 2, 1)}}
	must(t, Cosine{}.Attend(out, q, k, v, &o))
	g := kernel.Gradients{Q: newCanaries(1, 1, 2, 2), K: newCanaries(1, 1, 3, 2)}
	must(t, Cosine{}.Backward(g, dout, q, k, v, o.LSE, contracttest.BackwardOptions(o)))
	for name, x := range map[string][]float32{"a query of zeros": row(&g.Q, 0, 0, 1), "a key of zeros": row(&g.K, 0, 0, 0), "a hidden key": row(&g.K, 0, 0, 2)} {
		testutil.CheckBits(t, name, x, []float32{0, 0})
	}
	if x := row(&g.Q, 0, 0, 0); x[0] == 0 || x[0] != x[0] {
		t.Errorf("the gradient of a query is %v", x)
	}
}

// TestAdditiveBackwardAccumulate: with Accumulate the gradients are added to what is there.
func TestAdditiveBackwardAccumulate(t *testing.T) {
	const hidden = 4
	l := newLinear(t, 1, hidden, 3)
	weight := make([]float32, hidden*3)
	a := Additive{Query: l, Key: l, V: normals(2, hidden)}
	q, k, v, dout, p := normalTensor(3, 1, 1, 2, 3), normalTensor(4, 1, 1, 3, 3), normalTensor(5, 1, 1, 3, 2), normalTensor(6, 1, 1, 2, 2), newTensor(1, 1, 2, 3)
	must(t, a.Attend(newTensor(1, 1, 2, 2), q, k, v, &kernel.Options{Outputs: kernel.Outputs{Weights: p}}))
	once, twice := additiveGradients(hidden), additiveGradients(hidden)
	must(t, a.Backward(once, dout, q, k, v, p, AdditiveWeights{weight, weight}, kernel.AdditiveBackwardOptions{}))
	for range 2 {
		must(t, a.Backward(twice, dout, q, k, v, p, AdditiveWeights{weight, weight}, kernel.AdditiveBackwardOptions{Accumulate: true}))
	}
	x, y := flatAdditive(&once), flatAdditive(&twice)
	for i := range x {
		for e, g := range x[i] {
			if d := math.Abs(float64(y[i][e] - 2*g)); !(d <= 1e-6) {
				t.Errorf("gradient %d[%d] is %v after two calls, %v after one", i, e, y[i][e], g)
			}
		}
	}
}

func additiveGradients(hidden int) AdditiveGradients {
	parameters := func() Parameters { return Parameters{make([]float32, hidden*3), make([]float32, hidden)} }
	return AdditiveGradients{
		Q: newTensor(1, 1, 2, 3), K: newTensor(1, 1, 3, 3), V: newTensor(1, 1, 3, 2),
		Query: parameters(), Key: parameters(), Scoring: make([]float32, hidden),
	}
}

func flatAdditive(g *AdditiveGradients) [][]float32 {
	return [][]float32{all(&g.Q), all(&g.K), all(&g.V), g.Query.Weight, g.Query.Bias, g.Key.Weight, g.Key.Bias, g.Scoring}
}
