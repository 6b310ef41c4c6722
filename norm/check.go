package norm

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

const (
	residualArg = "Options.Residual"
	sumArg      = "Options.Sum"
)

// check reports the first argument that does not fit.
func (c *call) check(threads int) *check.Failure {
	if f := c.x.CheckFloats("x"); f != nil {
		return f
	}
	if f := checkOutput("out", &c.out, &c.x); f != nil {
		return f
	}
	if c.residual.IsSet() {
		if f := c.residual.CheckLike(residualArg, &c.x, "x", c.x.Dim(3)); f != nil {
			return f
		}
	}
	if c.sum.IsSet() {
		if !c.residual.IsSet() {
			return &check.Failure{Where: sumArg, Got: c.sum.Describe(), Want: "no tensor, as there is no " + residualArg}
		}
		if f := checkOutput(sumArg, &c.sum, &c.x); f != nil {
			return f
		}
	}
	d, inputs := c.x.Dim(3), []string{"x", residualArg}
	return cmp.Or(
		checkNumbers("weight", c.weight, d), checkNumbers("bias", c.bias, d), checkEps(c.eps),
		c.out.CheckBeside("out", inputs, &c.x, &c.residual), c.sum.CheckBeside(sumArg, inputs, &c.x, &c.residual),
		view.CheckApart(2, []string{sumArg, "out", "weight", "bias"}, c.sum.Memory(), c.out.Memory(), view.MemoryOf(c.weight), view.MemoryOf(c.bias)),
		check.Threads("Options.Threads", threads),
	)
}

// checkOutput reports an output that is not like x, or two of whose elements share an address.
func checkOutput(arg string, t, x *view.Tensor) *check.Failure {
	return cmp.Or(t.CheckLike(arg, x, "x", x.Dim(3)), t.CheckDistinct(arg))
}

// checkNumbers reports numbers for the elements of a row, if there are some, of another length than d.
func checkNumbers(arg string, s []float32, d int) *check.Failure {
	if s != nil && len(s) != d {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d numbers", len(s)), Want: fmt.Sprintf("%d, one for each element of a row of x, or nil", d)}
	}
	return nil
}

func checkEps(eps float32) *check.Failure {
	if !(eps >= 0 && eps <= math.MaxFloat32) {
		return &check.Failure{Where: "eps", Got: fmt.Sprint(eps), Want: "0 or more, finite"}
	}
	return nil
}

// announce announces to the race detector what the call reads and writes.
func (c *call) announce() {
	c.x.AnnounceAll(view.Read)
	c.residual.AnnounceAll(view.Read)
	c.sum.AnnounceAll(view.Write)
	c.out.AnnounceAll(view.Write)
	view.Announce(view.Read, c.weight)
	view.Announce(view.Read, c.bias)
}
