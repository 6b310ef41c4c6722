package ukernel

// BackwardKernels are the element-wise micro-kernels of the backward pass of attention.
// Like LaneKernels they work on the lanes of query tiles of any width that is a multiple of
// a vector's.
type BackwardKernels struct {
	// Dots adds products to every lane, for n rows of len(sum) lanes, e ascending, and
	// their rounding errors to rest (Ogita, Rump, Oishi: "Accurate Sum and Dot Product", 2005):
	//
	//	p = x[e·ld+lane]·y[e·ld+lane], q = fma(x, y, -p)
	//	t = sum + p, z = t - sum, r = (sum - (t - z)) + (p - z)
	//	sum = t, rest = rest + (r + q)
	Dots func(sum, rest, x, y []float32, ld, n int)

	// Softmax turns n rows of scores, len(max) lanes wide, into weights, and the
	// gradients of the weights into those of the scores, both in place:
	//
	//	p  = exp2(min(s - max[lane], 0))·inv[lane]
	//	ds = p·(dp - delta[lane])
	//
	// Where s is -Inf both are +0, by select.
	Softmax func(s, dp []float32, ld, n int, max, inv, delta []float32)

	// Softcap multiplies n rows of gradients by the derivative of the softcap, given the
	// scores after it:
	//
	//	ds = ds·fma(-u, u, 1), u = s·inv; +0, by select, where ds is ±0
	Softcap func(ds, s []float32, ld, n, lanes int, inv float32)
}
