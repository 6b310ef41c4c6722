package decoder

import (
	"fmt"

	"github.com/attn-go/attn/models/gguf"
)

// A Config has the sizes and constants of a model, as its file gives them.
type Config struct {
	Layers   int
	Width    int // of the hidden states
	Heads    int // of queries
	KVHeads  int // of keys and values; divides Heads
	HeadSize int
	FFN      int // width of the feed-forward networks
	Vocab    int // tokens
	Context  int // tokens that the model was trained for

	Epsilon float32 // of the norms

	RopeDims    int     // elements of a head that are rotated
	RopeBase    float64 // of the frequencies
	RopeScaling float64 // divides the frequencies
}

// unsupported are keys without the architecture that change the arithmetic in ways that are
// not implemented, with the values, besides none, that change nothing.
var unsupported = []struct {
	key      string
	harmless any
}{
	{"expert_count", int64(0)},
	{"attention.scale", nil},
	{"attention.sliding_window", int64(0)},
	{"attention.clamp_kqv", 0.0},
	{"attention.max_alibi_bias", 0.0},
	{"attn_logit_softcapping", nil},
	{"final_logit_softcapping", nil},
	{"embedding_scale", nil},
	{"residual_scale", nil},
	{"logit_scale", nil},
	{"rope.scaling.attn_factor", 1.0},
}

// most bounds every size: beyond it products of two sizes and a number of bytes could overflow.
const most = 1 << 24

// keys reads metadata. The first error stays.
type keys struct {
	f   *gguf.File
	err error
}

// has tells whether the file has a key.
func (k *keys) has(key string) bool {
	_, ok := k.f.Value(key)
	return ok
}

// fail records an error.
func (k *keys) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// size reads a positive integer. A missing key is the default, or an error if that is 0.
func (k *keys) size(key string, missing int) int {
	if missing > 0 && !k.has(key) {
		return missing
	}
	n, err := k.f.Int(key)
	if err != nil {
		k.fail(err)
		return 1
	}
	if n < 1 || n > most {
		k.fail(keyError(key, fmt.Sprint(n), fmt.Sprintf("1 to %d", most)))
		return 1
	}
	return int(n)
}

// number reads a number from low to high. A missing key is the default, or an error if that is 0.
func (k *keys) number(key string, missing, low, high float64) float64 {
	if missing > 0 && !k.has(key) {
		return missing
	}
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

func keyError(key, got, want string) error {
	return &gguf.KeyError{Key: key, Found: got, Want: want}
}

// readConfig reads the metadata. The vocabulary is as large as the embedding has rows.
func readConfig(f *gguf.File) (Config, error) {
	arch, err := f.String("general.architecture")
	if err != nil {
		return Config{}, err
	}
	if arch != "llama" {
		return Config{}, keyError("general.architecture", fmt.Sprintf("%q", arch), `"llama"`)
	}
	k := &keys{f: f}
	c := Config{
		Layers:  k.size("llama.block_count", 0),
		Width:   k.size("llama.embedding_length", 0),
		Heads:   k.size("llama.attention.head_count", 0),
		FFN:     k.size("llama.feed_forward_length", 0),
		Context: k.size("llama.context_length", 0),
		Epsilon: float32(k.number("llama.attention.layer_norm_rms_epsilon", 0, 0, 1)),
	}
	c.KVHeads = k.size("llama.attention.head_count_kv", c.Heads)
	c.HeadSize = k.size("llama.attention.key_length", max(1, c.Width/c.Heads))
	c.RopeDims = k.size("llama.rope.dimension_count", c.HeadSize)
	c.RopeBase = k.number("llama.rope.freq_base", 10000, 1, 0x1p64)
	c.RopeScaling = k.ropeScaling()
	if k.err == nil {
		k.err = c.check(k)
	}
	return c, k.err
}

// ropeScaling reads how positions are scaled.
func (k *keys) ropeScaling() float64 {
	const kind = "llama.rope.scaling.type"
	if k.has(kind) {
		switch s, err := k.f.String(kind); {
		case err != nil:
			k.fail(err)
		case s == "none":
			return 1
		case s != "linear":
			k.fail(keyError(kind, fmt.Sprintf("%q", s), `"none" or "linear"; others are not supported`))
		}
		return k.number("llama.rope.scaling.factor", 1, 0x1p-32, 0x1p32)
	}
	return k.number("llama.rope.scale_linear", 1, 0x1p-32, 0x1p32) // of older files
}

// check reports sizes that do not fit each other, and keys that are not supported.
func (c *Config) check(k *keys) error {
	switch {
	case c.Layers > 1<<16:
		return keyError("llama.block_count", fmt.Sprint(c.Layers), fmt.Sprintf("1 to %d", 1<<16))
	case c.Heads%c.KVHeads != 0:
		return keyError("llama.attention.head_count_kv", fmt.Sprint(c.KVHeads), fmt.Sprintf("a divisor of the %d query heads", c.Heads))
	case !k.has("llama.attention.key_length") && c.Width%c.Heads != 0:
		return keyError("llama.attention.head_count", fmt.Sprint(c.Heads), fmt.Sprintf("a divisor of the width %d", c.Width))
	case c.Heads*c.HeadSize > most:
		return keyError("llama.attention.key_length", fmt.Sprint(c.HeadSize), fmt.Sprintf("at most %d for all %d heads together", most, c.Heads))
	case c.RopeDims > c.HeadSize || c.RopeDims%2 != 0:
		return keyError("llama.rope.dimension_count", fmt.Sprint(c.RopeDims), fmt.Sprintf("an even number up to the head size %d", c.HeadSize))
	}
	if n := k.size("llama.attention.value_length", c.HeadSize); k.err == nil && n != c.HeadSize {
		return keyError("llama.attention.value_length", fmt.Sprint(n), fmt.Sprintf("%d as key_length", c.HeadSize))
	}
	for _, u := range unsupported {
		if key := "llama." + u.key; k.has(key) && !k.harmless(key, u.harmless) {
			v, _ := k.f.Value(key)
			k.fail(keyError(key, fmt.Sprint(v), "none: it is not supported"))
		}
	}
	return k.err
}

// harmless tells whether the value of a key is the one that changes nothing.
func (k *keys) harmless(key string, value any) bool {
	switch want := value.(type) {
	case int64:
		n, err := k.f.Int(key)
		return err == nil && n == want
	case float64:
		x, err := k.f.Float(key)
		return err == nil && x == want
	}
	return false
}
