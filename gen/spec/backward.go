package spec

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
