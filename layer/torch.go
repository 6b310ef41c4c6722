package layer

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// TorchWeights are the parameters of PyTorch's nn.MultiheadAttention with embed_dim E, as
// they are in its state_dict: [outputs, inputs], contiguous. The weights of queries, keys
// and values are either all in InProjWeight, or each in a field of its own. PyTorch's
// options add_bias_kv and add_zero_attn are not supported.
type TorchWeights struct {
	InProjWeight []float32 // in_proj_weight [3·E, E]: of queries, keys and values

	// If keys or values have a width of their own (kdim, vdim), instead of InProjWeight:
	QProjWeight []float32 // q_proj_weight [E, E]
	KProjWeight []float32 // k_proj_weight [E, kdim]
	VProjWeight []float32 // v_proj_weight [E, vdim]

	InProjBias []float32 // in_proj_bias [3·E], or nil

	OutProjWeight []float32 // out_proj.weight [E, E]
	OutProjBias   []float32 // out_proj.bias [E], or nil
}

// FromTorch returns PyTorch's nn.MultiheadAttention(embed, heads, batch_first=True) with the
// weights w. Bad weights get a [*kernel.Error]. exec says how the call packs them, as in
// [linear.New].
//
// PyTorch's masks of bools hide where they are true: [PaddingMask] makes a key_padding_mask, and
// [HiddenMask] an attn_mask. PyTorch adds its masks of floats to the scores: they are
// kernel.Options.Bias.
func FromTorch(embed, heads int, w TorchWeights, exec kernel.Exec) (*MultiHead, error) {
	if embed < 1 {
		return nil, &kernel.Error{Where: "layer.FromTorch: embed", Got: fmt.Sprint(embed), Want: "at least 1"}
	}
	if heads < 1 || embed%heads != 0 {
		return nil, &kernel.Error{Where: "layer.FromTorch: heads", Got: fmt.Sprint(heads), Want: fmt.Sprintf("a divisor of embed = %d", embed)}
	}
	parts, bad := w.split(embed)
	if bad != nil {
		return nil, (*kernel.Error)(bad.In("layer.FromTorch"))
	}
	m := &MultiHead{Heads: heads}
	var err error
	for i, l := range [...]**linear.Linear{&m.Q, &m.K, &m.V, &m.O} {
		p := &parts[i]
		if *l, err = linear.New(linear.DenseMatrix(p.weights, embed, len(p.weights)/embed), p.bias, exec); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// A torchPart holds the parameters of one projection.
type torchPart struct{ weights, bias []float32 }

// split returns the parameters of the projections Q, K, V and O.
func (w *TorchWeights) split(embed int) (parts [4]torchPart, bad *check.Failure) {
	parts = [4]torchPart{{weights: w.QProjWeight}, {weights: w.KProjWeight}, {weights: w.VProjWeight}, {w.OutProjWeight, w.OutProjBias}}
	if bad := w.check(embed, &parts); bad != nil {
		return parts, bad
	}
	square := embed * embed
	for i := range parts[:3] {
		if w.InProjWeight != nil {
			parts[i].weights = w.InProjWeight[i*square : (i+1)*square]
		}
		if w.InProjBias != nil {
			parts[i].bias = w.InProjBias[i*embed : (i+1)*embed]
		}
	}
	return parts, nil
}

// check reports the first parameter of the wrong size. parts holds the parameters of separate
// fields.
func (w *TorchWeights) check(embed int, parts *[4]torchPart) *check.Failure {
	square := product(embed, embed)
	if bad := check.LengthOrNil("TorchWeights.InProjWeight", w.InProjWeight, product(3, square), "[3·E, E]"); bad != nil {
		return bad
	}
	for i, name := range [...]string{"QProjWeight", "KProjWeight", "VProjWeight"} {
		n := len(parts[i].weights)
		switch {
		case w.InProjWeight != nil:
			if n != 0 {
				return torchFailure(name, n, "none beside InProjWeight")
			}
		case i == 0 && n != square:
			return torchFailure(name, n, fmt.Sprintf("%d, [E, E], or InProjWeight instead", square))
		case n == 0 || n%embed != 0:
			return torchFailure(name, n, fmt.Sprintf("a multiple of E = %d", embed))
		}
	}
	return cmp.Or(
		check.LengthOrNil("TorchWeights.InProjBias", w.InProjBias, product(3, embed), "[3·E]"),
		check.Length("TorchWeights.OutProjWeight", len(w.OutProjWeight), square, "[E, E]"),
		check.LengthOrNil("TorchWeights.OutProjBias", w.OutProjBias, embed, "[E]"),
	)
}

func torchFailure(name string, n int, want string) *check.Failure {
	return &check.Failure{Where: "TorchWeights." + name, Got: fmt.Sprintf("%d numbers", n), Want: want}
}
