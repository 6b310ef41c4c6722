package activation

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// GRU computes what follows the two linear layers of a gated recurrent unit, for any number of
// rows:
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
// That is torch.nn.GRU. Each operation is rounded; sigmoid(x) is 1/(1+e) with e = exp2(-|x|·log2
// e), and e/(1+e) for negative x; exp2 and tanh are [numeric.Exp2] and [numeric.Tanh].
//
// The rows lie without gaps. size is at least 1. state and gates share no memory with
// each other or with in and hidden. An error is a [*kernel.Error] and leaves state and
// gates untouched.
func GRU(state, gates, in, hidden []float32, size int, exec kernel.Exec) error {
	return gru.Run(&exec, &elementwise.Call{Size: size, Slices: [6][]float32{state, gates, in, hidden}})
}

// GRUBackward computes the gradients of [GRU] for rows of size elements from dstate, the gradient
// of the next states, and from what GRU was given and wrote:
//
//	dc = (dstate·(1 - z))·((1 - c)·(1 + c))      din     = dr, dz, dc
//	dz = (dstate·(before - c))·((1 - z)·z)       dhidden = dr, dz, dc·r
//	dr = (dc·hidden_c)·((1 - r)·r)               dstate  = dstate·z
//
//	dstate   [rows, size]     read, and replaced by the gradient of the states before without the
//	                          part through hidden: add dhidden·W_hidden
//	din      [rows, 3·size]   receives the gradient of in
//	dhidden  [rows, 3·size]   receives the gradient of hidden
//	gates    [rows, 3·size]   as GRU wrote them
//	hidden   [rows, 3·size]   as GRU had it
//	before   [rows, size]     the states before
//
// Each operation is rounded. dstate, din and dhidden share no memory with each other or with
// another slice. An error is a [*kernel.Error] as with GRU, and leaves them
// untouched.
func GRUBackward(dstate, din, dhidden, gates, hidden, before []float32, size int, exec kernel.Exec) error {
	return gruBackward.Run(&exec, &elementwise.Call{Size: size, Slices: [6][]float32{dstate, din, dhidden, gates, hidden, before}})
}

var (
	gru = elementwise.Function{
		Name: "activation.GRU", Args: []string{"state", "gates", "in", "hidden"}, Outputs: 2, Times: [6]int{1: 3, 3, 3},
		Apart: true, Size: "size", ElementFMAs: gruFMAs,
		Do: func(c *elementwise.Call) {
			a := c.Tier.Activations()
			for r := range c.Rows {
				a.GRU(c.Row(0, r), c.Row(1, r), c.Row(2, r), c.Row(3, r))
			}
		},
	}
	gruBackward = elementwise.Function{
		Name: "activation.GRUBackward", Args: []string{"dstate", "din", "dhidden", "gates", "hidden", "before"}, Outputs: 3, Times: [6]int{1: 3, 3, 3, 3},
		Apart: true, Size: "size", ElementFMAs: gruBackwardFMAs,
		Do: func(c *elementwise.Call) {
			a := c.Tier.Activations()
			for r := range c.Rows {
				a.GRUBackward(c.Row(0, r), c.Row(1, r), c.Row(2, r), c.Row(3, r), c.Row(4, r), c.Row(5, r))
			}
		},
	}
)
