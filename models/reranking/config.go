package reranking

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/folder"
)

// A Config is what the files of a folder say of a reranker beside its weights.
type Config struct {
	Labels   []string // of id2label, or nil if config.json has none
	Identity bool     // see [Head]
	Pad      *int32   // pad_token_id of config.json, or nil
}

// The files that a [Config] is read of.
const (
	configName   = "config.json"
	sentenceName = "config_sentence_transformers.json"
)

// ReadConfig reads the labels of a folder's config.json, and which function sentence-transformers' CrossEncoder applies to
// scores: the sigmoid or none. Any other function is a [*folder.Error].
func ReadConfig(dir string) (*Config, error) {
	c := &Config{}
	var main struct {
		Labels map[string]string `json:"id2label"`
		Number *int              `json:"num_labels"`
		Pad    *int32            `json:"pad_token_id"`
		Ours   struct {
			Activation string `json:"activation_fn"`
		} `json:"sentence_transformers"`
		Before string `json:"sbert_ce_default_activation_function"` // of versions before 4
	}
	if err := folder.ReadJSON(filepath.Join(folder.Transformer(dir), configName), &main); err != nil {
		return nil, err
	}
	var other struct {
		Activation string `json:"activation_fn"`
	}
	if err := folder.ReadJSON(filepath.Join(dir, sentenceName), &other); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.Pad = main.Pad
	for i := range len(main.Labels) {
		label, ok := main.Labels[strconv.Itoa(i)]
		if !ok {
			return nil, &folder.Error{Path: filepath.Join(dir, configName), Name: "id2label", Got: fmt.Sprintf("the keys %q", slices.Sorted(maps.Keys(main.Labels))), Want: "0, 1, 2 ..."}
		}
		c.Labels = append(c.Labels, label)
	}
	if n := main.Number; n != nil && c.Labels == nil && *n > 0 && *n <= mostLabels {
		c.Labels = numbered(*n)
	}
	for _, x := range []struct{ file, key, function string }{ // the first that is there counts
		{sentenceName, "activation_fn", other.Activation},
		{configName, "sentence_transformers.activation_fn", main.Ours.Activation},
		{configName, "sbert_ce_default_activation_function", main.Before},
	} {
		switch x.function[strings.LastIndex(x.function, ".")+1:] {
		case "":
			continue
		case "Identity":
			c.Identity = true
		case "Sigmoid":
		default:
			return nil, &folder.Error{Path: filepath.Join(dir, x.file), Name: x.key, Got: strconv.Quote(x.function), Want: "torch.nn.modules.activation.Sigmoid or torch.nn.modules.linear.Identity"}
		}
		break
	}
	return c, nil
}

// mostLabels is the largest number of labels.
const mostLabels = 1 << 16

// numbered returns names for labels that have none, as transformers has them.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("LABEL_%d", i)
	}
	return names
}

// SetLabels sets the names of the outputs of a classifier: the given ones, or numbers if there are none. The error is a
// [*folder.Error] of the model's path: more or fewer names than outputs, or the same name twice.
func (h *Head) SetLabels(path string, names []string, outputs int) error {
	if outputs < 1 || outputs > mostLabels {
		return &folder.Error{Path: path, Name: "the labels", Got: strconv.Itoa(outputs), Want: fmt.Sprintf("1 to %d", mostLabels)}
	}
	if names == nil {
		names = numbered(outputs)
	}
	sorted := slices.Sorted(slices.Values(names))
	if len(names) != outputs || len(slices.Compact(sorted)) != outputs {
		return &folder.Error{Path: path, Name: "the labels", Got: fmt.Sprintf("%.10q", names), Want: fmt.Sprintf("%d different names, one for each output of the classifier", outputs)}
	}
	h.Labels, h.Default = names, -1
	if outputs == 1 {
		h.Default = 0
	}
	return nil
}
