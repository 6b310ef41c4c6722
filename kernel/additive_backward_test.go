package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// An additiveCase is a call of Additive and then of AdditiveBackward.
type additiveCase struct {
	b, h, hkv, lq, lk, d, dv int
	lengths                  []int // of the keys
	scale                    float32
	accumulate               bool
	kind                     testutil.Kind
	layout                   contracttest.Layout
	seed                     int
}

// An additiveData holds the tensors of a case.
type additiveData struct {
	q, k, v, dout, p kernel.Tensor
	dq, dk, dv       kernel.Tensor
	weights, dw      []float32
	exec             kernel.Exec
}

func (c additiveCase) data(t testing.TB) (a additiveData) {
	r := testutil.Rand(c.seed)
	tensor := func(b, h, l, d int) kernel.Tensor {
		x := contracttest.Case{Layout: c.layout}.Tensor(b, h, l, d, testutil.Canary)
		contracttest.EachRow(&x, func(_, _, _ int, row []float32) { c.kind.Fill(&r, row, 1, d, d) })
		return x
	}
	a.q, a.k, a.v = tensor(c.b, c.h, c.lq, c.d), tensor(c.b, c.hkv, c.lk, c.d), tensor(c.b, c.hkv, c.lk, c.dv)
	a.dout, a.p = tensor(c.b, c.h, c.lq, c.dv), tensor(c.b, c.h, c.lq, c.lk)
	a.dq, a.dk, a.dv = tensor(c.b, c.h, c.lq, c.d), tensor(c.b, c.hkv, c.lk, c.d), tensor(c.b, c.hkv, c.lk, c.dv)
	a.weights, a.dw = make([]float32, c.d), make([]float32, c.d)
	r.Fill(a.weights)
	r.Fill(a.dw)
	o := kernel.Options{Scoring: kernel.Scoring{Scale: c.scale}, Outputs: kernel.Outputs{Weights: a.p}}
	if c.lengths != nil {
		o.Mask = kernel.KeyLengths(c.lengths)
	}
	out := tensor(c.b, c.h, c.lq, c.dv)
	if err := kernel.Additive(out, a.q, a.k, a.v, a.weights, &o); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *additiveData) run(c additiveCase) error {
	return kernel.AdditiveBackward(kernel.AdditiveGradients{Q: a.dq, K: a.dk, V: a.dv, Weights: a.dw}, a.dout, a.q, a.k, a.v, a.p, a.weights,
		kernel.AdditiveBackwardOptions{Exec: a.exec, Scale: c.scale, Accumulate: c.accumulate})
}

// addTo adds y to x. A NaN is 0x7fc00000.
func addTo(x *float32, y float32) {
	if *x += y; *x != *x {
		*x = math.Float32frombits(0x7fc00000)
	}
}

// contract replaces the gradients by what the contract's text says.
func (a *additiveData) contract(c additiveCase) {
	row := func(t *kernel.Tensor, b, h, l int) []float32 { return contracttest.Row(t, b, h, l) }
	if !c.accumulate {
		for _, t := range []*kernel.Tensor{&a.dq, &a.dk, &a.dv} {
			contracttest.EachRow(t, func(_, _, _ int, row []float32) { clear(row) })
		}
		clear(a.dw)
	}
	scale := c.scale
	if scale == 0 {
		scale = 1
	}
	for b := range c.b {
		for g := range c.hkv {
			sumsW := make([]float32, c.d) // of the key head
			for h := g * (c.h / c.hkv); h < (g+1)*(c.h/c.hkv); h++ {
				for lo := 0; lo < c.lq; lo += 256 {
					hi := min(lo+256, c.lq)
					a.block(c, b, g, h, lo, hi, scale, row, sumsW)
				}
			}
			for d, x := range sumsW {
				addTo(&a.dw[d], x)
			}
		}
	}
}

// withoutTiny returns x, or +0 if its magnitude is below 2^-100.
func withoutTiny(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-100 {
		return 0
	}
	return x
}

// block is a block of queries of the contract.
func (a *additiveData) block(c additiveCase, b, g, h, lo, hi int, scale float32, row func(t *kernel.Tensor, b, h, l int) []float32, headW []float32) {
	for j := range c.lk {
		sees := false
		for i := lo; i < hi; i++ {
			sees = sees || row(&a.p, b, h, i)[j] != 0
		}
		for e := range c.dv {
			if !sees {
				break
			}
			acc := float32(0)
			for i := lo; i < hi; i++ {
				p, x := row(&a.p, b, h, i)[j], withoutTiny(row(&a.dout, b, h, i)[e])
				if p == 0 && (math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)) {
					x = 0
				}
				acc = numeric.FMA(p, x, acc)
			}
			addTo(&row(&a.dv, b, g, j)[e], acc)
		}
	}
	sumsK, sumsW, seen := make([]float32, c.lk*c.d), make([]float32, c.d), make([]bool, c.lk)
	for i := lo; i < hi; i++ {
		p, q, dout := row(&a.p, b, h, i), row(&a.q, b, h, i), row(&a.dout, b, h, i)
		dp, mean := make([]float32, c.lk), 0.0
		for j := range dp {
			v := row(&a.v, b, g, j)
			for e := 0; e < c.dv; e += 64 {
				acc := float32(0)
				for x := e; x < min(e+64, c.dv); x++ {
					acc = numeric.FMA(v[x], withoutTiny(dout[x]), acc)
				}
				if e == 0 {
					dp[j] = acc
				} else {
					dp[j] += acc
				}
			}
			if p[j] != 0 {
				mean += float64(p[j]) * float64(dp[j])
			}
		}
		x := make([]float32, c.lk)
		for j := range x {
			x[j] = withoutTiny(float32(p[j]*float32(dp[j]-float32(mean)))) * scale
		}
		for d, w := range a.weights {
			rowQ, rowW := float32(0), float32(0)
			for first := 0; first < c.lk; first += 256 {
				accQ, accW, any := float32(0), float32(0), false
				for j := first; j < min(first+256, c.lk); j++ {
					if p[j] == 0 {
						continue
					}
					y := numeric.Tanh(q[d] + row(&a.k, b, g, j)[d])
					u := float32(float32(1-y) * float32(1+y))
					accW = numeric.FMA(x[j], y, accW)
					accQ = numeric.FMA(x[j], u, accQ)
					sumsK[j*c.d+d] += float32(x[j] * u)
					any, seen[j] = true, true
				}
				if any {
					addTo(&rowQ, accQ)
					addTo(&rowW, accW)
				}
			}
			addTo(&row(&a.dq, b, h, i)[d], float32(rowQ*w))
			addTo(&sumsW[d], rowW)
		}
	}
	for j := range c.lk {
		for d, w := range a.weights {
			if !seen[j] {
				break
			}
			addTo(&row(&a.dk, b, g, j)[d], float32(sumsK[j*c.d+d]*w))
		}
	}
	for d, x := range sumsW {
		addTo(&headW[d], x)
	}
}

func additiveCases() []additiveCase {
	list := []additiveCase{
		{b: 1, h: 1, hkv: 1, lq: 1, lk: 1, d: 1, dv: 1},
		{b: 2, h: 1, hkv: 1, lq: 1, lk: 30, d: 48, dv: 96, lengths: []int{30, 11}, accumulate: true},
		{b: 2, h: 4, hkv: 2, lq: 3, lk: 7, d: 19, dv: 5, scale: 0.25, layout: 1},
		{b: 1, h: 3, hkv: 1, lq: 17, lk: 50, d: 7, dv: 70, accumulate: true, layout: 2},
		{b: 1, h: 2, hkv: 1, lq: 20, lk: 300, d: 5, dv: 9, scale: -2},
		{b: 1, h: 2, hkv: 1, lq: 260, lk: 5, d: 6, dv: 3},
		{b: 3, h: 1, hkv: 1, lq: 4, lk: 259, d: 16, dv: 130, lengths: []int{259, 0, 257}, layout: 1},
	}
	for i := range list {
		list[i].seed, list[i].kind = i, [...]testutil.Kind{testutil.Dyadics, testutil.Mantissas}[i%2]
	}
	return list
}

// TestAdditiveBackward compares all tiers, alone and on threads, with the contract.
func TestAdditiveBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range additiveCases() {
		want := c.data(t)
		want.contract(c)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				a := c.data(t)
				a.exec = kernel.Exec{Tier: tier, Threads: threads}
				if err := a.run(c); err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
				what := fmt.Sprintf("%+v threads=%d: ", c, threads)
				same := func(name string, got, want *kernel.Tensor) {
					contracttest.EachRow(got, func(b, h, l int, row []float32) {
						testutil.CheckBits(t, fmt.Sprint(what, name, b, h, l), row, contracttest.Row(want, b, h, l))
					})
					contracttest.CheckGaps(t, got)
				}
				same("Q", &a.dq, &want.dq)
				same("K", &a.dk, &want.dk)
				same("V", &a.dv, &want.dv)
				testutil.CheckBits(t, what+"Weights", a.dw, want.dw)
			}
		})
	}
}

// TestAdditiveBackwardHidden: a key with weight 0 may be NaN, and so may its value.
func TestAdditiveBackwardHidden(t *testing.T) {
	c := additiveCase{b: 2, h: 1, hkv: 1, lq: 3, lk: 9, d: 8, dv: 10, lengths: []int{4, 7}, kind: testutil.Mantissas, seed: 4}
	want, a := c.data(t), c.data(t)
	for b, n := range c.lengths {
		for j := n; j < c.lk; j++ {
			for _, x := range []*kernel.Tensor{&a.k, &a.v} {
				row := contracttest.Row(x, b, 0, j)
				for i := range row {
					row[i] = testutil.NaN
				}
			}
		}
	}
	for _, x := range []*additiveData{&a, &want} {
		if err := x.run(c); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range [][2]*kernel.Tensor{{&a.dq, &want.dq}, {&a.dk, &want.dk}, {&a.dv, &want.dv}} {
		contracttest.EachRow(x[0], func(b, h, l int, row []float32) {
			testutil.CheckBits(t, fmt.Sprint(i, b, h, l), row, contracttest.Row(x[1], b, h, l))
		})
	}
	testutil.CheckBits(t, "Weights", a.dw, want.dw)
}

// TestAdditiveBackwardNotFinite: what a query holds in dout, even NaN or an infinity, reaches no
// value that it does not see. Others have the bits of the contract.
func TestAdditiveBackwardNotFinite(t *testing.T) {
	c := additiveCase{b: 1, h: 2, hkv: 1, lq: 9, lk: 60, d: 8, dv: 10, kind: testutil.Mantissas, seed: 5}
	data := func() additiveData {
		a := c.data(t)
		for i := range c.lq {
			row := contracttest.Row(&a.p, 0, 1, i)
			clear(row[min(len(row), 7*i):]) // causal, seven keys at a time
			contracttest.Row(&a.dout, 0, 1, i)[i%c.dv] = [...]float32{testutil.NaN, testutil.Inf, -testutil.Inf}[i%3]
		}
		return a
	}
	want := data()
	want.contract(c)
	if x := contracttest.Row(&want.dv, 0, 0, 55); x[0] != x[0] || x[8] != -testutil.Inf {
		t.Fatalf("value 55, which only the last query of head 1 sees, has the gradient %v", x)
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		a := data()
		a.exec.Tier = tier
		if err := a.run(c); err != nil {
			t.Fatal(err)
		}
		for i, x := range [][2]*kernel.Tensor{{&a.dq, &want.dq}, {&a.dk, &want.dk}, {&a.dv, &want.dv}} {
			contracttest.EachRow(x[0], func(b, h, l int, row []float32) {
				testutil.CheckBits(t, fmt.Sprint("QKV"[i:i+1], b, h, l), row, contracttest.Row(x[1], b, h, l))
			})
		}
	})
}

// TestAdditiveBackwardDifferences compares with finite differences of the formula in float64.
func TestAdditiveBackwardDifferences(t *testing.T) {
	c := additiveCase{b: 1, h: 2, hkv: 1, lq: 2, lk: 4, d: 3, dv: 3, scale: 0.5, kind: testutil.Dyadics, seed: 6}
	a := c.data(t)
	for _, x := range []*kernel.Tensor{&a.q, &a.k, &a.v} { // Dyadics are up to 8: tanh would be flat
		contracttest.EachRow(x, func(_, _, _ int, row []float32) {
			for i := range row {
				row[i] /= 8
			}
		})
	}
	loss := func() (sum float64) {
		for h := range c.h {
			for i := range c.lq {
				q, dout := contracttest.Row(&a.q, 0, h, i), contracttest.Row(&a.dout, 0, h, i)
				all, dot := 0.0, 0.0
				for j := range c.lk {
					k, v, s := contracttest.Row(&a.k, 0, 0, j), contracttest.Row(&a.v, 0, 0, j), 0.0
					for d, w := range a.weights {
						s += float64(w) * math.Tanh(float64(q[d])+float64(k[d]))
					}
					e := math.Exp(s * float64(c.scale))
					all += e
					for x := range v {
						dot += e * float64(v[x]) * float64(dout[x])
					}
				}
				sum += dot / all
			}
		}
		return sum
	}
	out := kernel.BHLD(make([]float32, c.h*c.lq*c.dv), 1, c.h, c.lq, c.dv)
	if err := kernel.Additive(out, a.q, a.k, a.v, a.weights, &kernel.Options{Scoring: kernel.Scoring{Scale: c.scale}, Outputs: kernel.Outputs{Weights: a.p}}); err != nil {
		t.Fatal(err)
	}
	if err := a.run(c); err != nil {
		t.Fatal(err)
	}
	check := func(what string, x, got []float32) {
		for i := range x {
			const h = 0x1p-8 // exact in the numbers of the case
			before := x[i]
			x[i] = before + h
			up := loss()
			x[i] = before - h
			down := loss()
			x[i] = before
			if want := (up - down) / (2 * h); math.Abs(float64(got[i])-want) > 2e-4 {
				t.Errorf("%s[%d] is %v, want %v", what, i, got[i], want)
			}
		}
	}
	for i, x := range [][2]*kernel.Tensor{{&a.q, &a.dq}, {&a.k, &a.dk}, {&a.v, &a.dv}} {
		contracttest.EachRow(x[0], func(b, h, l int, row []float32) {
			check(fmt.Sprintf("%c %d %d", "QKV"[i], h, l), row, contracttest.Row(x[1], b, h, l))
		})
	}
	check("Weights", a.weights, a.dw)
}

func TestAdditiveBackwardAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	c := additiveCases()[1]
	a := c.data(t)
	for threads := 1; threads <= 3; threads++ {
		a.exec.Threads = threads
		testutil.CheckNoMallocs(t, fmt.Sprint("threads=", threads), 20, func() {
			if err := a.run(c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAdditiveBackwardErrors: what does not fit is named, and no gradient is touched.
func TestAdditiveBackwardErrors(t *testing.T) {
	memory := testutil.Filled(1000, 7)
	type call struct {
		g                kernel.AdditiveGradients
		dout, q, k, v, p kernel.Tensor
		weights          []float32
		o                kernel.AdditiveBackwardOptions
	}
	at := func(i, h, l, d int) kernel.Tensor { return kernel.BHLD(memory[i:i+h*l*d], 1, h, l, d) }
	for _, x := range []struct {
		arg, want string
		spoil     func(c *call)
	}{
		{"q", "float32", func(c *call) { c.q = kernel.BHLD(make([]kernel.F16, 24), 1, 2, 3, 4) }},
		{"q", "neither paged nor ragged", func(c *call) { c.q = at(0, 2, 3, 4).Ragged([]int{0, 3}) }},
		{"k", "head size 4", func(c *call) { c.k = at(100, 1, 5, 3) }},
		{"k", "divides q's 2", func(c *call) { c.k = at(100, 3, 5, 4) }},
		{"v", "length 5", func(c *call) { c.v = at(200, 1, 4, 6) }},
		{"dout", "shape [1 2 3 6]", func(c *call) { c.dout = at(300, 2, 3, 5) }},
		{"p", "shape [1 2 3 5]", func(c *call) { c.p = at(400, 2, 3, 4) }},
		{"weights", "4, one for each number of a query", func(c *call) { c.weights = memory[500:503] }},
		{"Gradients.Q", "shape [1 2 3 4], that of q", func(c *call) { c.g.Q = at(600, 2, 3, 3) }},
		{"Gradients.K", "strides that nest", func(c *call) { c.g.K = kernel.Strided(memory[700:], [4]int{1, 1, 5, 4}, [3]int{0, 0, 3}) }},
		{"Gradients.Weights", "4, as weights has them", func(c *call) { c.g.Weights = memory[900:901] }},
		{"Gradients.V", "memory of its own", func(c *call) { c.g.V = c.v }},
		{"Gradients.Q", "memory of its own", func(c *call) { c.g.K = at(610, 1, 5, 4) }},
		{"Options.Scale", "finite", func(c *call) { c.o.Scale = testutil.NaN }},
		{"Options.Threads", "at least 1", func(c *call) { c.o.Threads = -1 }},
	} {
		c := call{
			kernel.AdditiveGradients{Q: at(600, 2, 3, 4), K: at(700, 1, 5, 4), V: at(800, 1, 5, 6), Weights: memory[900:904]},
			at(300, 2, 3, 6), at(0, 2, 3, 4), at(100, 1, 5, 4), at(200, 1, 5, 6), at(400, 2, 3, 5), memory[500:504], kernel.AdditiveBackwardOptions{},
		}
		x.spoil(&c)
		contracttest.CheckArgument(t, x.want, kernel.AdditiveBackward(c.g, c.dout, c.q, c.k, c.v, c.p, c.weights, c.o), x.arg, x.want)
	}
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(1000, 7))
}

// TestGuardAdditiveBackward: a call touches nothing outside of its tensors, which lie between guard
// pages.
func TestGuardAdditiveBackward(t *testing.T) {
	if !testutil.Guards {
		t.Log("NOT RUN: guard pages are not available here, this is TestAdditiveBackward again on plain slices")
	}
	for _, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
		memory := testutil.NewGuardedArena(t, place, 10, 1<<20)
		for i, c := range additiveCases() {
			if c.layout = 0; c.lq > 100 {
				continue
			}
			want := c.data(t)
			want.contract(c)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				memory.Reset(i)
				a := c.data(t)
				a.exec.Tier = tier
				for k, x := range []*kernel.Tensor{&a.q, &a.k, &a.v, &a.dout, &a.p, &a.dq, &a.dk, &a.dv} {
					s := x.Shape()
					data := memory.Vector("qkvopQKV"[k:k+1], s[0]*s[1]*s[2]*s[3], 0)
					guarded := kernel.BHLD(data, s[0], s[1], s[2], s[3])
					contracttest.EachRow(x, func(b, h, l int, row []float32) { copy(contracttest.Row(&guarded, b, h, l), row) })
					*x = guarded
				}
				for k, x := range []*[]float32{&a.weights, &a.dw} {
					guarded := memory.Vector([...]string{"weights", "Weights"}[k], c.d, 0)
					copy(guarded, *x)
					*x = guarded
				}
				if err := a.run(c); err != nil {
					t.Fatal(err)
				}
				for k, x := range [][2]*kernel.Tensor{{&a.dq, &want.dq}, {&a.dk, &want.dk}, {&a.dv, &want.dv}} {
					contracttest.EachRow(x[0], func(b, h, l int, row []float32) {
						testutil.CheckBits(t, fmt.Sprintf("%+v %v: %d %d %d %d", c, place, k, b, h, l), row, contracttest.Row(x[1], b, h, l))
					})
				}
			})
		}
	}
}

// TestAdditiveBackwardAddsZero: with Accumulate, a gradient that no pair adds to gets +0 added.
func TestAdditiveBackwardAddsZero(t *testing.T) {
	before := []float32{float32(math.Copysign(0, -1)), math.Float32frombits(0xffc00123), 3, 0}
	want := []float32{0, math.Float32frombits(0x7fc00000), 3, 0}
	x := kernel.BHLD([]float32{1, 2, 3, 4}, 1, 1, 1, 4)
	unseen := kernel.BHLD([]float32{0}, 1, 1, 1, 1)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		var held [4][]float32
		for i := range held {
			held[i] = append([]float32(nil), before...)
		}
		of := func(i int) kernel.Tensor { return kernel.BHLD(held[i], 1, 1, 1, 4) }
		err := kernel.AdditiveBackward(kernel.AdditiveGradients{Q: of(0), K: of(1), V: of(2), Weights: held[3]}, x, x, x, x, unseen, []float32{1, 1, 1, 1},
			kernel.AdditiveBackwardOptions{Exec: kernel.Exec{Tier: tier}, Accumulate: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range held {
			testutil.CheckBits(t, [...]string{"Q", "K", "V", "Weights"}[i], got, want)
		}
	})
}
