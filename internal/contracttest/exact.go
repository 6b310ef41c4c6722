package contracttest

import (
	"math"
)

// An ExactRow is a row of a call in float64.
type ExactRow struct {
	Out, Weights []float64
	LSE          float64

	// Size bounds what the float32 scores of the row are rounded at: the largest sum of
	// the absolute values of all that a score is added up from.
	Size float64
}

// ExactRow computes row (b, h, i) in float64, as a textbook has it. With Row it shares
// which keys are visible, which weights are dropped and the score modification.
func (m *Model) ExactRow(b, h, i int) ExactRow {
	keys := m.k.Shape()[2]
	row := ExactRow{Out: make([]float64, m.v.Shape()[3]), Weights: make([]float64, keys), LSE: math.Inf(-1)}
	scores, top := make([]float64, keys), math.Inf(-1)
	for j := range scores {
		scores[j] = math.Inf(-1)
		if m.Sees(b, h, i, j) {
			var size float64
			scores[j], size = m.exactScore(b, h, i, j)
			top, row.Size = math.Max(top, scores[j]), math.Max(row.Size, size)
		}
	}
	sink := math.Inf(-1)
	if m.o.Sinks != nil {
		sink = float64(m.o.Sinks[h])
	}
	if top = math.Max(top, sink); math.IsInf(top, -1) {
		return row
	}
	sum := math.Exp(sink - top)
	for _, s := range scores {
		sum += math.Exp(s - top)
	}
	for j, s := range scores {
		row.Weights[j] = math.Exp(s-top) / sum
		if m.dropped(1, b, h, i, j) == 0 {
			row.Weights[j] = 0
		}
		row.Weights[j] /= 1 - float64(m.o.Dropout.Rate)
		if row.Weights[j] != 0 {
			for e, v := range Row(&m.v, b, h/m.group, j) {
				row.Out[e] += row.Weights[j] * float64(v)
			}
		}
	}
	row.LSE = top + math.Log(sum)
	return row
}

// exactScore returns the score of a visible key, and the sum of the absolute values
// that it is the sum of.
func (m *Model) exactScore(b, h, i, j int) (s, size float64) {
	scale := float64(m.o.Scale)
	if math.Float32bits(m.o.Scale) == 0 {
		scale = 1 / math.Sqrt(float64(m.q.Shape()[3]))
	}
	q, k := Row(&m.q, b, h, i), Row(&m.k, b, h/m.group, j)
	for d := range q {
		s += scale * float64(q[d]) * float64(k[d])
		size += math.Abs(scale * float64(q[d]) * float64(k[d]))
	}
	if m.o.Score != nil {
		s = float64(m.modified(b, h, i, j, float32(s*math.Log2E))) / math.Log2E
		if !math.IsInf(s, -1) {
			size += math.Abs(s)
		}
	}
	if limit := float64(m.o.Softcap); limit != 0 {
		s = limit * math.Tanh(s/limit) // -limit if Score has made it -Inf
		size = math.Max(size, math.Abs(s))
	}
	add := func(x float64) {
		s += x
		if !math.IsInf(x, -1) {
			size += math.Abs(x)
		}
	}
	if m.o.ALiBi != nil {
		query, key := m.positions(b, h, i, j)
		add(float64(m.o.ALiBi[h]) * -math.Abs(float64(query-key)))
	}
	if IsSet(m.bias) {
		add(float64(limited(m.biasOf(b, h, i, j))))
	}
	return s, size
}
