package layer

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// Large scores do not overflow. From 88.73 on, e^x is +Inf in float32, and a softmax
// that does not subtract the largest score divides Inf by Inf. The weights are e/(e+1),
// 1/(e+1) and e^-89/(e+1). The last one is so small that exp2 rounds it to 0.
func TestSoftmaxLargeScores(t *testing.T) {
	scores := []float32{89, 88, 0}
	if naive := float32(math.Exp(89)); !math.IsInf(float64(naive), 1) {
		t.Fatalf("e^89 is %v in float32", naive)
	}
	weights := make([]float32, 3)
	must(t, Softmax(weights, scores, 3, nil, kernel.Exec{}))
	near(t, "weights", weights, 5e-8, .7310586, .2689414, 0)
	if weights[2] != 0 {
		t.Errorf("the last weight is %v, want 0", weights[2])
	}
	must(t, Softmax(scores, scores, 3, nil, kernel.Exec{}))
	if !slices.Equal(scores, weights) {
		t.Errorf("in place %v, want %v", scores, weights)
	}
}

// A sentence of six words with three numbers each, one word per column, from an introduction that
// computes attention by hand. The keys are the first two rows. The values are all three rows and
// the third once more. The introduction has the expected numbers.
var (
	sentence = [][]float32{
		{.1, .3, -4.3, 1.1, 2.2, .1},
		{-2.1, -2.1, -1.2, 2.4, .2, 3.3},
		{-.3, -.5, -1.1, 2.3, 3.1, .3},
	}
	sentenceKeys   = columns(sentence[0], sentence[1])
	sentenceValues = columns(sentence[0], sentence[1], sentence[2], sentence[2])
)

// Given scores give the weights and the context of the introduction.
func TestSentenceFromScores(t *testing.T) {
	weights := newTensor(1, 1, 1, 6)
	must(t, Softmax(row(&weights, 0, 0, 0), []float32{.3, -2.1, 5.5, -1.2, 3.2, -.5}, 6, nil, kernel.Exec{}))
	near(t, "weights", all(&weights), 5e-5, .0050, .0005, .9009, .0011, .0903, .0022)
	context := newTensor(1, 1, 1, 4)
	must(t, WeightedSum(context, weights, sentenceValues, kernel.Exec{}))
	near(t, "context", all(&context), 5e-5, -3.6731, -1.0644, -.7095, -.7095)
}

// With the third word as the query, the steps and the call that does them at once give
// the context of the introduction, with and without scaling.
func TestSentence(t *testing.T) {
	query := rowTensor([]float32{-4.3, -1.2})
	for _, c := range []struct {
		similarity Similarity
		scores     []float64
		context    []float64
		tol        float64
	}{
		{Dot{}, []float64{2.09, 1.23, 19.93, -7.61, -9.7, -4.39}, []float64{-4.3, -1.2, -1.1, -1.1}, 1e-6},
		{ScaledDot{}, nil, []float64{-4.299977, -1.200004, -1.099996, -1.099996}, 1e-6},
	} {
		scores, context, fused := newTensor(1, 1, 1, 6), newTensor(1, 1, 1, 4), newTensor(1, 1, 1, 4)
		must(t, Scores(scores, query, sentenceKeys, c.similarity, nil))
		if c.scores != nil {
			near(t, "scores", all(&scores), 4e-6, c.scores...)
		}
		must(t, Softmax(row(&scores, 0, 0, 0), row(&scores, 0, 0, 0), 6, nil, kernel.Exec{}))
		must(t, WeightedSum(context, scores, sentenceValues, kernel.Exec{}))
		near(t, "context", all(&context), c.tol, c.context...)
		must(t, c.similarity.Attend(fused, query, sentenceKeys, sentenceValues, nil))
		near(t, "context of Attend", all(&fused), c.tol, c.context...)
	}
}

// The steps give the result of Attend, with options, with masks and with heads that
// share keys. They may differ by 2e-7 for scores up to 2, and in proportion for larger
// ones: the steps round scores to natural units, in which neighbouring float32 are
// 2.4e-7 apart there, while Attend keeps them in the unit of base-2 exponentials.
func TestStepsGiveResultOfAttend(t *testing.T) {
	const b, h, hkv, lq, lk, d, dv = 2, 4, 2, 9, 300, 64, 5
	q, k, v := normalTensor(1, b, h, lq, d), normalTensor(2, b, hkv, lk, d), normalTensor(3, b, hkv, lk, dv)
	for name, opts := range map[string]ScoreOptions{
		"plain":   {},
		"masked":  {Scoring: kernel.Scoring{Mask: kernel.Causal(150).And(kernel.KeyLengths([]int{280, 20}))}},
		"hidden":  {Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{0, 300})}},
		"softcap": {Scoring: kernel.Scoring{Softcap: 2, ALiBi: []float32{.01, .005, 0, -.005}}},
		"small":   {Scoring: kernel.Scoring{Scale: 0x1p-5}},
	} {
		for _, s := range []Similarity{Dot{}, ScaledDot{}, Cosine{}, Func(distanceOf)} {
			fused, staged, weights := newTensor(b, h, lq, dv), newTensor(b, h, lq, dv), newTensor(b, h, lq, lk)
			must(t, s.Attend(fused, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: opts.Scale, Mask: opts.Mask, Softcap: opts.Softcap, ALiBi: opts.ALiBi}}))
			must(t, Scores(weights, q, k, s, &opts))
			tol := 2e-7 * max(1, largest(&weights)/2)
			eachRow(weights.Shape(), func(b, h, l int) {
				row := row(&weights, b, h, l)
				must(t, Softmax(row, row, lk, nil, kernel.Exec{}))
			})
			must(t, WeightedSum(staged, weights, v, kernel.Exec{}))
			if d := distance(&staged, &fused) / max(1, largest(&fused)); d > tol {
				t.Errorf("%s, %T: the steps differ by %v of the result, want %v", name, s, d, tol)
			}
		}
	}
}

// largest returns the largest magnitude of the finite elements.
func largest(x *kernel.Tensor) float64 {
	most := 0.0
	for _, e := range all(x) {
		if a := math.Abs(float64(e)); a < math.Inf(1) {
			most = max(most, a)
		}
	}
	return most
}

// distanceOf is the similarity of a user: minus the distance of query and key.
func distanceOf(q, k []float32) float32 {
	sum := 0.0
	for i := range q {
		sum += float64(q[i]-k[i]) * float64(q[i]-k[i])
	}
	return -float32(math.Sqrt(sum))
}

func TestSoftmaxLengths(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	src := []float32{
		0, 0, nan,
		1, 2, 3,
		nan, nan, nan,
		-inf, 5, -inf,
		-inf, -inf, -inf,
		0, nan, 0,
		0, inf, 0,
		0, 0, 0,
	}
	dst := slices.Repeat([]float32{canary}, len(src))
	must(t, Softmax(dst, src, 3, []int{2, 3, 0, 3, 3, 3, 3, 1}, kernel.Exec{}))
	third := 1 / (1 + math.Exp(-1) + math.Exp(-2))
	want := []float64{.5, .5, 0, math.Exp(-2) * third, math.Exp(-1) * third, third, 0, 0, 0, 0, 1, 0, 0, 0, 0}
	near(t, "weights", dst[:15], 6e-8, want...)
	for i, x := range dst[15:21] {
		if math.Float32bits(x) != 0x7fc00000 {
			t.Errorf("weight %d of the rows with a NaN or Inf is %v, want the NaN 7fc00000", i, x)
		}
	}
	near(t, "weights", dst[21:], 0, 1, 0, 0)

	// In place, with one length for two rows.
	x := []float32{1, 1, 1, 1, 1, 1, 1, 1}
	must(t, Softmax(x, x, 2, []int{1, 2}, kernel.Exec{}))
	near(t, "weights", x, 0, 1, 0, 1, 0, .5, .5, .5, .5)
	must(t, Softmax(nil, nil, 2, nil, kernel.Exec{}))
}

func TestSoftmaxErrors(t *testing.T) {
	out := newCanaries(1, 1, 1, 8)
	dst, src := row(&out, 0, 0, 0), make([]float32, 8)
	refused(t, Softmax(dst, src, 0, nil, kernel.Exec{}), "n", &out)
	refused(t, Softmax(dst, src, 3, nil, kernel.Exec{}), "src", &out)
	refused(t, Softmax(dst[:4], src, 4, nil, kernel.Exec{}), "dst", &out)
	refused(t, Softmax(dst[:7], dst[1:], 7, nil, kernel.Exec{}), "dst", &out)
	refused(t, Softmax(dst, src, 4, []int{}, kernel.Exec{}), "lengths", &out)
	refused(t, Softmax(dst, src, 4, []int{1, 2, 3}, kernel.Exec{}), "lengths", &out)
	refused(t, Softmax(dst, src, 4, []int{1, 5}, kernel.Exec{}), "lengths", &out)
	refused(t, Softmax(dst, src, 4, []int{-1, 4}, kernel.Exec{}), "lengths", &out)
}

func TestScoresErrors(t *testing.T) {
	q, k := newTensor(1, 2, 3, 4), newTensor(1, 1, 5, 4)
	out := newCanaries(1, 2, 3, 5)
	wrong := newCanaries(1, 2, 3, 4)
	short := kernel.BHLD(make([]float32, 3), 1, 1, 5, 4)
	refused(t, Scores(out, q, k, nil, nil), "s", &out)
	err := Scores(wrong, q, k, Dot{}, nil)
	refused(t, err, "dst", &wrong)
	wantText(t, err, "layer.Scores: dst: [B H L D] = [1 2 3 4] with strides [24 12 4] in 24 elements, want shape [1 2 3 5], a score for every query and key")
	refused(t, Scores(kernel.Tensor{}, q, k, Dot{}, nil), "dst", nil)
	refused(t, Scores(kernel.BHLD(make([]kernel.F16, 30), 1, 2, 3, 5), q, k, Dot{}, nil), "dst", nil)
	refused(t, Scores(kernel.BHLD(make([]float32, 29), 1, 2, 3, 5), q, k, Dot{}, nil), "dst", nil)
	refused(t, Scores(kernel.Strided(make([]float32, 30), [4]int{1, 2, 3, 5}, [3]int{}), q, k, Dot{}, nil), "dst", nil)
	shared := make([]float32, 30)
	err = Scores(kernel.BHLD(shared, 1, 2, 3, 5), kernel.BHLD(shared, 1, 2, 3, 4), k, Dot{}, nil)
	refused(t, err, "dst", nil)
	wantText(t, err, "layer.Scores: dst: memory that overlaps q, want memory of its own")
	refused(t, Scores(out, short, k, Dot{}, nil), "q", &out)
	refused(t, Scores(out, q, short, Dot{}, nil), "k", &out)
	refused(t, Scores(out, q, kernel.Tensor{}, Dot{}, nil), "k", &out)
	refused(t, Scores(out, q, newTensor(2, 1, 5, 4), Dot{}, nil), "k", &out)
	refused(t, Scores(out, q, k, Func(nil), nil), "Func", &out)
	huge := func(d int) kernel.Tensor {
		return kernel.Strided(make([]float32, 8), [4]int{1 << 20, 1 << 20, 1 << 20, d}, [3]int{})
	}
	refused(t, Scores(huge(5), huge(4), k, Dot{}, nil), "dst", nil)
}

func TestWeightedSum(t *testing.T) {
	inf := float32(math.Inf(1))
	weights := rowTensor([]float32{.5, 0, .5}, []float32{0, 1, 0}, []float32{0, 0, 0})
	v := rowTensor([]float32{1, 2}, []float32{inf, float32(math.NaN())}, []float32{3, 4})
	out := newCanaries(1, 1, 3, 2)
	must(t, WeightedSum(out, weights, v, kernel.Exec{}))
	near(t, "row 0", row(&out, 0, 0, 0), 0, 2, 3)
	near(t, "row 2", row(&out, 0, 0, 2), 0, 0, 0)
	if row := row(&out, 0, 0, 1); row[0] != inf || math.Float32bits(row[1]) != 0x7fc00000 {
		t.Errorf("row 1 is %v, want Inf and NaN", row)
	}
}

func TestWeightedSumErrors(t *testing.T) {
	out, weights, v := newCanaries(1, 4, 3, 2), newTensor(1, 4, 3, 5), newTensor(1, 2, 5, 2)
	must(t, WeightedSum(newTensor(1, 4, 3, 2), weights, v, kernel.Exec{}))
	refused(t, WeightedSum(out, kernel.Tensor{}, v, kernel.Exec{}), "weights", &out)
	refused(t, WeightedSum(out, weights, kernel.Tensor{}, kernel.Exec{}), "v", &out)
	refused(t, WeightedSum(out, weights, newTensor(1, 3, 5, 2), kernel.Exec{}), "v", &out)
	refused(t, WeightedSum(out, weights, newTensor(1, 2, 4, 2), kernel.Exec{}), "v", &out)
	refused(t, WeightedSum(out, weights, newTensor(2, 2, 5, 2), kernel.Exec{}), "v", &out)
	refused(t, WeightedSum(out, weights, newTensor(1, 2, 5, 3), kernel.Exec{}), "out", &out)
	err := WeightedSum(v, weights, v, kernel.Exec{})
	refused(t, err, "out", nil)
	wantText(t, err, "layer.WeightedSum: out: [B H L D] = [1 2 5 2] with strides [20 10 2] in 20 elements, want shape [1 4 3 2], with the rows of weights")
	square, shared := newTensor(1, 1, 2, 2), newTensor(1, 1, 2, 2)
	err = WeightedSum(shared, square, shared, kernel.Exec{})
	refused(t, err, "out", nil)
	wantText(t, err, "layer.WeightedSum: out: memory that overlaps v, want memory of its own")
	refused(t, WeightedSum(out, weights, kernel.BHLD(make([]kernel.F16, 20), 1, 2, 5, 2), kernel.Exec{}), "v", &out)
}
