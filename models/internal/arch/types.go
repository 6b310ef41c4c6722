// Package arch describes models as data: what their layers compute and with which sizes. It reads
// no files: package settings fills a [Model] from config.json or from the metadata of a GGUF file,
// and the engine builds a network of it. A [Family] is what all models of a kind have in common.
//
// Each part of a layer has a type of its own, so that a family with another part adds a type and
// changes none: a [Mixer] moves numbers between tokens and a [Feed] computes with the numbers of
// one token.
package arch

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/ropescaling"
)

// A Model is all that a network of one model is built from, beside its weights.
type Model struct {
	Family *Family

	Width   int // of the hidden states
	Vocab   int // rows of the embedding of an encoder; 0 of a decoder, which has them from its tensor
	Context int // tokens that the model was trained for

	// BothWays says that tokens also see those after them. Says has the key that says so and its
	// value, where a decoder does.
	BothWays bool
	Says     [2]string

	Embed    Embed
	Layers   []Layer // pointers in equal layers are the same; nothing changes what they point to
	Streams  int     // states of a token, of which layers read the first one (AltUp); 0: one alone
	Repeat   bool    // all layers have the weights of the first one (ALBERT)
	More     int     // layers that files have after them, which guess further tokens, see Ahead
	OwnWords bool    // the first of those has embeddings of its own
	MoreFeed Feed    // of the first of those, where the last layer with attention has none, or nil
	Final    *Norm   // after the last layer, or nil
	Project  int     // width of what a linear layer makes of the last states; 0: there is none
	Logits   Logits
	Head     *Head // the classifier of a reranker, or nil

	Quantized *Quantization       // of a folder, or nil
	Factors   map[string][]Factor // of matrices of all layers of a folder, by the ends of their names in GGUF files
}

// An Embed makes hidden states of tokens.
type Embed struct {
	Width   int     // of the embeddings and their norm, of which a linear layer makes states; 0: they are as wide as states
	Types   int     // rows of the embedding of types of tokens; 0 for none
	Table   int     // rows of the embedding of positions; 0 for none
	Padding int     // the first position is the one after it (RoBERTa), or -1
	Scale   float32 // multiplies the embeddings of tokens, if not 0
	Inputs  int     // numbers of a token for each layer, beside the states, or 0
	Derived bool    // they are made of the states alone, not of a table, too
	Known   int     // tokens with inputs of their own, the first ones; those after them have the inputs of token 0. 0: all
	Norm    *Norm   // or nil

	Placeholders Placeholders
	Soft         []Soft // in ascending order, one after the other; only if files have them
}

// A Soft is tokens that have embeddings of a part of a model that sees or hears: a row of a table,
// its norm, a linear layer, and a norm without weights.
type Soft struct {
	Name    string // of that part in files, perhaps behind "model."
	First   int32
	Count   int
	Epsilon float64
}

// Placeholders are tokens that stand for images and sounds. In a text each has the embeddings of
// another token.
type Placeholders struct {
	IDs   []int32
	Other int32
}

// Known returns the tokens whose embeddings ids have: ids itself, if there is no placeholder.
func (p *Placeholders) Known(ids []int32) []int32 {
	return Replaced(ids, func(id int32) bool { return slices.Contains(p.IDs, id) }, p.Other)
}

// Replaced returns ids with another one in the place of some, or ids itself without such.
func Replaced(ids []int32, some func(id int32) bool, other int32) []int32 {
	if !slices.ContainsFunc(ids, some) {
		return ids
	}
	ids = slices.Clone(ids)
	for i, id := range ids {
		if some(id) {
			ids[i] = other
		}
	}
	return ids
}

// A NormKind says what a norm subtracts.
type NormKind uint8

// The kinds of norms.
const (
	LayerNorm NormKind = iota // the mean
	RMSNorm                   // nothing
)

// A Norm divides vectors by their deviation.
type Norm struct {
	Kind    NormKind
	Epsilon float64
	Bias    bool
	LessOne bool // folders have the weights less 1
}

// An Order says where the norms of a layer stand.
type Order uint8

// The orders. f is a mixer or a feed.
const (
	Post     Order = iota // norm(x + f(x)), as BERT has it
	Pre                   // x + f(norm(x)), as Llama has it
	Sandwich              // x + norm(f(norm(x))), as Gemma has it
	Output                // x + norm(f(x)), as OLMo 2 has it
	Parallel              // x + mixer(norm(x)) + feed(norm(x)), with one norm for both, as Phi has it
)

// A Layer is a mixer and a feed, with norms and sums around them.
type Layer struct {
	Order Order
	Norm  *Norm
	Bare  bool    // there is no norm before the mixer (the first layer of ModernBERT)
	Share float32 // multiplies what the mixer and the feed add to the states, if not 0
	Mixer Mixer   // nil: there is none
	Feed  Feed    // likewise

	Inputs     int                  // numbers of a token that the layer takes beside the states, or 0
	Activation activations.Function // of what they multiply
	Scaled     bool                 // a number of the file multiplies the states at the end
	Laurel     int                  // rank of two matrices whose product is added to what the mixer makes, with the states (LAuReL), or 0
}

// A Mixer moves numbers between the tokens of a text.
type Mixer interface{ mixer() }

// A Feed computes with the numbers of one token.
type Feed interface{ feed() }

// A Bias says which linear layers have biases.
type Bias uint8

// Where biases are.
const (
	Absent  Bias = iota
	Present      // a tensor that is missing is an error, and where there should be none one that is there
	AsFiles      // where the file has them, as GGUF files do not say it otherwise
)

// An Attention is the mixer of transformers.
type Attention struct {
	Heads, KVHeads, Size int // of queries, of keys and values, and elements of a head

	Fused        bool // queries, keys and values are one layer in folders
	Gated        bool // the logistic function of a gate, which follows the queries of each head in their tensor, multiplies outputs
	Bias         Bias // of queries, keys and values
	OutBias      Bias
	HeadNorm     *HeadNorm // of queries and keys, or nil
	ValueNorm    bool      // values are divided by their deviation, too; there are no weights
	KeysAsValues bool      // values are what keys are before their norm
	Source       int       // 1 + the layer whose keys and values this one uses; 0: its own
	Window       int       // tokens that a query sees, its own and those before it, and with BothWays as many after it; 0 for all
	Rope         *Rope     // or nil, where no rotation says positions
	Scale        float32   // of scores; 0 means 1/√Size
	Softcap      float32   // limits scores, if not 0
	Sinks        bool      // each head has a score of a key without a value
	Relative     int       // [Buckets] of distances, of which scores have a bias (MPNet, T5), or 0
	ALiBi        []float32 // slopes of heads: scores fall with the distance of tokens (JinaBERT), or nil
	Apart        *Apart    // scores of positions apart from contents' (DeBERTa), or nil
}

// A HeadNorm is a norm of queries and a norm of keys.
type HeadNorm struct {
	Norm
	Of   Span
	Late bool // after the rotation; otherwise before it
}

// A Span says which numbers a norm of queries or keys divides together, and which weights it has.
type Span uint8

// The spans.
const (
	EachHead Span = iota // over a head; all heads have the same weights
	OwnHead              // over a head, which has weights of its own
	AllHeads             // over all heads
)

// Buckets is the number of rows of a table of relative positions: half of them for keys before the
// query, half for those after it.
const Buckets = 32

// A Rope rotates queries and keys by their position.
type Rope struct {
	Dims        int     // elements of a head that are rotated
	Base        float64 // of the frequencies
	Divide      float64 // the frequencies, if they are scaled alike; 1 otherwise
	Interleaved bool    // neighbours rotate together, in files
	Growth      float64 // queries grow to 1 + Growth·ln(1 + ⌊position/Scaling.Original⌋) times themselves, if it is not 0
	Dynamic     bool    // texts longer than the model was trained for would have frequencies for each length
	Scaling     ropescaling.Scaling
	Factored    bool // a GGUF file has factors of the pairs, without which it is not whole
}

// An Apart says how DeBERTa scores positions (He et al. 2021).
type Apart struct {
	OfContent, OfPosition bool // content to position, and position to content
	Shared                bool // projections are the contents' own
	Norm                  bool // of the embeddings of positions
	Buckets               int  // of distances; 0 means that each has its own
	Most                  int  // distances beyond it count as it
	Span                  int  // rows of the embedding to each side
}

// A Dense is a feed-forward network: down(act(up(x))), or down(act(gate(x))·up(x)).
type Dense struct {
	Inner      int // width between the layers
	Activation activations.Function
	Gated      bool
	Fused      bool // gate and up are one layer in folders
	UpFirst    bool // which then has up first
	Bias       Bias // of gate and up
	DownBias   Bias
	Beyond     *float32 // gates lose their mean and so many deviations, down to 0, or nil; with Gated
}

// Attention returns the mixer if it is attention, the attention of latents if it is a Latent, and
// else nil.
func (l *Layer) Attention() *Attention {
	switch m := l.Mixer.(type) {
	case *Attention:
		return m
	case *Latent:
		return &m.Attention
	case *Both:
		return &m.Attention
	}
	return nil
}

// Outputs is the width of what the model makes of a token.
func (m *Model) Outputs() int { return cmp.Or(m.Project, m.Width) }

// Ahead returns the model whose one layer is the first of those that guess further tokens (MTP). It
// is like the last layer with attention, but for MoreFeed. Ahead returns nil if the family has no
// names for it, or if it would carry a state, have a window or have no feed.
func (m *Model) Ahead() *Model {
	for _, l := range slices.Backward(m.Layers) {
		if t := l.Attention(); t != nil && m.Family.Names["blk.%d.nextn.eh_proj"] != "" {
			if m.MoreFeed != nil {
				l.Feed = m.MoreFeed
			}
			if _, both := l.Mixer.(*Both); both || t.Window > 0 || l.Feed == nil {
				return nil
			}
			a := *m
			a.Layers, a.More = []Layer{l}, 0
			return &a
		}
	}
	return nil
}

// Attentions lists the attention of the layers that have it.
func (m *Model) Attentions() (all []*Attention) {
	for i := range m.Layers {
		if a := m.Layers[i].Attention(); a != nil {
			all = append(all, a)
		}
	}
	return all
}

// Keepers lists the layers that have keys and values of their own.
func (m *Model) Keepers() (all []*Layer) {
	for i := range m.Layers {
		if a := m.Layers[i].Attention(); a != nil && a.Source == 0 {
			all = append(all, &m.Layers[i])
		}
	}
	return all
}

func (*Attention) mixer() {}
func (*Dense) feed()      {}

// Logits says what the scores of the next token are computed from.
type Logits struct {
	Tied    bool // the layer has the weights of the embedding
	Bias    Bias
	Scale   float32 // multiplies logits, if not 0
	Softcap float32 // limits logits, if not 0
}

// A Head turns the pooling of the states into scores: out(norm(activation(dense(x)))). With Late
// the pooling follows the activation. Names are whole
// ones; "" is a part that it does not have.
type Head struct {
	Pooling          string
	Dense, Norm, Out string
	Bias             bool // of Dense; Out has one
	Late             bool
	Activation       activations.Function
}
