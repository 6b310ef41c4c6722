package layer

import (
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/kernel"
)

// A Similarity scores how well a key matches a query. It is the part of attention in
// which papers differ. Masks, softmax and weighted sum are the same for all:
//
//   - [Dot]: q·k
//   - [ScaledDot]: q·k/√D
//   - [General]: q·W·k, with a learned matrix W
//   - [Additive]: V·tanh(Query(q) + Key(k)), a small network
//   - [Cosine]: q·k/(|q|·|k|)
//   - [Func]: any function of a query and a key
type Similarity interface {
	// Attend computes out = softmax(similarity(q, k), masked)·v. Shapes, options and
	// errors are those of [kernel.Attention]. Options.Scale multiplies the similarity.
	// Its default, 0, stands for the formula of the similarity as it is: 1, but 1/√D for ScaledDot. -0 is 0.
	// nil stands for the zero Options. What opts points to moves to the heap when Attend is called by an interface:
	// a program that must not allocate keeps its Options.
	Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error
}

// valueOf returns what p points to, or the zero value for nil.
func valueOf[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

// qkv are the names of the inputs of the method Attend.
var qkv = [...]string{"q", "k", "v"}

// Dot is the dot product q·k (Luong, Pham, Manning: "Effective Approaches to
// Attention-based Neural Machine Translation").
type Dot struct{}

// Attend implements [Similarity].
func (Dot) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	o := valueOf(opts)
	o.Scale = scoring.ScaleOr(o.Scale, 1)
	return kernel.Attention(out, q, k, v, &o)
}

// ScaledDot is the scaled dot product q·k/√D, or q·k·Options.Scale (Vaswani et al.:
// "Attention Is All You Need"). Its Attend is [kernel.Attention].
//
// If the numbers of q and k are independent, with mean 0 and variance 1, then q·k has
// variance D and q·k/√D has variance 1. So the softmax does not saturate for large D.
type ScaledDot struct{}

// Attend implements [Similarity].
func (ScaledDot) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	return kernel.Attention(out, q, k, v, opts)
}
