package layer

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A side is the queries or the keys of a backward pass, with the projection that comes before
// another similarity.
type side struct {
	x, dx      kernel.Tensor
	layer      *linear.Linear // nil for none
	parameters Parameters
	weight     []float32

	dense                 kernel.Tensor // x, contiguous
	projected, dProjected kernel.Tensor // x and dx where there is no projection
}

// sizes are the sizes of the memory that the side takes if it is projected to rows of so many
// numbers.
func (c *side) sizes(outputs int) [4]int {
	shape := c.x.Shape()
	rows := product(shape[:3]...)
	n, m := product(rows, shape[3]), product(rows, outputs)
	return [...]int{n, m, m, n}
}

// project projects the rows, and makes room for the gradients of their projections if they are
// wanted.
func (c *side) project(s *scratch, accumulate bool, exec kernel.Exec) error {
	if c.layer == nil {
		c.projected, c.dProjected = c.x, c.dx
		return nil
	}
	outputs, _ := c.layer.Shape()
	c.dense, c.projected = s.dense(&c.x), s.denseLike(&c.x, outputs)
	if viewOf(&c.dx).IsSet() || c.parameters.wanted() {
		c.dProjected = s.gradientLike(&c.x, outputs, accumulate)
	}
	return c.layer.Project(c.projected, c.dense, linear.Options{Exec: exec})
}

// backward goes back through the projection with these weights, [outputs, inputs].
func (c *side) backward(s *scratch, weight linear.Matrix, accumulate bool, exec kernel.Exec) error {
	if c.layer == nil || !viewOf(&c.dProjected).IsSet() {
		return nil
	}
	var dx kernel.Tensor
	var to *linear.Matrix
	if viewOf(&c.dx).IsSet() {
		dx = s.denseLike(&c.x, c.x.Shape()[3])
		m := denseMatrix(&dx)
		to = &m
	}
	err := c.parameters.backward(to, denseMatrix(&c.dProjected), denseMatrix(&c.dense), weight, c.layer, false, accumulate, exec)
	if err == nil && viewOf(&c.dx).IsSet() {
		put(&c.dx, &dx, accumulate)
	}
	return err
}
