package ukernel

// BackwardKernels are the element-wise micro-kernels of the backward pass of attention.
// Like LaneKernels they work on the lanes of query tiles of any width that is a multiple of
// a vector's.
type BackwardKernels struct {
	// Dots adds the product of two columns to every lane, for n rows of len(sum) lanes:
	//
	//	acc       = fma(x[e·ld+lane], y[e·ld+lane], acc), e ascending, from +0
	//	sum[lane] = sum[lane] + acc
	Dots func(sum, x, y []float32, ld, n int)

	// Softmax turns n rows of scores, len(lse) lanes wide, into weights, and the
	// gradients of the weights into those of the scores, both in place:
	//
	//	p  = exp2(min(s - lse[lane], 0))
	//	ds = p·(dp - delta[lane])
	//
	// Where s is -Inf both are +0, by select.
	Softmax func(s, dp []float32, ld, n int, lse, delta []float32)

	// Softcap multiplies n rows of gradients by the derivative of the softcap, given the
	// scores after it:
	//
	//	ds = ds·fma(-u, u, 1), u = s·inv; +0, by select, where ds is ±0
	Softcap func(ds, s []float32, ld, n, lanes int, inv float32)
}
