package folder

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/strict"
)

// modes are the keys of files before version 6 of sentence-transformers, in the order in which the
// results of several stand side by side.
var modes = []struct {
	key     string
	pooling embedding.Pooling
}{
	{"pooling_mode_cls_token", embedding.PoolFirst}, {"pooling_mode_max_tokens", embedding.PoolMax}, {"pooling_mode_mean_tokens", embedding.PoolMean},
	{"pooling_mode_mean_sqrt_len_tokens", embedding.PoolMeanSqrt}, {"pooling_mode_weightedmean_tokens", embedding.PoolWeightedMean}, {"pooling_mode_lasttoken", embedding.PoolLast},
}

var poolingKeys = strict.Table{"include_prompt": flag}.
	Add(strict.Any, "embedding_dimension", "word_embedding_dimension", "pooling_mode"). // the model has the first two
	Add(flag, "pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
		"pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")

var flag = strict.Only("true", "false")

// readPooling reads the config.json of the folder of a pooling. Without any mode it is the mean, as
// in sentence-transformers.
func (f *Folder) readPooling(at string, m *embedding.Modules) error {
	name := at + "/config.json"
	all, err := f.known(name, poolingKeys)
	if err != nil {
		return err
	}
	m.WithoutPrompt = string(all["include_prompt"]) == "false"
	m.Poolings, err = f.modes(name, all)
	return err
}

// modes returns the poolings of a file.
func (f *Folder) modes(name string, all map[string]json.RawMessage) (list []embedding.Pooling, err error) {
	raw, ok := all["pooling_mode"]
	if !ok {
		for _, m := range modes {
			if string(all[m.key]) == "true" {
				list = append(list, m.pooling)
			}
		}
		if list == nil {
			list = []embedding.Pooling{embedding.PoolMean}
		}
		return list, nil
	}
	var one embedding.Pooling
	if json.Unmarshal(raw, &one) == nil {
		list = []embedding.Pooling{one}
	} else if json.Unmarshal(raw, &list) != nil {
		list = nil
	}
	unknown := func(p embedding.Pooling) bool { return !slices.Contains(embedding.Poolings, p) }
	if len(list) < 1 || len(list) > len(embedding.Poolings) || slices.ContainsFunc(list, unknown) {
		var names []string
		for _, p := range embedding.Poolings {
			names = append(names, string(p))
		}
		return nil, &kernel.Error{Where: f.Path(name) + ": pooling_mode", Got: string(raw), Want: "one of " + strings.Join(names, ", ") + ", or a list of them"}
	}
	return list, nil
}
