package tensors

import (
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// Renamed returns what a folder calls tensors, by names as GGUF files have them. names are what it
// calls them, without the kind behind the last dot, or with it if the kind is called otherwise. %d
// stands for the number of a layer, %e for the number of an expert. In place of "model." at their
// beginning stands what precedes the norm of the outputs in the store, see roots.
func (s *Store) Renamed(names map[string]string) func(name string) string {
	at := s.root(strings.TrimPrefix(names["output_norm"], own) + ".weight")
	if at.wrapped {
		s.ignore(others, func(part string) string { return own + part })
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
		other, ok := names[stem+kind]
		if ok {
			kind = ""
		} else if other, ok = names[stem]; !ok {
			return name
		}
		for i, n := range numbers {
			other = strings.Replace(other, places[i], n, 1)
		}
		if inside, ok := strings.CutPrefix(other, own); ok {
			return at.inner + inside + kind
		}
		return at.outer + other + kind
	}
}

// own precedes the names of a text model that is all of a model.
const own = "model."

// A root is what stands in place of it, and before the names that do not begin with it,
// such as lm_head.
type root struct {
	inner, outer string
	wrapped      bool // the text model is a part of another one, which also sees or hears: tensors of its other parts are marked as used
}

// roots are the roots of all models: a model without a head has none. For a model of texts within
// another one transformers writes the last three: since version 4.52, before it, and where both
// lack a head.
var roots = []root{{inner: own}, {}, {"model.language_model.", "", true}, {"language_model.model.", "language_model.", true}, {inner: "language_model.", wrapped: true}}

// root returns the root of a store, by a tensor that every text model has.
func (s *Store) root(tensor string) root {
	for _, r := range roots {
		if s.tensors[r.inner+tensor] != nil {
			return r
		}
	}
	return root{}
}

// Roots returns the roots of text models, the longest ones first.
func Roots() (list []string) {
	for _, r := range roots {
		if r.inner != "" {
			list = append(list, r.inner)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// IsClass tells whether a class may have this before the names of its text model: a root, or one
// word such as "bert." that names no other part of the model.
func IsClass(before string) bool {
	i := strings.IndexByte(before, '.')
	isWord := i > 0 && i == len(before)-1
	return slices.Contains(Roots(), before) || isWord && before != "mtp." && !slices.Contains(others, before)
}

// others are how the names of tensors begin that texts do not reach, behind "model." or
// not.
var others = []string{"vision_tower.", "vision_model.", "visual.", "multi_modal_projector.", "embed_vision.", "audio_tower.", "embed_audio."}

// Ignore marks tensors as used that no result depends on: whose names begin so, by
// themselves or as [Reader.Rename] has it, or end so if that begins with a dot.
func (r *Reader) Ignore(parts ...string) { r.ignore(parts, r.name) }

func (s *Store) ignore(parts []string, rename func(part string) string) {
	for name, t := range s.tensors {
		t.used = t.used || slices.ContainsFunc(parts, func(part string) bool {
			return part[0] == '.' && strings.HasSuffix(name, part) || strings.HasPrefix(name, part) || strings.HasPrefix(name, rename(part))
		})
	}
}

// Move gives the tensors whose names begin so another beginning. Errors keep the names of files.
// The error is a [*kernel.Error] that names a tensor whose new name another one has.
func (s *Store) Move(from, to string) error {
	for _, name := range s.Names() {
		rest, ok := strings.CutPrefix(name, from)
		if !ok {
			continue
		}
		if s.tensors[to+rest] != nil {
			return &kernel.Error{Where: s.Where(name), Got: "a tensor beside " + s.called(to+rest), Want: "one of them: both stand for the same weights"}
		}
		s.tensors[to+rest] = s.tensors[name]
		delete(s.tensors, name)
	}
	s.moved = append(s.moved, [2]string{from, to})
	return nil
}

// called returns what the files call a tensor: of the beginnings that Move has given, the longest
// one counts.
func (s *Store) called(name string) string {
	var of [2]string
	for _, m := range s.moved {
		if strings.HasPrefix(name, m[1]) && len(m[1]) > len(of[1]) {
			of = m
		}
	}
	return of[0] + name[len(of[1]):]
}

// digits are a number in a name, and places stand for the numbers of a layer and an expert.
var (
	digits = regexp.MustCompile(`\b\d+\b`)
	places = [...]string{"%d", "%e"}
)
