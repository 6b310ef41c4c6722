package settings

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

func init() { Decoders.rows = append(Decoders.rows, falcon) }

// falcon has attention and Mamba-2 side by side in every layer. Its multipliers belong to weights,
// as in GGUF files.
var falcon = family{
	Family: arch.Family{Types: []string{"falcon_h1"}, Classes: []string{"FalconH1"}, GGUF: "falcon-h1", Names: falconNames},
	draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, falconSpaces), file: ofFile(fileKeys, fileForward, func(r *reader) { beside(r, r.fileSpace()) }),
	missing: values{
		"rms_norm_eps": 1e-5, "rope_theta": 10000, "num_key_value_heads": 8, "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_head": "auto", "mamba_d_conv": 4,
		"mamba_expand": 2, "mamba_conv_bias": true, "lm_head_multiplier": 1, "embedding_multiplier": 1, "key_multiplier": 1, "attention_in_multiplier": 1, "attention_out_multiplier": 1,
		"ssm_in_multiplier": 1, "ssm_out_multiplier": 1,
	},
	harmless: chunks,
}

var falconNames = named(named(llamaNames, spaceNames("model.layers.%d.mamba")), arch.Names{
	"output_norm":      "model.final_layernorm",
	"blk.%d.attn_norm": "model.layers.%d.input_layernorm",
	"blk.%d.ffn_norm":  "model.layers.%d.pre_ff_layernorm",
	"blk.%d.ffn_gate":  "model.layers.%d.feed_forward.gate_proj",
	"blk.%d.ffn_up":    "model.layers.%d.feed_forward.up_proj",
	"blk.%d.ffn_down":  "model.layers.%d.feed_forward.down_proj",
})

// falconSpaces reads the sizes of Mamba-2, which stands beside the attention of every layer.
func falconSpaces(r *reader) {
	t := r.space()
	t.Limits = [2]float32{0, float32(math.Inf(1))}
	r.limits("time_step_limit", &t.Limits)
	inner, expanded := r.Integer("mamba_d_ssm", -1, 1, r.most), r.Integer("mamba_expand", 0, 1, r.most)*r.model.Width
	if inner < 0 {
		inner = expanded
	}
	r.headsOf(t, inner, "mamba_d_ssm")
	if r.json.Only("projectors_bias", false); r.json.Yes("mamba_rms_norm") {
		r.json.Default(values{"mamba_norm_before_gate": true})
		r.json.Only("mamba_norm_before_gate", false)
	} else {
		t.NormParts = 0
		r.Has("mamba_norm_before_gate")
	}
	if t.Bias != arch.Absent {
		r.Fail("mamba_proj_bias", "true", "false; others are not supported")
	}
	if lacks, _ := r.lacking("hybrid"); slices.Contains(lacks, false) && r.Has("layer_types") {
		r.Fail("layer_types", "a layer of another kind", `"hybrid" for all layers`)
	}
	r.spaces(t, "mamba_n_groups", "mamba_n_heads")
	beside(r, t)
	factorsOfFalcon(r, t)
}

// beside puts a layer of Mamba-2 beside the attention of every layer.
func beside(r *reader, t *arch.StateSpace) {
	kinds := map[*arch.Attention]*arch.Both{}
	r.each = func(_ int, l *arch.Layer) {
		a := l.Attention()
		if kinds[a] == nil {
			kinds[a] = &arch.Both{Attention: *a, Space: t}
		}
		l.Mixer = kinds[a]
	}
}

// factorsOfFalcon reads the multipliers.
func factorsOfFalcon(r *reader, t *arch.StateSpace) {
	r.model.Embed.Scale, r.model.Logits.Scale = r.factor("embedding_multiplier"), r.factor("lm_head_multiplier")
	one := func(keys ...string) []arch.Factor {
		all := 1.0
		for _, key := range keys {
			all *= float64(r.factor(key))
		}
		return []arch.Factor{{By: all}}
	}
	list := func(key string, n int) []float64 {
		var all []float64
		want := fmt.Sprintf("a list of %d numbers from 2^-64 to 2^64", n)
		switch {
		case r.json.Read(key, want, &all) && (len(all) != n || slices.Min(all) < 1/mostFactor || slices.Max(all) > mostFactor):
			r.Fail(key, strict.Abbreviated(r.json.Raw(key)), want)
		case len(all) == n:
			return all
		}
		return slices.Repeat([]float64{1}, n)
	}
	in, ssm, mlp := float64(r.factor("ssm_in_multiplier")), list("ssm_multipliers", 5), list("mlp_multipliers", 2)
	keys, inner := t.KeyHeads*t.KeySize, t.Heads*t.ValueSize
	r.model.Factors = map[string][]arch.Factor{
		"attn_q": one("attention_in_multiplier"), "attn_k": one("attention_in_multiplier", "key_multiplier"), "attn_v": one("attention_in_multiplier"), "attn_output": one("attention_out_multiplier"),
		"ssm_out": one("ssm_out_multiplier"), "ffn_gate": {{By: mlp[0]}}, "ffn_down": {{By: mlp[1]}},
	}
	for i, rows := range []int{inner, inner, keys, keys, t.Heads} { // z, values, keys, queries and gates
		r.model.Factors["ssm_in"] = append(r.model.Factors["ssm_in"], arch.Factor{Rows: rows, By: in * ssm[i]})
	}
}
