package gomlx_test

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx"
)

// group is the arguments of a call of SDPA: 2 heads of 16 numbers on one key head, 3 queries, 4
// keys.
type group struct {
	q, k, v, out                     []float32
	qOff, kvOff, qSeq, kvSeq, qGroup int
	mask                             []float32
	keep                             []bool
	maskGroup                        int
	bias                             []float32
	biasGroup                        int
	scratch                          []float32
	heads, queries, keys, d          int
	scale                            float32
	causal                           bool
	qLimit, kvLimit                  int
}

// newGroup returns arguments that are right. Each slice has 5 numbers before the first one.
func newGroup() *group {
	const heads, queries, keys, d = 2, 3, 4, 16
	g := &group{qOff: 5, kvOff: 5, qSeq: d, kvSeq: d, qGroup: queries * d, heads: heads, queries: queries, keys: keys, d: d, scale: 0.25, qLimit: queries, kvLimit: keys}
	g.q, g.out = numbers(1, 5+heads*queries*d), slices.Repeat([]float32{77}, 5+heads*queries*d)
	g.k, g.v = numbers(2, 5+keys*d), numbers(3, 5+keys*d)
	g.scratch = make([]float32, heads*queries*keys)
	return g
}

func (g *group) call() bool {
	return gomlx.SDPA(g.q, g.k, g.v, g.out, g.qOff, g.kvOff, g.qSeq, g.kvSeq, g.qGroup, g.mask, g.keep, g.maskGroup, g.bias, g.biasGroup, g.scratch,
		g.heads, g.queries, g.keys, g.d, g.scale, g.causal, g.qLimit, g.kvLimit)
}

// want returns row i of head h, in float64.
func (g *group) want(h, i int) []float64 {
	out := make([]float64, g.d)
	if i >= g.qLimit {
		return out
	}
	weights, sum := make([]float64, g.keys), 0.0
	for j := range weights {
		at := i*g.keys + j
		if j >= g.kvLimit || g.causal && j > i || g.keep != nil && !g.keep[h*g.maskGroup+at] {
			continue
		}
		score := 0.0
		for x := range g.d {
			score += float64(g.q[g.qOff+h*g.qGroup+i*g.qSeq+x]) * float64(g.k[g.kvOff+j*g.kvSeq+x]) * float64(g.scale)
		}
		if g.mask != nil {
			score += float64(g.mask[h*g.maskGroup+at])
		}
		if g.bias != nil {
			score += float64(g.bias[h*g.biasGroup+at])
		}
		weights[j] = math.Exp(score)
		sum += weights[j]
	}
	for j, w := range weights {
		if w == 0 {
			continue
		}
		for x := range out {
			out[x] += w / sum * float64(g.v[g.kvOff+j*g.kvSeq+x])
		}
	}
	return out
}

// numbers returns n numbers from -1 to 1 that depend on the seed.
func numbers(seed uint32, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 31)
	}
	return x
}

// TestSDPA compares calls with every argument of the hook to attention in float64, and finds
// what is written elsewhere.
func TestSDPA(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, change := range map[string]func(g *group){
		"plain":           func(g *group) {},
		"causal":          func(g *group) { g.causal = true },
		"tokens by heads": func(g *group) { g.qSeq, g.qGroup = 2*g.d, g.d },
		"a shared mask": func(g *group) {
			g.keep = []bool{true, false, true, true, false, true, false, true, true, true, true, false}
		},
		"a mask by heads": func(g *group) { g.keep, g.maskGroup = slices.Repeat([]bool{true, true, false, true, true}, 5)[:24], 12 },
		"a float mask":    func(g *group) { g.mask = append(numbers(4, 11), inf) },
		"float masks":     func(g *group) { g.mask, g.maskGroup = numbers(5, 24), 12 },
		"a bias, causal":  func(g *group) { g.bias, g.causal = numbers(6, 12), true },
		"biases, bool mask": func(g *group) {
			g.bias, g.biasGroup, g.keep = numbers(7, 24), 12, slices.Repeat([]bool{true, false}, 6)
		},
		"bias and mask":     func(g *group) { g.bias, g.biasGroup, g.mask = numbers(8, 24), 12, numbers(9, 12) },
		"limits":            func(g *group) { g.qLimit, g.kvLimit = 2, 3 },
		"limits, causal":    func(g *group) { g.qLimit, g.kvLimit, g.causal = 2, 1, true },
		"limits, bool mask": func(g *group) { g.kvLimit, g.keep = 2, slices.Repeat([]bool{false, true, true, true}, 3) },
		"limits and sums":   func(g *group) { g.qLimit, g.kvLimit, g.bias, g.mask = 2, 3, numbers(10, 12), numbers(11, 12) },
		"no queries":        func(g *group) { g.qLimit = 0 },
		"no keys":           func(g *group) { g.kvLimit = 0 },
		"limits below 0":    func(g *group) { g.qLimit, g.kvLimit = -5, -5 },
		"a hidden row":      func(g *group) { g.keep = append(make([]bool, 4), slices.Repeat([]bool{true}, 8)...) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup()
			change(g)
			if !g.call() {
				t.Fatal("the call was refused")
			}
			for h := range g.heads {
				for i := range g.queries {
					at := g.qOff + h*g.qGroup + i*g.qSeq
					for x, want := range g.want(h, i) {
						if d := math.Abs(float64(g.out[at+x]) - want); !(d <= 1e-6) {
							t.Fatalf("head %d, query %d, number %d is %g, want %g", h, i, x, g.out[at+x], want)
						}
						g.out[at+x] = 77
					}
				}
			}
			if slices.ContainsFunc(g.out, func(x float32) bool { return x != 77 }) {
				t.Error("a number outside of the rows was written")
			}
		})
	}
}

// TestRefused: what attn does not accept is left to the backend, with output untouched.
func TestRefused(t *testing.T) {
	for name, change := range map[string]func(g *group){
		"scale 0":            func(g *group) { g.scale = 0 },
		"scale NaN":          func(g *group) { g.scale = float32(math.NaN()) },
		"offset below 0":     func(g *group) { g.qOff = -1 },
		"offset of keys":     func(g *group) { g.kvOff = len(g.k) + 1 },
		"short q":            func(g *group) { g.q = g.q[:len(g.q)-1] },
		"short v":            func(g *group) { g.v = g.v[:len(g.v)-1] },
		"short output":       func(g *group) { g.out = g.out[:len(g.out)-1] },
		"short padding":      func(g *group) { g.out, g.qLimit = g.out[:len(g.out)-1], 1 },
		"stride below 0":     func(g *group) { g.qSeq, g.qLimit = -16, 0 },
		"stride overflows":   func(g *group) { g.qGroup, g.qLimit = math.MaxInt, 0 },
		"short mask":         func(g *group) { g.keep = make([]bool, 11) },
		"short bias":         func(g *group) { g.bias, g.biasGroup = make([]float32, 23), 12 },
		"short float mask":   func(g *group) { g.mask, g.bias = make([]float32, 11), make([]float32, 12) },
		"short scratch":      func(g *group) { g.mask, g.bias, g.scratch = make([]float32, 12), make([]float32, 12), g.scratch[1:] },
		"stride of the mask": func(g *group) { g.mask, g.bias, g.maskGroup = make([]float32, 12), make([]float32, 12), -1 },
		"heads below 0":      func(g *group) { g.heads = -1 },
		"keys below 0":       func(g *group) { g.keys = -1 },
		"output is q":        func(g *group) { g.out = g.q },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup()
			change(g)
			before := slices.Clone(g.out)
			if g.call() {
				t.Error("the call was accepted")
			}
			if !slices.Equal(g.out, before) {
				t.Error("output was written")
			}
		})
	}
}
