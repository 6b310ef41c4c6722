package backward

import (
	"math"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/position"
)

var negInf = float32(math.Inf(-1))

// sinkWeight returns the weight of a sink in a row, not yet normalised. lse is in the unit of
// exp2.
func sinkWeight(sink, lse float32) float32 {
	s := float32(float64(sink) * math.Log2E)
	if s == negInf {
		return 0
	}
	x := s - lse
	if x > 0 {
		x = 0
	}
	return fallback.Exp2(x)
}

// sinks computes the gradients of the sinks. A sink is like a key without a value: its gradient
// is -p·mean, summed up over batch rows and queries.
func (j *Job) sinks() {
	for h := range j.DSinks {
		sum := float32(0)
		for b := range j.Forward.Q.Dim(0) {
			sum = j.addSink(b, h, sum)
		}
		j.DSinks[h] = canonical(sum + 0)
	}
}

// addSink adds the sums of batch row b to those before: a chain for each segment of RowSegment
// positions.
func (j *Job) addSink(b, h int, sum float32) float32 {
	f, start, group := &j.Forward, position.Of(j.Forward.QueryStart, b), j.scores.Group()
	norms := j.norms[(b*f.K.Dim(1)+h/group)*j.maxRows:]
	for i, n := 0, f.Q.Length(b); i < n; {
		acc := float32(0)
		for end := min(n, i+RowSegment-(start+i)&(RowSegment-1)); i < end; i++ {
			x := &norms[i*group+h%group]
			p := sinkWeight(f.Sinks[h], float32(f.LSE.F32()[f.LSE.Index(b, h, i)]*log2E))
			acc = fallback.FMA(-float32(p*x.inv), x.mean, acc)
		}
		sum += acc
	}
	return sum
}
