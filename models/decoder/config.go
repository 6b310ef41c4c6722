package decoder

import (
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/strict"
)

// A Config has the sizes and constants of a model, as its file or folder gives them.
type Config struct {
	Architecture string // as GGUF files call it

	Layers   int
	KVLayers int // layers with keys and values: all, unless others are recurrent
	Width    int // of the hidden states
	Heads    int // of queries
	KVHeads  int // of keys and values; divides Heads
	HeadSize int
	InKeys   int // of latent attention: the values are so many first elements of the keys, and only these are kept; 0: there are values
	FFN      int // width of the feed-forward networks; of each expert if there are any
	Vocab    int // rows of the embedding: tokens, and rows without a token in some models
	Context  int // tokens that the model was trained for

	Epsilon float32 // of the norms

	RopeDims    int     // elements of a head that are rotated
	RopeBase    float64 // of the frequencies
	RopeScaling float64 // divides the frequencies, if they are scaled alike; 1 otherwise

	Experts      int  // feed-forward networks of a layer; 0 means one, without a choice
	ExpertsUsed  int  // of which a token takes so many
	ExpertShares bool // the shares of those add up to 1

	// Windows has, for each layer, how many keys a query sees, its own included; 0 means all. nil
	// means all in every layer.
	Windows []int

	// Bidirectional says that tokens also see those after them, and with a window as many after
	// them as before: a model of embeddings, see [LoadEmbedder], which generates no text.
	Bidirectional bool

	EmbeddingScale float32 // multiplies embeddings, if not 0
	ScoreScale     float32 // of scores, if not 0, which means 1/√HeadSize
	ScoreSoftcap   float32 // limits scores, if not 0
	ResidualScale  float32 // multiplies what the parts of a layer add to the states, if not 0
	LogitScale     float32 // multiplies logits, if not 0
	LogitSoftcap   float32 // limits logits, if not 0
}

// configOf returns the sizes and constants of a model.
func configOf(m *arch.Model) Config {
	l := m.Layers[0]
	all, r := m.Attentions(), ropeOf(m)
	t := all[0]
	c := Config{
		Architecture: m.Family.GGUF, Layers: len(m.Layers), KVLayers: len(m.Keepers()), Width: m.Width, Heads: t.Heads, KVHeads: t.KVHeads, HeadSize: t.Size,
		Context: m.Context, Epsilon: float32(l.Norm.Epsilon), RopeDims: r.Dims, RopeBase: r.Base, RopeScaling: r.Divide, Bidirectional: m.BothWays,
		EmbeddingScale: m.Embed.Scale, ScoreScale: t.Scale, ScoreSoftcap: t.Softcap,
		ResidualScale: l.Share, LogitScale: m.Logits.Scale, LogitSoftcap: m.Logits.Softcap,
	}
	if latent, ok := l.Mixer.(*arch.Latent); ok {
		c.InKeys = latent.Rank
	}
	for _, l := range m.Layers {
		switch f := l.Feed.(type) { // the last one counts: the first ones may have no experts
		case *arch.Dense:
			c.FFN = f.Inner
		case *arch.Experts:
			c.FFN, c.Experts, c.ExpertsUsed, c.ExpertShares = f.Inner, f.Count, f.Used, f.Shares
		case *arch.Twofold:
			c.FFN, c.Experts, c.ExpertsUsed, c.ExpertShares = f.Experts.Inner, f.Experts.Count, f.Experts.Used, f.Experts.Shares
		}
		window := 0
		if a := l.Attention(); a != nil {
			window = a.Window
		}
		c.Windows = append(c.Windows, window)
	}
	if slices.Max(c.Windows) == 0 {
		c.Windows = nil
	}
	return c
}

// caches returns the memory of keys and values of each layer that keeps some, for so many pages.
func (n *network) caches(o *Options, pages int) (all []kvcache.Config) {
	for _, l := range n.arch.Keepers() {
		a := l.Attention()
		c := kvcache.Config{Heads: a.KVHeads, HeadSize: a.Size, KeyType: o.CacheType, ValueType: o.ValueType(), PageSize: o.PageSize, Pages: pages}
		if latent, ok := l.Mixer.(*arch.Latent); ok {
			c.ValueSize, c.ValuesInKeys = latent.Rank, true
		}
		all = append(all, c)
	}
	return all
}

// AheadBytes returns the memory that a page takes of what the layer of [Options.MTP] has read, see
// [Session.OpenAhead]; 0 for a model without such a layer.
func (m *Model) AheadBytes() (int, error) {
	if m.ahead == nil {
		return 0, nil
	}
	return m.ahead.PageBytes()
}

// PageBytes returns the memory of a page of a session. A text needs [Model.Pages] of them.
func (m *Model) PageBytes() (int, error) { return m.layout.pageBytes() }

// kept returns how many numbers a token has in the caches of all layers.
func (n *network) kept() (sum int64) {
	for _, c := range n.caches(&Options{}, 0) {
		size := int64(c.Heads) * int64(c.HeadSize)
		if sum += size; !c.ValuesInKeys {
			sum += size
		}
	}
	return sum
}

// ropeOf returns the rotations of layers that see all tokens, or else of others, or an empty one.
func ropeOf(m *arch.Model) *arch.Rope {
	found := &arch.Rope{}
	for _, t := range slices.Backward(m.Attentions()) {
		if t.Rope != nil && (t.Window == 0 || found.Dims == 0) {
			found = t.Rope
		}
	}
	return found
}

// noGenerator returns the error of a model of embeddings that is to generate text.
func noGenerator(m *arch.Model, bad func(key, got, want string) error) error {
	return bad(m.Says[0], m.Says[1]+", a model of embeddings", "one that generates text; LoadEmbedder is for this one")
}

// most bounds every size.
const most = strict.Most

// configFile says what the model of a folder is.
const configFile = "config.json"

func configError(key, got, want string) error {
	return &kernel.Error{Where: configFile + ": " + key, Got: got, Want: want}
}

// Architectures lists what [Load] and [LoadEmbedder] take: model_type of a config.json and
// general.architecture of a GGUF file.
func Architectures() (folders, files []string) {
	folders, files = settings.Decoders.Types(), settings.Decoders.Files()
	slices.Sort(folders)
	slices.Sort(files)
	return folders, files
}
