package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// WeightedSumGradients are the outputs of [WeightedSumBackward], float32. Those that are not set
// are not computed.
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
// The scores of [Dot] have gradients of this kind: with ds, those of the scores, the
// gradient of the queries is WeightedSum(dq, ds, k), and that of the keys V, with ds as the weights
// and the queries as dout.
//
// The gradients share no memory with each other or with another argument. Sums are computed in
// float64, in ascending order, and rounded at the end; a NaN is 0x7FC00000.
func WeightedSumBackward(g WeightedSumGradients, dout, weights, v kernel.Tensor) error {
	if err := checkWeightedSumBackward(&g, &dout, &weights, &v); err != nil {
		return err
	}
	dims, values := weights.Shape(), v.Shape()
	if viewOf(&g.Weights).IsSet() && values[1] > 0 {
		eachRow(dims, func(b, h, l int) {
			x, to := row(&dout, b, h, l), row(&g.Weights, b, h, l)
			for j := range to {
				sum := 0.0
				for e, y := range row(&v, b, h/(dims[1]/values[1]), j) {
					sum += float64(x[e]) * float64(y)
				}
				if to[j] = float32(sum); sum != sum {
					to[j] = nan
				}
			}
		})
	}
	if viewOf(&g.V).IsSet() {
		m := getScratch()
		defer m.release()
		sums := m.takeDoubles(values[3])
		eachRow(values, func(b, h, j int) {
			clear(sums)
			group := dims[1] / values[1]
			for head := h * group; head < (h+1)*group; head++ {
				for l := range dims[2] {
					if w := row(&weights, b, head, l)[j]; w != 0 {
						addScaled(sums, w, row(&dout, b, head, l))
					}
				}
			}
			roundTo(row(&g.V, b, h, j), sums)
		})
	}
	return nil
}

// checkWeightedSumBackward reports the first argument of WeightedSumBackward that does not fit.
func checkWeightedSumBackward(g *WeightedSumGradients, dout, weights, v *kernel.Tensor) error {
	if err := checkFloats("weights", weights); err != nil {
		return err
	}
	if err := checkFloats("v", v); err != nil {
		return err
	}
	if err := checkValues(weights, v); err != nil {
		return err
	}
	if err := checkFloats("dout", dout); err != nil {
		return err
	}
	w, values := weights.Shape(), v.Shape()
	if want := [4]int{w[0], w[1], w[2], values[3]}; dout.Shape() != want {
		return tensorError("dout", dout, fmt.Sprintf("shape %v, that of weights with the head size of v", want))
	}
	names := [...]string{"Gradients.Weights", "Gradients.V"}
	for i, t := range [...]*kernel.Tensor{&g.Weights, &g.V} {
		if !viewOf(t).IsSet() {
			continue
		}
		if err := checkFloats(names[i], t); err != nil {
			return err
		}
		if like := [...]*kernel.Tensor{weights, v}[i]; t.Shape() != like.Shape() {
			return tensorError(names[i], t, fmt.Sprintf("shape %v, that of %s", like.Shape(), [...]string{"weights", "v"}[i]))
		}
		if f := viewOf(t).CheckDistinct(names[i]); f != nil {
			return argumentError(f)
		}
		others := [...]*kernel.Tensor{dout, weights, v, &g.V}
		for k, x := range others[:len(others)-i] { // V is not another one than itself
			if viewOf(t).Memory().OverlapsTensor(viewOf(x)) {
				with := [...]string{"dout", "weights", "v", names[1]}[k]
				return &kernel.ArgumentError{Arg: names[i], Got: "memory that overlaps " + with, Want: "a range of memory of its own"}
			}
		}
	}
	return nil
}
