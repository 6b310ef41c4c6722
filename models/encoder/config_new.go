package encoder

import (
	"fmt"
	"strconv"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/powers"
)

// A newScaling is rope_scaling of Alibaba-NLP's models.
type newScaling struct {
	Kind   string   `json:"type"`
	Factor float64  `json:"factor"`
	Mixed  *float64 `json:"mixed_b"`
}

// readNew reads the model_type "new" of gte-base-en-v1.5 and gte-multilingual-base, whose code is
// modeling.py of Alibaba-NLP/new-impl: BERT with rotary positions and a gated feed-forward network.
func readNew(f *folder.Folder) (*spec, error) {
	c := &struct {
		common
		Base    float64     `json:"rope_theta"`
		Scaling *newScaling `json:"rope_scaling"`
		Packed  bool        `json:"pack_qkv"`
		Norm    string      `json:"layer_norm_type"`
		LogN    bool        `json:"logn_attention_scale"`
	}{common: common{Epsilon: 1e-12, Act: "gelu", Types: 1, Posns: 2048, Position: "rope"}, Base: 10000, Packed: true, Norm: "layer_norm"}
	if err := decode(f, c); err != nil {
		return nil, err
	}
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	}
	rotates := c.Position == "rope"
	if rotates {
		c.Position = "absolute" // which check expects
	}
	typed := c.Types != 0
	if !typed {
		c.Types = 1
	}
	if err := c.check(f); err != nil {
		return nil, err
	}
	switch {
	case c.Norm != "layer_norm":
		return nil, bad("layer_norm_type", strconv.Quote(c.Norm), `"layer_norm"`)
	case c.LogN:
		return nil, bad("logn_attention_scale", "true", "false")
	}
	n := newNames
	if !c.Packed {
		n.qkv = []string{"encoder.layer.%d.attention.q_proj", "encoder.layer.%d.attention.k_proj", "encoder.layer.%d.attention.v_proj"}
	}
	if !typed {
		n.types = ""
	}
	if rotates {
		n.positions = ""
	}
	s := c.spec(n)
	s.gated, s.upFirst, s.mlpBias, s.downBias = true, true, false, true
	s.head = newHead
	if !rotates {
		return s, nil
	}
	if err := checkRotary(f, rotary{Base: c.Base}); err != nil {
		return nil, err
	}
	s.bases = []float64{c.Base}
	if c.Scaling == nil {
		return s, nil
	}
	switch x := c.Scaling; {
	case x.Kind != "ntk":
		return nil, bad("rope_scaling.type", strconv.Quote(x.Kind), `"ntk"`)
	case x.Mixed != nil:
		return nil, bad("rope_scaling.mixed_b", fmt.Sprint(*x.Mixed), "null")
	case !(x.Factor >= 1 && x.Factor <= 1<<16):
		return nil, bad("rope_scaling.factor", fmt.Sprint(x.Factor), "1 to 65536")
	}
	// NTK scaling: the frequencies are (base·factor)^(-2i/dims)/factor^(2/dims).
	s.bases[0] *= c.Scaling.Factor
	if half := c.Width / c.Heads / 2; half > 0 {
		s.scaling, _ = powers.Root(c.Scaling.Factor, half).Float64()
	}
	return s, checkRotary(f, rotary{Base: s.bases[0]})
}
