package folder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Pooling says how the vectors of a text's tokens become one.
type Pooling string

// The poolings, by the names that sentence-transformers has for them.
const (
	First        Pooling = "cls"          // the vector of the first token
	Mean         Pooling = "mean"         // the mean of all
	Max          Pooling = "max"          // the largest number of every column
	Last         Pooling = "lasttoken"    // the vector of the last token
	WeightedMean Pooling = "weightedmean" // the mean, token i = 1, 2, ... with the weight i
)

// Poolings are all that are known.
var Poolings = []Pooling{First, Mean, Max, Last, WeightedMean}

// modes are the keys of a file's pooling.
var modes = map[string]Pooling{
	"pooling_mode_cls_token": First, "pooling_mode_mean_tokens": Mean, "pooling_mode_max_tokens": Max,
	"pooling_mode_lasttoken": Last, "pooling_mode_weightedmean_tokens": WeightedMean,
}

// pooling reads the config.json of the folder of a pooling. Exactly one of the modes must be on:
// sentence-transformers puts the vectors of several side by side, which is not supported.
func (f *Folder) pooling(at string) (Pooling, error) {
	name := at + "/config.json"
	var c map[string]any
	if err := f.JSON(name, &c); err != nil {
		return "", err
	}
	var on []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		switch v := c[key].(type) {
		case bool:
			if key == "include_prompt" && !v {
				return "", &Error{f.Path(name), key, "false", "true: the tokens of a prompt count like others"}
			}
			if key != "include_prompt" && v {
				on = append(on, key)
			}
		case string:
			if key == "pooling_mode" {
				on = append(on, "pooling_mode_"+v)
			}
		}
	}
	if len(on) != 1 {
		return "", &Error{f.Path(name), "the pooling", fmt.Sprintf("%d modes that are true: %s", len(on), strings.Join(on, ", ")), "one"}
	}
	for key, p := range modes {
		if on[0] == key || on[0] == "pooling_mode_"+string(p) {
			return p, nil
		}
	}
	return "", &Error{f.Path(name), on[0], "true", fmt.Sprintf("one of %s", strings.Join(slices.Sorted(maps.Keys(modes)), ", "))}
}
