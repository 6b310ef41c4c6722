package decoder

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/models/decoder/internal/ropescaling"
)

// configFile says what the model of a folder is.
const configFile = "config.json"

// readFolderConfig reads config.json of a folder. tied tells whether the output matrix is the
// embedding. The number of rows of the embedding comes later.
func readFolderConfig(dir string) (a *architecture, c Config, tied bool, err error) {
	s := readSettings(dir, configFile, &err)
	if err != nil {
		return nil, c, false, err
	}
	kind := s.text("model_type")
	if a = architectureOf(nameInFolders, kind); a == nil {
		s.fail("model_type", fmt.Sprintf("%q", kind), "one of "+known(nameInFolders))
		return nil, c, false, err
	}
	c = s.config(a)
	tied = !s.has("tie_word_embeddings") && a.lessOne || s.yes("tie_word_embeddings")
	s.unknown(slices.Concat(ignored, rankingKeys)...)
	return a, c, tied, err
}

// config reads all keys.
func (s *settings) config(a *architecture) Config {
	c := Config{
		Architecture: a.name,
		Layers:       s.integer("num_hidden_layers", 0, 1, mostLayers),
		Width:        s.size("hidden_size", 0),
		Heads:        s.size("num_attention_heads", 0),
		FFN:          s.feedForward(a),
		Context:      s.size("max_position_embeddings", 0),
		Epsilon:      float32(s.number("rms_norm_eps", 1e-6, 0, 1)),
		ScoreSoftcap: float32(s.number("attn_logit_softcapping", 0, 0x1p-64, 0x1p64)),
		LogitSoftcap: float32(s.number("final_logit_softcapping", 0, 0x1p-64, 0x1p64)),
	}
	c.KVHeads = s.size("num_key_value_heads", c.Heads)
	c.HeadSize = s.size("head_dim", max(1, c.Width/c.Heads))
	if s.has("query_pre_attn_scalar") {
		c.ScoreScale = rootInverse(s.number("query_pre_attn_scalar", 0, 0x1p-64, 0x1p64))
	}
	if a.scaledEmbedding {
		c.EmbeddingScale = embeddingScale(c.Width)
	}
	s.activation(a)
	s.yes("attention_bias") // the biases are there or not
	s.yes("mlp_bias")
	if a.eitherWay {
		c.Bidirectional = s.yes("use_bidirectional_attention")
	} else {
		s.only("use_bidirectional_attention", false)
	}
	s.expertKeys(a, &c)
	s.check(&c)
	if *s.err == nil {
		s.windows(a, &c)
		s.rope(a, &c)
	}
	return c
}

// embeddingScale returns the root of the width.
func embeddingScale(width int) float32 { return float32(math.Sqrt(float64(width))) }

// feedForward reads the width of a feed-forward network, which with experts is theirs.
func (s *settings) feedForward(a *architecture) int {
	if a.experts {
		s.has("intermediate_size") // of layers without experts, of which there are none
		return s.size("moe_intermediate_size", 0)
	}
	return s.size("intermediate_size", 0)
}

// activation checks the activation, which is that of the architecture.
func (s *settings) activation(a *architecture) {
	want := []string{"silu", "swish"}
	if a.lessOne {
		want = []string{"gelu_pytorch_tanh", "gelu_new"}
	}
	for _, key := range []string{"hidden_act", "hidden_activation"} {
		if s.has(key) && !slices.Contains(want, s.text(key)) && !(a.lessOne && key == "hidden_act") {
			s.fail(key, fmt.Sprintf("%q", s.text(key)), fmt.Sprintf("%q", want[0]))
		}
	}
}

// expertKeys reads how many experts there are.
func (s *settings) expertKeys(a *architecture, c *Config) {
	if !a.experts {
		return
	}
	key := "num_experts"
	if !s.has(key) {
		key = "num_local_experts"
	}
	c.Experts = s.size(key, 0)
	c.ExpertsUsed = s.integer("num_experts_per_tok", 0, 1, c.Experts)
	c.ExpertShares = s.yes("norm_topk_prob")
	s.only("decoder_sparse_step", 1)
	s.only("mlp_only_layers", []int{})
}

// check reports sizes that do not fit each other.
func (s *settings) check(c *Config) {
	switch {
	case c.Heads%c.KVHeads != 0:
		s.fail("num_key_value_heads", fmt.Sprint(c.KVHeads), fmt.Sprintf("a divisor of the %d query heads", c.Heads))
	case !s.has("head_dim") && c.Width%c.Heads != 0:
		s.fail("num_attention_heads", fmt.Sprint(c.Heads), fmt.Sprintf("a divisor of the width %d", c.Width))
	case c.Heads*c.HeadSize > most:
		s.fail("head_dim", fmt.Sprint(c.HeadSize), fmt.Sprintf("at most %d for all %d heads together", most, c.Heads))
	}
}

const slidingLayer, fullLayer = "sliding_attention", "full_attention"

// windows reads how far the queries of each layer see.
func (s *settings) windows(a *architecture, c *Config) {
	window := s.integer("sliding_window", -1, 0, most)
	uses := !s.has("use_sliding_window") || s.yes("use_sliding_window")
	if window < 1 || !uses {
		window = 0
	}
	period := s.integer("sliding_window_pattern", a.period+1, 1, most) - 1
	if s.has("sliding_window_pattern") {
		period++
	}
	whole := func(i int) bool { return period > 0 && (i+1)%period == 0 }
	var kinds []string
	if s.read("layer_types", "a list of strings", &kinds) {
		if len(kinds) != c.Layers {
			s.fail("layer_types", fmt.Sprintf("%d layers", len(kinds)), fmt.Sprint(c.Layers))
			return
		}
		for _, kind := range kinds {
			if kind != fullLayer && kind != slidingLayer {
				s.fail("layer_types", fmt.Sprintf("%q", kind), fmt.Sprintf("%q or %q", fullLayer, slidingLayer))
			}
		}
		whole = func(i int) bool { return kinds[i] == fullLayer }
	} else if s.yes("use_sliding_window") { // Qwen 2 and 3: from a layer on
		first := s.integer("max_window_layers", 28, 0, most)
		whole = func(i int) bool { return i < first }
	}
	if c.Bidirectional && window > 0 {
		window = window/2 + 1 // a half of it to each side
	}
	c.Windows = windows(c.Layers, window, whole)
}

// rope reads the frequencies, from rope_parameters or from the keys that were there before it.
func (s *settings) rope(a *architecture, c *Config) {
	c.RopeDims, c.RopeScaling = c.HeadSize, 1
	p := s.object("rope_parameters")
	if !s.has("rope_parameters") {
		p = s.object("rope_scaling")
		c.localBase = s.number("rope_local_base_freq", a.localBase, 1, 0x1p64)
	} else if p.has(fullLayer) || p.has(slidingLayer) {
		local := p.object(slidingLayer)
		local.only("rope_type", "default")
		c.localBase = local.number("rope_theta", 10000, 1, 0x1p64)
		local.unknown()
		whole := p.object(fullLayer)
		p.unknown()
		p = whole
	}
	c.RopeBase = p.number("rope_theta", s.number("rope_theta", 10000, 1, 0x1p64), 1, 0x1p64)
	part := p.number("partial_rotary_factor", s.number("partial_rotary_factor", 1, 0, 1), 0, 1)
	c.RopeDims = int(part * float64(c.HeadSize))
	if c.RopeDims < 2 || c.RopeDims%2 != 0 {
		s.fail("partial_rotary_factor", fmt.Sprint(part), fmt.Sprintf("an even number of the %d elements of a head", c.HeadSize))
		return
	}
	s.scaling(p, c)
	p.unknown()
}

// scaling reads how positions are scaled.
func (s *settings) scaling(p *settings, c *Config) {
	kind := p.text("rope_type")
	if kind == "" {
		kind = p.text("type") // its name before
	} else {
		p.has("type")
	}
	original := float64(p.size("original_max_position_embeddings", s.size("original_max_position_embeddings", c.Context)))
	x := ropescaling.Scaling{Factor: p.number("factor", 1, 0x1p-32, 0x1p32), Original: original, Magnitude: 1}
	switch kind {
	case "", "default":
		x.Factor = 1
	case "linear":
		c.RopeScaling = x.Factor
	case "llama3":
		x.Llama3 = true
		x.Low, x.High = p.number("low_freq_factor", 1, 1e-3, 1e6), p.number("high_freq_factor", 4, 1e-3, 1e6)
		if !(x.Low < x.High) {
			p.fail("high_freq_factor", fmt.Sprint(x.High), fmt.Sprintf("more than low_freq_factor, %v", x.Low))
		}
	case "yarn":
		p.yarn(&x)
	case "longrope", "su":
		p.long(&x, c)
	default:
		p.fail("rope_type", fmt.Sprintf("%q", kind), `"default", "linear", "llama3", "yarn" or "longrope"; others are not supported`)
	}
	c.scaling = x
}

// yarn reads the parameters of YaRN.
func (s *settings) yarn(x *ropescaling.Scaling) {
	x.YaRN, x.Round = true, !s.has("truncate") || s.yes("truncate")
	x.Fast, x.Slow = s.number("beta_fast", 32, 1e-3, 1e6), s.number("beta_slow", 1, 1e-3, 1e6)
	one, all := s.number("mscale", 0, 0, 1e3), s.number("mscale_all_dim", 0, 0, 1e3)
	switch {
	case s.has("attention_factor"):
		x.Magnitude = s.number("attention_factor", 1, 0x1p-16, 0x1p16)
	case one != 0 && all != 0:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, one) / ropescaling.YaRNMagnitude(x.Factor, all)
	default:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, 1)
	}
}

// long reads the parameters of LongRoPE.
func (s *settings) long(x *ropescaling.Scaling, c *Config) {
	if !s.has("factor") {
		x.Factor = float64(c.Context) / x.Original
	}
	x.Magnitude = s.number("attention_factor", ropescaling.LongMagnitude(x.Factor, x.Original), 0x1p-16, 0x1p16)
	for _, list := range []struct {
		key string
		to  *[]float64
	}{{"short_factor", &x.Short}, {"long_factor", &x.Long}} {
		key, to := list.key, list.to
		want := fmt.Sprintf("a list of %d numbers above 0", c.RopeDims/2)
		if !s.read(key, want, to) {
			s.fail(key, "none", want)
		} else if len(*to) != c.RopeDims/2 || slices.ContainsFunc(*to, func(f float64) bool { return !(f >= 0x1p-32 && f <= 0x1p32) }) {
			s.fail(key, fmt.Sprintf("%d numbers", len(*to)), want)
		}
	}
}
