package problem

import (
	"math"
	"testing"
)

func TestVisibleAndFlops(t *testing.T) {
	p := &Problem{
		Q: Array{Shape: [4]int{2, 4, 3, 8}}, K: Array{Shape: [4]int{2, 2, 5, 8}}, V: Array{Shape: [4]int{2, 2, 5, 6}},
	}
	check := func(what string, pairs float64) {
		t.Helper()
		if got, want := p.Flops(), 4*2*(8+6)*pairs; got != want {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	check("all", 2*3*5)
	p.Lengths = []int{5, 1}
	check("lengths", 3*5+3*1)
	p.Causal = true
	check("lengths and causal", 1+2+3+3*1)
	square := &Shape{Heads: 4, KVHeads: 4, Lq: 8, Lk: 8, D: 16, Causal: true}
	if got, err := square.Flops(); got != 4*4*8*8*16/2 || err != nil {
		t.Errorf("causal square: %g, %v", got, err)
	}
	if got := square.Random().Bytes(); got != 4*4*4*8*16 {
		t.Errorf("square: %g bytes", got)
	}
}

func TestNormal(t *testing.T) {
	p := (&Shape{Heads: 4, KVHeads: 4, Lq: 512, Lk: 512, D: 32}).Random()
	sum, squares := 0.0, 0.0
	for _, x := range p.Q.Data {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(p.Q.Data))
	if mean, variance := sum/n, squares/n; math.Abs(mean) > 0.02 || math.Abs(variance-1) > 0.02 {
		t.Errorf("mean %g, variance %g", mean, variance)
	}
}
