package layer

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// SoftmaxBackward computes the gradient of [Softmax] from the gradient dy of its result and from
// that result, y:
//
//	dx[j] = y[j]·(dy[j] - (y[0]·dy[0] + ... + y[n-1]·dy[n-1]))
//
// The rows, n numbers each, lie one after another. dx and dy have the length of y. dx may be y or
// dy, and these may overlap. Where y is 0, dx is 0, whatever dy holds there: scores that are not
// valid need no lengths. A result that is NaN is 0x7FC00000. exec and errors are as for Softmax.
//
// The sum, in ascending order, the difference and the product are computed in float64, and
// the result is rounded at the end.
func SoftmaxBackward(dx, dy, y []float32, n int, exec kernel.Exec) error {
	return softmaxBackward.Run(&exec, &elementwise.Call{Size: n, Slices: [6][]float32{dx, dy, y}})
}

// WeightedSumGradients are the outputs of [WeightedSumBackward], float32. A gradient that is not
// set is not computed.
type WeightedSumGradients struct {
	Weights kernel.Tensor // [B, H, Lq, Lk]: with respect to weights
	V       kernel.Tensor // [B, Hkv, Lk, Dv]: with respect to v
}

// WeightedSumBackward computes the gradients of [WeightedSum] from dout, the gradient of its out:
//
//	Weights[i][j] = dout[i][0]·v[j][0] + ... + dout[i][Dv-1]·v[j][Dv-1]
//	V[j]          = weights[0][j]·dout[0] + ... + weights[Lq-1][j]·dout[Lq-1]
//
// V has the sum over the query heads that use the value head, one after the other. A weight of 0
// does not count for V, even if dout is NaN. The gradient of such a weight is of no use if it
// is a hidden one: [SoftmaxBackward] leaves it out.
//
// The scores of [Dot] have gradients of this kind: with ds, the gradients of the scores, the
// queries have the gradient WeightedSum(dq, ds, k). The keys have V, with ds as the weights and the
// queries as dout.
//
// The gradients share no memory with each other or with another argument. Sums are computed in
// float64, in ascending order, and rounded at the end; a NaN is 0x7FC00000. exec and errors are as
// for WeightedSum.
func WeightedSumBackward(g WeightedSumGradients, dout, weights, v kernel.Tensor, exec kernel.Exec) error {
	t, err := elementwise.Begin("layer.WeightedSumBackward", &exec, checkWeightedSumBackward(&g, &dout, &weights, &v))
	if err != nil {
		return err
	}
	dims, values := weights.Shape(), v.Shape()
	group := dims[1] / max(1, values[1])
	if viewOf(&g.Weights).IsSet() {
		j := rowJob{g.Weights, dout, v, t, group, values[2], weightGradients}
		j.run(product(values[2:]...), &exec)
	}
	if viewOf(&g.V).IsSet() {
		j := rowJob{g.V, weights, dout, t, group, values[3], valueGradients}
		j.run(product(group, dims[2], values[3]), &exec)
	}
	return nil
}

// weightGradients is a row of Gradients.Weights.
func weightGradients(j *rowJob, sums []float64, b, h, l int) {
	dout := row(&j.w, b, h, l)
	x, ld := rowsOf(&j.x, b, h/j.group, len(sums))
	for at, step := 0, rowsOfCall(len(dout)); at < len(sums); at += step {
		j.tier.Rows().DotsWith(sums[at:min(at+step, len(sums))], x[at*ld:], ld, len(dout), dout)
	}
	roundTo(row(&j.to, b, h, l), sums)
}

// valueGradients is a row of Gradients.V.
func valueGradients(j *rowJob, sums []float64, b, h, i int) {
	queries := j.w.Shape()[2]
	for head := h * j.group; head < (h+1)*j.group; head++ {
		x, ldx := rowsOf(&j.x, b, head, queries)
		w, ldw := rowsOf(&j.w, b, head, queries)
		j.addScaled(sums, x, ldx, w[min(i, len(w)):], ldw, queries)
	}
	roundTo(row(&j.to, b, h, i), sums)
}

// checkWeightedSumBackward reports the first argument of WeightedSumBackward that does not fit.
func checkWeightedSumBackward(g *WeightedSumGradients, dout, weights, v *kernel.Tensor) *check.Failure {
	if bad := checkWeightsAndValues(weights, v); bad != nil {
		return bad
	}
	if bad := viewOf(dout).CheckLike("dout", viewOf(weights), "weights", v.Shape()[3]); bad != nil {
		return bad
	}
	return cmp.Or(
		checkGradient("Gradients.Weights", &g.Weights, "weights", weights), checkGradient("Gradients.V", &g.V, "v", v),
		view.CheckApart(2, []string{"Gradients.Weights", "Gradients.V", "dout", "weights", "v"},
			viewOf(&g.Weights).Memory(), viewOf(&g.V).Memory(), viewOf(dout).Memory(), viewOf(weights).Memory(), viewOf(v).Memory()),
	)
}
