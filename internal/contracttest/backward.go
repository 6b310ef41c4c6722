package contracttest

import (
	"math"
	"slices"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/kernel"
)

// A BackwardModel computes calls of kernel.AttentionBackward as the documentation of package
// kernel defines them, pair by pair.
type BackwardModel struct {
	*Model
	dout  kernel.Tensor         // widened
	lse   kernel.Tensor         // with the lengths of the queries
	norms map[[3]int][2]float32 // 1/sum of the weights, and the mean of their gradients
	pairs map[[4]int]*modelPair
	douts map[[3]int][]float32 // rows of dout, as they count
}

// doutRow returns a row of dout, as it counts.
func (w *BackwardModel) doutRow(b, h, i int) []float32 {
	at := [3]int{b, h, i}
	if w.douts[at] == nil {
		row := slices.Clone(Row(&w.dout, b, h, i))
		for e, x := range row {
			row[e] = withoutTiny(x)
		}
		w.douts[at] = row
	}
	return w.douts[at]
}

// withoutTiny returns x, or +0 if its magnitude is below 2^-100.
func withoutTiny(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-100 {
		return 0
	}
	return x
}

// A modelPair is a query and a key that it sees.
type modelPair struct {
	weight float32 // after the dropout
	ds     float32 // gradient of the score that the product gives
	dBias  float32 // of the bias
	p, dp  float32 // not normalised
	capped float32
}

// Backward returns the model of the gradients of the call, which has given lse.
func (m *Model) Backward(dout, lse kernel.Tensor) *BackwardModel {
	w := &BackwardModel{Model: m, dout: Widened(dout), lse: lse, norms: map[[3]int][2]float32{}, pairs: map[[4]int]*modelPair{}, douts: map[[3]int][]float32{}}
	EachRow(&lse, func(b, h, i int, _ []float32) { w.row(b, h, i) })
	return w
}

// row computes the pairs of a row.
func (w *BackwardModel) row(b, h, i int) {
	start, keys := perBatch(w.o.KeyStart, b), w.k.Shape()[2]
	pairs := make([]*modelPair, keys)
	var sum, dot float32
	for lo := 0; lo < keys; {
		hi := min(keys, lo+128-(start+lo)%128)
		var blockSum, blockDot float32
		for j := lo; j < hi; j++ {
			if (start+j)%32 == 0 {
				sum, dot = sum+blockSum, dot+blockDot
				blockSum, blockDot = 0, 0
			}
			x := w.pair(b, h, i, j)
			if x == nil {
				continue
			}
			pairs[j] = x
			blockSum += x.p
			blockDot = scalar.FMA(x.p, x.dp, blockDot)
		}
		sum, dot = sum+blockSum, dot+blockDot
		lo = hi
	}
	if w.o.Sinks != nil {
		sum += w.sinkWeight(b, h, i)
	}
	inv := float32(0)
	if sum != 0 {
		inv = 1 / sum
	}
	mean := dot * inv
	w.norms[[3]int{b, h, i}] = [2]float32{inv, mean}
	for j, x := range pairs {
		if x != nil {
			w.differentiate(x, inv, mean, b, h, i, j)
			w.pairs[[4]int{b, h, i, j}] = x
		}
	}
}

func (w *BackwardModel) differentiate(x *modelPair, inv, mean float32, b, h, i, j int) {
	p := x.p * inv
	x.weight = w.dropped(p, b, h, i, j)
	x.dBias = withoutTiny(p * (x.dp - mean))
	x.ds = x.dBias
	if w.o.Softcap != 0 {
		x.ds = 0
		if x.dBias != 0 {
			u := float32(x.capped * float32(1/(float64(w.o.Softcap)*math.Log2E)))
			x.ds = x.dBias * scalar.FMA(-u, u, 1)
		}
	}
}

// sinkWeight returns the weight of the sink in a row, not normalised.
func (w *BackwardModel) sinkWeight(b, h, i int) float32 {
	if s := log2Units(w.o.Sinks[h]); s != NegInf {
		return w.weight(b, h, i, s)
	}
	return 0
}

// weight returns the weight of a score of a row, not normalised.
func (w *BackwardModel) weight(b, h, i int, s float32) float32 {
	x := s - float32(Row(&w.lse, b, h, i)[0]*log2E)
	if x > 0 {
		x = 0
	}
	return scalar.Weight(x)
}

// pair returns a pair, or nil if the key is hidden or its weight 0.
func (w *BackwardModel) pair(b, h, i, j int) *modelPair {
	if j >= w.length(b, h, i) || !w.Sees(b, h, i, j) {
		return nil
	}
	_, capped := w.score(b, h, i, j)
	s := w.added(b, h, i, j, capped)
	if s == NegInf {
		return nil
	}
	x := &modelPair{p: w.weight(b, h, i, s), capped: capped}
	if x.p == 0 {
		return nil
	}
	x.dp = w.dropped(dot(w.doutRow(b, h, i), Row(&w.v, b, h/w.group, j)), b, h, i, j)
	return x
}

// dot is a sum of products in segments of 64.
func dot(x, y []float32) (sum float32) {
	for lo := 0; lo < len(x); lo += 64 {
		acc := float32(0)
		for e := lo; e < min(lo+64, len(x)); e++ {
			acc = scalar.FMA(x[e], y[e], acc)
		}
		sum += acc
	}
	return sum
}

// Query returns dq of a query.
func (w *BackwardModel) Query(b, h, i int) []float32 {
	start, keys := perBatch(w.o.KeyStart, b), w.k.Shape()[2]
	sum := make([]float32, w.q.Shape()[3])
	for lo := 0; lo < keys; {
		hi := min(keys, lo+128-(start+lo)%128)
		acc := make([]float32, len(sum))
		for j := lo; j < hi; j++ {
			if p := w.pairs[[4]int{b, h, i, j}]; p != nil {
				chain(acc, p.ds, Row(&w.k, b, h/w.group, j))
			}
		}
		accumulate(sum, acc)
		lo = hi
	}
	return finished(sum, w.naturalScale())
}

// Key returns dk and dv of a key.
func (w *BackwardModel) Key(b, kv, j int) (dk, dv []float32) {
	dk, dv = make([]float32, w.k.Shape()[3]), make([]float32, w.v.Shape()[3])
	accK, accV := make([]float32, len(dk)), make([]float32, len(dv))
	start := perBatch(w.o.QueryStart, b)
	for i := range View(&w.lse).Length(b) {
		for g := range w.group {
			number := (start+i)*w.group + g
			if number&63 == 0 {
				accumulate(dk, accK)
				accumulate(dv, accV)
			}
			h := kv*w.group + g
			if p := w.pairs[[4]int{b, h, i, j}]; p != nil {
				chain(accK, p.ds, Row(&w.q, b, h, i))
				chain(accV, p.weight, w.doutRow(b, h, i))
			}
		}
	}
	accumulate(dk, accK)
	accumulate(dv, accV)
	return finished(dk, w.naturalScale()), finished(dv, 1)
}

// Bias adds up the gradients of the biases in dst, which has their shape and is zero.
func (w *BackwardModel) Bias(dst kernel.Tensor) {
	shape, data := dst.Shape(), Floats(dst)
	for b := range w.q.Shape()[0] {
		for kv := range w.k.Shape()[1] {
			for i := range View(&w.lse).Length(b) {
				for g := range w.group {
					h := kv*w.group + g
					for j := range shape[3] {
						if p := w.pairs[[4]int{b, h, i, j}]; p != nil {
							data[broadcast(shape, dst.Strides(), b, h, i)+j] += p.dBias
						}
					}
				}
			}
		}
	}
	EachRow(&dst, func(_, _, _ int, row []float32) { copy(row, finished(row, 1)) })
}

// Sink returns the gradient of the sink of a head.
func (w *BackwardModel) Sink(h int) float32 {
	sum := 0.0
	for b := range w.q.Shape()[0] {
		for i := range View(&w.lse).Length(b) {
			n := w.norms[[3]int{b, h, i}]
			sum -= float64(float32(w.sinkWeight(b, h, i)*n[0])) * float64(n[1])
		}
	}
	return finished([]float32{float32(sum)}, 1)[0]
}

func (m *Model) naturalScale() float32 {
	if math.Float32bits(m.o.Scale) == 0 {
		return float32(1 / math.Sqrt(float64(m.q.Shape()[3])))
	}
	return m.o.Scale
}

func chain(acc []float32, w float32, x []float32) {
	for e := range acc {
		acc[e] = scalar.FMA(w, x[e], acc[e])
	}
}

// accumulate adds acc to sum and clears it.
func accumulate(sum, acc []float32) {
	for e := range sum {
		sum[e] += acc[e]
		acc[e] = 0
	}
}

func finished(sum []float32, scale float32) []float32 {
	for e, x := range sum {
		if sum[e] = float32(x*scale) + 0; sum[e] != sum[e] {
			sum[e] = CanonicalNaN
		}
	}
	return sum
}
