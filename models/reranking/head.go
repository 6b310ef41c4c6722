package reranking

import (
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
)

// A Head makes scores of the states of a pair: out(norm(activation(dense(pooling)))). What is nil
// is left out. With Late it is out(pooling(norm(activation(dense(state))))).
type Head struct {
	Pooling    embedding.Pooling // First, Mean or Last
	Late       bool              // there is a Dense then
	Dense      *Matrix           // [width, width]
	Activation func(x []float32, exec kernel.Exec) error
	Norm       *Norm
	Out        Matrix   // [labels, width]
	Softcap    float32  // limits the outputs to ±Softcap, if not 0
	Labels     []string // the names of the outputs
	Default    int      // the label that is meant if none is named, or -1
	Identity   bool     // sentence-transformers prints a score as it is, see [Reranker.Predict]

	// Padding is a token that does not count at the end of a pair, or -1. The state of the last
	// token before it counts.
	Padding int32
}

// A Norm is a LayerNorm of a state. Its bias may be nil.
type Norm struct {
	Weight, Bias []float32
	Epsilon      float32
}

// A Matrix is a linear layer that is computed for one row of every pair, with sums of float64: a
// score is one number, whose error nothing averages. Weight is [outputs, inputs]. Without a Bias
// the sums begin with 0.
type Matrix struct {
	Weight, Bias []float32
}

// apply returns the outputs for one row, summed up in float64 from the bias and the first input on.
func (m *Matrix) apply(x []float64) []float64 {
	y := make([]float64, len(m.Weight)/len(x))
	for i := range y {
		sum := 0.0
		if m.Bias != nil {
			sum = float64(m.Bias[i])
		}
		for j, w := range m.Weight[i*len(x):][:len(x)] {
			sum += float64(float64(w) * x[j])
		}
		y[i] = sum
	}
	return y
}

// width is the width of a state.
func (h *Head) width() int { return len(h.Out.Weight) / len(h.Labels) }

// Logits returns the outputs for the states of a pair, [tokens, width].
func (h *Head) Logits(states []float32) ([]float64, error) {
	x, err := h.pooled(states)
	if err != nil {
		return nil, err
	}
	z := h.Out.apply(x)
	for i := range z {
		if c := h.Softcap; c != 0 {
			z[i] = float64(c * numeric.Tanh(float32(z[i])/c))
		}
	}
	return z, nil
}

// pooled returns what the last layer reads.
func (h *Head) pooled(states []float32) ([]float64, error) {
	x := make([]float64, h.width())
	if !h.Late {
		embedding.Pool(x, states, h.Pooling)
		if h.Dense == nil {
			return x, nil
		}
		return h.inner(x)
	}
	var all []float32
	for row := range slices.Chunk(states, len(x)) {
		for i, v := range row {
			x[i] = float64(v)
		}
		y, err := h.inner(x)
		if err != nil {
			return nil, err
		}
		all = append(all, narrow(y)...)
	}
	embedding.Pool(x, all, h.Pooling)
	return x, nil
}

// inner returns a vector behind Dense, Activation and Norm, rounded to float32.
func (h *Head) inner(x []float64) ([]float64, error) {
	one := kernel.Exec{Threads: 1}
	y := narrow(h.Dense.apply(x))
	if h.Activation != nil {
		if err := h.Activation(y, one); err != nil {
			return nil, err
		}
	}
	if n := h.Norm; n != nil {
		row := kernel.BLHD(y, 1, 1, 1, len(y))
		if err := norm.LayerNorm(row, row, n.Weight, n.Bias, n.Epsilon, norm.Options{Exec: one}); err != nil {
			return nil, err
		}
	}
	for i, v := range y {
		x[i] = float64(v)
	}
	return x, nil
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// withoutPadding leaves out the padding at the ends of pairs: in a decoder it changes no state
// before it. transformers likewise takes the state of the last token that is not padding, even if a
// text has the padding token in it.
func (h *Head) withoutPadding(ids [][]int32) [][]int32 {
	if h.Padding < 0 {
		return ids
	}
	cut := make([][]int32, len(ids))
	for i, pair := range ids {
		n := len(pair)
		for n > 1 && pair[n-1] == h.Padding {
			n--
		}
		cut[i] = pair[:n]
	}
	return cut
}

// logOdds returns the logarithm of p/(1-p), with p the share of a label in the softmax of all:
// z[label] less the logarithm of the sum of the exponentials of the others. Of one label it is z
// itself.
func logOdds(z []float64, label int) float32 {
	if len(z) == 1 {
		return float32(z[0])
	}
	most := math.Inf(-1)
	for i, x := range z {
		if i != label {
			most = max(most, x)
		}
	}
	sum := float32(0)
	for i, x := range z {
		if i != label {
			sum += numeric.Exp2(float32((x - most) * math.Log2E))
		}
	}
	return float32(z[label] - most - float64(float64(numeric.Log2(sum))*math.Ln2))
}

// Sigmoid returns 1/(1+e^-x) with the bits of the contract's exponential on every CPU, every
// operation rounded to float32.
func Sigmoid(x float32) float32 {
	const log2E = float32(math.Log2E)
	e := numeric.Exp2(-float32(max(x, -x) * log2E))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}
