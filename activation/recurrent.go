package activation

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
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
// The rows lie without gaps. size is at least 1. state and gates share no memory with each other or
// with in and hidden. An error is a [*kernel.ArgumentError] or, if ATTN_TIER names a tier that
// cannot run, a [*kernel.TierError], and leaves state and gates untouched.
func GRU(state, gates, in, hidden []float32, size int) error {
	if f := cmp.Or(
		checkSize("state", state, size), checkParts("gates", gates, "state", state),
		checkParts("in", in, "state", state), checkParts("hidden", hidden, "state", state),
		checkOutputs([]named{{"state", state}, {"gates", gates}}, []named{{"in", in}, {"hidden", hidden}}),
	); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	t, unavailable := tier.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	announce(view.Read, in, hidden)
	announce(view.Write, state, gates)
	for at := 0; at < len(state); at += size {
		t.Activations().GRU(state[at:at+size], gates[3*at:3*(at+size)], in[3*at:3*(at+size)], hidden[3*at:3*(at+size)])
	}
	return nil
}

// GRUBackward computes the gradients of [GRU] for rows of size elements from d, the gradient of the
// next states, and from what GRU was given and wrote:
//
//	dc = (d·(1 - z))·((1 - c)·(1 + c))        dIn     = dr, dz, dc
//	dz = (d·(before - c))·((1 - z)·z)         dHidden = dr, dz, dc·r
//	dr = (dc·hidden_c)·((1 - r)·r)            d       = d·z
//
//	d        [rows, size]     read, and replaced by the gradient of the states before, as far as it
//	                          does not go through hidden: dHidden·W_hidden is still to be added
//	dIn      [rows, 3·size]   receives the gradient of in
//	dHidden  [rows, 3·size]   receives the gradient of hidden
//	gates    [rows, 3·size]   as GRU wrote them
//	hidden   [rows, 3·size]   as GRU had it
//	before   [rows, size]     the states before
//
// Each operation is rounded. d, dIn and dHidden share no memory with each other or with another
// slice. An error is a [*kernel.ArgumentError] or a [*kernel.TierError] as with GRU, and leaves them
// untouched.
func GRUBackward(d, dIn, dHidden, gates, hidden, before []float32, size int) error {
	if f := cmp.Or(
		checkSize("d", d, size), checkParts("dIn", dIn, "d", d), checkParts("dHidden", dHidden, "d", d),
		checkParts("gates", gates, "d", d), checkParts("hidden", hidden, "d", d), elementwise.CheckLength("before", before, "d", d),
		checkOutputs([]named{{"d", d}, {"dIn", dIn}, {"dHidden", dHidden}}, []named{{"gates", gates}, {"hidden", hidden}, {"before", before}}),
	); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	t, unavailable := tier.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	announce(view.Read, gates, hidden, before)
	announce(view.Write, d, dIn, dHidden)
	for at := 0; at < len(d); at += size {
		lo, hi := 3*at, 3*(at+size)
		t.Activations().GRUBackward(d[at:at+size], dIn[lo:hi], dHidden[lo:hi], gates[lo:hi], hidden[lo:hi], before[at:at+size])
	}
	return nil
}

// checkSize reports rows that are not of size elements each.
func checkSize(arg string, x []float32, size int) *check.Failure {
	switch {
	case size < 1:
		return &check.Failure{Arg: "size", Got: fmt.Sprint(size), Want: "at least 1"}
	case len(x)%size != 0:
		return &check.Failure{Arg: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("a multiple of size, %d", size)}
	}
	return nil
}

// checkParts reports a slice that does not have three elements for each of another one.
func checkParts(arg string, x []float32, other string, y []float32) *check.Failure {
	if len(x)%3 == 0 && len(x)/3 == len(y) {
		return nil
	}
	return &check.Failure{Arg: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("three times that of %s, %d", other, len(y))}
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
