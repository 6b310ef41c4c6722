package settings

import (
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// fileNames are what GGUF files call keys of config.json.
var fileNames = map[string]string{
	"conv_L_cache":            "shortconv.l_cache",
	"num_hidden_layers":       "block_count",
	"hidden_size":             "embedding_length",
	"intermediate_size":       "feed_forward_length",
	"num_attention_heads":     "attention.head_count",
	"num_key_value_heads":     "attention.head_count_kv",
	"head_dim":                "attention.key_length",
	"max_position_embeddings": "context_length",
	"rms_norm_eps":            "attention.layer_norm_rms_epsilon",
	"layer_norm_eps":          "attention.layer_norm_epsilon",
	"rope_theta":              "rope.freq_base",
	"rope_local_base_freq":    "rope.freq_base_swa",
	"sliding_window":          "attention.sliding_window",
	"moe_intermediate_size":   "expert_feed_forward_length",
	"num_experts":             "expert_count",
	"num_experts_per_tok":     "expert_used_count",

	"shared_expert_intermediate_size": "expert_shared_feed_forward_length",
	"n_shared_experts":                "expert_shared_count",
	"routed_scaling_factor":           "expert_weights_scale",
	"norm_topk_prob":                  "expert_weights_norm",
	"n_group":                         "expert_group_count",
	"topk_group":                      "expert_group_used_count",
	"num_kv_shared_layers":            "attention.shared_kv_layers",
	"hidden_size_per_layer_input":     "embedding_length_per_layer_input",
	"first_k_dense_replace":           "leading_dense_block_count",
	"num_nextn_predict_layers":        "nextn_predict_layers",
}

// ReadFile reads the metadata of a GGUF file. fail makes the errors about its keys.
func (f *Families) ReadFile(file *gguf.File, fail func(key, got, want string) error) (*arch.Model, error) {
	const key = "general.architecture"
	name, err := file.String(key)
	if err != nil {
		return nil, err
	}
	row := f.row(func(row *family) bool { return row.file != nil && row.GGUF == name })
	if row == nil {
		return nil, fail(key, quoted(name), f.want(f.Files()))
	}
	k := strict.ReadGGUF(file, name, fail)
	k.Most, k.Names = f.most, fileNames
	r := f.newReader(row)
	r.gguf, r.form, r.tensors, r.fault = k, k, file, fail
	r.norm.LessOne = false
	for _, read := range row.file {
		if read(r); k.Err() != nil {
			return nil, k.Err()
		}
	}
	if k.Unknown(strict.Metadata, f.file); k.Err() != nil {
		return nil, k.Err()
	}
	return r.finish()
}

// fileBiases says that biases are where the file has them.
func fileBiases(r *reader) {
	r.attention.Bias, r.attention.OutBias = arch.AsFiles, arch.AsFiles
	r.dense.Bias, r.dense.DownBias = arch.AsFiles, arch.AsFiles
}
