package contracttest

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// bf rounds a factor of a product in bfloat16, as the contract says.
func bf(x float32) float32 {
	if x != x {
		return CanonicalNaN
	}
	if math.Float32bits(x)<<16 == 0 && math.Abs(float64(x)) >= 0x1p-56 { // nothing to round
		return x
	}
	y := float64(x)
	if !math.IsInf(y, 0) {
		// A number of c's size has the last bit that y keeps, so the sum rounds y. The lead of 1.5
		// keeps the sum of a negative y in the same power of two.
		e := math.Float64bits(y) >> 52 & 0x7ff
		c := math.Float64frombits((e+52-7)<<52 | 1<<51)
		y = y + c - c
	}
	switch {
	case math.Abs(y) < 0x1p-56:
		return 0
	case math.Abs(y) >= 0x1p128:
		return float32(math.Inf(int(math.Copysign(1, y))))
	}
	return float32(y)
}

// evenOdd is the product of rows in bfloat16.
func evenOdd(x, y []float32) (sum float32) {
	for lo := 0; lo < len(x); lo += 32 {
		var chains [2]float32
		for i := lo; i < min(lo+32, len(x)); i++ {
			chains[i%2] = scalar.FMA(bf(x[i]), bf(y[i]), chains[i%2])
		}
		sum += chains[0] + chains[1]
	}
	return sum
}

// weight is the weight of a key whose score is x beside the largest.
func (m *Model) weight(x float32) float32 {
	if m.o.BFloat16 {
		return bf(scalar.Weight(x))
	}
	return scalar.Weight(x)
}

// roundedValues is quantizedValues for products in bfloat16: keys that are hidden are factors of 0.
func (m *Model) roundedValues(out, weights, s []float32, row [3]int, lo int) {
	first := (m.blocksFrom(row[0]) + lo) % BlockKeys
	p, v, rows := make([]float32, BlockKeys), make([]float32, BlockKeys), make([][]float32, BlockKeys)
	for j := range weights {
		if s[j] != NegInf {
			p[first+j] = weights[j]
			rows[first+j] = Row(&m.v, row[0], row[1]/m.group, m.rowOf(row[0], row[1], row[2], lo+j))
		}
	}
	for e := range out {
		for j, row := range rows {
			if row != nil {
				v[j] = row[e]
			}
		}
		out[e] = evenOdd(p, v)
	}
}
