package main

import (
	"math"
	"runtime"
	"sync"
)

// exactRow computes one row of attention in float64 into dst: q over the first
// n keys. scores has room for n.
func exactRow(dst []float64, q, k, v []float32, n int, scores []float64) {
	clear(dst)
	if n == 0 {
		return
	}
	d := len(q)
	scale := 1 / math.Sqrt(float64(d))
	m := math.Inf(-1)
	for j := range n {
		key, s := k[j*d:(j+1)*d], 0.0
		for x, e := range q {
			s += float64(e) * float64(key[x])
		}
		scores[j] = s * scale
		m = max(m, scores[j])
	}
	sum := 0.0
	for j := range n {
		p := math.Exp(scores[j] - m)
		sum += p
		for x, e := range v[j*len(dst) : (j+1)*len(dst)] {
			dst[x] += p * float64(e)
		}
	}
	for x := range dst {
		dst[x] /= sum
	}
}

// exact computes attention in float64. Elements are in the order of newOut.
func exact(g *group) []float64 {
	d, dv := g.q.shape[3], g.v.shape[3]
	out := make([]float64, g.batch()*g.heads()*g.lq()*dv)
	eachHead(g, func(b, h int) {
		q, k, v := g.q.head(b, h), g.k.head(b, g.kvHead(h)), g.v.head(b, g.kvHead(h))
		scores := make([]float64, g.lk())
		at := (b*g.heads() + h) * g.lq() * dv
		for i := range g.lq() {
			exactRow(out[at+i*dv:at+(i+1)*dv], q[i*d:(i+1)*d], k, v, g.visible(b, i), scores)
		}
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
