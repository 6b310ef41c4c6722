package embedding

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/norm"
)

// Words are the weights of a head that predicts words, as BertForMaskedLM has it, of which SPLADE
// makes weights of words: norm(activation(dense(state))) times the rows of a table gives each word
// a logit.
type Words struct {
	Dense, DenseBias []float32                                 // [width, width]
	Activation       func(x []float32, exec kernel.Exec) error // in place
	Weight, NormBias []float32                                 // of LayerNorm
	Epsilon          float32
	Table            linear.Matrix // [vocabulary, width]
	Bias             []float32     // of logits
}

// A wordHead gives a word the weight ln(1 + max(0, x)), with x the largest of its logits over the
// tokens of a text.
type wordHead struct {
	*Words
	dense dense
	table *linear.Linear
}

// NewWordHead returns the head of a model that predicts words. The error comes from [linear.New].
func NewWordHead(w *Words) (*SparseHead, error) {
	n := len(w.Weight)
	l, err := linear.New(linear.DenseMatrix(w.Dense, n, n), w.DenseBias, kernel.Exec{})
	if err != nil {
		return nil, err
	}
	table, err := linear.New(w.Table, nil, kernel.Exec{})
	return &SparseHead{words: &wordHead{w, dense{linear: l, width: n, activation: activations.Function{After: w.Activation}}, table}}, err
}

// mostRows is how many tokens have logits at once.
const mostRows = 32

// weights returns the positive weights of a text of so many tokens. The bias is added once the
// largest product is known, which changes no bit: rounding keeps the order of numbers.
func (h *wordHead) weights(states []float32, rows int, exec kernel.Exec) (s Sparse, err error) {
	width, words := len(h.Weight), len(h.Bias)
	x, err := h.dense.rows(states, rows, exec)
	if err != nil {
		return s, err
	}
	view := kernel.BHLD(x, 1, 1, rows, width)
	if err := norm.LayerNorm(view, view, h.Weight, h.NormBias, h.Epsilon, norm.Options{Exec: exec}); err != nil {
		return s, err
	}
	logits, largest := make([]float32, min(rows, mostRows)*words), make([]float32, words)
	for at := 0; at < rows; at += mostRows {
		n := min(mostRows, rows-at)
		if err := product(h.table, logits[:n*words], x[at*width:][:n*width], n, linear.Options{Exec: exec}); err != nil {
			return s, err
		}
		for i := range n {
			row := logits[i*words:][:words]
			if at+i == 0 {
				copy(largest, row)
				continue
			}
			for j, y := range row {
				if y > largest[j] {
					largest[j] = y
				}
			}
		}
	}
	for id, y := range largest {
		if y += h.Bias[id]; y > 0 {
			s.Tokens = append(s.Tokens, int32(id))
			s.Weights = append(s.Weights, float32(powers.Log(1+float64(y))))
		}
	}
	return s, nil
}
