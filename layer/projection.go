package layer

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// checkProjection reports a tensor, argument arg, that the layer called name cannot
// project. It returns the number of floats of the projection.
func checkProjection(arg string, x *kernel.Tensor, name string, l *linear.Linear) (int, *check.Failure) {
	if bad := viewOf(x).CheckFloats(arg); bad != nil {
		return 0, bad
	}
	outputs, inputs := l.Shape()
	if outputs == 0 {
		return 0, &check.Failure{Where: name, Got: "no outputs", Want: "at least 1"}
	}
	shape := x.Shape()
	if shape[3] != inputs {
		return 0, tensorFailure(arg, x, fmt.Sprintf("D = %d, the number of inputs of %s", inputs, name))
	}
	batch, rows := viewOf(x).AllRows()
	return product(batch, shape[1], rows, outputs), nil
}

// projectionMemoryFailure reports a tensor whose projection does not fit memory.
func projectionMemoryFailure(arg string, x *kernel.Tensor) *check.Failure {
	return memoryFailure(arg, x, "fewer rows: memory for their projections")
}

// project returns l(x) for the rows of x, which checkProjection has accepted: ragged if x is.
// Heads and tokens of the result lie in the same order as in x, so that a view [B, L, H, D]
// is projected in one piece.
func (s *scratch) project(x *kernel.Tensor, l *linear.Linear, exec kernel.Exec) (kernel.Tensor, error) {
	outputs, _ := l.Shape()
	heads, strides := x.Shape()[1], x.Strides()
	y := s.takeLike(x, heads, outputs, strides[1] < strides[2])
	return y, l.Project(y, *x, linear.Options{Exec: exec})
}

// takeLike takes memory for a tensor with the batch rows of x, and returns it as BHLD or BLHD.
func (s *scratch) takeLike(x *kernel.Tensor, heads, d int, tokenMajor bool) kernel.Tensor {
	batch, rows := viewOf(x).AllRows()
	data := s.takeFloats(batch * heads * rows * d)
	y := kernel.BHLD(data, batch, heads, rows, d)
	if tokenMajor {
		y = kernel.BLHD(data, batch, rows, heads, d)
	}
	return kernel.Tensor(view.Tensor(y).RaggedAs(viewOf(x)))
}
