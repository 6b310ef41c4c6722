package backward

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// An Additive is one call of kernel.AdditiveBackward: the gradients of attention with
// additive scores. Its arguments have been checked; gradients that are not set are not computed.
//
// A task is a KV head. It takes the queries of its group in blocks, one query head after the
// other. Additive scores of a query need tanh of its sum with every key: that takes most
// of the time, and is computed again rather than kept.
type Additive struct {
	DQ, DK, DV       view.Tensor
	DWeights         []float32
	DOut, Q, K, V, P view.Tensor
	Weights          []float32
	Scale            float32
	Accumulate       bool

	tier     *tier.Tier
	split    parallel.Split[additiveScratch, additiveShape]
	partials []float32 // of DWeights, for each KV head
	usage    parallel.Usage
	memory   parallel.Memory
}

var (
	additives = parallel.FreeList[Additive]{
		New: func() *Additive {
			a := new(Additive)
			a.split.Init(&additiveScratches, func(s *additiveScratch) { s.fit(a) }, a.heads, a.memory.Forget)
			return a
		},
		Memory: func(a *Additive) *parallel.Memory { return &a.memory },
	}
	additiveScratches = parallel.FreeList[additiveScratch]{Memory: func(s *additiveScratch) *parallel.Memory { return &s.memory }}
)

// An additiveShape is what decides how much scratch memory a call needs: queries, keys, D and Dv.
type additiveShape [4]int

// NewAdditive returns a call to be set.
func NewAdditive() *Additive { return additives.Get() }

// Release gives the call back. It forgets the caller's memory.
func (a *Additive) Release() {
	none := view.Tensor{}
	a.DQ, a.DK, a.DV, a.DOut, a.Q, a.K, a.V, a.P = none, none, none, none, none, none, none, none
	a.DWeights, a.Weights = nil, nil
	additives.Put(a)
}

// tanhFMAs is how many FMAs of a product take as long as one tanh and what follows it.
const tanhFMAs = 60

// Run computes the call.
func (a *Additive) Run(t *tier.Tier, threads int, parallelFor func(n int, task func(i int))) {
	a.tier = t
	heads := a.K.Dim(0) * a.K.Dim(1)
	if a.DWeights != nil {
		parallel.Fit(&a.memory, &a.usage, &a.partials, heads*a.d(), parallel.Make[float32])
		clear(a.partials[:heads*a.d()])
	}
	pairs := float64(a.Q.Dim(0)*a.Q.Dim(1)) * float64(a.Q.Dim(2)) * float64(a.K.Dim(2))
	work := pairs * float64(tanhFMAs*a.d()+2*a.dv()) / float64(t.ThreadFMAs)
	a.split.Run(heads, work, additiveShape{a.Q.Dim(2), a.K.Dim(2), a.d(), a.dv()}, threads, parallelFor)
	if a.DWeights != nil {
		rows.Start(a.DWeights, a.Accumulate)
		for h := range heads {
			t.Elementwise().Add(a.DWeights, a.DWeights, a.partials[h*a.d():][:a.d()])
		}
	}
}

func (a *Additive) d() int  { return a.Q.Dim(3) }
func (a *Additive) dv() int { return a.V.Dim(3) }

// scores reports whether a gradient is wanted that goes through the scores.
func (a *Additive) scores() bool {
	return a.DQ.IsSet() || a.DK.IsSet() || a.DWeights != nil
}

// heads computes the KV heads lo to hi-1.
func (a *Additive) heads(s *additiveScratch, lo, hi int) {
	for i := lo; i < hi; i++ {
		s.kv(a, i/a.K.Dim(1), i%a.K.Dim(1))
	}
}
