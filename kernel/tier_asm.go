//go:build (amd64 || arm64) && !purego

package kernel

// The tiles in assembly have the types of panelKernels' fields.
type (
	tileFunc     = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)
	tileMaxFunc  = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32)
	tileFoldFunc = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32)
)
