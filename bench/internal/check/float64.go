package check

import (
	"math"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/fallback"
)

// exact computes attention in float64. The elements are in the order of p.NewOut.
func exact(p *problem.Problem) []float64 {
	d, dv := p.D(), p.Dv()
	out := make([]float64, p.Batch()*p.Heads()*p.Lq()*dv)
	for b := range p.Batch() {
		for h := range p.Heads() {
			at := (b*p.Heads() + h) * p.Lq() * dv
			fallback.Oracle(out[at:at+p.Lq()*dv], p.Q.Head(b, h), p.K.Head(b, p.KVHead(h)), p.V.Head(b, p.KVHead(h)),
				p.Lq(), p.Lk(), d, dv, 1/math.Sqrt(float64(d)), func(i int) (lo, hi int) { return 0, p.Visible(b, i) })
		}
	}
	return out
}

// ErrorOf compares results with float64.
func ErrorOf(got []float32, want []float64) (e results.Error) {
	squares := 0.0
	for i, x := range got {
		diff := math.Abs(float64(x) - want[i])
		switch {
		case math.IsNaN(want[i]) && math.IsNaN(float64(x)), float64(x) == want[i]:
			diff = 0
		case math.IsNaN(diff):
			diff = math.MaxFloat64 // JSON has no infinity
		}
		e.Max = max(e.Max, min(diff, math.MaxFloat64))
		squares += diff * diff
	}
	e.RMS = min(math.Sqrt(squares/max(1, float64(len(got)))), math.MaxFloat64)
	return e
}
