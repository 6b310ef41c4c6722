package encoder

import (
	"strconv"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
)

// A modernHead is what config.json says of ModernBERT's classifier.
type modernHead struct {
	Pooling    string `json:"classifier_pooling"`
	Bias       bool   `json:"classifier_bias"`
	Activation string `json:"classifier_activation"`
}

// head returns the classifier.
func (c *modernHead) head(f *folder.Folder) (*head, error) {
	h := &head{dense: "head.dense", norm: "head.norm", out: "classifier", bias: c.Bias}
	switch c.Pooling {
	case "cls":
		h.pooling = folder.First
	case "mean":
		h.pooling = folder.Mean
	default:
		return nil, &kernel.Error{Where: f.Path(configName) + ": classifier_pooling", Got: strconv.Quote(c.Pooling), Want: `"cls" or "mean"`}
	}
	return h, h.activate(f, "classifier_activation", c.Activation)
}

// activate sets the activation that a key names.
func (h *head) activate(f *folder.Folder, key, name string) error {
	if name == "tanh" { // which no other layer has
		h.activation = activations.Tanh
		return nil
	}
	act, ok := activations.Hidden(name)
	if !ok {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: strconv.Quote(name), Want: activations.HiddenNames() + ", tanh"}
	}
	h.activation = act
	return nil
}
