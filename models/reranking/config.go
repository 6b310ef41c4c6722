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

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/strict"
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

// ReadConfig reads the labels of a folder's config.json, and which function sentence-transformers'
// CrossEncoder applies to scores: the sigmoid or none. Any other function is a [*kernel.Error], and
// so is a key of config_sentence_transformers.json, or of the object sentence_transformers of
// config.json, that is not known. The other keys of config.json are for whoever computes the model.
func ReadConfig(dir string) (*Config, error) {
	c := &Config{}
	main, err := open(folder.Transformer(dir), configName)
	if err != nil {
		return nil, err
	}
	sentences, err := open(dir, sentenceName) // without keys if it is missing
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ours := main.Under("sentence_transformers")
	c.readLabels(main)
	if main.Has("pad_token_id") {
		c.Pad = new(int32)
		main.Read("pad_token_id", "a token", c.Pad)
	}
	for _, x := range []struct { // the first that is there counts
		object *strict.JSON
		key    string
	}{{sentences, "activation_fn"}, {ours, "activation_fn"}, {main, "sbert_ce_default_activation_function"}} { // the last one before version 4
		function := x.object.Text(x.key)
		switch function[strings.LastIndex(function, ".")+1:] {
		case "":
			continue
		case "Identity":
			c.Identity = true
		case "Sigmoid":
		default:
			x.object.Fail(x.key, strconv.Quote(function), "torch.nn.modules.activation.Sigmoid or torch.nn.modules.linear.Identity")
		}
		break
	}
	ours.Unknown(strict.Table{"version": strict.Any})
	sentences.Unknown(strict.SentenceTransformers)
	for _, s := range []*strict.JSON{main, sentences} {
		if err := s.Err(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return c, nil
}

// open reads a file. What it reports of a key is a [*kernel.Error].
func open(dir, name string) (*strict.JSON, error) {
	var err error
	s := strict.ReadJSON(dir, name, &err, func(key, got, want string) error {
		return &kernel.Error{Where: filepath.Join(dir, name) + ": " + key, Got: got, Want: want}
	})
	return s, err
}

// readLabels reads id2label, or how many labels there are.
func (c *Config) readLabels(main *strict.JSON) {
	var labels map[string]string
	main.Read("id2label", "an object of names", &labels)
	for i := range len(labels) {
		label, ok := labels[strconv.Itoa(i)]
		if !ok {
			main.Fail("id2label", fmt.Sprintf("the keys %q", slices.Sorted(maps.Keys(labels))), "0, 1, 2 ...")
			return
		}
		c.Labels = append(c.Labels, label)
	}
	n := 0
	if main.Read("num_labels", "an integer", &n); c.Labels == nil && n > 0 && n <= mostLabels {
		c.Labels = numbered(n)
	}
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

// SetLabels sets the names of the outputs of a classifier: the given ones, or numbers if there are
// none. The error is a [*kernel.Error] of the model's path: more or fewer names than outputs, or
// the same name twice.
func (h *Head) SetLabels(path string, names []string, outputs int) error {
	if outputs < 1 || outputs > mostLabels {
		return &kernel.Error{Where: path + ": the labels", Got: strconv.Itoa(outputs), Want: fmt.Sprintf("1 to %d", mostLabels)}
	}
	if names == nil {
		names = numbered(outputs)
	}
	sorted := slices.Sorted(slices.Values(names))
	if len(names) != outputs || len(slices.Compact(sorted)) != outputs {
		return &kernel.Error{Where: path + ": the labels", Got: fmt.Sprintf("%.10q", names), Want: fmt.Sprintf("%d different names, one for each output of the classifier", outputs)}
	}
	h.Labels, h.Default = names, -1
	if outputs == 1 {
		h.Default = 0
	}
	return nil
}
