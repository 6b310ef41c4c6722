package spec

// The element-wise kernels of the backward pass of attention.
var (
	BackwardWeights = Function{LaneTable, "BackwardWeights", "(s, dp []float32, ld, n int, lse, sum, dot []float32)",
		"turns n rows of scores, len(lse) lanes wide, into weights p = exp2(s - lse), in place, and writes their sums, and those of p·dp."}
	BackwardScores = Function{LaneTable, "BackwardScores", "(p, dp []float32, ld, n int, inv, mean []float32)",
		"multiplies n rows of weights, len(inv) lanes wide, by inv, and turns their gradients into p·(dp - mean), both in place."}
	BackwardSoftcap = Function{LaneTable, "BackwardSoftcap", "(ds, s []float32, ld, n, lanes int, inv float32)",
		"multiplies n rows of gradients by 1 - (s·inv)²."}
)

// A BackwardEmitter emits the element-wise kernels of the backward pass.
type BackwardEmitter interface {
	BackwardWeights()
	BackwardScores()
	BackwardSoftcap()
}

func emitBackward(e BackwardEmitter) {
	e.BackwardWeights()
	e.BackwardScores()
	e.BackwardSoftcap()
}
