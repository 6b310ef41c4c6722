package fallback

import (
	"github.com/attn-go/attn/internal/scalar"
)

// The element-wise kernels of the backward pass of attention. As in the forward pass rows
// are keys and lanes are queries.

// backwardWeights is Gradients.BackwardWeights.
func backwardWeights(s, dp []float32, ld, n int, lse, sum, dot []float32) {
	clear(sum)
	clear(dot)
	for j := range n {
		scores, grads := window(s, j*ld, len(lse)), window(dp, j*ld, len(lse))
		for lane, x := range scores {
			p, g := scalar.BackwardWeight(x, lse[lane]), float32(0)
			if p != 0 {
				g = grads[lane]
			}
			scores[lane] = p
			sum[lane] += p
			dot[lane] = scalar.FMA(p, g, dot[lane])
		}
	}
}

// backwardScores is Gradients.BackwardScores. Gradients below 2^-100 are +0.
func backwardScores(p, dp []float32, ld, n int, inv, mean []float32) {
	for j := range n {
		weights, grads := window(p, j*ld, len(inv)), window(dp, j*ld, len(inv))
		for lane, x := range weights {
			if x == 0 {
				weights[lane], grads[lane] = 0, 0
				continue
			}
			y := float32(x * inv[lane])
			weights[lane] = y
			grads[lane] = scalar.Flush(float32(y*(grads[lane]-mean[lane])), scalar.LeastGradient)
		}
	}
}

// backwardSoftcap is Gradients.BackwardSoftcap.
func backwardSoftcap(ds, s []float32, ld, n, lanes int, inv float32) {
	for j := range n {
		grads, scores := window(ds, j*ld, lanes), window(s, j*ld, lanes)
		for lane, g := range grads {
			if g == 0 {
				grads[lane] = 0
				continue
			}
			u := float32(scores[lane] * inv)
			grads[lane] = float32(g * scalar.FMA(-u, u, 1))
		}
	}
}
