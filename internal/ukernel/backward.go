package ukernel

// BackwardKernels are the element-wise micro-kernels of the backward pass of attention.
// Like LaneKernels they work on the lanes of query tiles of any width that is a multiple of
// a vector's.
type BackwardKernels struct {
	// Weights turns n rows of scores, len(lse) lanes wide, into weights that are not yet
	// normalised, in place, and adds them up, and their products with their gradients dp:
	//
	//	p         = exp2(min(s - lse[lane], 0)); +0, by select, where s is -Inf
	//	sum[lane] = sum of p, j ascending, from +0
	//	dot[lane] = fma chain over j ascending, from +0: acc = fma(p, dp, acc)
	//
	// Where p is ±0, dp counts as +0, by select.
	Weights func(s, dp []float32, ld, n int, lse, sum, dot []float32)

	// Scores normalises n rows of weights, len(inv) lanes wide, and turns their gradients
	// into those of the scores, both in place:
	//
	//	p  = p·inv[lane]
	//	ds = p·(dp - mean[lane])
	//
	// Where the weight was ±0 both are +0, by select.
	Scores func(p, dp []float32, ld, n int, inv, mean []float32)

	// Softcap multiplies n rows of gradients by the derivative of the softcap, given the
	// scores after it:
	//
	//	ds = ds·fma(-u, u, 1), u = s·inv; +0, by select, where ds is ±0
	Softcap func(ds, s []float32, ld, n, lanes int, inv float32)
}
