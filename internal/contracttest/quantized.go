package contracttest

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/kernel"
)

// integerRows remembers the rows of an int8 or int4 tensor t, which every query reads.
type integerRows struct {
	t    kernel.Tensor
	rows map[[3]int]integerRow
}

// An integerRow is a row of integers with its scales.
type integerRow struct {
	codes  []int
	scales []float32
}

// row returns row (b, h, l).
func (r *integerRows) row(b, h, l int) integerRow {
	at := [3]int{b, h, l}
	row, ok := r.rows[at]
	if !ok {
		if r.rows == nil {
			r.rows = map[[3]int]integerRow{}
		}
		row = integers(&r.t, b, h, l)
		r.rows[at] = row
	}
	return row
}

// integers returns row (b, h, l) of an int8 or int4 tensor.
func integers(t *kernel.Tensor, b, h, l int) (row integerRow) {
	x := View(t)
	at := x.Index(b, h, l)
	for i := at; i < at+x.Dim(3); i++ {
		if t.DType() == kernel.Int4 {
			code := int(x.Bytes()[i/2]) >> (i % 2 * 4) & 15
			row.codes = append(row.codes, (code^8)-8)
		} else {
			row.codes = append(row.codes, int(x.I8()[i]))
		}
	}
	row.scales, _ = x.RowScales(b, h, l, 1)
	return row
}

// toUnits rounds numbers to multiples of 2^(e-bits), where 2^e is the power of two of the largest
// magnitude. It returns the integers and the unit, 0 if the magnitude is too small, NaN if it is
// too large or none.
func toUnits(x []float32, bits int) (n []int, unit float64) {
	largest := 0.0
	for _, x := range x {
		largest = max(largest, math.Abs(float64(x))) // NaN if one is
	}
	n = make([]int, len(x))
	switch {
	case !(largest < 0x1p100):
		return n, math.NaN()
	case largest < 0x1p-100:
		return n, 0
	}
	_, e := math.Frexp(largest)
	unit = math.Ldexp(1, e-1-bits)
	for i, x := range x {
		n[i] = int(math.RoundToEven(float64(x) / unit))
	}
	return n, unit
}

// units are a scaled query as toUnits returns it.
type units struct {
	row  [3]int // b, h, i
	n    []int
	unit float64
}

// unitsOf returns the units of the query of a row. It remembers them for the next key.
func (m *Model) unitsOf(row [3]int, q []float32, scale float32) *units {
	if m.units.n == nil || m.units.row != row {
		scaled := make([]float32, len(q))
		for d, x := range q {
			scaled[d] = float32(x * scale)
		}
		n, unit := toUnits(scaled, 10)
		m.units = units{row, n, unit}
	}
	return &m.units
}

// quantizedScore is the score of the query q of a row (b, h, i) and row j of k if
// Options.DynamicInt12 is true.
func (m *Model) quantizedScore(row [3]int, q []float32, scale float32, j int) (s float32) {
	u, k := m.unitsOf(row, q, scale), m.keys.row(row[0], row[1]/m.group, j)
	group := len(k.codes) / len(k.scales)
	for g, d := range k.scales {
		a := float32(0)
		for lo := g * group; lo < (g+1)*group; lo += 64 {
			sum := 0
			for x := lo; x < min(lo+64, (g+1)*group); x++ {
				sum += u.n[x] * k.codes[x]
			}
			if part := float32(float64(sum) * u.unit); lo == g*group {
				a = part
			} else {
				a += part
			}
		}
		if g == 0 {
			s = float32(a * d)
		} else {
			s = scalar.FMA(a, d, s)
		}
	}
	return s
}

// quantizedValues sets out to the sum of the values of a block of a row (b, h, i), which begins
// with key lo, for its weights. Keys whose score s is -Inf do not count.
func (m *Model) quantizedValues(out, weights, s []float32, row [3]int, lo int) {
	start, first := m.blocksFrom(row[0]), true
	for j := 0; j < len(weights); first = false {
		end := min(len(weights), j+32-(start+lo+j)%32)
		m.quantizedSegment(out, weights[j:end], s[j:end], row, lo+j, first)
		j = end
	}
}

func (m *Model) quantizedSegment(out, weights, s []float32, row [3]int, lo int, first bool) {
	rows := make([]integerRow, len(weights))
	for j := range weights {
		if s[j] != NegInf {
			rows[j] = m.values.row(row[0], row[1]/m.group, m.rowOf(row[0], row[1], row[2], lo+j))
		}
	}
	groups := View(&m.values.t).Scales().Dim(3)
	size := len(out) / groups
	for g := range groups {
		w := make([]float32, len(weights))
		for j, p := range weights {
			if s[j] != NegInf {
				w[j] = float32(p * rows[j].scales[g])
			}
		}
		n, unit := toUnits(w, 11)
		for e := g * size; e < (g+1)*size; e++ {
			sum := 0
			for j := range n {
				if s[j] != NegInf {
					sum += n[j] * rows[j].codes[e]
				}
			}
			if part := float32(float64(sum) * unit); first {
				out[e] = part
			} else {
				out[e] += part
			}
		}
	}
}
