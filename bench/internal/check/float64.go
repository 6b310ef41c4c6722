package check

import (
	"math"
	"runtime"
	"sync"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/fallback"
)

// exact computes attention in float64. The elements are in the order of p.NewOut.
func exact(p *problem.Problem) []float64 {
	d, dv := p.D(), p.Dv()
	out := make([]float64, p.Batch()*p.Heads()*p.Lq()*dv)
	eachHead(p, func(b, h int) {
		at := (b*p.Heads() + h) * p.Lq() * dv
		fallback.Oracle(out[at:at+p.Lq()*dv], p.Q.Head(b, h), p.K.Head(b, p.KVHead(h)), p.V.Head(b, p.KVHead(h)),
			p.Lq(), p.Lk(), d, dv, 1/math.Sqrt(float64(d)), func(i int) (lo, hi int) { return 0, p.Visible(b, i) })
	})
	return out
}

// eachHead calls f for every batch row and query head, on all CPUs.
func eachHead(p *problem.Problem, f func(b, h int)) {
	var wg sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	for b := range p.Batch() {
		for h := range p.Heads() {
			running <- struct{}{}
			wg.Go(func() {
				f(b, h)
				<-running
			})
		}
	}
	wg.Wait()
}

// An Error sums up how far results are from float64.
type Error struct {
	Max     float64
	squares float64
	n       int
}

// add includes one element.
func (e *Error) add(got float32, want float64) {
	diff := math.Abs(float64(got) - want)
	switch {
	case math.IsNaN(want) && math.IsNaN(float64(got)), float64(got) == want:
		diff = 0
	case math.IsNaN(diff):
		diff = math.Inf(1)
	}
	e.Max = max(e.Max, diff)
	e.squares += diff * diff
	e.n++
}

// RMS returns the root mean square error.
func (e *Error) RMS() float64 {
	if e.n == 0 {
		return 0
	}
	return math.Sqrt(e.squares / float64(e.n))
}

// ErrorOf compares results with float64.
func ErrorOf(got []float32, want []float64) Error {
	var e Error
	for i, x := range got {
		e.add(x, want[i])
	}
	return e
}
