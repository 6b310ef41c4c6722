package backward

import (
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/view"
)

// clearBias sets the sums of the biases to zero. If the call accumulates and no two pairs share a
// bias, they grow in the output: +0 is added first, as if a sum had begun with it.
func (j *Job) clearBias() {
	out := &j.Call.DBias
	if !out.IsSet() {
		return
	}
	f := &j.Call.Forward
	scores := view.Scores{Batch: f.Q.Dim(0), Heads: f.Q.Dim(1), Queries: f.Q.Dim(2), Keys: f.K.Dim(2)}
	sum := *out
	switch shape := out.Shape(); {
	case j.Call.Accumulate && j.sharesBias():
		sum = view.Floats(j.fitSums(sumBias, shape[0]*shape[1]*shape[2]*shape[3]), shape, view.Contiguous(shape))
		clear(sum.F32())
	default:
		out.EachRow(func(row []float32) { rows.Start(row, j.Call.Accumulate) })
	}
	j.sums.dBias, _ = sum.Broadcast("", &scores)
}

func (j *Job) sharesBias() bool { return SharesBias(&j.Call.DBias, &j.Call.Forward.Q) }

// SharesBias reports whether several pairs of a query and a key have one bias. Then a gradient that
// accumulates needs memory for its sums.
func SharesBias(bias, q *view.Tensor) bool {
	return bias.Dim(0) < q.Dim(0) || bias.Dim(1) < q.Dim(1) || bias.Dim(2) < q.Dim(2)
}

// finishBias replaces each NaN by the canonical one, and adds sums that have grown elsewhere.
func (j *Job) finishBias() {
	out := &j.Call.DBias
	if !out.IsSet() {
		return
	}
	if j.Call.Accumulate && j.sharesBias() {
		sum := j.sums.memory[sumBias]
		out.EachRow(func(row []float32) {
			j.putRow(row, sum[:len(row)])
			sum = sum[len(row):]
		})
		return
	}
	out.EachRow(func(row []float32) {
		for x := range row {
			row[x] = scalar.Canonical(row[x])
		}
	})
}

// addBias adds the gradients of n keys, from number key on, to the gradients of the biases, row by
// row: several rows may share a bias.
func (s *segment) addBias(j *Job, key, n int, ds []float32) {
	batch := s.Head.Batch
	lanes, rows, bias := s.Lanes, s.N, &j.sums.dBias
	n = min(n, bias.Dim(3)-key)
	s.EachLane(func(lane, head, query int) {
		if lane >= rows || n <= 0 {
			return
		}
		at := bias.At(batch, head, query) + key
		for x, row := range bias.F32()[at : at+n] {
			bias.F32()[at+x] = row + ds[x*lanes+lane]
		}
	})
}

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
