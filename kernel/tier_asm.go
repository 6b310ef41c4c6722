//go:build (amd64 || arm64) && !purego

package kernel

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// What the entries of the tiers in assembly have in common.

type (
	tileFunc     = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)
	tileMaxFunc  = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32)
	tileFoldFunc = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32)
)

// lacking returns a function that names those of the features that this CPU,
// or its operating system, lacks.
func lacking(features ...cpuid.FeatureID) func() string {
	var missing []string
	for _, f := range features {
		if !cpuid.CPU.Supports(f) {
			missing = append(missing, f.String())
		}
	}
	reason := ""
	if missing != nil {
		reason = "the CPU lacks " + strings.Join(missing, ", ")
	}
	return func() string { return reason }
}
