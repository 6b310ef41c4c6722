package encoder

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/strict"
)

// debertaNames are those of DeBERTa v2 and v3.
var debertaNames = names{
	words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", types: "embeddings.token_type_embeddings", norm: "embeddings.LayerNorm",
	qkv: []string{"encoder.layer.%d.attention.self.query_proj", "encoder.layer.%d.attention.self.key_proj", "encoder.layer.%d.attention.self.value_proj"},
	out: "encoder.layer.%d.attention.output.dense", attentionNorm: "encoder.layer.%d.attention.output.LayerNorm",
	up: []string{"encoder.layer.%d.intermediate.dense"}, down: "encoder.layer.%d.output.dense", mlpNorm: "encoder.layer.%d.output.LayerNorm",
	relative: "encoder.rel_embeddings",
	unused:   []string{"embeddings.position_ids", "pooler.", "lm_predictions.", "mask_predictions.", "cls.predictions."},
}

// A debertaConfig has the keys of config.json that other encoders lack.
type debertaConfig struct {
	common
	Relative   bool            `json:"relative_attention"`
	Most       int             `json:"max_relative_positions"`
	Buckets    int             `json:"position_buckets"`
	Parts      json.RawMessage `json:"pos_att_type"`
	Shared     bool            `json:"share_att_key"`
	Norm       string          `json:"norm_rel_ebd"`
	Biased     bool            `json:"position_biased_input"`
	Conv       int             `json:"conv_kernel_size"`
	Embedding  *int            `json:"embedding_size"`
	HeadSize   *int            `json:"attention_head_size"`
	HeadAct    string          `json:"pooler_hidden_act"`
	HeadWidth  *int            `json:"pooler_hidden_size"`
	TypesGiven *int            `json:"type_vocab_size"`
}

// ofDeBERTa are keys of config.json that change nothing of DeBERTa.
var ofDeBERTa = strict.Table{"pooler_dropout": strict.Any, "legacy": strict.Any}

// readDeBERTa reads DeBERTa v2 and v3 (He et al. 2021), as the class DebertaV2Model of transformers computes it.
func readDeBERTa(f *folder.Folder) (*spec, error) {
	c := &debertaConfig{common: common{Epsilon: 1e-7, Act: "gelu", Types: 1}, Most: -1, Buckets: -1, Norm: "none", Biased: true, HeadAct: "gelu"}
	if err := decode(f, c, ofDeBERTa); err != nil {
		return nil, err
	}
	if c.TypesGiven != nil {
		c.Types = max(*c.TypesGiven, 1)
	}
	if err := c.check(f); err != nil {
		return nil, err
	}
	if err := c.checkOwn(f); err != nil {
		return nil, err
	}
	n := debertaNames
	if c.TypesGiven == nil || *c.TypesGiven < 1 {
		n.types = ""
	}
	if !c.Biased {
		n.positions = ""
		n.unused = append(slices.Clip(n.unused), "embeddings.position_embeddings.")
	}
	s := c.spec(n)
	var err error
	if s.apart, err = c.disentangled(f); err != nil {
		return nil, err
	}
	s.head = firstToken("pooler.dense", "classifier", s.activation)
	return s, s.head.activate(f, "pooler_hidden_act", c.HeadAct)
}

// checkOwn reports the first key whose value is not computed.
func (c *debertaConfig) checkOwn(f *folder.Folder) error {
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	}
	for _, x := range []struct {
		key  string
		n    *int
		want int
	}{{"embedding_size", c.Embedding, c.Width}, {"pooler_hidden_size", c.HeadWidth, c.Width}, {"attention_head_size", c.HeadSize, c.Width / c.Heads}} {
		if x.n != nil && *x.n != x.want {
			return bad(x.key, strconv.Itoa(*x.n), strconv.Itoa(x.want)+"; others are not supported")
		}
	}
	switch {
	case !c.Relative:
		return bad("relative_attention", "false", "true; a model without it is not supported")
	case c.Conv > 0:
		return bad("conv_kernel_size", strconv.Itoa(c.Conv), "0; a convolution after the first layer is not supported")
	case c.Posns > mostApart:
		return bad("max_position_embeddings", strconv.Itoa(c.Posns), fmt.Sprintf("at most %d, as a bias for each pair of tokens takes memory", mostApart))
	case c.TypesGiven != nil && *c.TypesGiven < 0:
		return bad("type_vocab_size", strconv.Itoa(*c.TypesGiven), "0 or more")
	}
	return nil
}

// mostApart is the most tokens of a text.
const mostApart = 1 << 13

// mostBuckets is the largest number of buckets of distances, or of distances without buckets.
const mostBuckets = 1 << 14

// disentangled reads how the scores of positions are computed.
func (c *debertaConfig) disentangled(f *folder.Folder) (*disentangled, error) {
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	}
	d := &disentangled{shared: c.Shared, buckets: max(c.Buckets, 0), most: c.Most}
	if d.most < 1 {
		d.most = c.Posns
	}
	d.span = d.most
	if d.buckets > 0 {
		d.span = d.buckets
		if d.buckets%2 != 0 || d.buckets < 4 || d.most-1 <= d.buckets/2 {
			return nil, bad("position_buckets", strconv.Itoa(d.buckets), fmt.Sprintf("an even number from 4 on, half of it less than the %d distances of max_relative_positions", d.most))
		}
	}
	if d.span > mostBuckets {
		return nil, bad("position_buckets, max_relative_positions", strconv.Itoa(d.span), fmt.Sprintf("at most %d", mostBuckets))
	}
	var err error
	if d.ofContent, d.ofPosition, err = positionParts(c.Parts); err != nil {
		return nil, bad("pos_att_type", string(c.Parts), "c2p, p2c or both")
	}
	for _, part := range strings.Split(strings.ToLower(c.Norm), "|") {
		switch strings.TrimSpace(part) {
		case "layer_norm":
			d.norm = "encoder.LayerNorm"
		case "none", "":
		default:
			return nil, bad("norm_rel_ebd", strconv.Quote(c.Norm), "layer_norm or none")
		}
	}
	if !d.shared {
		d.keys, d.queries = "encoder.layer.%d.attention.self.pos_key_proj", "encoder.layer.%d.attention.self.pos_query_proj"
	}
	return d, nil
}

// positionParts reads pos_att_type: a list, or a text with | between its parts.
func positionParts(raw json.RawMessage) (c2p, p2c bool, err error) {
	var list []string
	var text string
	if json.Unmarshal(raw, &text) == nil {
		list = strings.Split(strings.ToLower(text), "|")
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return false, false, err
	}
	for _, part := range list {
		switch strings.TrimSpace(part) {
		case "c2p":
			c2p = true
		case "p2c":
			p2c = true
		default:
			return false, false, strconv.ErrSyntax
		}
	}
	if !c2p && !p2c {
		return false, false, strconv.ErrRange
	}
	return c2p, p2c, nil
}
