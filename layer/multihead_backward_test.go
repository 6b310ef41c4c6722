package layer

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A trained is a MultiHead with its parameters, its inputs and a gradient of its outputs.
type trained struct {
	sizes
	*MultiHead
	widths     [4]int        // of query, key, value and out
	parameters [4]Parameters // of Q, K, V and O
	inputs     [3]kernel.Tensor
	dout       kernel.Tensor
	opts       kernel.BackwardOptions
}

// newTrained makes one with all projections whose widths and head sizes all differ.
func newTrained(t testing.TB) *trained {
	t.Helper()
	m := &trained{sizes: small, MultiHead: &MultiHead{Heads: small.h, KVHeads: small.hkv}, widths: [4]int{5, 6, 7, 9}}
	outputs := [...]int{m.h * m.d, m.hkv * m.d, m.hkv * m.dv, m.widths[3]}
	inputs := [...]int{m.widths[0], m.widths[1], m.widths[2], m.h * m.dv}
	for i, l := range [...]**linear.Linear{&m.Q, &m.K, &m.V, &m.O} {
		w := drawn(uint64(40+i), outputs[i]*inputs[i])
		for e := range w {
			w[e] /= 2
		}
		m.parameters[i] = Parameters{w, drawn(uint64(50+i), outputs[i])}
		var err error
		*l, err = linear.New(linear.DenseMatrix(w, outputs[i], inputs[i]), m.parameters[i].Bias, kernel.Exec{})
		must(t, err)
	}
	lengths := [...]int{m.lq, m.lk, m.lk}
	for i, l := range lengths {
		m.inputs[i] = kernel.BLHD(drawn(uint64(60+i), m.b*l*m.widths[i]), m.b, l, 1, m.widths[i])
	}
	m.dout = kernel.BLHD(drawn(63, m.b*m.lq*m.widths[3]), m.b, m.lq, 1, m.widths[3])
	m.opts = kernel.BackwardOptions{Scoring: kernel.Scoring{Mask: kernel.Causal(2)}}
	return m
}

func (m *trained) weights() MultiHeadWeights {
	p := &m.parameters
	return MultiHeadWeights{p[0].Weight, p[1].Weight, p[2].Weight, p[3].Weight}
}

// tokens returns canaries in the place of tokens.
func (m *trained) tokens(l, width int) kernel.Tensor {
	return kernel.BLHD(testutil.Filled(m.b*l*width, canary), m.b, l, 1, width)
}

// gradients returns memory for all gradients.
func (m *trained) gradients() MultiHeadGradients {
	g := MultiHeadGradients{Query: m.tokens(m.lq, m.widths[0]), Key: m.tokens(m.lk, m.widths[1]), Value: m.tokens(m.lk, m.widths[2])}
	for i, p := range [...]*Parameters{&g.Q, &g.K, &g.V, &g.O} {
		*p = Parameters{testutil.Filled(len(m.parameters[i].Weight), canary), testutil.Filled(len(m.parameters[i].Bias), canary)}
	}
	return g
}

func flat(g *MultiHeadGradients) [][]float32 {
	x := [][]float32{all(&g.Query), all(&g.Key), all(&g.Value)}
	for _, p := range [...]*Parameters{&g.Q, &g.K, &g.V, &g.O} {
		x = append(x, p.Weight, p.Bias)
	}
	return x
}

// forward computes the forward pass.
func (m *trained) forward(t testing.TB) (out kernel.Tensor, trace MultiHeadTrace) {
	t.Helper()
	trace = MultiHeadTrace{Q: m.tokens(m.lq, m.h*m.d), K: m.tokens(m.lk, m.hkv*m.d), V: m.tokens(m.lk, m.hkv*m.dv), Heads: m.tokens(m.lq, m.h*m.dv), LSE: newTensor(m.b, m.h, m.lq, 1)}
	out = m.tokens(m.lq, m.widths[3])
	must(t, m.Forward(out, trace, m.inputs[0], m.inputs[1], m.inputs[2], &m.opts))
	return out, trace
}

func (m *trained) backward(t testing.TB, g MultiHeadGradients, trace MultiHeadTrace, exec kernel.Exec) {
	t.Helper()
	o := m.opts
	o.Exec = exec
	must(t, m.Backward(g, m.dout, m.inputs[0], m.inputs[1], m.inputs[2], trace, m.weights(), &o))
}

// loss computes the sum of dout∘out in float64.
func (m *trained) loss() (sum float64) {
	lengths := [...]int{m.lq, m.lk, m.lk}
	heads := [...]int{m.h, m.hkv, m.hkv}
	var projected [3][]float64
	for i := range m.inputs {
		p := &m.parameters[i]
		size := len(p.Bias) / heads[i]
		projected[i] = make([]float64, m.b*lengths[i]*len(p.Bias))
		eachRow(m.inputs[i].Shape(), func(b, _, l int) {
			x := make([]float64, m.widths[i])
			for e, y := range row(&m.inputs[i], b, 0, l) {
				x[e] = float64(y)
			}
			for e, y := range times64(p.Weight, p.Bias, x) {
				projected[i][((b*heads[i]+e/size)*lengths[i]+l)*size+e%size] = y
			}
		})
	}
	// The gradients of the outputs of heads are dout·O. The bias of O adds a sum of its own.
	dHeads, o := make([]float64, m.b*m.h*m.lq*m.dv), &m.parameters[3]
	eachRow(m.dout.Shape(), func(b, _, l int) {
		for n, y := range row(&m.dout, b, 0, l) {
			sum += float64(y) * float64(o.Bias[n])
			for e := range m.h * m.dv {
				dHeads[((b*m.h+e/m.dv)*m.lq+l)*m.dv+e%m.dv] += float64(y) * float64(o.Weight[n*m.h*m.dv+e])
			}
		}
	})
	root := math.Sqrt(float64(m.d))
	return sum + loss64(&m.sizes, projected[0], projected[1], projected[2], dHeads, func(q, k []float64) float64 { return dot64(q, k) / root })
}

// TestMultiHeadBackward: the forward pass has the bits of Attend, the gradients agree with
// differences, and their bits are the same on all tiers and threads.
func TestMultiHeadBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	const want = "297a4bd7bc2cb1a92296824a0aaa443295c3ea856295a0d370532d8603a3d876"
	m := newTrained(t)
	out, trace := m.forward(t)
	plain := m.tokens(m.lq, m.widths[3])
	must(t, m.Attend(plain, m.inputs[0], m.inputs[1], m.inputs[2], &kernel.Options{Scoring: kernel.Scoring{Mask: m.opts.Mask}}))
	equal(t, "out", &out, &plain)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 3} {
			g := m.gradients()
			m.backward(t, g, trace, kernel.Exec{Tier: tier, Threads: threads})
			if got := hashOf(flat(&g)...); got != want {
				t.Errorf("threads=%d: sha256 %s, want %s", threads, got, want)
			}
		}
	})
	g := m.gradients()
	m.backward(t, g, trace, kernel.Exec{})
	var x [][]float32
	for i := range m.inputs {
		x = append(x, viewOf(&m.inputs[i]).F32())
	}
	for i := range m.parameters {
		x = append(x, m.parameters[i].Weight, m.parameters[i].Bias)
	}
	for i, gradient := range flat(&g) {
		checkDifferences(t, fmt.Sprint("gradient ", i), x[i], gradient, m.loss)
	}
}

// TestMultiHeadBackwardWanted: a gradient has the bits that it has beside the others.
func TestMultiHeadBackwardWanted(t *testing.T) {
	m := newTrained(t)
	_, trace := m.forward(t)
	all := m.gradients()
	m.backward(t, all, trace, kernel.Exec{})
	none := flat(&MultiHeadGradients{})
	for wanted := range none {
		g := m.gradients()
		for i, drop := range [...]func(){
			func() { g.Query = kernel.Tensor{} }, func() { g.Key = kernel.Tensor{} }, func() { g.Value = kernel.Tensor{} },
			func() { g.Q.Weight = nil }, func() { g.Q.Bias = nil }, func() { g.K.Weight = nil }, func() { g.K.Bias = nil },
			func() { g.V.Weight = nil }, func() { g.V.Bias = nil }, func() { g.O.Weight = nil }, func() { g.O.Bias = nil },
		} {
			if i != wanted {
				drop()
			}
		}
		m.backward(t, g, trace, kernel.Exec{})
		testutil.CheckBits(t, fmt.Sprint("gradient ", wanted), flat(&g)[wanted], flat(&all)[wanted])
	}
}

// TestMultiHeadBackwardSelf: in self-attention one tensor gets the sum of three gradients, each of
// which is rounded as linear.Backward with Accumulate rounds, with and without projections.
func TestMultiHeadBackwardSelf(t *testing.T) {
	const width = 8
	for _, projects := range []bool{true, false} {
		m := &MultiHead{Heads: 2}
		w := MultiHeadWeights{}
		if projects {
			for i, p := range [...]struct {
				l **linear.Linear
				w *[]float32
			}{{&m.Q, &w.Q}, {&m.K, &w.K}, {&m.V, &w.V}, {&m.O, &w.O}} {
				*p.w = drawn(uint64(i), width*width)
				var err error
				*p.l, err = linear.New(linear.DenseMatrix(*p.w, width, width), nil, kernel.Exec{})
				must(t, err)
			}
		}
		const b, l = 2, 5
		tokens := func(seed uint64) kernel.Tensor { return kernel.BLHD(drawn(seed, b*l*width), b, l, 1, width) }
		x, dout, out := tokens(9), tokens(10), tokens(11)
		trace := MultiHeadTrace{Q: tokens(12), K: tokens(13), V: tokens(14), Heads: tokens(15), LSE: newTensor(b, 2, l, 1)}
		opts := kernel.BackwardOptions{}
		must(t, m.Forward(out, trace, x, x, x, &opts))
		g := MultiHeadGradients{Query: tokens(16), Key: tokens(17), Value: tokens(18)}
		must(t, m.Backward(g, dout, x, x, x, trace, w, &opts))
		same := tokens(19)
		must(t, m.Backward(MultiHeadGradients{Query: same, Key: same, Value: same}, dout, x, x, x, trace, w, &opts))
		sum := tokens(20)
		put(&sum, &g.Query, false)
		put(&sum, &g.Key, true)
		put(&sum, &g.Value, true)
		equal(t, fmt.Sprintf("projects=%v", projects), &same, &sum)
	}
}

// TestMultiHeadBackwardRagged: a ragged batch has the gradients of a dense batch with the same
// tokens, and rows of no sequence stay.
func TestMultiHeadBackwardRagged(t *testing.T) {
	m := newTrained(t)
	_, trace := m.forward(t)
	want := m.gradients()
	m.backward(t, want, trace, kernel.Exec{})
	queryStarts, keyStarts := []int{2, 2 + m.lq, 2 + 2*m.lq}, []int{1, 1 + m.lk, 1 + 2*m.lk}
	ragged := func(x *kernel.Tensor, starts []int) kernel.Tensor {
		width := x.Shape()[3]
		data := testutil.Filled((starts[2]+1)*width, canary)
		copy(data[starts[0]*width:], viewOf(x).F32())
		return kernel.BLHD(data, 1, starts[2]+1, 1, width).Ragged(starts)
	}
	r := *m
	g := m.gradients()
	for i, x := range [...]*kernel.Tensor{&g.Query, &g.Key, &g.Value} {
		starts := queryStarts
		if i > 0 {
			starts = keyStarts
		}
		*x, r.inputs[i] = ragged(x, starts), ragged(&m.inputs[i], starts)
	}
	r.dout = ragged(&m.dout, queryStarts)
	trace.Q, trace.Heads, trace.K, trace.V = ragged(&trace.Q, queryStarts), ragged(&trace.Heads, queryStarts), ragged(&trace.K, keyStarts), ragged(&trace.V, keyStarts)
	trace.LSE = newTensor(1, m.h, queryStarts[2]+1, 1).Ragged(queryStarts)
	out := ragged(&m.dout, queryStarts)
	must(t, r.Forward(out, trace, r.inputs[0], r.inputs[1], r.inputs[2], &r.opts))
	r.backward(t, g, trace, kernel.Exec{})
	for _, x := range [...]struct{ got, want *kernel.Tensor }{{&g.Query, &want.Query}, {&g.Key, &want.Key}, {&g.Value, &want.Value}} {
		joined := kernel.Tensor(viewOf(x.got).Joined())
		n := product(x.want.Shape()[0], x.want.Shape()[2], x.want.Shape()[3])
		testutil.CheckBits(t, "tokens", viewOf(&joined).F32()[:n], viewOf(x.want).F32())
		for _, y := range append(viewOf(&joined).F32()[n:], viewOf(x.got).F32()[0]) {
			if y != canary {
				t.Errorf("a row of no sequence is %v", y)
			}
		}
	}
	for i, x := range flat(&want)[3:] {
		testutil.CheckBits(t, fmt.Sprint("parameters ", i), [][]float32{g.Q.Weight, g.Q.Bias, g.K.Weight, g.K.Bias, g.V.Weight, g.V.Bias, g.O.Weight, g.O.Bias}[i], x)
	}
}

// TestMultiHeadBackwardSimilarity: the heads have the gradients of the similarity.
func TestMultiHeadBackwardSimilarity(t *testing.T) {
	const b, heads, l, d = 2, 2, 4, 3
	tokens := func(seed uint64) kernel.Tensor { return kernel.BLHD(drawn(seed, b*l*heads*d), b, l, 1, heads*d) }
	q, k, v, dout, out := tokens(1), tokens(2), tokens(3), tokens(4), tokens(5)
	for _, s := range []Differentiable{ScaledDot{}, Dot{}, Cosine{}} {
		m := &MultiHead{Heads: heads, Similarity: s}
		trace := MultiHeadTrace{LSE: newTensor(b, heads, l, 1)}
		opts := kernel.BackwardOptions{Scoring: kernel.Scoring{Bias: newTensor(1, 1, l, l), Sinks: []float32{1, -1}}}
		must(t, m.Forward(out, trace, q, k, v, &opts))
		g := MultiHeadGradients{Query: tokens(6), Key: tokens(7), Value: tokens(8), Bias: newTensor(1, 1, l, l), Sinks: make([]float32, heads)}
		must(t, m.Backward(g, dout, q, k, v, trace, MultiHeadWeights{}, &opts))
		split := func(x kernel.Tensor) kernel.Tensor { return splitHeads(&x, heads) }
		want := kernel.Gradients{Q: split(tokens(9)), K: split(tokens(10)), V: split(tokens(11)), Bias: newTensor(1, 1, l, l), Sinks: make([]float32, heads)}
		must(t, s.Backward(want, split(dout), split(q), split(k), split(v), trace.LSE, &opts))
		for i, x := range [...]kernel.Tensor{split(g.Query), split(g.Key), split(g.Value), g.Bias} {
			equal(t, fmt.Sprintf("%T", s), &x, [...]*kernel.Tensor{&want.Q, &want.K, &want.V, &want.Bias}[i])
		}
		testutil.CheckBits(t, "sinks", g.Sinks, want.Sinks)
	}
}

// TestBackwardNoAllocations: a warm call allocates nothing.
func TestBackwardNoAllocations(t *testing.T) {
	m := newTrained(t)
	out, trace := m.forward(t)
	g := m.gradients()
	o := m.opts
	testutil.CheckNoMallocs(t, "MultiHead.Forward", 20, func() {
		must(t, m.Forward(out, trace, m.inputs[0], m.inputs[1], m.inputs[2], &o))
	})
	testutil.CheckNoMallocs(t, "MultiHead.Backward", 20, func() {
		must(t, m.Backward(g, m.dout, m.inputs[0], m.inputs[1], m.inputs[2], trace, m.weights(), &o))
	})
	o.Accumulate = true
	testutil.CheckNoMallocs(t, "MultiHead.Backward, added", 20, func() {
		must(t, m.Backward(g, m.dout, m.inputs[0], m.inputs[1], m.inputs[2], trace, m.weights(), &o))
	})
	w := drawn(1, small.d*small.d)
	general, err := NewGeneral(linear.DenseMatrix(w, small.d, small.d), kernel.Exec{})
	must(t, err)
	l := newLinear(t, 1, small.d, small.d)
	additive := Additive{Query: l, Key: l, V: drawn(2, small.d)}
	q, k, v := normalTensor(1, small.b, small.h, small.lq, small.d), normalTensor(2, small.b, small.hkv, small.lk, small.d), normalTensor(3, small.b, small.hkv, small.lk, small.dv)
	dout, p := normalTensor(4, small.b, small.h, small.lq, small.dv), newTensor(small.b, small.h, small.lq, small.lk)
	lse := newTensor(small.b, small.h, small.lq, 1)
	must(t, Dot{}.Attend(newTensor(small.b, small.h, small.lq, small.dv), q, k, v, &kernel.Options{Outputs: kernel.Outputs{LSE: lse, Weights: p}}))
	opts := kernel.BackwardOptions{}
	inner := kernel.Gradients{Q: newTensor(small.b, small.h, small.lq, small.d), K: newTensor(small.b, small.hkv, small.lk, small.d), V: newTensor(small.b, small.hkv, small.lk, small.dv)}
	ofLayer := Parameters{make([]float32, small.d*small.d), make([]float32, small.d)}
	for name, call := range map[string]func() error{
		"Dot":    func() error { return Dot{}.Backward(inner, dout, q, k, v, lse, &opts) },
		"Cosine": func() error { return Cosine{}.Backward(inner, dout, q, k, v, lse, &opts) },
		"General": func() error {
			return general.Backward(GeneralGradients{Gradients: inner, W: ofLayer.Weight}, dout, q, k, v, lse, w, &opts)
		},
		"Additive": func() error {
			g := AdditiveGradients{Q: inner.Q, K: inner.K, V: inner.V, Query: ofLayer}
			return additive.Backward(g, dout, q, k, v, p, AdditiveWeights{w, w}, kernel.AdditiveBackwardOptions{})
		},
	} {
		testutil.CheckNoMallocs(t, name, 20, func() { must(t, call()) })
	}
}

// TestMultiHeadBackwardErrors: bad arguments get an error that names them, and nothing is written.
func TestMultiHeadBackwardErrors(t *testing.T) {
	for _, x := range []struct {
		arg, want string
		change    func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights)
	}{
		{"dout", "shape [2 1 3 9]", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			m.dout = m.inputs[0]
		}},
		{"trace.K", "shape [2 1 5 6]", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) { trace.K = trace.V }},
		{"trace.Heads", "a head size of at least 1", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			trace.Heads = kernel.Tensor{}
		}},
		{"query", "equal distances", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			m.inputs[0] = kernel.Strided(make([]float32, 1000), m.inputs[0].Shape(), [3]int{100, 100, 9})
		}},
		{"trace.LSE", "that Attention has written", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			trace.LSE = kernel.Tensor{}
		}},
		{"MultiHead.Similarity", "a Differentiable one", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			m.Similarity = General{Query: m.Q}
		}},
		{"Gradients.Query", "shape [2 1 3 5]", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) { g.Query = g.Key }},
		{"Gradients.Q.Weight", "60, the weights", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			g.Q.Weight = g.Q.Weight[1:]
		}},
		{"Gradients.O.Bias", "9, one for each output", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			g.O.Bias = g.O.Bias[1:]
		}},
		{"Gradients.V.Bias", "memory of its own", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			g.V.Bias = w.Q[:4]
		}},
		{"Weights.O", "72, the weights", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) { w.O = nil }},
		{"Gradients.Sinks", "as many as Options.Sinks has", func(m *trained, g *MultiHeadGradients, trace *MultiHeadTrace, w *MultiHeadWeights) {
			g.Sinks = make([]float32, 4)
		}},
	} {
		m := newTrained(t)
		_, trace := m.forward(t)
		g, w := m.gradients(), m.weights()
		before := flat(&g)
		x.change(m, &g, &trace, &w)
		err := m.Backward(g, m.dout, m.inputs[0], m.inputs[1], m.inputs[2], trace, w, &m.opts)
		contracttest.CheckArgument(t, x.arg, err, x.arg, x.want)
		for i, y := range before {
			if y[0] != canary {
				t.Errorf("%s: gradient %d has changed", x.arg, i)
			}
		}
	}
}

// TestForwardErrors: Forward takes no option without gradients.
func TestForwardErrors(t *testing.T) {
	m := newTrained(t)
	out, trace := m.forward(t)
	m.opts.Score = func(*kernel.ScoreTile) {}
	err := m.Forward(out, trace, m.inputs[0], m.inputs[1], m.inputs[2], &m.opts)
	contracttest.CheckArgument(t, "Forward", err, "Options.Score", "its derivative is not known")
}
