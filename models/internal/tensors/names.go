package tensors

import (
	"regexp"
	"strings"
)

// Renamed returns what a folder calls tensors, by names as GGUF files have them. Each of names is what it calls those that it
// calls otherwise, without the kind behind the last dot, with the number of the layer as %d and that of an expert as %e; the first map that
// has a name counts. Names that begin with "model." lack that in a store that has the norm of the outputs without it.
func (s *Store) Renamed(names ...map[string]string) func(name string) string {
	theirs := func(stem string) string {
		for _, m := range names {
			if name, ok := m[stem]; ok {
				return name
			}
		}
		return ""
	}
	_, whole := s.Info(theirs("output_norm") + ".weight")
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
		if !whole {
			other = strings.TrimPrefix(other, "model.")
		}
		return other + kind
	}
}

// digits are a number in a name, and places stand for those of a layer and of an expert.
var (
	digits = regexp.MustCompile(`\d+`)
	places = [...]string{"%d", "%e"}
)
