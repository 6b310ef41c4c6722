package optimize

import (
	"math"

	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
)

// factors are the numbers of a step.
type factors struct {
	keep    float32 // of a weight
	gain1   float32 // 1-Beta1
	beta2   float32
	gain2   float32 // 1-Beta2
	root    float32 // sqrt(1-Beta2^step)
	epsilon float32
	rate    float32 // Rate/(1-Beta1^step)
}

func (a *AdamW) factors(step int) factors {
	return factors{
		keep:    float32(1 - float64(a.Rate*a.WeightDecay)),
		gain1:   float32(1 - a.Beta1),
		beta2:   float32(a.Beta2),
		gain2:   float32(1 - a.Beta2),
		root:    float32(math.Sqrt(1 - power(a.Beta2, step))),
		epsilon: float32(a.Epsilon),
		rate:    float32(a.Rate / (1 - power(a.Beta1, step))),
	}
}

// power returns x^n, n ≥ 1, by squaring: math.Pow has other last bits on some architectures.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}

// A job is one call of Step.
type job struct {
	tier *tier.Tier
	factors
	w, g, m, v []float32
	split      parallel.Split[struct{}, struct{}]
}

// elementFMAs is how many FMAs of a product take as long as one weight.
const elementFMAs = 100

var jobs = parallel.FreeList[job]{New: func() *job {
	j := new(job)
	j.split.Init(&parallel.NoScratch, nil, j.step, nil)
	return j
}}

// kernelWeights is how many weights a call of the kernel takes: less than 50 µs.
const kernelWeights = 16 << 10

// step changes the weights lo to hi-1.
func (j *job) step(_ *struct{}, lo, hi int) {
	f := &j.factors
	for ; lo < hi; lo += kernelWeights {
		end := min(lo+kernelWeights, hi)
		j.tier.Elementwise().AdamW(j.w[lo:end], j.g[lo:end], j.m[lo:end], j.v[lo:end], f.keep, f.gain1, f.beta2, f.gain2, f.root, f.epsilon, f.rate)
	}
}
