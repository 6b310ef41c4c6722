package decoder

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/models/internal/strict"
)

// configFile says what the model of a folder is.
const configFile = "config.json"

func configError(key, got, want string) error {
	return &kernel.Error{Where: configFile + ": " + key, Got: got, Want: want}
}

// settings are an object of a JSON file of a folder.
type settings struct{ *strict.JSON }

// ofDecoders are keys of config.json that change nothing of decoders.
var ofDecoders = strict.Table{"is_decoder": strict.Any}

// readFolderConfig reads config.json of a folder. head is headTied or headOwn. The number of
// rows of the embedding comes later.
func readFolderConfig(dir string) (a *architecture, c Config, head headSource, err error) {
	s := settings{strict.ReadJSON(dir, configFile, &err, configError)}
	if err != nil {
		return nil, c, headOwn, err
	}
	kind := s.Text("model_type")
	if a = architectureOf(nameInFolders, kind); a == nil {
		s.Fail("model_type", fmt.Sprintf("%q", kind), "one of "+known(nameInFolders))
		return nil, c, headOwn, err
	}
	c = s.config(a)
	head = headOwn
	if !s.Has("tie_word_embeddings") && a.lessOne || s.Yes("tie_word_embeddings") {
		head = headTied
	}
	s.classes(a)
	s.Unknown(strict.Config, ofDecoders)
	return a, c, head, err
}

// under reads the object of a key.
func (s settings) under(key string) settings { return settings{s.JSON.Under(key)} }

// config reads all keys.
func (s settings) config(a *architecture) Config {
	c := Config{
		Architecture: a.name,
		Layers:       s.Integer("num_hidden_layers", 0, 1, mostLayers),
		Width:        s.Size("hidden_size", 0),
		Heads:        s.Size("num_attention_heads", 0),
		FFN:          s.feedForward(a),
		Context:      s.Size("max_position_embeddings", 0),
		Epsilon:      float32(s.Number("rms_norm_eps", 1e-6, 0, 1)),
		ScoreSoftcap: float32(s.Number("attn_logit_softcapping", 0, 0x1p-64, 0x1p64)),
		LogitSoftcap: float32(s.Number("final_logit_softcapping", 0, 0x1p-64, 0x1p64)),
	}
	c.KVHeads = s.Size("num_key_value_heads", c.Heads)
	c.HeadSize = s.Size("head_dim", max(1, c.Width/c.Heads))
	if s.Has("query_pre_attn_scalar") {
		c.ScoreScale = rootInverse(s.Number("query_pre_attn_scalar", 0, 0x1p-64, 0x1p64))
	}
	if a.scaledEmbedding {
		c.EmbeddingScale = embeddingScale(c.Width)
	}
	s.activation(a)
	s.Yes("attention_bias") // the biases are there or not
	s.Yes("mlp_bias")
	s.expertKeys(a, &c)
	s.check(&c)
	s.bothWays(a, &c)
	if s.Err() == nil {
		s.windows(a, &c)
		s.rope(a, &c)
	}
	return c
}

// tasks are the ends of names of classes in the transformers library.
var tasks = []string{"Model", "PreTrainedModel", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"}

// classes checks the names of the classes of the model. One that the transformers library does not have may compute
// something else than its model_type says, such as attention both ways, and say it nowhere else.
func (s settings) classes(a *architecture) {
	var names []string
	s.Read("architectures", "a list of strings", &names)
	for _, name := range names {
		task := func(begin string) bool {
			rest, ok := strings.CutPrefix(name, begin)
			return ok && slices.Contains(tasks, rest)
		}
		if !slices.ContainsFunc(a.class, task) {
			s.Fail("architectures", fmt.Sprintf("%q", name), fmt.Sprintf("%sModel, %[1]sForCausalLM or another class of transformers: what others compute is not known", a.class[0]))
		}
	}
}

// bothWays reads whether tokens also see those after them. Every decoder of transformers obeys is_causal, and those of
// Gemma 3 use_bidirectional_attention, too, with which a window is both sides together and not one.
func (s settings) bothWays(a *architecture, c *Config) {
	if a.eitherWay && s.Yes(bothWaysKey) {
		c.Bidirectional, c.bothWays = true, [2]string{bothWaysKey, "true"}
	}
	if s.Given(causalKey) {
		causal := true
		if !s.Read(causalKey, "true or false", &causal) {
			s.Fail(causalKey, "null", "true or false")
		}
		if !causal {
			c.Bidirectional, c.bothWays = true, [2]string{causalKey, "false"}
		}
	}
}

const bothWaysKey, causalKey = "use_bidirectional_attention", "is_causal"

// embeddingScale returns the root of the width.
func embeddingScale(width int) float32 { return float32(math.Sqrt(float64(width))) }

// feedForward reads the width of a feed-forward network, which with experts is theirs.
func (s settings) feedForward(a *architecture) int {
	if a.experts {
		s.Has("intermediate_size") // of layers without experts, of which there are none
		return s.Size("moe_intermediate_size", 0)
	}
	return s.Size("intermediate_size", 0)
}

// activation checks the activation, which is that of the architecture.
func (s settings) activation(a *architecture) {
	want := []string{"silu", "swish"}
	if a.lessOne {
		want = []string{"gelu_pytorch_tanh", "gelu_new"}
	}
	for _, key := range []string{"hidden_act", "hidden_activation"} {
		if s.Has(key) && !slices.Contains(want, s.Text(key)) && !(a.lessOne && key == "hidden_act") {
			s.Fail(key, fmt.Sprintf("%q", s.Text(key)), fmt.Sprintf("%q", want[0]))
		}
	}
}

// expertKeys reads how many experts there are.
func (s settings) expertKeys(a *architecture, c *Config) {
	if !a.experts {
		return
	}
	key := "num_experts"
	if !s.Has(key) {
		key = "num_local_experts"
	}
	c.Experts = s.Size(key, 0)
	c.ExpertsUsed = s.Integer("num_experts_per_tok", 0, 1, c.Experts)
	c.ExpertShares = s.Yes("norm_topk_prob")
	s.Only("decoder_sparse_step", 1)
	s.Only("mlp_only_layers", []int{})
}

// check reports sizes that do not fit each other.
func (s settings) check(c *Config) {
	switch {
	case c.Heads%c.KVHeads != 0:
		s.Fail("num_key_value_heads", fmt.Sprint(c.KVHeads), fmt.Sprintf("a divisor of the %d query heads", c.Heads))
	case !s.Has("head_dim") && c.Width%c.Heads != 0:
		s.Fail("num_attention_heads", fmt.Sprint(c.Heads), fmt.Sprintf("a divisor of the width %d", c.Width))
	case c.Heads*c.HeadSize > most:
		s.Fail("head_dim", fmt.Sprint(c.HeadSize), fmt.Sprintf("at most %d for all %d heads together", most, c.Heads))
	}
}

const slidingLayer, fullLayer = "sliding_attention", "full_attention"

// windows reads how far the queries of each layer see.
func (s settings) windows(a *architecture, c *Config) {
	window := s.Integer("sliding_window", -1, 0, most)
	uses := !a.windowIfSaid && !s.Has("use_sliding_window") || s.Yes("use_sliding_window")
	if window < 1 || !uses {
		window = 0
	}
	period := s.Integer("sliding_window_pattern", a.period+1, 1, most) - 1
	if s.Has("sliding_window_pattern") {
		period++
	}
	whole := func(i int) bool { return period > 0 && (i+1)%period == 0 }
	var kinds []string
	if s.Read("layer_types", "a list of strings", &kinds) {
		if len(kinds) != c.Layers {
			s.Fail("layer_types", fmt.Sprintf("%d layers", len(kinds)), fmt.Sprint(c.Layers))
			return
		}
		for _, kind := range kinds {
			if kind != fullLayer && kind != slidingLayer {
				s.Fail("layer_types", fmt.Sprintf("%q", kind), fmt.Sprintf("%q or %q", fullLayer, slidingLayer))
			}
		}
		if window == 0 && slices.Contains(kinds, slidingLayer) {
			s.Fail("layer_types", fmt.Sprintf("%q without a window", slidingLayer), fmt.Sprintf("%q, or sliding_window, and use_sliding_window where the architecture has it", fullLayer))
		}
		whole = func(i int) bool { return kinds[i] == fullLayer }
	} else if s.Yes("use_sliding_window") { // Qwen 2 and 3: from a layer on
		first := s.Integer("max_window_layers", 28, 0, most)
		whole = func(i int) bool { return i < first }
	}
	if window > 0 && a.eitherWay && s.Yes(bothWaysKey) {
		window = window/2 + 1
	}
	if window > 0 && c.bothWays[0] == causalKey {
		window++ // both ways transformers does not count the query's own key
	}
	c.Windows = windows(c.Layers, window, whole)
}

// rope reads the frequencies, from rope_parameters or from the keys that were there before it.
func (s settings) rope(a *architecture, c *Config) {
	c.RopeDims, c.RopeScaling = c.HeadSize, 1
	p := s.under("rope_parameters")
	if !s.Has("rope_parameters") {
		p = s.under("rope_scaling")
		c.localBase = s.Number("rope_local_base_freq", a.localBase, 1, 0x1p64)
	} else if p.Has(fullLayer) || p.Has(slidingLayer) {
		local := p.under(slidingLayer)
		local.Only("rope_type", "default")
		c.localBase = local.Number("rope_theta", 10000, 1, 0x1p64)
		local.Unknown(strict.Parameters)
		whole := p.under(fullLayer)
		p.Unknown(strict.Parameters)
		p = whole
	}
	c.RopeBase = p.Number("rope_theta", s.Number("rope_theta", 10000, 1, 0x1p64), 1, 0x1p64)
	part := p.Number("partial_rotary_factor", s.Number("partial_rotary_factor", 1, 0, 1), 0, 1)
	c.RopeDims = int(part * float64(c.HeadSize))
	if c.RopeDims < 2 || c.RopeDims%2 != 0 {
		s.Fail("partial_rotary_factor", fmt.Sprint(part), fmt.Sprintf("an even number of the %d elements of a head", c.HeadSize))
		return
	}
	s.scaling(p, c)
	p.Unknown(strict.Parameters)
}

// scaling reads how positions are scaled.
func (s settings) scaling(p settings, c *Config) {
	kind := p.Text("rope_type")
	if kind == "" {
		kind = p.Text("type") // its name before
	} else {
		p.Has("type")
	}
	original := float64(p.Size("original_max_position_embeddings", s.Size("original_max_position_embeddings", c.Context)))
	x := ropescaling.Scaling{Factor: p.Number("factor", 1, 0x1p-32, 0x1p32), Original: original, Magnitude: 1}
	switch kind {
	case "", "default":
		x.Factor = 1
	case "dynamic":
		x.Factor, c.dynamic = 1, true
	case "linear":
		c.RopeScaling = x.Factor
	case "llama3":
		x.Llama3 = true
		x.Low, x.High = p.Number("low_freq_factor", 1, 1e-3, 1e6), p.Number("high_freq_factor", 4, 1e-3, 1e6)
		if !(x.Low < x.High) {
			p.Fail("high_freq_factor", fmt.Sprint(x.High), fmt.Sprintf("more than low_freq_factor, %v", x.Low))
		}
	case "yarn":
		p.yarn(&x)
	case "longrope", "su":
		p.long(&x, c)
	default:
		p.Fail("rope_type", fmt.Sprintf("%q", kind), `"default", "dynamic", "linear", "llama3", "yarn" or "longrope"; others are not supported`)
	}
	c.scaling = x
}

// yarn reads the parameters of YaRN.
func (s settings) yarn(x *ropescaling.Scaling) {
	x.YaRN, x.Round = true, !s.Has("truncate") || s.Yes("truncate")
	x.Fast, x.Slow = s.Number("beta_fast", 32, 1e-3, 1e6), s.Number("beta_slow", 1, 1e-3, 1e6)
	one, all := s.Number("mscale", 0, 0, 1e3), s.Number("mscale_all_dim", 0, 0, 1e3)
	switch {
	case s.Has("attention_factor"):
		x.Magnitude = s.Number("attention_factor", 1, 0x1p-16, 0x1p16)
	case one != 0 && all != 0:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, one) / ropescaling.YaRNMagnitude(x.Factor, all)
	default:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, 1)
	}
}

// long reads the parameters of LongRoPE.
func (s settings) long(x *ropescaling.Scaling, c *Config) {
	if !s.Has("factor") {
		x.Factor = float64(c.Context) / x.Original
	}
	x.Magnitude = s.Number("attention_factor", ropescaling.LongMagnitude(x.Factor, x.Original), 0x1p-16, 0x1p16)
	for _, list := range []struct {
		key string
		to  *[]float64
	}{{"short_factor", &x.Short}, {"long_factor", &x.Long}} {
		key, to := list.key, list.to
		want := fmt.Sprintf("a list of %d numbers above 0", c.RopeDims/2)
		if !s.Read(key, want, to) {
			s.Fail(key, "none", want)
		} else if len(*to) != c.RopeDims/2 || slices.ContainsFunc(*to, func(f float64) bool { return !(f >= 0x1p-32 && f <= 0x1p32) }) {
			s.Fail(key, fmt.Sprintf("%d numbers", len(*to)), want)
		}
	}
}
