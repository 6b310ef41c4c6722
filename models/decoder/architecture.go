package decoder

import (
	"slices"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/settings"
)

// An architecture is what the layers of a model have in common, all of which are alike but for their windows. Sizes and
// constants are those of a [Config].
type architecture struct {
	*arch.Family
	arch.Layer
	attention *arch.Attention
	dense     *arch.Dense
	experts   *arch.Experts // or nil
	ignored   []string      // beginnings of names of tensors
	gate      func(dst, gate, up []float32, exec kernel.Exec) error
}

// gates are the functions of gated feed-forward networks by their activations.
var gates = map[linear.Activation]func(dst, gate, up []float32, exec kernel.Exec) error{
	linear.SiLU: activation.SwiGLU, linear.GELUTanh: activation.GeGLUTanh,
}

// describe returns what an engine is told of a model.
func describe(m *arch.Model) (*architecture, Config) {
	first := m.Layers[0]
	a := &architecture{Family: m.Family, Layer: first, ignored: m.Ignored, attention: first.Mixer.(*arch.Attention)}
	switch f := first.Feed.(type) {
	case *arch.Dense:
		a.dense = f
	case *arch.Experts:
		a.dense, a.experts = &f.Dense, f
	}
	a.gate = gates[a.dense.Activation.Fused]
	t := a.attention
	c := Config{
		Architecture: a.GGUF, Layers: len(m.Layers), Width: m.Width, Heads: t.Heads, KVHeads: t.KVHeads, HeadSize: t.Size, FFN: a.dense.Inner,
		Vocab: m.Vocab, Context: m.Context, Epsilon: float32(first.Norm.Epsilon),
		Bidirectional: m.BothWays, bothWays: m.Says,
		EmbeddingScale: m.Embed.Scale, ScoreScale: t.Scale, ScoreSoftcap: t.Softcap, LogitSoftcap: m.Logits.Softcap,
	}
	if e := a.experts; e != nil {
		c.Experts, c.ExpertsUsed, c.ExpertShares = e.Count, e.Used, e.Shares
	}
	c.layers(m.Layers)
	return a, c
}

// layers sets in what layers differ: those with a window may have other rotations.
func (c *Config) layers(all []arch.Layer) {
	windows := make([]int, len(all))
	whole := (*arch.Rope)(nil)
	for i, l := range all {
		t := l.Mixer.(*arch.Attention)
		if windows[i] = t.Window; t.Window == 0 || whole == nil {
			whole = t.Rope
		}
	}
	for i, l := range all {
		if r := l.Mixer.(*arch.Attention).Rope; windows[i] > 0 && r != whole {
			c.localBase = r.Base
		}
	}
	if slices.Max(windows) > 0 {
		c.Windows = windows
	}
	c.RopeDims, c.RopeBase, c.RopeScaling, c.dynamic, c.scaling = whole.Dims, whole.Base, whole.Divide, whole.Dynamic, whole.Scaling
}

// configFile says what the model of a folder is.
const configFile = "config.json"

func configError(key, got, want string) error {
	return &kernel.Error{Where: configFile + ": " + key, Got: got, Want: want}
}

// readFolderConfig reads config.json of a folder. head is headTied or headOwn. The number of rows of the embedding comes later.
func readFolderConfig(dir string) (a *architecture, c Config, head headSource, err error) {
	m, err := settings.Decoders.ReadFolder(dir, configError)
	if err != nil {
		return nil, c, headOwn, err
	}
	if head = headOwn; m.Logits.Tied {
		head = headTied
	}
	a, c = describe(m)
	return a, c, head, nil
}

// readConfig reads the metadata of a file. The vocabulary is as large as the embedding has rows.
func readConfig(f *gguf.File) (*architecture, Config, error) {
	m, err := settings.Decoders.ReadFile(f, gguf.KeyError)
	if err != nil {
		return nil, Config{}, err
	}
	a, c := describe(m)
	return a, c, nil
}

// Architectures lists what [Load] and [LoadEmbedder] take: model_type of a config.json and
// general.architecture of a GGUF file.
func Architectures() (folders, files []string) {
	folders, files = settings.Decoders.Types(), settings.Decoders.Files()
	slices.Sort(folders)
	slices.Sort(files)
	return folders, files
}
