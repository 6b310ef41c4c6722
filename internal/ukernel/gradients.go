package ukernel

// Gradients are the micro-kernels of the backward pass of attention that work on the lanes of a query
// tile, as LaneKernels do.
type Gradients struct {
	// BackwardWeights turns n rows of scores into weights that are not yet
	// normalised, in place, and adds them up, and their products with their gradients dp:
	//
	//	p         = weight(min(s - lse[lane], 0)); +0, by select, where s is -Inf
	//	sum[lane] = sum of p, j ascending, from +0
	//	dot[lane] = fma chain over j ascending, from +0: acc = fma(p, dp, acc)
	//
	// Where p is ±0, dp counts as +0, by select.
	BackwardWeights func(s, dp []float32, ld, n int, lse, sum, dot []float32)

	// BackwardScores normalises n rows of weights, and turns their gradients into those of the
	// scores, both in place:
	//
	//	p  = p·inv[lane]
	//	ds = p·(dp - mean[lane])
	//
	// Where the weight was ±0 both are +0, by select.
	BackwardScores func(p, dp []float32, ld, n int, inv, mean []float32)

	// BackwardSoftcap multiplies n rows of gradients, lanes wide, by the derivative of the
	// softcap, given the scores after it:
	//
	//	ds = ds·fma(-u, u, 1), u = s·inv; +0, by select, where ds is ±0
	BackwardSoftcap func(ds, s []float32, ld, n, lanes int, inv float32)
}
