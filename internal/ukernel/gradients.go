package ukernel

// Gradients are the micro-kernels of backward passes. The first three work on the lanes of a query
// tile as LaneKernels do, the others on rows.
type Gradients struct {
	// BackwardWeights turns n rows of scores into weights that are not yet
	// normalised, in place, and adds them up, and their products with their gradients dp:
	//
	//	p         = exp2(min(s - lse[lane], 0)); +0, by select, where s is -Inf
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

	// AdditiveBackward adds what n keys contribute to the gradients of the additive scores of a
	// query, given those of the scores x, for e < len(q), any number, and j < n ascending:
	//
	//	t = tanh(q[e] + k[j·ldk+e]), u = (1 - t)·(1 + t)
	//	dw[e]       = fma(x[j], t, dw[e])
	//	dq[e]       = fma(x[j], u, dq[e])
	//	dk[j·ldd+e] = dk[j·ldd+e] + x[j]·u
	AdditiveBackward func(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32)

	// AddWeighted adds weighted rows, for j < n and e < len(weights), any number. The product is
	// rounded, and a NaN becomes 0x7FC00000:
	//
	//	dst[j·ldd+e] = dst[j·ldd+e] + src[j·lds+e]·weights[e]
	AddWeighted func(dst []float32, ldd int, src []float32, lds, n int, weights []float32)
}
