package decoder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/decoder/internal/ropescaling"
	"github.com/attn-go/attn/models/gguf"
)

// keys reads the metadata of an architecture. The first error stays.
type keys struct {
	f    *gguf.File
	arch string          // the prefix of the keys
	used map[string]bool // keys that have been asked for
	err  error
}

// unused are keys without the architecture that change nothing here.
var unusedKeys = []string{
	"vocab_size",                                                                 // checked with the embedding
	"pooling_type",                                                               // LoadEmbedder reads it
	"classifier.output_labels",                                                   // LoadReranker reads it
	"dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in", "dense_3_feat_out", // the tensors say it
	"rope.scaling.finetuned", "tensor_data_layout", "attention.layer_norm_epsilon", "expert_feed_forward_length",
}

// key returns a key with the architecture.
func (k *keys) key(name string) string {
	full := k.arch + "." + name
	k.used[full] = true
	return full
}

// has tells whether the file has a key.
func (k *keys) has(name string) bool {
	_, ok := k.f.Value(k.key(name))
	return ok
}

// fail records an error.
func (k *keys) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// size reads a positive integer. A missing key is the default, or an error if that is 0.
func (k *keys) size(name string, missing int) int {
	if missing > 0 && !k.has(name) {
		return missing
	}
	return k.integer(name, 1, most)
}

// integer reads a number from low to high.
func (k *keys) integer(name string, low, high int64) int {
	key := k.key(name)
	n, err := k.f.Int(key)
	if err != nil {
		k.fail(err)
		return 1
	}
	if n < low || n > high {
		k.fail(keyError(key, fmt.Sprint(n), fmt.Sprintf("%d to %d", low, high)))
		return 1
	}
	return int(n)
}

// number reads a number from low to high. A missing key is the default, or an error if that is 0.
func (k *keys) number(name string, missing, low, high float64) float64 {
	if missing > 0 && !k.has(name) {
		return missing
	}
	key := k.key(name)
	x, err := k.f.Float(key)
	if err != nil {
		k.fail(err)
		return low
	}
	if !(x >= low && x <= high) {
		k.fail(keyError(key, fmt.Sprint(x), fmt.Sprintf("%g to %g", low, high)))
		return low
	}
	return x
}

// optional reads a number from low to high, or 0 if the file has none or says 0.
func (k *keys) optional(name string, low, high float64) float64 {
	if !k.has(name) {
		return 0
	}
	if x, err := k.f.Float(k.key(name)); err == nil && x == 0 {
		return 0
	}
	return k.number(name, 0, low, high)
}

func keyError(key, got, want string) error {
	return &gguf.KeyError{Key: key, Found: got, Want: want}
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
		return nil, Config{}, keyError(key, fmt.Sprintf("%q", name), "one of "+known(nameInFiles))
	}
	k := &keys{f: f, arch: name, used: map[string]bool{}}
	c := k.config(a)
	if k.err == nil {
		k.err = c.check(k)
	}
	if k.err == nil {
		k.err = k.unknown()
	}
	return a, c, k.err
}

// config reads all keys.
func (k *keys) config(a *architecture) Config {
	c := Config{
		Architecture: a.name,
		Layers:       k.size("block_count", 0),
		Width:        k.size("embedding_length", 0),
		Heads:        k.size("attention.head_count", 0),
		FFN:          k.feedForward(a),
		Context:      k.size("context_length", 0),
		Epsilon:      float32(k.number("attention.layer_norm_rms_epsilon", 0, 0, 1)),
		ScoreScale:   float32(k.optional("attention.scale", 0x1p-64, 0x1p64)),
		ScoreSoftcap: float32(k.optional("attn_logit_softcapping", 0x1p-64, 0x1p64)),
		LogitSoftcap: float32(k.optional("final_logit_softcapping", 0x1p-64, 0x1p64)),
	}
	c.KVHeads = k.size("attention.head_count_kv", c.Heads)
	c.HeadSize = k.size("attention.key_length", max(1, c.Width/c.Heads))
	c.RopeDims = k.size("rope.dimension_count", c.HeadSize)
	c.RopeBase = k.number("rope.freq_base", 10000, 1, 0x1p64)
	k.ropeScaling(&c)
	k.expertKeys(a, &c)
	if k.err == nil && c.Layers <= mostLayers {
		c.ofArchitecture(a)
		k.windows(a, &c)
	}
	return c
}

// feedForward reads the width of a feed-forward network, which with experts is theirs.
func (k *keys) feedForward(a *architecture) int {
	if a.experts {
		k.key("feed_forward_length") // of layers without experts, of which there are none
		return k.size("expert_feed_forward_length", 0)
	}
	return k.size("feed_forward_length", 0)
}

// expertKeys reads how many experts there are.
func (k *keys) expertKeys(a *architecture, c *Config) {
	if a.experts {
		c.Experts, c.ExpertShares = k.size("expert_count", 0), true
		c.ExpertsUsed = k.integer("expert_used_count", 1, int64(c.Experts))
		return
	}
	for _, name := range []string{"expert_count", "expert_used_count"} {
		if !k.has(name) {
			continue
		}
		if n := k.integer(name, 0, most); n != 0 {
			k.fail(keyError(k.key(name), fmt.Sprint(n), "none: "+a.name+" with experts is not supported"))
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

// windows reads how far the queries of each layer see.
func (k *keys) windows(a *architecture, c *Config) {
	window := 0
	if k.has("attention.sliding_window") {
		window = k.integer("attention.sliding_window", 0, most)
	}
	whole := a.whole
	if k.has("attention.sliding_window_pattern") {
		period := k.integer("attention.sliding_window_pattern", 1, most)
		whole = func(layer int) bool { return (layer+1)%period == 0 }
	}
	if c.Bidirectional = a.bidirectional; c.Bidirectional && window > 0 {
		window = window/2 + 1 // a half of it to each side
	}
	c.Windows = windows(c.Layers, window, whole)
	if a.localBase != 0 && c.Windows != nil {
		c.localBase = k.number("rope.freq_base_swa", a.localBase, 1, 0x1p64)
	}
}

// ropeScaling reads how positions are scaled.
func (k *keys) ropeScaling(c *Config) {
	c.RopeScaling = 1
	kind := ""
	if k.has("rope.scaling.type") {
		var err error
		if kind, err = k.f.String(k.key("rope.scaling.type")); err != nil {
			k.fail(err)
		}
	} else if k.has("rope.scale_linear") { // of older files
		c.RopeScaling = k.number("rope.scale_linear", 1, 0x1p-32, 0x1p32)
	}
	s := ropescaling.Scaling{
		Factor:    k.number("rope.scaling.factor", 1, 0x1p-32, 0x1p32),
		Original:  float64(k.size("rope.scaling.original_context_length", c.Context)),
		Fast:      k.number("rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6),
		Slow:      k.number("rope.scaling.yarn_beta_slow", 1, 1e-3, 1e6),
		Magnitude: k.number("rope.scaling.attn_factor", 1, 0x1p-16, 0x1p16),
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
		k.fail(keyError(k.key("rope.scaling.type"), fmt.Sprintf("%q", kind), `"none", "linear", "yarn" or "longrope"; others are not supported`))
	}
	c.scaling = s
}

// check reports sizes that do not fit each other.
func (c *Config) check(k *keys) error {
	switch {
	case c.Layers > mostLayers:
		return keyError(k.key("block_count"), fmt.Sprint(c.Layers), fmt.Sprintf("1 to %d", mostLayers))
	case c.Heads%c.KVHeads != 0:
		return keyError(k.key("attention.head_count_kv"), fmt.Sprint(c.KVHeads), fmt.Sprintf("a divisor of the %d query heads", c.Heads))
	case !k.has("attention.key_length") && c.Width%c.Heads != 0:
		return keyError(k.key("attention.head_count"), fmt.Sprint(c.Heads), fmt.Sprintf("a divisor of the width %d", c.Width))
	case c.Heads*c.HeadSize > most:
		return keyError(k.key("attention.key_length"), fmt.Sprint(c.HeadSize), fmt.Sprintf("at most %d for all %d heads together", most, c.Heads))
	case c.RopeDims > c.HeadSize || c.RopeDims%2 != 0:
		return keyError(k.key("rope.dimension_count"), fmt.Sprint(c.RopeDims), fmt.Sprintf("an even number up to the head size %d", c.HeadSize))
	}
	if n := k.size("attention.value_length", c.HeadSize); k.err == nil && n != c.HeadSize {
		return keyError(k.key("attention.value_length"), fmt.Sprint(n), fmt.Sprintf("%d as key_length", c.HeadSize))
	}
	return k.err
}

// unknown reports a key of the architecture that nothing has asked for: what it changes is not
// known.
func (k *keys) unknown() error {
	for _, key := range k.f.Keys() {
		name, ok := strings.CutPrefix(key, k.arch+".")
		if !ok || k.used[key] || slices.Contains(unusedKeys, name) || k.nothing(key) {
			continue
		}
		v, _ := k.f.Value(key)
		return keyError(key, fmt.Sprint(v), "none: it is not supported")
	}
	return nil
}

// nothing tells whether a value is zero or false, with which no key that is known to exist changes
// anything.
func (k *keys) nothing(key string) bool {
	if x, err := k.f.Float(key); err == nil {
		return x == 0
	}
	if n, err := k.f.Int(key); err == nil {
		return n == 0
	}
	b, err := k.f.Bool(key)
	return err == nil && !b
}
