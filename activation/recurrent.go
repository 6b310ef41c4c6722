package activation

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// GRU computes what follows the two linear layers of a gated recurrent unit, for any number of rows:
//
//	r     = sigmoid(in_r + hidden_r)         the reset gate
//	z     = sigmoid(in_z + hidden_z)         the update gate
//	c     = tanh(in_c + r·hidden_c)          the candidate
//	state = c + (state - c)·z                the next state
//
//	state   [rows, size]     read, and replaced by the next state
//	gates   [rows, 3·size]   receives r, z and c, which GRUBackward needs
//	in      [rows, 3·size]   W_in·x + b_in: in_r, in_z and in_c of a row follow each other
//	hidden  [rows, 3·size]   W_hidden·state + b_hidden, in the same way
//
// That is torch.nn.GRU. Each operation is rounded; sigmoid(x) is 1/(1+e) with e =
// exp2(-|x|·log2 e), and e/(1+e) for negative x; exp2 and tanh are those of package numeric.
//
// The rows lie without gaps. size is at least 1. state and gates share no memory with
// each other or with in and hidden. An error is a [*kernel.Error] and leaves state and
// gates untouched.
func GRU(state, gates, in, hidden []float32, size int, exec kernel.Exec) error {
	if f := cmp.Or(
		checkSize("state", state, size), checkParts("gates", gates, "state", state),
		checkParts("in", in, "state", state), checkParts("hidden", hidden, "state", state),
		checkOutputs([]named{{"state", state}, {"gates", gates}}, []named{{"in", in}, {"hidden", hidden}}),
	); f != nil {
		return (*kernel.Error)(f.In("activation.GRU"))
	}
	return gru.Run(&exec, elementwise.Call{Rows: len(state) / size, Slices: [6][]float32{state, gates, in, hidden}})
}

// GRUBackward computes the gradients of [GRU] for rows of size elements from dstate, the gradient of the
// next states, and from what GRU was given and wrote:
//
//	dc = (dstate·(1 - z))·((1 - c)·(1 + c))      din     = dr, dz, dc
//	dz = (dstate·(before - c))·((1 - z)·z)       dhidden = dr, dz, dc·r
//	dr = (dc·hidden_c)·((1 - r)·r)               dstate  = dstate·z
//
//	dstate   [rows, size]     read, and replaced by the gradient of the states before, as far as it
//	                          does not go through hidden: dhidden·W_hidden is still to be added
//	din      [rows, 3·size]   receives the gradient of in
//	dhidden  [rows, 3·size]   receives the gradient of hidden
//	gates    [rows, 3·size]   as GRU wrote them
//	hidden   [rows, 3·size]   as GRU had it
//	before   [rows, size]     the states before
//
// Each operation is rounded. dstate, din and dhidden share no memory with each other or with another
// slice. An error is a [*kernel.Error] as with GRU, and leaves them
// untouched.
func GRUBackward(dstate, din, dhidden, gates, hidden, before []float32, size int, exec kernel.Exec) error {
	if f := cmp.Or(
		checkSize("dstate", dstate, size), checkParts("din", din, "dstate", dstate), checkParts("dhidden", dhidden, "dstate", dstate),
		checkParts("gates", gates, "dstate", dstate), checkParts("hidden", hidden, "dstate", dstate), elementwise.CheckLength("before", before, "dstate", dstate),
		checkOutputs([]named{{"dstate", dstate}, {"din", din}, {"dhidden", dhidden}}, []named{{"gates", gates}, {"hidden", hidden}, {"before", before}}),
	); f != nil {
		return (*kernel.Error)(f.In("activation.GRUBackward"))
	}
	return gruBackward.Run(&exec, elementwise.Call{Rows: len(dstate) / size, Slices: [6][]float32{dstate, din, dhidden, gates, hidden, before}})
}

var (
	gru = elementwise.Function{Name: "activation.GRU", Outputs: 2, ElementFMAs: gruFMAs, Do: func(c *elementwise.Call) {
		a := c.Tier.Activations()
		for r := range c.Rows {
			a.GRU(c.Row(0, r), c.Row(1, r), c.Row(2, r), c.Row(3, r))
		}
	}}
	gruBackward = elementwise.Function{Name: "activation.GRUBackward", Outputs: 3, ElementFMAs: gruBackwardFMAs, Do: func(c *elementwise.Call) {
		a := c.Tier.Activations()
		for r := range c.Rows {
			a.GRUBackward(c.Row(0, r), c.Row(1, r), c.Row(2, r), c.Row(3, r), c.Row(4, r), c.Row(5, r))
		}
	}}
)

// checkSize reports rows that are not of size elements each.
func checkSize(arg string, x []float32, size int) *check.Failure {
	switch {
	case size < 1:
		return &check.Failure{Where: "size", Got: fmt.Sprint(size), Want: "at least 1"}
	case len(x)%size != 0:
		return &check.Failure{Where: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("a multiple of size, %d", size)}
	}
	return nil
}

// checkParts reports a slice that does not have three elements for each of another one.
func checkParts(arg string, x []float32, other string, y []float32) *check.Failure {
	if len(x)%3 == 0 && len(x)/3 == len(y) {
		return nil
	}
	return &check.Failure{Where: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("three times that of %s, %d", other, len(y))}
}

// A named is a slice with the name of its argument.
type named struct {
	arg string
	x   []float32
}

// checkOutputs reports an output that overlaps another one, or an input.
func checkOutputs(outputs, inputs []named) *check.Failure {
	for i, o := range outputs {
		for _, other := range outputs[:i] {
			if f := elementwise.CheckApart(o.arg, o.x, other.arg, other.x); f != nil {
				return f
			}
		}
		for _, in := range inputs {
			if f := elementwise.CheckApart(o.arg, o.x, in.arg, in.x); f != nil {
				return f
			}
		}
	}
	return nil
}
