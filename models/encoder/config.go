package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/attn-go/attn/linear"
)

// config are the keys of config.json that matter to an encoder. The tags are the names that
// Hugging Face gives them.
type config struct {
	ModelType string  `json:"model_type"`
	Decoder   bool    `json:"is_decoder"`
	Width     int     `json:"hidden_size"`
	Inner     int     `json:"intermediate_size"`
	Layers    int     `json:"num_hidden_layers"`
	Heads     int     `json:"num_attention_heads"`
	Positions int     `json:"max_position_embeddings"`
	Types     int     `json:"type_vocab_size"`
	Vocab     int     `json:"vocab_size"`
	Epsilon   float64 `json:"layer_norm_eps"`
	Act       string  `json:"hidden_act"`
	Position  string  `json:"position_embedding_type"`

	maxTokens int // of a text, from sentence_bert_config.json, else Positions
}

// mostOf is the largest number that a key of config.json may have. Products of three of them
// do not overflow.
const mostOf = 1 << 20

// activations are the functions of hidden_act by the names of the transformers library.
var activations = map[string]linear.Activation{
	"gelu":              linear.GELU,
	"gelu_new":          linear.GELUTanh,
	"gelu_fast":         linear.GELUTanh,
	"gelu_tanh":         linear.GELUTanh,
	"gelu_pytorch_tanh": linear.GELUTanh,
}

// readConfig reads and checks the JSON files of a model's folder. Keys that are missing have
// the defaults of the transformers library.
func readConfig(dir string) (*config, error) {
	c := &config{Epsilon: 1e-12, Act: "gelu", Position: "absolute", Types: 2}
	path := filepath.Join(dir, "config.json")
	if err := readJSON(path, c); err != nil {
		return nil, err
	}
	if err := c.check(path); err != nil {
		return nil, err
	}
	c.maxTokens = c.Positions
	if err := c.readMaxTokens(filepath.Join(dir, "sentence_bert_config.json")); err != nil {
		return nil, err
	}
	return c, checkPooling(filepath.Join(dir, "1_Pooling", "config.json"))
}

// readJSON reads a file that must exist.
func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("encoder: %s: %w", path, err)
	}
	return nil
}

// check reports the first key that does not fit.
func (c *config) check(path string) error {
	for _, f := range [...]struct {
		key string
		n   int
	}{
		{"hidden_size", c.Width}, {"intermediate_size", c.Inner}, {"num_hidden_layers", c.Layers}, {"num_attention_heads", c.Heads},
		{"max_position_embeddings", c.Positions}, {"type_vocab_size", c.Types}, {"vocab_size", c.Vocab},
	} {
		if f.n < 1 || f.n > mostOf {
			return &ModelError{path, f.key, strconv.Itoa(f.n), fmt.Sprintf("1 to %d", mostOf)}
		}
	}
	switch {
	case c.ModelType != "bert":
		return &ModelError{path, "model_type", strconv.Quote(c.ModelType), `"bert"`}
	case c.Decoder:
		return &ModelError{path, "is_decoder", "true", "an encoder"}
	case c.Width%c.Heads != 0:
		return &ModelError{path, "num_attention_heads", strconv.Itoa(c.Heads), fmt.Sprintf("a divisor of the hidden_size %d", c.Width)}
	case c.Positions < 2:
		return &ModelError{path, "max_position_embeddings", "1", "2 or more, for [CLS] and [SEP]"}
	case c.Position != "absolute":
		return &ModelError{path, "position_embedding_type", strconv.Quote(c.Position), `"absolute"`}
	case activations[c.Act] == linear.None:
		return &ModelError{path, "hidden_act", strconv.Quote(c.Act), `"gelu", "gelu_new", "gelu_fast", "gelu_tanh" or "gelu_pytorch_tanh"`}
	case !(c.Epsilon >= 0 && c.Epsilon <= math.MaxFloat32):
		return &ModelError{path, "layer_norm_eps", fmt.Sprint(c.Epsilon), "a float32 of 0 or more"}
	}
	return nil
}

// readMaxTokens reads the file of sentence-transformers that limits the length of texts, if
// there is one.
func (c *config) readMaxTokens(path string) error {
	var f struct {
		Max *int `json:"max_seq_length"`
	}
	if err := readJSON(path, &f); errors.Is(err, fs.ErrNotExist) || err == nil && f.Max == nil {
		return nil
	} else if err != nil {
		return err
	}
	if *f.Max < 2 || *f.Max > c.Positions {
		return &ModelError{path, "max_seq_length", strconv.Itoa(*f.Max), fmt.Sprintf("2 to %d, the max_position_embeddings", c.Positions)}
	}
	c.maxTokens = *f.Max
	return nil
}

// checkPooling checks that the file of sentence-transformers that describes the pooling, if
// there is one, asks for the mean of all tokens.
func checkPooling(path string) error {
	modes := map[string]any{}
	if err := readJSON(path, &modes); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	const mean = "pooling_mode_mean_tokens"
	for key, v := range modes {
		on, isMode := v.(bool)
		if isMode && on && key != mean && key != "include_prompt" {
			return &ModelError{path, key, "true", mean + " alone"}
		}
	}
	if modes[mean] != true {
		return &ModelError{path, mean, fmt.Sprint(modes[mean]), "true"}
	}
	return nil
}
