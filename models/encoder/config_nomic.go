package encoder

import (
	"encoding/json"

	"github.com/attn-go/attn/models/folder"
)

// A publishedNomic is the keys of config.json as nomic-ai publishes it for nomic-embed-text-v1 and v1.5 with their
// own code, where transformers 5 has hidden_size and the like.
type publishedNomic struct {
	NEmbd       int     `json:"n_embd"`
	NHead       int     `json:"n_head"`
	NInner      int     `json:"n_inner"`
	NLayer      int     `json:"n_layer"`
	NPositions  int     `json:"n_positions"`
	NormEpsilon float64 `json:"layer_norm_epsilon"`
	Base        float64 `json:"rotary_emb_base"`
}

// nomicOnly are keys of which one value is computed: that of the published models.
var nomicOnly = map[string]string{
	"activation_function": `"swiglu"`, "rotary_emb_fraction": "1", "rotary_emb_interleaved": "false", "rotary_emb_scale_base": "null", "rotary_scaling_factor": "null",
	"prenorm": "false", "parallel_block": "false", "causal": "false", "use_rms_norm": "false", "qkv_proj_bias": "false", "mlp_fc1_bias": "false", "mlp_fc2_bias": "false",
	"scale_attn_weights": "true", "scale_attn_by_inverse_layer_idx": "false", "num_experts": "0",
}

// into sets what the keys of transformers 5 say otherwise.
func (p *publishedNomic) into(f *folder.Folder, c *common, r *rotary) error {
	var all map[string]json.RawMessage
	if err := f.JSON(configName, &all); err != nil {
		return err
	}
	for key, want := range nomicOnly {
		got, ok := all[key]
		if !ok || string(got) == want || string(got) == want+".0" || want == "null" && string(got) == "false" {
			continue
		}
		return &folder.Error{Path: f.Path(configName), Name: key, Got: string(got), Want: want + "; others are not supported"}
	}
	c.Width, c.Heads, c.Inner, c.Layers, c.Posns = p.NEmbd, p.NHead, p.NInner, p.NLayer, p.NPositions
	if p.NormEpsilon != 0 {
		c.Epsilon = p.NormEpsilon
	}
	if p.Base != 0 {
		r.Base = p.Base
	}
	return nil
}
