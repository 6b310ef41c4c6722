package backward

import "github.com/attn-go/attn/internal/scalar"

// sinkWeight returns the weight of a sink in a row, not yet normalised. lse is in the unit of
// exp2.
func sinkWeight(sink, lse float32) float32 {
	return scalar.BackwardWeight(scalar.Log2Units(sink), lse)
}

// sinks computes the gradients of the sinks. A sink is like a key without a value: its gradient
// is -p·mean, summed up over batch rows and queries. The products are exact in float64, in which
// they are added up, so that the sum is the same whether or not the compiler fuses.
func (j *Job) sinks() {
	f, group := &j.Call.Forward, j.scores.Group()
	for h := range j.Call.DSinks {
		sum := 0.0
		for b := range f.Q.Dim(0) {
			norms := j.norms[(b*f.K.Dim(1)+h/group)*j.plan.maxRows:]
			for i := range f.Q.Length(b) {
				x := &norms[i*group+h%group]
				lse := float32(f.LSE.F32()[f.LSE.Index(b, h, i)] * scalar.Log2E)
				p := float32(sinkWeight(f.Sinks[h], lse) * x.inv)
				sum -= float64(p) * float64(x.mean)
			}
		}
		g := float32(sum) + 0
		if j.Call.Accumulate {
			g += j.Call.DSinks[h]
		}
		j.Call.DSinks[h] = scalar.Canonical(g)
	}
}
