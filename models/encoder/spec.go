package encoder

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A spec describes an encoder as data: what its layers compute, and the names of its tensors.
type spec struct {
	sizes
	epsilon    float64
	activation activations.Function
	gated      bool          // the feed-forward network is down(activation(gate(x))·up(x))
	preNorm    bool          // x + f(norm(x)); otherwise norm(x + f(x))
	normBias   bool          // norms have biases
	attnBias   bool          // and so have the linear layers of attention
	mlpBias    bool          // and of the feed-forward network
	downBias   bool          // and its last layer, if the others have none
	upFirst    bool          // a layer of gate and up has up first
	padding    int           // -1, or the id that takes no position; those of others begin after it (RoBERTa)
	relative   int           // buckets of relative positions (MPNet), or 0
	apart      *disentangled // scores of positions apart from those of contents (DeBERTa), or nil
	kinds      []int         // of every layer: an index of windows and bases
	windows    []int         // keys to each side that a query sees, or -1 for all
	bases      []float64
	scaling    float64 // divides the frequencies; 0 means 1
	names      names
	head       *arch.Head // of rerankers, or nil
}

// sizes are the numbers of a spec that all architectures have. Positions are rows of a table, or what
// the model was trained for if positions are rotary.
type sizes struct{ Width, Inner, Layers, Heads, Positions, Types, Vocab int }

// names are those of the tensors, without .weight and .bias. Those of a layer have its number for
// %d. An empty name is a part that the architecture does not have.
type names struct {
	words, positions, types, norm string
	qkv                           []string // queries, keys, values; or one for all
	out                           string
	attentionNorm                 string   // after attention, or before it with preNorm
	up                            []string // gate and up; or one for both if the model is gated
	down                          string
	mlpNorm                       string
	last                          string // the norm after the last layer
	relative                      string
	unused                        []string // beginnings of tensors that no vector depends on
}

// prefixes are what the names of a model's tensors may begin with.
var prefixes = []string{"", "bert.", "roberta.", "distilbert.", "mpnet.", "nomic_bert.", "new.", "model.", "deberta."}

// prefixOf returns the prefix that the names of tensors have.
func (s *spec) prefixOf(f *tensors.Store) string {
	for _, p := range prefixes {
		if _, ok := f.Info(p + s.names.words + ".weight"); ok {
			return p
		}
	}
	return ""
}

// at returns the name of a tensor of layer i.
func at(name string, i int) string { return strings.ReplaceAll(name, "%d", fmt.Sprint(i)) }

const configName = "config.json"

// readSpec reads config.json of a folder.
func readSpec(f *folder.Folder) (*spec, error) {
	m, err := settings.Encoders.ReadFolder(f.Dir(), func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	})
	if err != nil {
		return nil, err
	}
	return specOf(m, func(name string) string { return m.Family.Names[name] }), nil
}

// specOf returns the spec of a model, whose tensors the files call by other names than GGUF files do.
func specOf(m *arch.Model, named func(name string) string) *spec {
	l := m.Layers[0]
	a, d := l.Mixer.(*arch.Attention), l.Feed.(*arch.Dense)
	s := &spec{
		sizes:   sizes{Width: m.Width, Inner: d.Inner, Layers: len(m.Layers), Heads: a.Heads, Positions: m.Context, Types: max(1, m.Embed.Types), Vocab: m.Vocab},
		epsilon: l.Norm.Epsilon, activation: d.Activation, gated: d.Gated, preNorm: l.Order == arch.Pre, normBias: l.Norm.Bias,
		attnBias: a.Bias == arch.Present, mlpBias: d.Bias == arch.Present, downBias: d.DownBias == arch.Present, upFirst: d.UpFirst,
		padding: m.Embed.Padding, relative: a.Relative, head: m.Head, kinds: make([]int, len(m.Layers)), windows: []int{-1},
	}
	if m.Embed.Table > 0 {
		s.Positions = m.Embed.Table
	}
	s.reach(m.Layers)
	s.name(m, a, d, named)
	return s
}

// reach sets how far layers see, and by which rotations.
func (s *spec) reach(layers []arch.Layer) {
	whole, near := (*arch.Attention)(nil), (*arch.Attention)(nil)
	for i, l := range layers {
		if a := l.Mixer.(*arch.Attention); a.Window > 0 {
			s.kinds[i], near = 1, a
		} else {
			whole = a
		}
	}
	if near != nil {
		s.windows = append(s.windows, near.Window-1)
	}
	if whole == nil {
		whole = near
	}
	if whole.Rope != nil {
		s.bases, s.scaling = []float64{whole.Rope.Base}, whole.Rope.Divide
		if near != nil {
			s.bases = append(s.bases, near.Rope.Base)
		}
	}
}

// name sets the names of the tensors that the model has.
func (s *spec) name(m *arch.Model, a *arch.Attention, d *arch.Dense, named func(name string) string) {
	layer := func(name string) string { return named("blk.%d." + name) }
	n := names{words: named("token_embd"), norm: named("token_embd_norm"), out: layer("attn_output"), down: layer("ffn_down"), unused: m.Ignored}
	if m.Embed.Table > 0 {
		n.positions = named("position_embd")
	}
	if m.Embed.Types > 0 {
		n.types = named("token_types")
	}
	if n.qkv = []string{layer("attn_q"), layer("attn_k"), layer("attn_v")}; a.Fused {
		n.qkv = []string{layer("attn_qkv")}
	}
	switch {
	case d.Fused:
		n.up = []string{layer("ffn_gate_up")}
	case d.Gated:
		n.up = []string{layer("ffn_gate"), layer("ffn_up")}
	default:
		n.up = []string{layer("ffn_up")}
	}
	if n.attentionNorm, n.mlpNorm = layer("attn_output_norm"), layer("layer_output_norm"); s.preNorm {
		n.attentionNorm, n.mlpNorm, n.last = layer("attn_norm"), layer("ffn_norm"), named("output_norm")
	}
	if a.Relative > 0 {
		n.relative = named("attn_rel_b")
	}
	if p := a.Apart; p != nil {
		n.relative = named("rel_embd")
		s.apart = &disentangled{shared: p.Shared, buckets: p.Buckets, most: p.Most, span: p.Span, ofContent: p.OfContent, ofPosition: p.OfPosition}
		if p.Norm {
			s.apart.norm = named("rel_embd_norm")
		}
		if !p.Shared {
			s.apart.keys, s.apart.queries = layer("attn_rel_k"), layer("attn_rel_q")
		}
	}
	s.names = n
}
