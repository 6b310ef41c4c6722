package layer

import (
	"os"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// A torchArray is a tensor of testdata/mha.json.
type torchArray struct {
	Shape []int
	Data  []float32
}

// tensor returns the array as [B, H, L, D]. Three dimensions are [B, L, D].
func (a torchArray) tensor() kernel.Tensor {
	if len(a.Shape) == 3 {
		return kernel.BLHD(a.Data, a.Shape[0], a.Shape[1], 1, a.Shape[2])
	}
	return kernel.BHLD(a.Data, a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3])
}

// A torchCase is a call of PyTorch's nn.MultiheadAttention: testdata/mha.py writes them.
type torchCase struct {
	Name         string
	Embed, Heads int
	Padding      [][]int
	LookAhead    bool `json:"look_ahead"`
	State        map[string]torchArray
	Query, Key   torchArray
	Value        torchArray
	Out, Weights torchArray
}

func torchCases(t *testing.T) (cases []torchCase) {
	data, err := os.ReadFile("testdata/mha.json")
	must(t, err)
	must(t, unmarshalKnown(data, &cases))
	return cases
}

// weights returns the parameters in state. It fails for one that TorchWeights does not
// have.
func (c *torchCase) weights(t *testing.T) (w TorchWeights) {
	fields := map[string]*[]float32{
		"in_proj_weight": &w.InProjWeight, "in_proj_bias": &w.InProjBias,
		"q_proj_weight": &w.QProjWeight, "k_proj_weight": &w.KProjWeight, "v_proj_weight": &w.VProjWeight,
		"out_proj.weight": &w.OutProjWeight, "out_proj.bias": &w.OutProjBias,
	}
	for name, a := range c.State {
		field := fields[name]
		if field == nil {
			t.Fatalf("unknown parameter %s", name)
		}
		*field = a.Data
	}
	return w
}

// FromTorch gives what PyTorch computes in float64 from the same weights, packed and
// separate, with its masks.
func TestFromTorch(t *testing.T) {
	for _, c := range torchCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			m, err := FromTorch(c.Embed, c.Heads, c.weights(t), kernel.Exec{})
			must(t, err)
			var mask kernel.Mask
			if c.Padding != nil {
				mask = PaddingMask(slices.Concat(c.Padding...), len(c.Padding))
			}
			if c.LookAhead {
				mask = mask.And(kernel.Causal(0))
			}
			eachTier(t, func(t *testing.T, tier kernel.Tier) {
				want, wantWeights := c.Out.tensor(), c.Weights.tensor()
				s := wantWeights.Shape()
				out, weights := newTensor(want.Shape()[0], 1, want.Shape()[2], c.Embed), newTensor(s[0], s[1], s[2], s[3])
				must(t, m.Attend(out, c.Query.tensor(), c.Key.tensor(), c.Value.tensor(), &kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: mask}, Outputs: kernel.Outputs{Weights: weights}}))
				if d := distance(&out, &want); d > 1e-6 {
					t.Errorf("out differs by %v", d)
				}
				if d := distance(&weights, &wantWeights); d > 3e-7 {
					t.Errorf("weights differ by %v", d)
				}
			})
		})
	}
}

func TestFromTorchErrors(t *testing.T) {
	good := func() TorchWeights {
		return TorchWeights{InProjWeight: make([]float32, 48), InProjBias: make([]float32, 12), OutProjWeight: make([]float32, 16), OutProjBias: make([]float32, 4)}
	}
	_, err := FromTorch(4, 2, good(), kernel.Exec{})
	must(t, err)
	for arg, spoil := range map[string]func(w *TorchWeights){
		"InProjWeight": func(w *TorchWeights) { w.InProjWeight = w.InProjWeight[1:] },
		"InProjBias":   func(w *TorchWeights) { w.InProjBias = w.InProjBias[1:] },
		"QProjWeight":  func(w *TorchWeights) { w.InProjWeight = nil },
		"KProjWeight":  func(w *TorchWeights) { w.KProjWeight = make([]float32, 16) },
		"VProjWeight": func(w *TorchWeights) {
			w.InProjWeight, w.QProjWeight, w.KProjWeight, w.VProjWeight = nil, w.OutProjWeight, w.OutProjWeight, make([]float32, 7)
		},
		"OutProjWeight": func(w *TorchWeights) { w.OutProjWeight = w.InProjWeight },
		"OutProjBias":   func(w *TorchWeights) { w.OutProjBias = w.InProjBias },
	} {
		w := good()
		spoil(&w)
		_, err := FromTorch(4, 2, w, kernel.Exec{})
		refused(t, err, "TorchWeights."+arg, nil)
	}
	for _, c := range []struct {
		w    TorchWeights
		text string
	}{
		{TorchWeights{}, "QProjWeight: 0 numbers, want 16, [E, E], or InProjWeight instead"},
		{TorchWeights{InProjWeight: make([]float32, 16)}, "InProjWeight: 16 numbers, want 48, [3·E, E], or nil"},
		{TorchWeights{InProjWeight: make([]float32, 48), KProjWeight: make([]float32, 16)}, "KProjWeight: 16 numbers, want none beside InProjWeight"},
		{TorchWeights{QProjWeight: make([]float32, 16), KProjWeight: make([]float32, 7)}, "KProjWeight: 7 numbers, want a multiple of E = 4"},
	} {
		_, err := FromTorch(4, 2, c.w, kernel.Exec{})
		wantText(t, err, "layer.FromTorch: TorchWeights."+c.text)
	}
	for _, heads := range []int{-1, 0, 3} {
		_, err := FromTorch(4, heads, good(), kernel.Exec{})
		refused(t, err, "heads", nil)
	}
	_, err = FromTorch(0, 1, good(), kernel.Exec{})
	refused(t, err, "embed", nil)
}
