package folder

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/strict"
)

// A Pooling says how the vectors of a text's tokens become one.
type Pooling string

// The poolings, by the names that sentence-transformers has for them.
const (
	First        Pooling = "cls"                  // the vector of the first token
	Mean         Pooling = "mean"                 // the mean of all
	MeanSqrt     Pooling = "mean_sqrt_len_tokens" // the sum of all, divided by the square root of their number
	Max          Pooling = "max"                  // the largest number of every column
	Last         Pooling = "lasttoken"            // the vector of the last token
	WeightedMean Pooling = "weightedmean"         // the mean, token i = 1, 2, ... with the weight i
)

// Poolings are all that are known.
var Poolings = []Pooling{First, Mean, MeanSqrt, Max, Last, WeightedMean}

// modes are the keys of files before version 6 of sentence-transformers, in the order in which the results of several
// stand side by side.
var modes = []struct {
	key     string
	pooling Pooling
}{
	{"pooling_mode_cls_token", First}, {"pooling_mode_max_tokens", Max}, {"pooling_mode_mean_tokens", Mean},
	{"pooling_mode_mean_sqrt_len_tokens", MeanSqrt}, {"pooling_mode_weightedmean_tokens", WeightedMean}, {"pooling_mode_lasttoken", Last},
}

var poolingKeys = strict.Table{"include_prompt": flag}.
	Add(strict.Any, "embedding_dimension", "word_embedding_dimension", "pooling_mode"). // the model has the first two
	Add(flag, "pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
		"pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")

var flag = strict.Only("true", "false")

// readPooling reads the config.json of the folder of a pooling. Without any mode it is the mean, as in
// sentence-transformers.
func (f *Folder) readPooling(at string, m *Modules) error {
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
func (f *Folder) modes(name string, all map[string]json.RawMessage) (list []Pooling, err error) {
	raw, ok := all["pooling_mode"]
	if !ok {
		for _, m := range modes {
			if string(all[m.key]) == "true" {
				list = append(list, m.pooling)
			}
		}
		if list == nil {
			list = []Pooling{Mean}
		}
		return list, nil
	}
	var one Pooling
	if json.Unmarshal(raw, &one) == nil {
		list = []Pooling{one}
	} else if json.Unmarshal(raw, &list) != nil {
		list = nil
	}
	unknown := func(p Pooling) bool { return !slices.Contains(Poolings, p) }
	if len(list) < 1 || len(list) > len(Poolings) || slices.ContainsFunc(list, unknown) {
		var names []string
		for _, p := range Poolings {
			names = append(names, string(p))
		}
		return nil, &kernel.Error{Where: f.Path(name) + ": pooling_mode", Got: string(raw), Want: "one of " + strings.Join(names, ", ") + ", or a list of them"}
	}
	return list, nil
}
