package fallback

// The element-wise kernels of the backward pass of attention. As in the forward pass rows
// are keys and lanes are queries.

// BackwardDots adds products to every lane, for n rows of len(sum) lanes, e ascending, with
// their rounding errors in rest:
//
//	p = x[e·ld+lane]·y[e·ld+lane], e = fma(x, y, -p)
//	t = sum + p, z = t - sum, r = (sum - (t - z)) + (p - z)
//	sum = t, rest = rest + (r + e)
func BackwardDots(sum, rest, x, y []float32, ld, n int) {
	for lane, s := range sum {
		c := rest[lane]
		for e := range n {
			a, b := x[e*ld+lane], y[e*ld+lane]
			p := float32(a * b)
			low := FMA(a, b, -p)
			t := s + p
			z := t - s
			r := (s - (t - z)) + (p - z)
			s, c = t, c+(r+low)
		}
		sum[lane], rest[lane] = s, c
	}
}

// BackwardSoftmax turns n rows of len(max) scores into weights, and the gradients of the
// weights into those of the scores, both in place:
//
//	p  = exp2(min(s - max[lane], 0))·inv[lane], +0 where s is -Inf
//	ds = p·(dp - delta[lane]), +0 where s is -Inf
func BackwardSoftmax(s, dp []float32, ld, n int, max, inv, delta []float32) {
	for j := range n {
		scores, grads := window(s, j*ld, len(max)), window(dp, j*ld, len(max))
		for lane, x := range scores {
			if x == negInf {
				scores[lane], grads[lane] = 0, 0
				continue
			}
			p := float32(Exp2(notAbove0(x-max[lane])) * inv[lane])
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
