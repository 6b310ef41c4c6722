package layer

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// randomAdditive returns an Additive with random weights for queries of q numbers and
// keys of k numbers.
func randomAdditive(t testing.TB, hidden, q, k int) Additive {
	return Additive{newLinear(t, 1, hidden, q), newLinear(t, 2, hidden, k), normals(3, hidden)}
}

// Equal keys have equal weights, so the result is the mean of the valid values. "Dive into Deep
// Learning" (d2l.ai, section 11.3) has these sizes: queries [2, 1, 20], equal keys [2, 10, 2],
// values 0, 1, 2, ... [10, 4], 8 hidden units, key lengths 2 and 6.
func TestAdditiveEqualKeys(t *testing.T) {
	a := randomAdditive(t, 8, 20, 2)
	data := make([]float32, 2*10*4)
	for i := range data {
		data[i] = float32(i % 40)
	}
	q, v := normalTensor(1, 2, 1, 1, 20), kernel.BHLD(data, 2, 1, 10, 4)
	k := newTensor(2, 1, 10, 2)
	eachRow(k.Shape(), func(b, h, l int) { copy(row(&k, b, h, l), []float32{1, 1}) })
	out, weights := newTensor(2, 1, 1, 4), newTensor(2, 1, 1, 10)
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{2, 6})}, Outputs: kernel.Outputs{Weights: weights}}
	must(t, a.Attend(out, q, k, v, &opts))
	near(t, "out", all(&out), 2e-6, 2, 3, 4, 5, 10, 11, 12, 13)
	near(t, "weights", all(&weights), 1e-7, .5, .5, 0, 0, 0, 0, 0, 0, 0, 0, 1./6, 1./6, 1./6, 1./6, 1./6, 1./6, 0, 0, 0, 0)

	// Keys and values beyond the length do not change a bit.
	again := newTensor(2, 1, 1, 4)
	row(&k, 0, 0, 2)[1], row(&v, 0, 0, 9)[0] = float32(math.NaN()), float32(math.Inf(1))
	row(&k, 1, 0, 6)[0], row(&v, 1, 0, 6)[3] = 1e30, -7
	must(t, a.Attend(again, q, k, v, &opts))
	equal(t, "with other numbers beyond the lengths", &again, &out)
}

// Queries, keys, values and hidden units may all differ in size: two queries of 4
// numbers, keys of 3, values of 2 and 5 hidden units give an output [2, 2].
func TestAdditiveSizes(t *testing.T) {
	a := randomAdditive(t, 5, 4, 3)
	out := newTensor(1, 1, 2, 2)
	must(t, a.Attend(out, normalTensor(1, 1, 1, 2, 4), normalTensor(2, 1, 1, 6, 3), normalTensor(3, 1, 1, 6, 2), nil))
	if got := out.Shape(); got != [4]int{1, 1, 2, 2} {
		t.Error(got)
	}
}

// Scores are near the definition in float64. Keys that are projected before the call give the same
// bits as those that Attend projects.
func TestAdditiveByDefinition(t *testing.T) {
	const b, h, hkv, lq, lk, d, dk, dv, hidden = 2, 4, 2, 3, 40, 6, 5, 7, 12
	a := randomAdditive(t, hidden, d, dk)
	q, k, v := normalTensor(5, b, h, lq, d), normalTensor(6, b, hkv, lk, dk), normalTensor(7, b, hkv, lk, dv)
	projected := func(l *linear.Linear, x kernel.Tensor) kernel.Tensor {
		s := x.Shape()
		y := newTensor(s[0], s[1], s[2], hidden)
		must(t, l.Project(y, x, linear.Options{}))
		return y
	}
	pq, pk := projected(a.Query, q), projected(a.Key, k)
	score := func(q, k []float32) float64 {
		sum := 0.0
		for i := range q {
			sum += float64(a.V[i]) * math.Tanh(float64(q[i]+k[i]))
		}
		return sum
	}
	scores := newTensor(b, h, lq, lk)
	must(t, Scores(scores, q, k, a, &ScoreOptions{Scoring: kernel.Scoring{Scale: .5}}))
	checkScores(t, "additive", &scores, &pq, &pk, .5, score)

	want := newTensor(b, h, lq, dv)
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(30), Softcap: 2}}
	must(t, a.Attend(want, q, k, v, &opts))
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := opts
		o.Tier = tier
		out := newTensor(b, h, lq, dv)
		must(t, Additive{Query: a.Query, V: a.V}.Attend(out, q, pk, v, &o))
		equal(t, "keys projected before", &out, &want)
		must(t, Additive{V: a.V}.Attend(out, pq, pk, v, &o))
		equal(t, "both projected before", &out, &want)
	})

	out := newTensor(b, h, lq, dv)
	step := Additive{Query: a.Query, V: a.V}
	testutil.CheckNoMallocs(t, "a step of a decoder", 20, func() {
		must(t, step.Attend(out, q, pk, v, &kernel.Options{Exec: kernel.Exec{Threads: 1}}))
	})
}

func TestAdditiveErrors(t *testing.T) {
	a := randomAdditive(t, 8, 4, 3)
	out, q, k, v := newCanaries(1, 1, 2, 5), newTensor(1, 1, 2, 4), newTensor(1, 1, 6, 3), newTensor(1, 1, 6, 5)
	refused(t, a.Attend(out, k, k, v, nil), "q", &out)
	refused(t, a.Attend(out, q, q, v, nil), "k", &out)
	refused(t, a.Attend(out, q, k, q, nil), "v", &out)
	refused(t, a.Attend(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Threads: -1}}), "Options.Threads", &out)
	refused(t, Additive{a.Query, nil, a.V}.Attend(out, q, k, v, nil), "k", &out)
	refused(t, Additive{a.Query, a.Key, a.V[1:]}.Attend(out, q, k, v, nil), "Additive.V", &out)
}
