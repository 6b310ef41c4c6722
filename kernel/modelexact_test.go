package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// An exactRow is a row of a call in float64.
type exactRow struct {
	out, weights []float64
	lse          float64

	// size bounds what the float32 scores of the row are rounded at: the largest sum of
	// the absolute values of all that a score is added up from.
	size float64
}

// exact computes row (b, h, i) in float64 the way a textbook has it. With the model in
// float32 it shares which keys are visible, which weights are dropped and the
// score hook.
func (r *model) exact(b, h, i int) exactRow {
	keys := r.k.shape[2]
	row := exactRow{out: make([]float64, r.v.shape[3]), weights: make([]float64, keys), lse: math.Inf(-1)}
	scores, top := make([]float64, keys), math.Inf(-1)
	for j := range scores {
		scores[j] = math.Inf(-1)
		if r.visible(b, h, i, j) {
			var size float64
			scores[j], size = r.exactScore(b, h, i, j)
			top, row.size = math.Max(top, scores[j]), math.Max(row.size, size)
		}
	}
	sink := math.Inf(-1)
	if r.o.Sinks != nil {
		sink = float64(r.o.Sinks[h])
	}
	if top = math.Max(top, sink); math.IsInf(top, -1) {
		return row
	}
	sum := math.Exp(sink - top)
	for _, s := range scores {
		sum += math.Exp(s - top)
	}
	for j, s := range scores {
		row.weights[j] = math.Exp(s-top) / sum
		if r.dropped(1, b, h, i, j) == 0 {
			row.weights[j] = 0
		}
		row.weights[j] /= 1 - float64(r.o.Dropout.Rate)
		if row.weights[j] != 0 {
			for e, v := range rowOf(&r.v, b, h/r.group, j) {
				row.out[e] += row.weights[j] * float64(v)
			}
		}
	}
	row.lse = top + math.Log(sum)
	return row
}

// exactScore is the score of a visible key, and the sum of the absolute values that it is
// the sum of.
func (r *model) exactScore(b, h, i, j int) (s, size float64) {
	scale := float64(r.o.Scale)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(r.q.shape[3]))
	}
	q, k := rowOf(&r.q, b, h, i), rowOf(&r.k, b, h/r.group, j)
	for d := range q {
		s += scale * float64(q[d]) * float64(k[d])
		size += math.Abs(scale * float64(q[d]) * float64(k[d]))
	}
	queryAt, keyAt := each(r.o.QueryStart, b)+i, each(r.o.KeyStart, b)+j
	if r.o.Score != nil {
		tile := kernel.ScoreTile{Scores: []float32{float32(s * math.Log2E)}, Stride: 1, Batch: b, Keys: 1, Key: j, KeyPosition: keyAt,
			Rows: []kernel.ScoreRow{{Head: h, Query: i, Position: queryAt}}}
		r.o.Score(&tile)
		s = float64(tile.Scores[0]) / math.Log2E
		if !math.IsInf(s, -1) {
			size += math.Abs(s)
		}
	}
	if limit := float64(r.o.Softcap); limit != 0 {
		s = limit * math.Tanh(s/limit) // -limit if the hook has made it -Inf
		size = math.Max(size, math.Abs(s))
	}
	add := func(x float64) {
		s += x
		if !math.IsInf(x, -1) {
			size += math.Abs(x)
		}
	}
	if r.o.ALiBi != nil {
		add(float64(r.o.ALiBi[h]) * -math.Abs(float64(queryAt-keyAt)))
	}
	if t := &r.o.Bias; t.isSet() {
		if j >= t.shape[3] {
			return math.Inf(-1), size
		}
		add(float64(t.f32[broadcast(t.shape, t.stride, b, h, i)+j]))
	}
	return s, size
}

// TestOptionsOracle bounds the error of calls with any options against float64, on
// the default tier: the others have the same bits.
//
// A score that is added up from numbers of a certain size is off by a few units of 2^-24
// of that size, which is what its weight is off relatively, and so is the
// sum of the weights. Exponentials, sums and quotients add a few units. Dropout
// scales all of it. A weight is at most 1 and a value at most 2 (in size), so that
// twice as many units are allowed for weights and four times as many for out and LSE; the
// largest seen are 0.7, 1.8 and 2.8.
func TestOptionsOracle(t *testing.T) {
	var worst struct{ out, weights, lse float64 }
	eachOptionCase(func(n int, c *optionCase) {
		c.levels[factor("poison")], c.levels[factor("outputs")] = 0, 1
		q, k, v := c.inputs()
		o := c.options()
		c.outputs(&o)
		out := attend(t, q, k, v, o)
		ref := newModel(q, k, v, &o)
		eachRow(&out, func(b, h, i int, row []float32) {
			want := ref.exact(b, h, i)
			unit := 0x1p-24 * (1 + want.size)
			scaled := unit / (1 - float64(o.Dropout.Rate))
			at := fmt.Sprintf("levels %v [%d %d %d]", c.levels, b, h, i)
			bound(t, at+" out", row, want.out, 4, scaled, &worst.out)
			bound(t, at+" weights", rowOf(&o.Weights, b, h, i), want.weights, 2, scaled, &worst.weights)
			bound(t, at+" LSE", rowOf(&o.LSE, b, h, i), []float64{want.lse}, 4, unit, &worst.lse)
		})
	})
	t.Logf("largest errors in units: out %.2g, weights %.2g, LSE %.2g", worst.out, worst.weights, worst.lse)
}

// bound fails if an element of got is more than so many units off.
func bound(t *testing.T, what string, got []float32, want []float64, units, unit float64, worst *float64) {
	t.Helper()
	for e, x := range got {
		off := math.Abs(float64(x)-want[e]) / unit
		if math.IsInf(want[e], -1) && float64(x) == want[e] {
			off = 0
		}
		if *worst = math.Max(*worst, off); !(off <= units) {
			t.Fatalf("%s: element %d is %v, want %v, %.1f units off", what, e, x, want[e], off)
		}
	}
}
