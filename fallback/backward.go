package fallback

// The element-wise kernels of the backward pass of attention. As in the forward pass rows
// are keys and lanes are queries.

// BackwardDots adds the product of two columns to every lane: for n rows of len(sum) lanes
//
//	acc       = fma(x[e·ld+lane], y[e·ld+lane], acc), e ascending, from +0
//	sum[lane] = sum[lane] + acc
func BackwardDots(sum, x, y []float32, ld, n int) {
	for lane := range sum {
		var acc float32
		for e := range n {
			acc = FMA(x[e*ld+lane], y[e*ld+lane], acc)
		}
		sum[lane] += acc
	}
}

// BackwardSoftmax turns n rows of len(lse) scores into weights, and the gradients of the
// weights into those of the scores, both in place:
//
//	p  = exp2(min(s - lse[lane], 0)), +0 where s is -Inf
//	ds = p·(dp - delta[lane]), +0 where s is -Inf
func BackwardSoftmax(s, dp []float32, ld, n int, lse, delta []float32) {
	for j := range n {
		scores, grads := window(s, j*ld, len(lse)), window(dp, j*ld, len(lse))
		for lane, x := range scores {
			if x == negInf {
				scores[lane], grads[lane] = 0, 0
				continue
			}
			p := Exp2(notAbove0(x - lse[lane]))
			scores[lane] = p
			grads[lane] = float32(p * (grads[lane] - delta[lane]))
		}
	}
}

// notAbove0 returns the smaller of x and 0. A NaN stays.
func notAbove0(x float32) float32 {
	if x > 0 {
		return 0
	}
	return x
}

// BackwardSoftcap multiplies n rows of gradients, lanes wide, by the derivative of the
// softcap, given the scores after it:
//
//	ds = ds·(1 - u²) with fma(-u, u, 1), u = s·inv; +0 where ds is ±0
func BackwardSoftcap(ds, s []float32, ld, n, lanes int, inv float32) {
	for j := range n {
		grads, scores := window(ds, j*ld, lanes), window(s, j*ld, lanes)
		for lane, g := range grads {
			if g == 0 {
				grads[lane] = 0
				continue
			}
			u := float32(scores[lane] * inv)
			grads[lane] = float32(g * FMA(-u, u, 1))
		}
	}
}
