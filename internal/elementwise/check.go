// Package elementwise runs micro-kernels over slices of float32, for the public functions over
// slices.
package elementwise

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

// CheckLength reports a slice x that is not as long as the other one.
func CheckLength(name string, x []float32, other string, y []float32) *check.Failure {
	if len(x) == len(y) {
		return nil
	}
	return &check.Failure{Where: name, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d, that of %s", len(y), other)}
}

// CheckPlace reports a dst that overlaps x, unless it is x.
func CheckPlace(dst []float32, name string, x []float32) *check.Failure {
	return CheckOutput("dst", dst, name, x)
}

// CheckOutput is CheckPlace for an output called arg.
func CheckOutput(arg string, dst []float32, name string, x []float32) *check.Failure {
	if d, m := view.MemoryOf(dst), view.MemoryOf(x); d == m || !d.Overlaps(m) {
		return nil
	}
	return &check.Failure{Where: arg, Got: "memory that overlaps a part of " + name, Want: name + " itself, or memory of its own"}
}

// CheckApart reports an output x that overlaps another one.
func CheckApart(arg string, x []float32, other string, y []float32) *check.Failure {
	if !view.MemoryOf(x).Overlaps(view.MemoryOf(y)) {
		return nil
	}
	return &check.Failure{Where: arg, Got: "memory that overlaps " + other, Want: "memory of its own"}
}
