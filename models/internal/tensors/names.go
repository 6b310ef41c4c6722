package tensors

import (
	"regexp"
	"strings"
)

// Renamed returns what a folder calls tensors, by names as GGUF files have them. Each of names is what it calls those that it
// calls otherwise, without the kind behind the last dot, with the number of the layer as %d and that of an expert as %e; the first map that
// has a name counts. Names that begin with "model." begin otherwise in a store that has the norm of the outputs so: not at all, or as in a
// model of texts within another one, in which those of layers beside it may begin with "language_model.".
func (s *Store) Renamed(names ...map[string]string) func(name string) string {
	theirs := func(stem string) string {
		for _, m := range names {
			if name, ok := m[stem]; ok {
				return name
			}
		}
		return ""
	}
	begin := model
	for _, other := range begins {
		if _, ok := s.Info(other + strings.TrimPrefix(theirs("output_norm"), model) + ".weight"); ok {
			begin = other
		}
	}
	return func(name string) string {
		stem, kind := name, ""
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			stem, kind = name[:i], name[i:]
		}
		numbers := digits.FindAllString(stem, len(places))
		for _, place := range places[:len(numbers)] {
			at := digits.FindStringIndex(stem)
			stem = stem[:at[0]] + place + stem[at[1]:]
		}
		other := theirs(stem)
		if other == "" {
			return name
		}
		for i, n := range numbers {
			other = strings.Replace(other, places[i], n, 1)
		}
		if rest, ok := strings.CutPrefix(other, model); ok {
			return begin + rest + kind
		}
		if _, ok := s.Info(within + other + kind); ok {
			return within + other + kind
		}
		return other + kind
	}
}

// model is how most names of layers begin, begins are in place of it, and within is how those of layers beside them may begin.
const model, within = "model.", "language_model."

var begins = []string{"", model + within, within + model}

// digits are a number in a name, and places stand for those of a layer and of an expert.
var (
	digits = regexp.MustCompile(`\d+`)
	places = [...]string{"%d", "%e"}
)
