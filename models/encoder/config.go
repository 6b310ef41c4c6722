package encoder

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/strict"
)

// mostOf is the largest number that a key of config.json may have. Products of three of them
// do not overflow.
const mostOf = 1 << 20

// A number is a key of config.json.
type number struct {
	key string
	n   int
}

// common are keys that BERT, RoBERTa, MPNet, nomic and ModernBERT share. The tags are the names of Hugging Face.
type common struct {
	Decoder  bool    `json:"is_decoder"`
	Width    int     `json:"hidden_size"`
	Inner    int     `json:"intermediate_size"`
	Layers   int     `json:"num_hidden_layers"`
	Heads    int     `json:"num_attention_heads"`
	Posns    int     `json:"max_position_embeddings"`
	Types    int     `json:"type_vocab_size"`
	Vocab    int     `json:"vocab_size"`
	Epsilon  float64 `json:"layer_norm_eps"`
	Act      string  `json:"hidden_act"`
	Position string  `json:"position_embedding_type"`
	Padding  *int    `json:"pad_token_id"`
}

const configName = "config.json"

// readSpec reads config.json of a folder.
func readSpec(f *folder.Folder) (*spec, error) {
	var c struct {
		Type string `json:"model_type"`
	}
	if err := f.JSON(configName, &c); err != nil {
		return nil, err
	}
	read, ok := families[c.Type]
	if !ok {
		return nil, &kernel.Error{Where: f.Path(configName) + ": model_type", Got: strconv.Quote(c.Type), Want: "an encoder: " + strings.Join(slices.Sorted(maps.Keys(families)), ", ")}
	}
	return read(f)
}

// ofEncoders are keys of config.json that change nothing of encoders, and do of decoders.
var ofEncoders = strict.Table{}.Add(strict.Only("false"), "is_causal", "causal_mask").Add(strict.Any, "max_trained_positions", "sinusoidal_pos_embds")

// decode reads config.json into a struct with tags. Every key of the file that the struct does not have must stand in
// one of the tables with its value.
func decode(f *folder.Folder, into any, tables ...strict.Table) (err error) {
	s := strict.ReadJSON(f.Dir(), configName, &err, func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	})
	if err == nil {
		s.Decode(into)
		s.Unknown(append(tables, strict.Config, ofEncoders)...)
	}
	return err
}

// check reports the first key that does not fit.
func (c *common) check(f *folder.Folder) error {
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	}
	for _, x := range []number{
		{"hidden_size", c.Width}, {"intermediate_size", c.Inner}, {"num_hidden_layers", c.Layers}, {"num_attention_heads", c.Heads},
		{"max_position_embeddings", c.Posns}, {"type_vocab_size", c.Types}, {"vocab_size", c.Vocab},
	} {
		if x.n < 1 || x.n > mostOf {
			return bad(x.key, strconv.Itoa(x.n), fmt.Sprintf("1 to %d", mostOf))
		}
	}
	switch {
	case c.Decoder:
		return bad("is_decoder", "true", "an encoder")
	case c.Width%c.Heads != 0:
		return bad("num_attention_heads", strconv.Itoa(c.Heads), fmt.Sprintf("a divisor of the hidden_size %d", c.Width))
	case c.Posns < 2:
		return bad("max_position_embeddings", "1", "2 or more, for the tokens around a text")
	case c.Position != "" && c.Position != "absolute":
		return bad("position_embedding_type", strconv.Quote(c.Position), `"absolute"`)
	case !known(c.Act):
		return bad("hidden_act", strconv.Quote(c.Act), activations.HiddenNames())
	case !(c.Epsilon >= 0 && c.Epsilon <= math.MaxFloat32):
		return bad("layer_norm_eps", fmt.Sprint(c.Epsilon), "a float32 of 0 or more")
	}
	return nil
}

func known(act string) bool { _, ok := activations.Hidden(act); return ok }

// spec returns a spec of BERT's kind.
func (c *common) spec(n names) *spec {
	act, _ := activations.Hidden(c.Act)
	return &spec{
		sizes:   sizes{c.Width, c.Inner, c.Layers, c.Heads, c.Posns, c.Types, c.Vocab},
		epsilon: c.Epsilon, activation: act, normBias: true, attnBias: true, mlpBias: true, padding: -1,
		kinds: make([]int, c.Layers), windows: []int{-1}, names: n,
	}
}

// readCommon reads keys whose defaults are those of the transformers library.
func readCommon(f *folder.Folder, c *common) error {
	if err := decode(f, c); err != nil {
		return err
	}
	return c.check(f)
}

func readBERT(f *folder.Folder) (*spec, error) {
	c := &common{Epsilon: 1e-12, Act: "gelu", Types: 2}
	if err := readCommon(f, c); err != nil {
		return nil, err
	}
	s := c.spec(bertNames)
	s.head = bertHead
	return s, nil
}

func readRoBERTa(f *folder.Folder) (*spec, error) {
	one := 1
	c := &common{Epsilon: 1e-12, Act: "gelu", Types: 2, Padding: &one}
	if err := readCommon(f, c); err != nil {
		return nil, err
	}
	s := c.spec(bertNames)
	s.head = robertaHead
	return s, s.pad(f, c)
}

// pad makes positions begin after the id of padding.
func (s *spec) pad(f *folder.Folder, c *common) error {
	if c.Padding == nil || *c.Padding < 0 || *c.Padding+3 > c.Posns {
		return &kernel.Error{Where: f.Path(configName) + ": pad_token_id", Got: "none, or one without positions after it", Want: fmt.Sprintf("0 to %d", c.Posns-3)}
	}
	s.padding = *c.Padding
	return nil
}

func readMPNet(f *folder.Folder) (*spec, error) {
	one := 1
	c := &struct {
		common
		Buckets int `json:"relative_attention_num_buckets"`
	}{common{Epsilon: 1e-12, Act: "gelu", Types: 1, Padding: &one}, buckets}
	if err := decode(f, c); err != nil {
		return nil, err
	}
	if err := c.check(f); err != nil {
		return nil, err
	}
	if c.Buckets != buckets {
		return nil, &kernel.Error{Where: f.Path(configName) + ": relative_attention_num_buckets", Got: fmt.Sprint(c.Buckets), Want: fmt.Sprint(buckets)}
	}
	s := c.spec(mpnetNames)
	s.relative = buckets
	s.head = robertaHead
	return s, s.pad(f, &c.common)
}

func readDistilBERT(f *folder.Folder) (*spec, error) {
	c := struct {
		Width     int    `json:"dim"`
		Inner     int    `json:"hidden_dim"`
		Layers    int    `json:"n_layers"`
		Heads     int    `json:"n_heads"`
		Positions int    `json:"max_position_embeddings"`
		Vocab     int    `json:"vocab_size"`
		Act       string `json:"activation"`
	}{Act: "gelu"}
	if err := decode(f, &c); err != nil {
		return nil, err
	}
	all := &common{Width: c.Width, Inner: c.Inner, Layers: c.Layers, Heads: c.Heads, Posns: c.Positions, Types: 1, Vocab: c.Vocab, Act: c.Act, Epsilon: 1e-12}
	if err := all.check(f); err != nil {
		return nil, err
	}
	s := all.spec(distilNames)
	s.head = distilHead
	return s, nil
}
