package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A gruCase is a call of GRU or GRUBackward.
type gruCase struct {
	backward bool
	n        int
	values   testutil.Kind
}

func (c gruCase) String() string { return fmt.Sprintf("n=%d of %v", c.n, c.values) }

func gruCases(backward bool) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for _, n := range upTo(2*16+1, 47, 48, 49, 96) {
				list = append(list, gruCase{backward, n, v})
			}
		}
		return list
	}
}

func (c gruCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	vector := func(name string, n int) []float32 {
		x := a.Vector(name, n, 0)
		c.values.Fill(r, x, 1, n, n)
		return x
	}
	if c.backward {
		d, gates, hidden, before := vector("d", c.n), vector("gates", 3*c.n), vector("hidden", 3*c.n), vector("before", c.n)
		dIn, dHidden := a.Vector("dIn", 3*c.n, testutil.Canary), a.Vector("dHidden", 3*c.n, testutil.Canary)
		return func(p *kernelSet) { p.Activations.GRUBackward(d, dIn, dHidden, gates, hidden, before) }
	}
	state, in, hidden, gates := vector("state", c.n), vector("in", 3*c.n), vector("hidden", 3*c.n), a.Vector("gates", 3*c.n, testutil.Canary)
	return func(p *kernelSet) { p.Activations.GRU(state, gates, in, hidden) }
}

// An addRowsCase is a call of AddRows.
type addRowsCase struct {
	n, d, gap int
	values    testutil.Kind
}

func (c addRowsCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d of %v", c.n, c.d, c.gap, c.values)
}

func addRowsCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, d := range upTo(2*16+1, 63, 64, 65, 127, 128, 129, 200) {
			list = append(list, addRowsCase{1 + len(list)%5, d, len(list) % 3, v})
		}
	}
	return list
}

func (c addRowsCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ld := distance(c.d, c.gap)
	dst, src := a.Vector("dst", c.d, 0), a.Matrix("src", c.n, c.d, ld, testutil.Canary)
	c.values.Fill(r, dst, 1, c.d, c.d)
	c.values.Fill(r, src, c.n, c.d, ld)
	a.Slots[0].Exact = true
	return func(p *kernelSet) {
		p.Elementwise.AddRows(dst, src, ld, c.n)
	}
}

// A hadamardCase is a call of Hadamard.
type hadamardCase struct {
	n, blocks int
	values    testutil.Kind
}

func (c hadamardCase) String() string {
	return fmt.Sprintf("n=%d blocks=%d of %v", c.n, c.blocks, c.values)
}

func hadamardCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for n := 16; n <= 1024; n *= 2 {
			for blocks := range 4 {
				list = append(list, hadamardCase{n, blocks, v})
			}
		}
	}
	return list
}

func (c hadamardCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	x := a.Vector("x", c.n*c.blocks, 0)
	c.values.Fill(r, x, 1, len(x), len(x))
	a.Slots[0].Exact = true
	scale := float32(1 / math.Sqrt(float64(c.n)))
	return func(p *kernelSet) { p.Elementwise.Hadamard(x, c.n, scale) }
}

// distance returns the distance of rows of d elements with a gap; rows without elements have no
// gap.
func distance(d, gap int) int {
	if d == 0 {
		return 0
	}
	return d + gap
}

// An additiveBackwardCase is a call of AdditiveBackward.
type additiveBackwardCase struct {
	n, d, gap int
	values    testutil.Kind
}

func (c additiveBackwardCase) String() string {
	return fmt.Sprintf("n=%d d=%d gap=%d of %v", c.n, c.d, c.gap, c.values)
}

func additiveBackwardCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, d := range upTo(2*16+1, 47, 48, 49, 100) {
			list = append(list, additiveBackwardCase{len(list) % 7, d, len(list) % 3, v})
		}
	}
	return list
}

func (c additiveBackwardCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	filled := func(name string, n, d, ld int) []float32 {
		x := a.Matrix(name, n, d, ld, testutil.Canary)
		c.values.Fill(r, x, n, d, ld)
		return x
	}
	ldd, ldk := distance(c.d, c.gap), distance(c.d, 2*c.gap)
	dk, k := filled("dk", c.n, c.d, ldd), filled("k", c.n, c.d, ldk)
	q, x, dq, dw := filled("q", 1, c.d, c.d), filled("x", 1, c.n, c.n), filled("dq", 1, c.d, c.d), filled("dw", 1, c.d, c.d)
	return func(p *kernelSet) { p.Elementwise.AdditiveBackward(dk, ldd, q, k, ldk, c.n, x, dq, dw) }
}

// A rotateCase is a call of Rotate. The halves of a row lie one after the other.
type rotateCase struct{ addWeightedCase }

func rotateCases(w int) (list []kernelCase) {
	for _, c := range addWeightedCases(w) {
		list = append(list, rotateCase{c.(addWeightedCase)})
	}
	return list
}

func (c rotateCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ld := distance(2*c.d, c.gap)
	x, cos, sin := a.Matrix("x", c.n, 2*c.d, ld, testutil.Canary), a.Vector("cos", c.d, 0), a.Vector("sin", c.d, 0)
	c.values.Fill(r, x, c.n, 2*c.d, ld)
	c.values.Fill(r, cos, 1, c.d, c.d)
	c.values.Fill(r, sin, 1, c.d, c.d)
	a.Slots[0].Exact = true
	return func(p *kernelSet) { p.Elementwise.Rotate(x, x[min(c.d, len(x)):], ld, c.n, cos, sin) }
}

// An addWeightedCase is a call of AddWeighted.
type addWeightedCase struct {
	n, d, gap int
	values    testutil.Kind
}

func (c addWeightedCase) String() string {
	return fmt.Sprintf("n=%d d=%d gap=%d of %v", c.n, c.d, c.gap, c.values)
}

func addWeightedCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, d := range upTo(3*16+1, 63, 64, 65, 95, 96, 97, 100) {
			list = append(list, addWeightedCase{len(list) % 7, d, len(list) % 3, v})
		}
	}
	return list
}

func (c addWeightedCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ldd, lds := distance(c.d, c.gap), distance(c.d, 2*c.gap)
	dst, src := a.Matrix("dst", c.n, c.d, ldd, testutil.Canary), a.Matrix("src", c.n, c.d, lds, testutil.Canary)
	weights := a.Vector("weights", c.d, 0)
	c.values.Fill(r, dst, c.n, c.d, ldd)
	c.values.Fill(r, src, c.n, c.d, lds)
	c.values.Fill(r, weights, 1, c.d, c.d)
	a.Slots[0].Exact = true
	return func(p *kernelSet) {
		p.Elementwise.AddWeighted(dst, ldd, src, lds, c.n, weights)
	}
}

// An adamWCase is a call of AdamW.
type adamWCase struct {
	n      int
	values testutil.Kind
}

func (c adamWCase) String() string { return fmt.Sprintf("n=%d of %v", c.n, c.values) }

func adamWCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, n := range upTo(4*16+1, 95, 96, 97, 200) {
			list = append(list, adamWCase{n, v})
		}
	}
	return list
}

func (c adamWCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	var s [4][]float32
	for i, name := range []string{"w", "g", "m", "v"} {
		s[i] = a.Vector(name, c.n, 0)
		c.values.Fill(r, s[i], 1, c.n, c.n)
	}
	for i, x := range s[3] {
		s[3][i] = max(x, -x) // a mean of squares
	}
	f := [7]float32{0.9999, 0.1, 0.999, 0.001, 0.5, 1e-8, 0.003}
	return func(p *kernelSet) {
		p.Elementwise.AdamW(s[0], s[1], s[2], s[3], f[0], f[1], f[2], f[3], f[4], f[5], f[6])
	}
}

var trainingMutants = []mutant{
	{"Activations.GRU", "the product with the reset gate is not rounded", func(p *kernelSet) {
		p.Activations.GRU = func(state, gates, in, hidden []float32) {
			n := len(state)
			for i, s := range state {
				r, z := scalar.Sigmoid(in[i]+hidden[i]), scalar.Sigmoid(in[n+i]+hidden[n+i])
				c := scalar.Tanh(scalar.FMA(r, hidden[2*n+i], in[2*n+i]))
				gates[i], gates[n+i], gates[2*n+i] = r, z, c
				state[i] = c + float32((s-c)*z)
			}
		}
	}},
	{"Activations.GRU", "the sigmoid of negative numbers overflows", func(p *kernelSet) {
		gru := p.Activations.GRU
		p.Activations.GRU = func(state, gates, in, hidden []float32) {
			gru(state, gates, in, hidden)
			for i := range state {
				if x := in[i] + hidden[i]; x < -1 {
					gates[i] = 1 / (1 + scalar.Exp2(float32(-x*1.44269504)))
				}
			}
		}
	}},
	{"Activations.GRUBackward", "d is not multiplied", func(p *kernelSet) {
		gru := p.Activations.GRUBackward
		p.Activations.GRUBackward = func(d, dIn, dHidden, gates, hidden, before []float32) {
			was := append([]float32(nil), d...)
			gru(d, dIn, dHidden, gates, hidden, before)
			copy(d, was)
		}
	}},
	{"Elementwise.AddRows", "the rows come first", func(p *kernelSet) {
		p.Elementwise.AddRows = func(dst, src []float32, lds, n int) {
			sum := make([]float32, len(dst))
			for i := range n {
				ref.Elementwise.Add(sum, sum, src[i*lds:])
			}
			ref.Elementwise.Add(dst, dst, sum)
		}
	}},
	{"Elementwise.AddRows", "NaNs keep their bits", func(p *kernelSet) {
		p.Elementwise.AddRows = func(dst, src []float32, lds, n int) {
			for i := range n {
				for e := range dst {
					dst[e] += src[i*lds+e]
				}
			}
		}
	}},
	{"Elementwise.Hadamard", "the scale comes last", func(p *kernelSet) {
		p.Elementwise.Hadamard = func(x []float32, n int, scale float32) {
			ref.Elementwise.Hadamard(x, n, 1)
			for i := range x {
				x[i] *= scale
			}
		}
	}},
	{"Elementwise.Hadamard", "the last stage comes first", func(p *kernelSet) {
		p.Elementwise.Hadamard = func(x []float32, n int, scale float32) {
			for at := 0; at < len(x); at += n {
				for i := range n / 2 {
					a, b := x[at+i], x[at+i+n/2]
					x[at+i], x[at+i+n/2] = a+b, a-b
				}
			}
			ref.Elementwise.Hadamard(x, n/2, scale)
		}
	}},
	{"Elementwise.AdditiveBackward", "the product is not rounded", func(p *kernelSet) {
		p.Elementwise.AdditiveBackward = func(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32) {
			for j := range n {
				for e := range q {
					t := scalar.Tanh(q[e] + k[j*ldk+e])
					u := float32((1 - t) * (1 + t))
					dw[e], dq[e] = scalar.FMA(x[j], t, dw[e]), scalar.FMA(x[j], u, dq[e])
					dk[j*ldd+e] = scalar.FMA(x[j], u, dk[j*ldd+e])
				}
			}
		}
	}},
	{"Elementwise.AdditiveBackward", "the sums start anew", func(p *kernelSet) {
		backward := p.Elementwise.AdditiveBackward
		p.Elementwise.AdditiveBackward = func(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32) {
			clear(dw)
			backward(dk, ldd, q, k, ldk, n, x, dq, dw)
		}
	}},
	{"Elementwise.AddWeighted", "the product is not rounded", func(p *kernelSet) {
		p.Elementwise.AddWeighted = func(dst []float32, ldd int, src []float32, lds, n int, weights []float32) {
			for j := range n {
				for e, w := range weights {
					dst[j*ldd+e] = scalar.Canonical(scalar.FMA(src[j*lds+e], w, dst[j*ldd+e]))
				}
			}
		}
	}},
	{"Elementwise.AddWeighted", "NaNs keep their bits", func(p *kernelSet) {
		p.Elementwise.AddWeighted = func(dst []float32, ldd int, src []float32, lds, n int, weights []float32) {
			for j := range n {
				for e, w := range weights {
					dst[j*ldd+e] += float32(src[j*lds+e] * w)
				}
			}
		}
	}},
	{"Elementwise.Rotate", "a product is not rounded", func(p *kernelSet) {
		p.Elementwise.Rotate = func(first, second []float32, ld, n int, cos, sin []float32) {
			for j := range n {
				for e, c := range cos {
					x, y := first[j*ld+e], second[j*ld+e]
					first[j*ld+e] = scalar.Canonical(scalar.FMA(x, c, -float32(y*sin[e])))
					second[j*ld+e] = scalar.Canonical(float32(y*c) + float32(x*sin[e]))
				}
			}
		}
	}},
	{"Elementwise.AdamW", "a product is not rounded", func(p *kernelSet) {
		p.Elementwise.AdamW = func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32) {
			was := append([]float32(nil), v...)
			ref.Elementwise.AdamW(w, g, m, v, keep, gain1, beta2, gain2, root, epsilon, rate)
			for e := range w {
				v[e] = scalar.FMA(beta2, was[e], float32(float32(gain2*g[e])*g[e]))
			}
		}
	}},
	{"Elementwise.AdamW", "the means are those before the step", func(p *kernelSet) {
		p.Elementwise.AdamW = func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32) {
			before := append([]float32(nil), m...)
			ref.Elementwise.AdamW(w, g, m, v, keep, gain1, beta2, gain2, root, epsilon, rate)
			copy(m, before)
		}
	}},
	{"Elementwise.AdamW", "the root is an approximation", func(p *kernelSet) {
		p.Elementwise.AdamW = func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32) {
			before := append([]float32(nil), w...)
			ref.Elementwise.AdamW(w, g, m, v, keep, gain1, beta2, gain2, root, epsilon, rate)
			for e := range w {
				d := float32(math.Sqrt(float64(v[e]))*(1+0x1p-23))/root + epsilon
				w[e] = float32(before[e]*keep) - float32(rate*(m[e]/d))
			}
		}
	}},
}
