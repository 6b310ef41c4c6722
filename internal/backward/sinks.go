package backward

import (
	"math"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/position"
)

// sinks computes the gradients of the sinks. The weight of a sink is that of a key without a
// value, so its gradient is -p·D, summed up over batch rows and queries.
func (j *Job) sinks() {
	for h := range j.DSinks {
		sum := float32(0)
		for b := range j.Forward.Q.Dim(0) {
			sum = j.sinkOf(b, h, sum)
		}
		j.DSinks[h] = canonical(sum + 0)
	}
}

// sinkOf adds the sums of batch row b to those before: a chain for each segment of RowSegment
// positions.
func (j *Job) sinkOf(b, h int, sum float32) float32 {
	f := &j.Forward
	sink := float32(float64(f.Sinks[h]) * math.Log2E)
	if sink == negInf {
		return sum
	}
	start := position.Of(f.QueryStart, b)
	for i, n := 0, f.Q.Length(b); i < n; {
		acc := float32(0)
		for end := min(n, i+RowSegment-(start+i)&(RowSegment-1)); i < end; i++ {
			lse := float32(f.LSE.F32()[f.LSE.Index(b, h, i)] * log2E)
			acc = fallback.FMA(-fallback.Exp2(notAbove0(sink-lse)), j.deltaOf(b, h, i), acc)
		}
		sum += acc
	}
	return sum
}

// deltaOf returns D of query i of head h of batch row b.
func (j *Job) deltaOf(b, h, i int) float32 {
	group := j.scores.Group()
	kv := b*j.Forward.K.Dim(1) + h/group
	return j.delta[kv*j.maxRows+i*group+h%group]
}

// notAbove0 returns the smaller of x and 0. A NaN stays.
func notAbove0(x float32) float32 {
	if x > 0 {
		return 0
	}
	return x
}
