package decoder

import (
	"fmt"

	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/strict"
)

// keys reads the metadata of an architecture.
type keys struct{ *strict.GGUF }

// metadata are keys that change nothing of decoders, and do of other models.
var metadata = strict.Table{
	"attention.layer_norm_epsilon": strict.Any,            // of norms that are no RMS norms
	"expert_feed_forward_length":   strict.Any,            // read if there are experts
	"expert_gating_func":           strict.Only("0", "1"), // softmax, which is meant if there is none
	"expert_weights_scale":         strict.Only("0", "1"),
	"expert_weights_norm":          strict.Only("true"),
}

// readConfig reads the metadata. The vocabulary is as large as the embedding has rows.
func readConfig(f *gguf.File) (*architecture, Config, error) {
	const key = "general.architecture"
	name, err := f.String(key)
	if err != nil {
		return nil, Config{}, err
	}
	a := architectureOf(nameInFiles, name)
	if a == nil {
		return nil, Config{}, gguf.KeyError(key, fmt.Sprintf("%q", name), "one of "+known(nameInFiles))
	}
	k := keys{strict.ReadGGUF(f, name, gguf.KeyError)}
	c := k.config(a)
	if k.Err == nil {
		k.Fail(c.check(k))
	}
	k.Unknown(strict.Metadata, metadata)
	return a, c, k.Err
}

// config reads all keys.
func (k keys) config(a *architecture) Config {
	c := Config{
		Architecture: a.name,
		Layers:       k.Layers(),
		Width:        k.Size("embedding_length", 0),
		Heads:        k.Size("attention.head_count", 0),
		FFN:          k.feedForward(a),
		Context:      k.Size("context_length", 0),
		Epsilon:      float32(k.Number("attention.layer_norm_rms_epsilon", 0, 0, 1)),
		ScoreScale:   float32(k.Optional("attention.scale", 0x1p-64, 0x1p64)),
		ScoreSoftcap: float32(k.Optional("attn_logit_softcapping", 0x1p-64, 0x1p64)),
		LogitSoftcap: float32(k.Optional("final_logit_softcapping", 0x1p-64, 0x1p64)),
	}
	c.KVHeads = k.Size("attention.head_count_kv", c.Heads)
	c.HeadSize = k.Size("attention.key_length", max(1, c.Width/c.Heads))
	c.RopeDims = k.Size("rope.dimension_count", c.HeadSize)
	c.RopeBase = k.Number("rope.freq_base", 10000, 1, 0x1p64)
	k.ropeScaling(&c)
	k.expertKeys(a, &c)
	if k.Err == nil && c.Layers <= mostLayers {
		c.ofArchitecture(a)
		k.windows(a, &c)
	}
	return c
}

// feedForward reads the width of a feed-forward network, which with experts is theirs.
func (k keys) feedForward(a *architecture) int {
	if a.experts {
		k.Key("feed_forward_length") // of layers without experts, of which there are none
		return k.Size("expert_feed_forward_length", 0)
	}
	return k.Size("feed_forward_length", 0)
}

// expertKeys reads how many experts there are.
func (k keys) expertKeys(a *architecture, c *Config) {
	if a.experts {
		c.Experts, c.ExpertShares = k.Size("expert_count", 0), true
		c.ExpertsUsed = k.Integer("expert_used_count", 0, 1, int64(c.Experts))
		return
	}
	for _, name := range []string{"expert_count", "expert_used_count"} {
		if !k.Has(name) {
			continue
		}
		if n := k.Integer(name, 0, 0, most); n != 0 {
			k.Fail(gguf.KeyError(k.Key(name), fmt.Sprint(n), "none: "+a.name+" with experts is not supported"))
		}
	}
}

// ofArchitecture sets the constants that GGUF files do not have.
func (c *Config) ofArchitecture(a *architecture) {
	if a.scaledEmbedding {
		c.EmbeddingScale = embeddingScale(c.Width)
	}
	if c.ScoreScale == 0 && a.scoreLayers != 0 && c.Layers == a.scoreLayers {
		c.ScoreScale = rootInverse(float64(c.Width / c.Heads))
	}
}

// windows reads how far the queries of each layer see, and whether to both sides.
func (k keys) windows(a *architecture, c *Config) {
	window := 0
	if k.Has("attention.sliding_window") {
		window = k.Integer("attention.sliding_window", 0, 0, most)
	}
	whole := a.whole
	if windowed := k.EachLayer("attention.sliding_window_pattern"); windowed != nil {
		whole = func(layer int) bool { return !windowed[layer] }
	} else if k.Err == nil && k.Has("attention.sliding_window_pattern") {
		period := k.Integer("attention.sliding_window_pattern", 0, 1, most)
		whole = func(layer int) bool { return (layer+1)%period == 0 }
	}
	k.bothWays(a, c, &window)
	c.Windows = windows(c.Layers, window, whole)
	if a.localBase != 0 && c.Windows != nil {
		c.localBase = k.Number("rope.freq_base_swa", a.localBase, 1, 0x1p64)
	}
}

// bothWays reads whether tokens also see those after them.
func (k keys) bothWays(a *architecture, c *Config, window *int) {
	const key = "attention.causal"
	switch causal := k.Yes(key, !a.bidirectional); {
	case a.bidirectional && causal:
		k.Bad(key, "true", "false: "+a.name+" sees both ways")
	case a.bidirectional:
		c.Bidirectional, c.bothWays = true, [2]string{"general.architecture", fmt.Sprintf("%q", a.name)}
		if *window > 0 {
			*window = *window/2 + 1 // a half of it to each side
		}
	case !causal:
		c.Bidirectional, c.bothWays = true, [2]string{k.Key(key), "false"}
		if *window > 0 { // files do not say whether it is that of one side or of both
			k.Bad("attention.sliding_window", fmt.Sprint(*window), "none with "+k.Key(key)+" false")
		}
	}
}

// ropeScaling reads how positions are scaled.
func (k keys) ropeScaling(c *Config) {
	c.RopeScaling = 1
	kind := k.Text("rope.scaling.type")
	if !k.Has("rope.scaling.type") && k.Has("rope.scale_linear") { // of older files
		c.RopeScaling = k.Number("rope.scale_linear", 1, 0x1p-32, 0x1p32)
	}
	s := ropescaling.Scaling{
		Factor:    k.Number("rope.scaling.factor", 1, 0x1p-32, 0x1p32),
		Original:  float64(k.Size("rope.scaling.original_context_length", c.Context)),
		Fast:      k.Number("rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6),
		Slow:      k.Number("rope.scaling.yarn_beta_slow", 1, 1e-3, 1e6),
		Magnitude: k.Number("rope.scaling.attn_factor", 1, 0x1p-16, 0x1p16),
		Round:     true,
	}
	switch kind {
	case "", "none", "longrope": // factors of longrope are tensors
	case "linear":
		c.RopeScaling = s.Factor
	case "yarn":
		s.YaRN = true
		s.Magnitude = float64(s.Magnitude * ropescaling.YaRNMagnitude(s.Factor, 1))
	default:
		k.Fail(gguf.KeyError(k.Key("rope.scaling.type"), fmt.Sprintf("%q", kind), `"none", "linear", "yarn" or "longrope"; others are not supported`))
	}
	c.scaling = s
}

// check reports sizes that do not fit each other.
func (c *Config) check(k keys) error {
	switch {
	case c.Layers > mostLayers:
		return gguf.KeyError(k.Key("block_count"), fmt.Sprint(c.Layers), fmt.Sprintf("1 to %d", mostLayers))
	case c.Heads%c.KVHeads != 0:
		return gguf.KeyError(k.Key("attention.head_count_kv"), fmt.Sprint(c.KVHeads), fmt.Sprintf("a divisor of the %d query heads", c.Heads))
	case !k.Has("attention.key_length") && c.Width%c.Heads != 0:
		return gguf.KeyError(k.Key("attention.head_count"), fmt.Sprint(c.Heads), fmt.Sprintf("a divisor of the width %d", c.Width))
	case c.Heads*c.HeadSize > most:
		return gguf.KeyError(k.Key("attention.key_length"), fmt.Sprint(c.HeadSize), fmt.Sprintf("at most %d for all %d heads together", most, c.Heads))
	case c.RopeDims > c.HeadSize || c.RopeDims%2 != 0:
		return gguf.KeyError(k.Key("rope.dimension_count"), fmt.Sprint(c.RopeDims), fmt.Sprintf("an even number up to the head size %d", c.HeadSize))
	}
	for _, same := range []struct {
		name string
		n    int
		as   string
	}{
		{"attention.value_length", c.HeadSize, "key_length"}, {"attention.key_length_swa", c.HeadSize, "key_length"},
		{"attention.value_length_swa", c.HeadSize, "key_length"}, {"rope.dimension_count_swa", c.RopeDims, "rope.dimension_count"},
	} {
		if n := k.Size(same.name, same.n); k.Err == nil && n != same.n {
			return gguf.KeyError(k.Key(same.name), fmt.Sprint(n), fmt.Sprintf("%d as %s", same.n, same.as))
		}
	}
	if base := c.RopeBase; c.localBase == 0 && k.Number("rope.freq_base_swa", base, 1, 0x1p64) != base && c.Windows != nil {
		return gguf.KeyError(k.Key("rope.freq_base_swa"), "another one", fmt.Sprintf("%v as rope.freq_base", base))
	}
	return k.Err
}
