package check

import (
	"math"

	"github.com/attn-go/attn/bench/internal/results"
)

// Row returns the result as it is written to files.
func (r *Result) Row() results.Check {
	return results.Check{Name: r.Problem.Name, Input: r.Problem.Describe(), Contract: r.Problem.SHA256, Hashes: r.Hashes,
		Error: r.Error.Row(), PyTorch: r.PyTorch.Row(), Failures: r.Failures}
}

// Row returns the error as it is written to files.
func (e *Error) Row() results.Error {
	return results.Error{Max: finite(e.Max), RMS: finite(e.RMS())}
}

// finite replaces infinity by the largest number.
func finite(x float64) float64 { return min(x, math.MaxFloat64) }
