//go:build (amd64 || arm64) && !purego

package kernel

import "github.com/attn-go/attn/asm"

// The tiles in assembly have the types of panelKernels' fields.
type (
	tileFunc     = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)
	tileMaxFunc  = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32)
	tileFoldFunc = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32)
)

// pause is for loops that wait for another thread.
func pause() { asm.Pause() }
