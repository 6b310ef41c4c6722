package norm

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

const (
	residualArg = "Options.Residual"
	sumArg      = "Options.Sum"
)

// checkTensors reports a tensor that is not valid or not like x.
func (c *call) checkTensors() *check.Failure {
	names := [...]string{"x", "out", residualArg, sumArg}
	for i, t := range [...]*view.Tensor{&c.x, &c.out, &c.residual, &c.sum} {
		if i > 1 && !t.IsSet() {
			continue
		}
		if f := c.checkTensor(names[i], t); f != nil {
			return f
		}
	}
	if c.sum.IsSet() && !c.residual.IsSet() {
		return &check.Failure{Where: sumArg, Got: c.sum.Describe(), Want: "no tensor, as there is no " + residualArg}
	}
	for i, t := range [...]*view.Tensor{&c.out, &c.sum} {
		if t.IsSet() {
			if f := t.CheckDistinct([...]string{"out", sumArg}[i]); f != nil {
				return f
			}
		}
	}
	return nil
}

// checkTensor reports a tensor that is not valid by itself, or not of x's shape.
func (c *call) checkTensor(name string, t *view.Tensor) *check.Failure {
	if f := t.Check(name); f != nil {
		return f
	}
	if t.DType() != view.Float32 || t.IsPaged() {
		return &check.Failure{Where: name, Got: t.Describe(), Want: "float32, not paged"}
	}
	if t.Shape() != c.x.Shape() {
		return &check.Failure{Where: name, Got: t.Describe(), Want: fmt.Sprintf("shape %v, that of x", c.x.Shape())}
	}
	return t.CheckLengths(name, &c.x, "x")
}

// checkNumbers reports a weight, bias or eps that does not fit.
func (c *call) checkNumbers() *check.Failure {
	d := c.x.Dim(3)
	for i, s := range [...][]float32{c.weight, c.bias} {
		if s != nil && len(s) != d {
			return &check.Failure{Where: [...]string{"weight", "bias"}[i], Got: fmt.Sprintf("%d numbers", len(s)), Want: fmt.Sprintf("%d, one for each element of a row of x, or nil", d)}
		}
	}
	if !(c.eps >= 0 && c.eps <= math.MaxFloat32) {
		return &check.Failure{Where: "eps", Got: fmt.Sprint(c.eps), Want: "0 or more, finite"}
	}
	return nil
}

// checkMemory reports an output that overlaps the weight, the bias or the other output, or that
// overlaps x or the residual without being the same rows.
func (c *call) checkMemory() *check.Failure {
	overlaps := func(arg, with, or string) *check.Failure {
		return &check.Failure{Where: arg, Got: "memory that overlaps " + with, Want: "memory of its own" + or}
	}
	for i, t := range [...]*view.Tensor{&c.out, &c.sum} {
		arg, m := [...]string{"out", sumArg}[i], t.Memory()
		for k, in := range [...]*view.Tensor{&c.x, &c.residual} {
			if m.Overlaps(in.Memory()) && !t.IsSame(in) {
				return overlaps(arg, [...]string{"x", residualArg}[k], ", or the same rows")
			}
		}
		for k, s := range [...][]float32{c.weight, c.bias} {
			if m.Overlaps(view.MemoryOf(s)) {
				return overlaps(arg, [...]string{"weight", "bias"}[k], "")
			}
		}
	}
	if c.out.Memory().Overlaps(c.sum.Memory()) {
		return overlaps(sumArg, "out", ", or that of x or "+residualArg)
	}
	return nil
}

// announce announces to the race detector what the call reads and writes.
func (c *call) announce() {
	for b := range c.x.Dim(0) {
		n := c.x.Length(b)
		c.x.AnnounceRows(view.Read, b, 0, n)
		if c.residual.IsSet() {
			c.residual.AnnounceRows(view.Read, b, 0, n)
		}
		if c.sum.IsSet() {
			c.sum.AnnounceRows(view.Write, b, 0, n)
		}
		c.out.AnnounceRows(view.Write, b, 0, n)
	}
	view.Announce(view.Read, c.weight)
	view.Announce(view.Read, c.bias)
}
