package encoder

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A spec describes an encoder as data: what its layers compute, and the names of its tensors. An
// architecture is a row of families, which reads a spec from config.json.
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
	head       *head // of rerankers, or nil
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

// A head turns the pooling of the states into scores: out(norm(activation(dense(x)))). Names are whole ones; "" is a part that it
// does not have.
type head struct {
	pooling          folder.Pooling
	dense, norm, out string
	bias             bool // of dense; out has one
	activation       activations.Function
}

// firstToken returns the head of most architectures.
func firstToken(dense, out string, act activations.Function) *head {
	return &head{pooling: folder.First, dense: dense, out: out, bias: true, activation: act}
}

// families are the architectures, by model_type of config.json.
var families = map[string]func(f *folder.Folder) (*spec, error){
	"bert":        readBERT,
	"distilbert":  readDistilBERT,
	"roberta":     readRoBERTa,
	"xlm-roberta": readRoBERTa,
	"mpnet":       readMPNet,
	"nomic_bert":  readNomic,
	"modernbert":  readModern,
	"new":         readNew,
	"deberta-v2":  readDeBERTa,
}

// bertNames are the names of BERT and RoBERTa.
var bertNames = names{
	words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", types: "embeddings.token_type_embeddings", norm: "embeddings.LayerNorm",
	qkv: []string{"encoder.layer.%d.attention.self.query", "encoder.layer.%d.attention.self.key", "encoder.layer.%d.attention.self.value"},
	out: "encoder.layer.%d.attention.output.dense", attentionNorm: "encoder.layer.%d.attention.output.LayerNorm",
	up: []string{"encoder.layer.%d.intermediate.dense"}, down: "encoder.layer.%d.output.dense", mlpNorm: "encoder.layer.%d.output.LayerNorm",
	unused: []string{"embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "cls.predictions.", "cls.seq_relationship.", "lm_head."},
}

var mpnetNames = names{
	words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", norm: "embeddings.LayerNorm",
	qkv: []string{"encoder.layer.%d.attention.attn.q", "encoder.layer.%d.attention.attn.k", "encoder.layer.%d.attention.attn.v"},
	out: "encoder.layer.%d.attention.attn.o", attentionNorm: "encoder.layer.%d.attention.LayerNorm",
	up: []string{"encoder.layer.%d.intermediate.dense"}, down: "encoder.layer.%d.output.dense", mlpNorm: "encoder.layer.%d.output.LayerNorm",
	relative: "encoder.relative_attention_bias",
	unused:   []string{"embeddings.position_ids", "pooler.", "lm_head."},
}

var distilNames = names{
	words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", norm: "embeddings.LayerNorm",
	qkv: []string{"transformer.layer.%d.attention.q_lin", "transformer.layer.%d.attention.k_lin", "transformer.layer.%d.attention.v_lin"},
	out: "transformer.layer.%d.attention.out_lin", attentionNorm: "transformer.layer.%d.sa_layer_norm",
	up: []string{"transformer.layer.%d.ffn.lin1"}, down: "transformer.layer.%d.ffn.lin2", mlpNorm: "transformer.layer.%d.output_layer_norm",
	unused: []string{"vocab_transform.", "vocab_layer_norm.", "vocab_projector."},
}

// In nomic's feed-forward network fc12 is the gate.
var nomicNames = names{
	words: "embeddings.word_embeddings", types: "embeddings.token_type_embeddings", norm: "emb_ln",
	qkv: []string{"encoder.layers.%d.attn.Wqkv"}, out: "encoder.layers.%d.attn.out_proj", attentionNorm: "encoder.layers.%d.norm1",
	up: []string{"encoder.layers.%d.mlp.fc12", "encoder.layers.%d.mlp.fc11"}, down: "encoder.layers.%d.mlp.fc2", mlpNorm: "encoder.layers.%d.norm2",
	unused: []string{"pooler.", "cls.predictions."},
}

var newNames = names{
	words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", types: "embeddings.token_type_embeddings", norm: "embeddings.LayerNorm",
	qkv: []string{"encoder.layer.%d.attention.qkv_proj"}, out: "encoder.layer.%d.attention.o_proj", attentionNorm: "encoder.layer.%d.attn_ln",
	up: []string{"encoder.layer.%d.mlp.up_gate_proj"}, down: "encoder.layer.%d.mlp.down_proj", mlpNorm: "encoder.layer.%d.mlp_ln",
	unused: []string{"embeddings.position_ids", "pooler.", "lm_head."},
}

var modernNames = names{
	words: "embeddings.tok_embeddings", norm: "embeddings.norm",
	qkv: []string{"layers.%d.attn.Wqkv"}, out: "layers.%d.attn.Wo", attentionNorm: "layers.%d.attn_norm",
	up: []string{"layers.%d.mlp.Wi"}, down: "layers.%d.mlp.Wo", mlpNorm: "layers.%d.mlp_norm", last: "final_norm",
	unused: []string{"head.", "decoder."},
}

// The heads of rerankers whose config.json says nothing of them.
var (
	bertHead    = firstToken("bert.pooler.dense", "classifier", activations.Tanh)
	robertaHead = firstToken("classifier.dense", "classifier.out_proj", activations.Tanh)
	newHead     = firstToken("new.pooler.dense", "classifier", activations.Tanh)
	distilHead  = firstToken("pre_classifier", "classifier", activations.ReLU)
)

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
