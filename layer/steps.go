package layer

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// ScoreOptions are the settings of one call of [Scores]. Sinks and Dropout change weights alone,
// and so no score.
type ScoreOptions struct {
	kernel.Exec
	kernel.Scoring
}

// Scores is step 2 of attention: in every head it compares each query with each key,
//
//	dst[i][j] = similarity(q[i], k[j]), or -Inf where opts.Mask hides key j from query i
//
// The shapes are
//
//	q   [B, H, Lq, D]
//	k   [B, Hkv, Lk, D]  Hkv divides H: query head h uses key head h/(H/Hkv)
//	dst [B, H, Lq, Lk]   float32, overwritten; it shares no memory with the others
//
// It takes memory for B·H·Lq rows of the size of a key, which is recycled. Bad input gets
// a [*kernel.Error], and dst stays untouched.
func Scores(dst, q, k kernel.Tensor, s Similarity, opts *ScoreOptions) error {
	if bad := checkScoring(&dst, &q, &k, s); bad != nil { // before memory for as many rows is taken
		return (*kernel.Error)(bad.In("layer.Scores"))
	}
	shape := q.Shape()
	// Attend needs values and an output. The keys are valid values for any similarity.
	shape[3] = k.Shape()[3]
	n := product(shape[:]...)
	m := getScratch(n)
	if m == nil {
		return (*kernel.Error)(memoryFailure("q", &q, "fewer queries: memory for B·H·Lq rows of the size of a key").In("layer.Scores"))
	}
	defer m.release()
	out := kernel.BHLD(m.takeFloats(n), shape[0], shape[1], shape[2], shape[3])
	o := valueOf(opts)
	m.options = kernel.Options{Exec: o.Exec, Scoring: o.Scoring, Outputs: kernel.Outputs{Scores: dst, ScoreStage: kernel.ScoresMasked}}
	return renameArgument(s.Attend(out, q, k, k, &m.options), "Options.Scores", "layer.Scores", "dst")
}

// checkScoring reports the first argument of Scores that does not fit. Without keys nothing is
// written.
func checkScoring(dst, q, k *kernel.Tensor, s Similarity) *check.Failure {
	if s == nil {
		return &check.Failure{Where: "s", Got: "nil", Want: "a similarity, such as ScaledDot{}"}
	}
	if bad := cmp.Or(checkTensor("q", q), viewOf(k).Check("k")); bad != nil {
		return bad
	}
	want := q.Shape()
	if want[3] = k.Shape()[2]; dst.Shape() != want {
		return tensorFailure("dst", dst, fmt.Sprintf("shape %v, a score for every query and key", want))
	}
	if want[3] == 0 {
		return nil
	}
	return cmp.Or(viewOf(dst).CheckPlainFloats("dst"), viewOf(dst).CheckDistinct("dst"))
}

// Softmax is step 3 of attention: it turns each row of scores into weights,
//
//	dst[j] = exp(src[j]) / (exp(src[0]) + ... + exp(src[n-1]))
//
// The rows, n scores each, lie one after another in src. dst has the length of src, and
// may be src.
//
// lengths[r] is the number of valid scores in row r. The weights after them are 0,
// whatever src holds there. nil means that all scores are valid. With fewer lengths
// than rows, each length is for the same number of successive rows: B lengths fit
// scores [B, H, Lq, Lk].
//
// A score of -Inf has the weight 0. If all valid scores of a row are -Inf, or none is
// valid, all its weights are 0. If one is NaN or +Inf, all its weights are NaN.
//
// The largest score of a row is subtracted first, so that no exponential overflows. Sums
// and quotients are computed in float64 and rounded at the end.
//
// exec says how the call is computed; the zero Exec is the default. An error is a
// [*kernel.Error] and leaves dst untouched.
func Softmax(dst, src []float32, n int, lengths []int, exec kernel.Exec) error {
	if bad := checkLengths(lengths, n, len(src)); bad != nil {
		return (*kernel.Error)(bad.In("layer.Softmax"))
	}
	return softmax.Run(&exec, &elementwise.Call{Size: n, Slices: [6][]float32{dst, src}, Ints: lengths})
}

// checkLengths reports lengths that do not fit rows of n scores.
func checkLengths(lengths []int, n, scores int) *check.Failure {
	if rows := scores / max(n, 1); lengths != nil && (len(lengths) == 0 && rows > 0 || len(lengths) > 0 && rows%len(lengths) != 0) {
		return &check.Failure{Where: "lengths", Got: fmt.Sprintf("%d lengths", len(lengths)), Want: fmt.Sprintf("nil, or a number of lengths that divides the number of rows, %d", rows)}
	}
	for i, l := range lengths {
		if n > 0 && (l < 0 || l > n) { // n itself is checked with the slices
			return &check.Failure{Where: "lengths", Got: fmt.Sprintf("lengths[%d] = %d", i, l), Want: fmt.Sprintf("0 to n = %d", n)}
		}
	}
	return nil
}

// WeightedSum is step 4 of attention: in every head it adds up the values, each times its
// weight,
//
//	out[i] = weights[i][0]·v[0] + ... + weights[i][Lk-1]·v[Lk-1]
//
// The shapes, all of float32, are
//
//	weights [B, H, Lq, Lk]    Lk ≥ 1
//	v       [B, Hkv, Lk, Dv]  Hkv divides H: query head h uses value head h/(H/Hkv)
//	out     [B, H, Lq, Dv]    overwritten; it shares no memory with the others
//
// A value of weight 0 does not count, even if it is NaN or Inf. Sums are computed in
// float64 and rounded at the end.
//
// exec says how the call is computed; the zero Exec is the default. Errors are as for [Softmax].
func WeightedSum(out, weights, v kernel.Tensor, exec kernel.Exec) error {
	t, err := elementwise.Begin("layer.WeightedSum", &exec, checkWeightedSum(&out, &weights, &v))
	if err != nil {
		return err
	}
	values := v.Shape()
	j := rowJob{out, weights, v, t, out.Shape()[1] / max(1, values[1]), values[3], weightedRow}
	j.run(product(values[2:]...), &exec)
	return nil
}

// weightedRow is a row of WeightedSum.
func weightedRow(j *rowJob, sums []float64, b, h, l int) {
	w := row(&j.w, b, h, l)
	x, ld := rowsOf(&j.x, b, h/j.group, len(w))
	j.addScaled(sums, x, ld, w, 1, len(w))
	roundTo(row(&j.to, b, h, l), sums)
}

// rowsOfCall returns how many rows of size elements one call of a kernel takes, in which the
// goroutine cannot be preempted.
func rowsOfCall(size int) int {
	const elements = 1 << 18
	return max(1, elements/max(1, size))
}

// addScaled adds n rows of x, times weights.
func (j *rowJob) addScaled(sums []float64, x []float32, ldx int, weights []float32, ldw, n int) {
	for step := rowsOfCall(len(sums)); n > 0; n -= step {
		k := min(n, step)
		j.tier.Rows().AddScaled(sums, x, ldx, weights, ldw, k)
		if k < n {
			x, weights = x[k*ldx:], weights[k*ldw:]
		}
	}
}

// rowsOf returns the n rows of a head, and their distance.
func rowsOf(t *kernel.Tensor, b, h, n int) (x []float32, ld int) {
	if n == 0 {
		return nil, 0
	}
	return viewOf(t).Rows(b, h, 0, n), viewOf(t).Stride(2)
}

// roundTo sets dst to the sums, rounded to float32.
func roundTo(dst []float32, sums []float64) {
	for e, x := range sums {
		if dst[e] = float32(x); x != x {
			dst[e] = scalar.NaN
		}
	}
}

// checkWeightedSum reports the first argument of WeightedSum that does not fit.
func checkWeightedSum(out, weights, v *kernel.Tensor) *check.Failure {
	if bad := checkWeightsAndValues(weights, v); bad != nil {
		return bad
	}
	o := viewOf(out)
	return cmp.Or(
		o.CheckLike("out", viewOf(weights), "weights", v.Shape()[3]), o.CheckDistinct("out"),
		view.CheckApart(1, []string{"out", "weights", "v"}, o.Memory(), viewOf(weights).Memory(), viewOf(v).Memory()),
	)
}

// checkWeightsAndValues reports weights that are no plain float32, and values that do not fit them.
func checkWeightsAndValues(weights, v *kernel.Tensor) *check.Failure {
	if bad := cmp.Or(viewOf(weights).CheckPlainFloats("weights"), viewOf(v).CheckPlainFloats("v")); bad != nil {
		return bad
	}
	w, values := weights.Shape(), v.Shape()
	if values[0] != w[0] || values[2] != w[3] {
		return tensorFailure("v", v, fmt.Sprintf("batch %d and length %d, a value for every weight of a row", w[0], w[3]))
	}
	if values[1] == 0 && w[1] > 0 || values[1] > 0 && w[1]%values[1] != 0 {
		return tensorFailure("v", v, fmt.Sprintf("a number of heads that divides that of weights, %d", w[1]))
	}
	return nil
}

// A rowJob computes the rows of one tensor on several goroutines, in float64.
type rowJob struct {
	to, w, x kernel.Tensor // w has the heads of the queries
	tier     *tier.Tier
	group    int // query heads of a value head

	sums int // how many sums do needs, all 0
	do   func(j *rowJob, sums []float64, b, h, l int)
}

var rowJobs = parallel.Loop[rowJob, scratch]{Scratch: &scratches, Fit: func(j *rowJob, s *scratch) { s.takeDoubles(j.sums) }, Do: (*rowJob).task}

// doubleFMAs is how many FMAs of a product in float32 take as long as one in float64, on Zen 4.
const doubleFMAs = 8

// run computes a tensor whose rows take so many FMAs each.
func (j *rowJob) run(fmas int, exec *kernel.Exec) {
	if shape := j.to.Shape(); !isEmpty(shape) {
		if view.Races {
			viewOf(&j.to).AnnounceAll(view.Write)
			viewOf(&j.w).AnnounceAll(view.Read)
			viewOf(&j.x).AnnounceAll(view.Read)
		}
		rows := product(shape[:3]...)
		rowJobs.Run(j, rows, float64(rows)*float64(fmas)*doubleFMAs/float64(j.tier.ThreadFMAs), j.sums, exec.Threads, exec.ParallelFor)
	}
}

// task computes the rows lo to hi-1, numbered through all heads and batch rows.
func (j *rowJob) task(s *scratch, lo, hi int) {
	shape := j.to.Shape()
	for n := lo; n < hi; n++ {
		sums := s.doubles[:j.sums]
		clear(sums)
		j.do(j, sums, n/shape[2]/shape[1], n/shape[2]%shape[1], n%shape[2])
	}
}
