package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// checkProjection reports a tensor, argument arg, that the layer called name cannot
// project. It returns the number of floats of the projection.
func checkProjection(arg string, x *kernel.Tensor, name string, l *linear.Linear) (int, error) {
	if err := checkFloats(arg, x); err != nil {
		return 0, err
	}
	outputs, inputs := l.Shape()
	if outputs == 0 {
		return 0, &kernel.ArgumentError{Arg: name, Got: "no outputs", Want: "at least 1"}
	}
	shape := x.Shape()
	if shape[3] != inputs {
		return 0, tensorError(arg, x, fmt.Sprintf("D = %d, the number of inputs of %s", inputs, name))
	}
	shape[3] = outputs
	return product(shape[:]...), nil
}

// projectionMemoryError reports a tensor whose projection does not fit memory.
func projectionMemoryError(arg string, x *kernel.Tensor) error {
	return tensorError(arg, x, "fewer rows: memory for their projections")
}

// project returns l(x) for the rows of x, which checkProjection has accepted. Heads and
// tokens of the result lie in the same order as in x, so that a view [B, L, H, D] is
// projected in one piece.
func (s *scratch) project(x *kernel.Tensor, l *linear.Linear, opts *kernel.Options) (kernel.Tensor, error) {
	outputs, _ := l.Shape()
	shape, strides := x.Shape(), x.Strides()
	shape[3] = outputs
	data := s.takeFloats(shape[0] * shape[1] * shape[2] * shape[3])
	y := kernel.BHLD(data, shape[0], shape[1], shape[2], shape[3])
	if strides[1] < strides[2] {
		y = kernel.BLHD(data, shape[0], shape[2], shape[1], shape[3])
	}
	return y, l.Project(y, *x, linear.Options{Exec: opts.Exec})
}
