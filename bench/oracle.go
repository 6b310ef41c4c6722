package main

import (
	"math"
	"runtime"
	"sync"

	"github.com/attn-go/attn/fallback"
)

// exact computes attention in float64. Elements are in the order of newOut.
func exact(g *group) []float64 {
	d, dv := g.q.shape[3], g.v.shape[3]
	out := make([]float64, g.batch()*g.heads()*g.lq()*dv)
	eachHead(g, func(b, h int) {
		at := (b*g.heads() + h) * g.lq() * dv
		fallback.Oracle(out[at:at+g.lq()*dv], g.q.head(b, h), g.k.head(b, g.kvHead(h)), g.v.head(b, g.kvHead(h)),
			g.lq(), g.lk(), d, dv, 1/math.Sqrt(float64(d)), func(i int) (lo, hi int) { return 0, g.visible(b, i) })
	})
	return out
}

// eachHead calls f for every batch row and query head, on all CPUs.
func eachHead(g *group, f func(b, h int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for b := range g.batch() {
		for h := range g.heads() {
			slots <- struct{}{}
			wg.Go(func() {
				f(b, h)
				<-slots
			})
		}
	}
	wg.Wait()
}

// errorSum gathers the errors of a result.
type errorSum struct {
	max, squares float64
	n            int
}

func (e *errorSum) add(got float32, want float64) {
	diff := math.Abs(float64(got) - want)
	switch {
	case math.IsNaN(want) && math.IsNaN(float64(got)), float64(got) == want:
		diff = 0
	case math.IsNaN(diff):
		diff = math.Inf(1)
	}
	e.max = max(e.max, diff)
	e.squares += diff * diff
	e.n++
}

func (e *errorSum) rms() float64 {
	if e.n == 0 {
		return 0
	}
	return math.Sqrt(e.squares / float64(e.n))
}

// errorOf is the error of a result against float64.
func errorOf(got []float32, want []float64) errorSum {
	var e errorSum
	for i, x := range got {
		e.add(x, want[i])
	}
	return e
}
