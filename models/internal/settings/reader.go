// Package settings reads what a model is out of config.json or of the metadata of a GGUF file, as
// an [arch.Model]. A family is a row: what its class of the transformers library computes, which
// groups of keys the class reads, and which values it has for those that a file leaves out. A key
// of a file that no group of its family has read is an error, also if another family has it, unless
// a table of package strict says that its value changes nothing.
package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// A family is a row of [Families].
type family struct {
	arch.Family
	draft            // what its models have in common
	folder   []group // that read config.json
	file     []group // that read the metadata of a GGUF file
	missing  values  // what the class has for keys that config.json leaves out; null is no such key
	nested   values  // sizes, too, which an object in another one leaves out
	renamed  *renaming
	harmless strict.Table // keys of config.json that change nothing of this family
}

// values are the values of keys in JSON.
type values map[string]any

// A group reads keys that belong together.
type group func(r *reader)

// A renaming says what files call keys otherwise: all, or those with the key have.
type renaming struct {
	have  string
	names map[string]string
}

// A draft is a model before its layers are known one by one.
type draft struct {
	model     arch.Model
	count     int // of layers
	layer     arch.Layer
	norm      arch.Norm
	attention arch.Attention
	dense     arch.Dense
	experts   arch.Experts // if Count is not 0; the zero values of Dense mean dense
	lead      int          // of the first layers, which have no experts
	rope      *arch.Rope
	local     *arch.Rope // of layers with a window, if it is another one
	window    int
	wide      wide                           // heads of layers without a window, if they are others
	mixer     func(layer int) arch.Mixer     // nil, or nil of it: the layer has attention
	whole     func(layer int) bool           // whether a layer sees all tokens in spite of a window; nil: none
	still     func(layer int) bool           // whether a layer rotates nothing; nil: none
	each      func(layer int, l *arch.Layer) // changes layers in which they differ beside that; nil: none
}

// A form is a file: a config.json, or the metadata of a GGUF file, by the names of config.json.
type form interface {
	Has(key string) bool
	Size(key string, missing int) int
	Integer(key string, missing, low, high int) int
	Number(key string, missing, low, high float64) float64
	Optional(key string, low, high float64) float64
	Text(key string) string
	Fail(key, got, want string)
	Err() error
}

// A reader reads a file into a draft.
type reader struct {
	form
	json    *strict.JSON                      // nil of a GGUF file
	gguf    *strict.GGUF                      // nil of a folder
	tensors *gguf.File                        // likewise
	fault   func(key, got, want string) error // likewise, of names of its own
	row     *family
	most    int // of sizes
	draft
}

// Families are the architectures that an engine computes.
type Families struct {
	rows []family

	wrappers  []wrapper                   // around them
	quantized bool                        // weights of folders may be
	most      int                         // of sizes
	want      func(names []string) string // what an error about another architecture says
	also      strict.Table                // keys of config.json that change nothing of all of them
	file      strict.Table                // and of GGUF files
}

// Types lists the model_type of all families, and of classes around them.
func (f *Families) Types() (all []string) {
	for i := range f.rows {
		all = append(all, f.rows[i].Types...)
	}
	for _, w := range f.wrappers {
		all = append(all, w.name)
	}
	return all
}

// Files lists the general.architecture of all families.
func (f *Families) Files() (all []string) {
	for i := range f.rows {
		if name := f.rows[i].GGUF; f.rows[i].file != nil && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// OfType returns the family of a model_type, or nil.
func (f *Families) OfType(name string) *arch.Family {
	if row := f.row(func(row *family) bool { return slices.Contains(row.Types, name) }); row != nil {
		return &row.Family
	}
	return nil
}

func (f *Families) row(is func(*family) bool) *family {
	for i := range f.rows {
		if is(&f.rows[i]) {
			return &f.rows[i]
		}
	}
	return nil
}

// newReader returns a reader with a copy of what the family has.
func (f *Families) newReader(row *family) *reader {
	r := &reader{row: row, most: f.most, draft: row.draft}
	r.model.Family = &row.Family
	return r
}

// finish makes the model of the draft, and refuses one without keys.
func (r *reader) finish() (*arch.Model, error) {
	m := r.model
	norm := r.norm
	r.layer.Norm = &norm
	if r.layer.Order != arch.Post {
		m.Final = &norm
	}
	if m.Embed.Norm != nil {
		m.Embed.Norm = &norm
	}
	if h := r.attention.HeadNorm; h != nil {
		own := *h
		own.Kind, own.Epsilon, own.LessOne = norm.Kind, norm.Epsilon, norm.LessOne
		r.attention.HeadNorm = &own
	}
	r.layer.Feed = &r.dense
	kinds := map[[2]bool]*arch.Attention{} // of layers that see all tokens, and that rotate nothing
	for i := range r.count {
		l, kind := r.layer, [2]bool{r.window == 0 || r.whole != nil && r.whole(i), r.still != nil && r.still(i)}
		if kinds[kind] == nil {
			kinds[kind] = r.attentionOf(kind[0], kind[1])
		}
		l.Mixer = kinds[kind]
		if r.mixer != nil {
			if other := r.mixer(i); other != nil {
				l.Mixer = other
			}
		}
		if l.Bare = l.Bare && i == 0; r.experts.Count > 0 && i >= r.lead {
			l.Feed = r.mixture()
		}
		if r.each != nil {
			r.each(i, &l)
		}
		m.Layers = append(m.Layers, l)
	}
	if len(m.Keepers()) == 0 {
		key := "layer_types"
		if r.gguf != nil {
			key = "num_key_value_heads"
		}
		r.Fail(key, "no layer with attention", "at least one")
		return nil, r.Err()
	}
	return &m, nil
}

// attentionOf returns the attention of layers of a kind.
func (r *reader) attentionOf(whole, still bool) *arch.Attention {
	a := r.attention
	a.Rope = r.rope
	if !whole {
		a.Window = r.window
		if r.local != nil {
			a.Rope = r.local
		}
	}
	if still {
		a.Rope = nil
	}
	return &a
}

// list joins names.
func list(names []string) string { return strings.Join(names, ", ") }

// alternatives joins quoted names.
func alternatives(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// quoted returns a value as an error shows it.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

// with returns values with more of them.
func (v values) with(more values) values {
	all := maps.Clone(v)
	maps.Copy(all, more)
	return all
}

// number returns a value that is one.
func (v values) number(key string) float64 {
	switch x := v[key].(type) {
	case int:
		return float64(x)
	case float64:
		return x
	}
	return 0
}
