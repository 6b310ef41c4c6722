package layer

import "github.com/attn-go/attn/kernel"

// A Similarity says how well a key matches a query. Everything else of attention is
// the same for all of them: masks, the softmax, the weighted sum of the values.
//
// [Dot], [ScaledDot], [General], [Additive] and [Cosine] are what papers use; [Func]
// makes one of any function.
type Similarity interface {
	// Attend is [kernel.Attention] with this similarity as the score: out =
	// softmax(similarity(q, k), masked)·v. All options mean what they mean
	// there, Weights, Scores and LSE too. Options.Scale multiplies the similarity; 0
	// is 1, but for ScaledDot.
	Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error
}

// Dot is the product of query and key, q·k (Luong, Pham, Manning: "Effective
// Approaches to Attention-based Neural Machine Translation").
type Dot struct{}

// Attend implements [Similarity].
func (Dot) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	if opts.Scale == 0 {
		opts.Scale = 1
	}
	return kernel.Attention(out, q, k, v, opts)
}

// ScaledDot is q·k/√D (Vaswani et al.: "Attention Is All You Need"), or
// q·k·Options.Scale: kernel.Attention itself.
type ScaledDot struct{}

// Attend implements [Similarity].
func (ScaledDot) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	return kernel.Attention(out, q, k, v, opts)
}
