package spec

// BackwardTable holds the element-wise kernels of the backward pass of attention.
var BackwardTable = Table{Field: "Backward", Type: "BackwardKernels", prefix: "Backward"}

var (
	BackwardDots = Function{BackwardTable, "BackwardDots", "(sum, x, y []float32, ld, n int)",
		"adds the products of n rows of x and y, len(sum) lanes wide, to the lanes of sum."}
	BackwardSoftmax = Function{BackwardTable, "BackwardSoftmax", "(s, dp []float32, ld, n int, lse, delta []float32)",
		"turns n rows of scores, len(lse) lanes wide, into weights p = exp2(s - lse), and their gradients into p·(dp - delta), both in place."}
	BackwardSoftcap = Function{BackwardTable, "BackwardSoftcap", "(ds, s []float32, ld, n, lanes int, inv float32)",
		"multiplies n rows of gradients by 1 - (s·inv)²."}
)

// A BackwardEmitter emits the element-wise kernels of the backward pass.
type BackwardEmitter interface {
	BackwardDots()
	BackwardSoftmax()
	BackwardSoftcap()
}

func emitBackward(e BackwardEmitter) {
	e.BackwardDots()
	e.BackwardSoftmax()
	e.BackwardSoftcap()
}
