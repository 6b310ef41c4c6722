package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// A wrapper is a class around a model of texts, whose keys are in the object text_config. Other
// parts of it, which see images, are not computed.
type wrapper struct {
	name  string // model_type
	class string // how names of classes in architectures begin
	kind  string // model_type of the model of texts, if text_config does not say it
	tied  bool   // tie_word_embeddings, if the file does not say it
	inner bool   // the key in text_config counts, too
	soft  values // the keys of placeholders, which have the embeddings of text_config.pad_token_id
	own   bool   // the last tokens have embeddings of the other parts, see arch.Soft
}

// gemmaSoft are the placeholders of Gemma 4 and EmbeddingGemma 2.
var gemmaSoft = values{"image_token_id": 258880, "video_token_id": 258884, "audio_token_id": 258881}

var wrappers = []wrapper{
	{name: "gemma3", class: "Gemma3", kind: "gemma3_text", tied: true},
	{name: "gemma3n", class: "Gemma3n", kind: "gemma3n_text", tied: true, own: true},
	{name: "gemma4", class: "Gemma4", kind: "gemma4_text", tied: true, soft: gemmaSoft},
	{name: "qwen3_5", class: "Qwen3_5", kind: "qwen3_5_text"},
	{name: "qwen3_5_moe", class: "Qwen3_5Moe", kind: "qwen3_5_moe_text"},
	{name: "llava", class: "Llava", kind: "llama", inner: true},
	{name: "mistral3", class: "Mistral3", kind: "mistral", tied: true},
}

const textConfig = "text_config"

// aroundTexts are the keys of wrappers. Only what wrapper.soft and wrapper.own read changes results
// of texts. Gemma 3 replaces image_token_id alone, and only where the embedding has no row of it.
var aroundTexts = strict.Table{}.Add(strict.Any,
	"vision_config", "video_token_id", "vision_start_token_id", "vision_end_token_id", "image_token_index", "image_token_id", "boi_token_index", "boi_token_id", "eoi_token_index", "eoi_token_id", "mm_tokens_per_image", "image_seq_length",
	"audio_config", "audio_token_id", "audio_soft_tokens_per_image", "vision_soft_tokens_per_image", "boa_token_id", "eoa_token_index", "eoa_token_id", "projector_hidden_act", "vision_feature_layer", "vision_feature_select_strategy", "multimodal_projector_bias", "spatial_merge_size", "image_grid_pinpoints")

// wrapperOf returns the one with a model_type whose text_config is there, or nil.
func (f *Families) wrapperOf(s *strict.JSON) *wrapper {
	i := slices.IndexFunc(f.wrappers, func(w wrapper) bool { return w.name == s.Text("model_type") })
	if i < 0 || !s.Has(textConfig) {
		return nil
	}
	return &f.wrappers[i]
}

// unwrap returns the object with the keys of the model of texts.
func (w *wrapper) unwrap(s *strict.JSON) *strict.JSON {
	inner := s.Under(textConfig)
	inner.Default(values{"model_type": w.kind})
	classes(s, w.class)
	return inner
}

// around reads what the class around a model says of it.
func (w *wrapper) around(r *reader, s *strict.JSON, also strict.Table) {
	s.Default(values{"tie_word_embeddings": w.tied})
	tied := s.Yes("tie_word_embeddings")
	r.model.Logits.Tied = tied || w.inner && r.model.Logits.Tied
	if w.soft != nil {
		w.placeholders(r, s)
	}
	if w.own {
		softTokens(r, s)
	}
	s.Unknown(strict.Config, also, aroundTexts)
}

// placeholders reads which tokens of texts have the embeddings of padding. A null is no token.
func (w *wrapper) placeholders(r *reader, s *strict.JSON) {
	const padding, want = "pad_token_id", "an integer"
	s.Default(w.soft)
	p := &r.model.Embed.Placeholders
	for _, key := range slices.Sorted(maps.Keys(w.soft)) {
		if id := int64(-1); s.Read(key, want, &id) && int64(int32(id)) == id {
			p.IDs = append(p.IDs, int32(id))
		}
	}
	r.json.Default(values{padding: 0})
	most := r.most - 1
	if r.model.Vocab > 0 {
		most = r.model.Vocab - 1
	}
	if !r.json.Has(padding) {
		r.Fail(padding, "null", want)
	}
	p.Other = int32(r.Integer(padding, -1, 0, most))
}

// softTokens reads which tokens have embeddings of Gemma 3n's other parts: those for images, and
// those for sounds after them, which are the last ones.
func softTokens(r *reader, s *strict.JSON) {
	next := -1
	for i, part := range []string{"vision", "audio"} {
		of := s.Under(part + "_config")
		of.Default(values{"vocab_offset": 262144 + 128*i, "vocab_size": 128, "rms_norm_eps": 1e-6})
		first, n := of.Integer("vocab_offset", 0, 0, r.most), of.Size("vocab_size", 0)
		if next >= 0 && first != next {
			of.Fail("vocab_offset", fmt.Sprint(first), fmt.Sprintf("%d, the token after those for images", next))
		}
		next = first + n
		r.model.Embed.Soft = append(r.model.Embed.Soft, arch.Soft{Name: "embed_" + part, First: int32(first), Count: n, Epsilon: of.Number("rms_norm_eps", 0, 0, 1)})
	}
}
