package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// TorchWeights are the parameters of PyTorch's nn.MultiheadAttention with embed_dim E, as
// its state_dict has them: [outputs, inputs], contiguous. What its options add_bias_kv and
// add_zero_attn add is not supported.
type TorchWeights struct {
	InProjWeight []float32 // in_proj_weight [3·E, E]: that of queries, of keys, of values

	// Where keys or values have widths of their own, kdim or vdim, instead of it:
	QProjWeight []float32 // q_proj_weight [E, E]
	KProjWeight []float32 // k_proj_weight [E, kdim]
	VProjWeight []float32 // v_proj_weight [E, vdim]

	InProjBias []float32 // in_proj_bias [3·E], or nil

	OutProjWeight []float32 // out_proj.weight [E, E]
	OutProjBias   []float32 // out_proj.bias [E], or nil
}

// FromTorch returns the module that PyTorch has as nn.MultiheadAttention(embed, heads,
// batch_first=True). Its masks of bools hide where they are true: see [Hide] and
// [Padding]; those of floats are kernel.Options.Bias. Bad weights get an
// [*kernel.ArgumentError].
func FromTorch(embed, heads int, w TorchWeights) (*MultiHead, error) {
	if embed < 1 || heads < 1 || embed%heads != 0 {
		return nil, &kernel.ArgumentError{Arg: "heads", Got: fmt.Sprint(heads), Want: fmt.Sprintf("a divisor of embed, %d", embed)}
	}
	parts, err := w.split(embed)
	if err != nil {
		return nil, err
	}
	m := &MultiHead{Heads: heads}
	for i, l := range [...]**linear.Linear{&m.Q, &m.K, &m.V, &m.O} {
		p := &parts[i]
		if *l, err = linear.New(linear.DenseMatrix(p.weights, embed, len(p.weights)/embed), p.bias); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// A torchPart is what one projection has of the weights.
type torchPart struct{ weights, bias []float32 }

// split returns the parts of queries, keys, values and outputs.
func (w *TorchWeights) split(embed int) (parts [4]torchPart, err error) {
	parts = [4]torchPart{{weights: w.QProjWeight}, {weights: w.KProjWeight}, {weights: w.VProjWeight}, {w.OutProjWeight, w.OutProjBias}}
	names := [...]string{"QProjWeight", "KProjWeight", "VProjWeight", "OutProjWeight"}
	if w.InProjWeight != nil {
		n := elements(embed, embed)
		if err := checkTorch("InProjWeight", w.InProjWeight, elements(3, n)); err != nil {
			return parts, err
		}
		for i := range parts[:3] {
			if err := checkTorch(names[i], parts[i].weights, 0); err != nil {
				return parts, err
			}
			parts[i].weights = w.InProjWeight[i*n : (i+1)*n]
		}
	}
	for i, p := range &parts {
		n := elements(embed, embed)
		if i == 1 || i == 2 { // of any width
			n = elements(embed, max(1, len(p.weights)/embed))
		}
		if err := checkTorch(names[i], p.weights, n); err != nil {
			return parts, err
		}
	}
	if w.InProjBias != nil {
		if err := checkTorch("InProjBias", w.InProjBias, elements(3, embed)); err != nil {
			return parts, err
		}
		for i := range parts[:3] {
			parts[i].bias = w.InProjBias[i*embed : (i+1)*embed]
		}
	}
	if w.OutProjBias != nil {
		return parts, checkTorch("OutProjBias", w.OutProjBias, embed)
	}
	return parts, nil
}

// checkTorch reports weights that are not n numbers.
func checkTorch(name string, x []float32, n int) error {
	if len(x) != n {
		return &kernel.ArgumentError{Arg: "TorchWeights." + name, Got: fmt.Sprintf("%d numbers", len(x)), Want: fmt.Sprint(n)}
	}
	return nil
}
