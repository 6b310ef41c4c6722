package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// General is q·W·k (Luong, Pham, Manning). The size of the queries may differ from that
// of the keys. One W serves all heads.
type General struct {
	Query *linear.Linear // of the queries: W, transposed; see NewGeneral
}

// NewGeneral returns the similarity with the matrix w, [size of queries, size of keys].
func NewGeneral(w linear.Matrix) (General, error) {
	l, err := linear.New(w.T(), nil)
	return General{l}, err
}

// Attend implements [Similarity].
func (g General) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	if g.Query == nil {
		return &kernel.ArgumentError{Arg: "General.Query", Got: "nil", Want: "a layer"}
	}
	n, err := projectedFloats("q", &q, g.Query)
	if err != nil {
		return err
	}
	s := borrow(n)
	defer s.giveBack()
	projected, err := s.project(&q, g.Query, &opts)
	if err != nil {
		return err
	}
	if opts.Scale == 0 {
		opts.Scale = 1
	}
	return kernel.Attention(out, projected, k, v, opts)
}

// projectedFloats checks the argument of a projection and returns the size of its
// result.
func projectedFloats(arg string, x *kernel.Tensor, l *linear.Linear) (int, error) {
	if err := checkFloats(arg, x); err != nil {
		return 0, err
	}
	outputs, inputs := l.Shape()
	shape := x.Shape()
	if shape[3] != inputs {
		return 0, fault(arg, x, fmt.Sprintf("rows of %d, the inputs of its projection", inputs))
	}
	shape[3] = outputs
	n := elements(shape[:]...)
	if n > maxScratch {
		return 0, fault(arg, x, "fewer rows, as they are projected")
	}
	return n, nil
}

// project returns the rows of x, as projectedFloats has checked it, after a layer; heads
// and tokens lie in the order that they have in x.
func (s *scratch) project(x *kernel.Tensor, l *linear.Linear, opts *kernel.Options) (kernel.Tensor, error) {
	if opts.Threads < 0 {
		return *x, &kernel.ArgumentError{Arg: "Options.Threads", Got: fmt.Sprint(opts.Threads), Want: "at least 1, or 0 for all"}
	}
	outputs, _ := l.Shape()
	shape, strides := x.Shape(), x.Strides()
	shape[3] = outputs
	data := s.take(shape[0] * shape[1] * shape[2] * shape[3])
	y := kernel.BHLD(data, shape[0], shape[1], shape[2], shape[3])
	if strides[1] < strides[2] {
		y = kernel.BLHD(data, shape[0], shape[2], shape[1], shape[3])
	}
	return y, l.Project(y, *x, linear.Options{Exec: opts.Exec})
}
