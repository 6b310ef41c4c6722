package layer

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// checkAccumulates compares the gradients of a call that accumulates, in outputs that hold numbers,
// with those numbers plus the gradients of one that does not. That is exact as long as a sum has
// one segment: at most 128 columns, 128 rows or, in a bias, 32.
func checkAccumulates(t *testing.T, name string, call func(accumulate bool, seed uint64) [][]float32) {
	t.Helper()
	want, got := call(false, 0), call(true, 100)
	for i, g := range want {
		for e, old := range drawn(100+uint64(i), len(g)) {
			g[e] += old
		}
		testutil.CheckBits(t, fmt.Sprintf("%s: gradient %d", name, i), got[i], g)
	}
}

// fill draws numbers for each slice, from seed on.
func fill(seed uint64, all [][]float32) [][]float32 {
	for i, x := range all {
		copy(x, drawn(seed+uint64(i), len(x)))
	}
	return all
}

// TestSimilarityBackwardAccumulate: gradients of attention and of the matrix of General are added
// to.
func TestSimilarityBackwardAccumulate(t *testing.T) {
	z := small
	w := drawn(1, z.d*z.d)
	general, err := NewGeneral(linear.DenseMatrix(w, z.d, z.d), kernel.Exec{})
	must(t, err)
	q, k, v := normalTensor(1, z.b, z.h, z.lq, z.d), normalTensor(2, z.b, z.hkv, z.lk, z.d), normalTensor(3, z.b, z.hkv, z.lk, z.dv)
	dout, out, lse := normalTensor(4, z.b, z.h, z.lq, z.dv), newTensor(z.b, z.h, z.lq, z.dv), newTensor(z.b, z.h, z.lq, 1)
	for _, s := range []Similarity{ScaledDot{}, Dot{}, Cosine{}, general} {
		// One key is seen by nobody: its gradient of the cosine is not computed.
		o := kernel.BackwardOptions{Scoring: kernel.Scoring{Mask: kernel.Causal(1), Bias: normalTensor(5, 1, 1, z.lq, z.lk), Sinks: drawn(6, z.h)}}
		must(t, s.Attend(out, q, k, v, &kernel.Options{Scoring: o.Scoring, Outputs: kernel.Outputs{LSE: lse}}))
		checkAccumulates(t, fmt.Sprintf("%T", s), func(accumulate bool, seed uint64) [][]float32 {
			g := GeneralGradients{Gradients: kernel.Gradients{
				Q: newTensor(z.b, z.h, z.lq, z.d), K: newTensor(z.b, z.hkv, z.lk, z.d), V: newTensor(z.b, z.hkv, z.lk, z.dv),
				Bias: newTensor(1, 1, z.lq, z.lk), Sinks: make([]float32, z.h),
			}}
			if _, ok := s.(General); ok {
				g.W = make([]float32, len(w))
			}
			all := fill(seed, [][]float32{viewOf(&g.Q).F32(), viewOf(&g.K).F32(), viewOf(&g.V).F32(), viewOf(&g.Bias).F32(), g.Sinks, g.W})
			opts := o
			opts.Accumulate = accumulate
			if d, ok := s.(Differentiable); ok {
				must(t, d.Backward(g.Gradients, dout, q, k, v, lse, &opts))
			} else {
				must(t, general.Backward(g, dout, q, k, v, lse, w, &opts))
			}
			return all
		})
	}
}

// TestMultiHeadBackwardAccumulate: gradients of tokens, parameters, biases and sinks are added to,
// with projections and without.
func TestMultiHeadBackwardAccumulate(t *testing.T) {
	for _, projects := range []bool{true, false} {
		for _, hasBias := range []bool{true, false} {
			m := newTrained(t)
			if !projects {
				*m.MultiHead = MultiHead{Heads: m.h, KVHeads: m.hkv}
				m.widths = [4]int{m.h * m.d, m.hkv * m.d, m.hkv * m.dv, m.h * m.dv}
				m.inputs = [3]kernel.Tensor{newTensor(m.b, 1, m.lq, m.widths[0]), newTensor(m.b, 1, m.lk, m.widths[1]), newTensor(m.b, 1, m.lk, m.widths[2])}
				m.dout = newTensor(m.b, 1, m.lq, m.widths[3])
				fill(70, [][]float32{viewOf(&m.inputs[0]).F32(), viewOf(&m.inputs[1]).F32(), viewOf(&m.inputs[2]).F32(), viewOf(&m.dout).F32()})
			}
			if hasBias {
				m.opts.Bias, m.opts.Sinks = normalTensor(5, 1, 1, m.lq, m.lk), drawn(6, m.h)
			}
			_, trace := m.forward(t)
			checkAccumulates(t, fmt.Sprintf("projects=%v, bias=%v", projects, hasBias), func(accumulate bool, seed uint64) [][]float32 {
				g := m.gradients()
				if !projects {
					g = MultiHeadGradients{Query: g.Query, Key: g.Key, Value: g.Value}
				}
				all := append([][]float32{viewOf(&g.Query).F32(), viewOf(&g.Key).F32(), viewOf(&g.Value).F32()}, flat(&g)[3:]...)
				if hasBias {
					g.Bias, g.Sinks = newTensor(1, 1, m.lq, m.lk), make([]float32, m.h)
					all = append(all, viewOf(&g.Bias).F32(), g.Sinks)
				}
				fill(seed, all)
				o := m.opts
				o.Accumulate = accumulate
				must(t, m.Backward(g, m.dout, m.inputs[0], m.inputs[1], m.inputs[2], trace, m.weights(), &o))
				return all
			})
		}
	}
}
