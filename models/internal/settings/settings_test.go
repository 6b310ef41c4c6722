package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/arch"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/strict"
)

// A class is what the transformers library says of a model_type; see classes.py beside the file.
type class struct {
	Defaults   map[string]any
	Theta      any
	Attributes map[string]string
	Reads      []string
}

func readTest[T any](t *testing.T, name string) (all map[string]T) {
	t.Helper()
	if err := folder.ReadJSON(filepath.Join("../../testdata", name), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// read reads a config.json with one key in place of another.
func read(f *Families, config map[string]json.RawMessage, key string, value json.RawMessage) (*arch.Model, error) {
	changed, err := maps.Clone(config), error(nil)
	if key != "" {
		changed[key] = value
	}
	return f.read(strict.NewJSON(changed, &err, func(key, got, want string) error {
		return &kernel.Error{Where: "config.json: " + key, Got: got, Want: want}
	}))
}

var both = []*Families{Decoders, Encoders}

// TestMissing: what a row has for keys that a file leaves out is what the class has.
func TestMissing(t *testing.T) {
	classes := readTest[class](t, "classes.json")
	bases := map[string]string{"rope_theta": "global", "global_rope_theta": "global", "rope_local_base_freq": "local", "local_rope_theta": "local"}
	for _, f := range both {
		for i := range f.rows {
			row := &f.rows[i]
			for _, kind := range row.Types {
				c, ok := classes[kind]
				if !ok {
					continue
				}
				for key, value := range row.missing.with(row.nested) {
					want, ok := c.Defaults[key]
					if r := row.renamed; !ok && r != nil && r.have == "" {
						want, ok = c.Defaults[r.names[key]]
					}
					if base, is := bases[key]; is {
						want = c.Theta
						if each, ok := want.(map[string]any); ok {
							want = each[base]
						}
					} else if !ok {
						continue // of getattr in the code of the class
					}
					if !bytes.Equal(raw(t, value), raw(t, want)) {
						t.Errorf("%s: %s is %v, and %v in the class", kind, key, value, want)
					}
				}
			}
		}
	}
}

func raw(t *testing.T, x any) json.RawMessage {
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// others are values that a key may have in place of one.
func others(value any) []any {
	switch x := value.(type) {
	case bool:
		return []any{!x, x}
	case float64:
		return []any{x, x / 2, x * 2, x + 1, 3.0, 1.0, 0.0}
	case string:
		return []any{x, "relu", "mean", "absolute"}
	case nil:
		return []any{2.0, 0.5, 7.0, true, false, "mean", []any{"full_attention", "sliding_attention"}, []any{0.0}}
	}
	return []any{value}
}

// TestSilence: whatever value a key of any family has in a config.json of another one, it is refused, or the class of transformers
// reads it too, or a table says that it changes nothing. A key that the class reads changes the model or is refused.
func TestSilence(t *testing.T) {
	classes, configs := readTest[class](t, "classes.json"), readTest[map[string]any](t, "configs.json")
	values := map[string][]any{
		"rope_scaling": {map[string]any{"type": "linear", "factor": 2.0}}, "rope_parameters": {map[string]any{"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
		"layer_types": {[]any{slidingLayer, fullLayer, fullLayer, slidingLayer, slidingLayer, slidingLayer}},
	}
	add := func(key string, more []any) {
		for _, value := range more {
			if !slices.ContainsFunc(values[key], func(x any) bool { return reflect.DeepEqual(x, value) }) {
				values[key] = append(values[key], value)
			}
		}
	}
	for _, c := range classes {
		for key, value := range c.Defaults {
			add(key, others(value))
		}
		for _, key := range c.Reads {
			add(key, others(nil))
		}
	}
	for _, f := range both {
		for _, kind := range f.Types() {
			if config := configs[kind]; config != nil { // which transformers has
				c := classes[kind]
				for _, key := range []string{"rope_parameters", "layer_types"} { // beside which others count nothing
					delete(config, key)
				}
				config["num_hidden_layers"] = 6.0
				if _, ok := config["n_layers"]; ok {
					delete(config, "num_hidden_layers")
				}
				if _, ok := config["use_sliding_window"]; ok {
					maps.Copy(config, map[string]any{"use_sliding_window": true, "sliding_window": 100.0, "max_window_layers": 1.0})
				}
				checkSilence(t, f, kind, &c, config, values)
			}
		}
	}
}

// moot are keys that classes read and that change nothing of the models here, by family.
var moot = map[string]string{
	"qwen3_moe intermediate_size": "all layers have experts",
	"gemma3_text text_config":     "of the class around it",
	"gemma3_text vision_config":   "likewise",
	"gemma3_text image_token_id":  "likewise",
}

func checkSilence(t *testing.T, f *Families, kind string, c *class, config map[string]any, values map[string][]any) {
	row := f.row(func(row *family) bool { return slices.Contains(row.Types, kind) })
	keys := map[string]json.RawMessage{}
	for key, value := range config {
		keys[key] = raw(t, value)
	}
	want, err := read(f, keys, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		reads, obeyed, ignored := c.reads(key), false, []any{}
		for _, value := range values[key] {
			got, err := read(f, keys, key, raw(t, value))
			switch {
			case err != nil:
			case !alike(got, want):
				obeyed = true
			case !row.passes(f, key, value):
				ignored = append(ignored, value)
			}
		}
		if obeyed && !reads {
			t.Errorf("%s obeys %s, which its class does not read", kind, key)
		}
		if now := config[key]; reads && !obeyed && moot[kind+" "+key] == "" && slices.ContainsFunc(ignored, func(x any) bool { return !reflect.DeepEqual(x, now) }) {
			t.Errorf("%s ignores %s: %v, which its class reads", kind, key, ignored)
		}
	}
}

// reads tells whether the class reads a key, by any of its names.
func (c *class) reads(key string) bool {
	for from, to := range c.Attributes {
		if key == from || key == to {
			return true
		}
	}
	_, own := c.Defaults[key]
	return own || slices.Contains(c.Reads, key)
}

// passes tells whether a table lets a value pass.
func (row *family) passes(f *Families, key string, value any) bool {
	data, _ := json.Marshal(value)
	return strict.Check(map[string]json.RawMessage{key: data}, strict.Config, f.also, row.harmless) == nil
}

// alike compares models but for the functions of activations, which cannot be compared.
func alike(a, b *arch.Model) bool {
	x, y := *a, *b
	for _, m := range []*arch.Model{&x, &y} {
		if m.Head != nil {
			h := *m.Head
			h.Activation.After = nil
			m.Head = &h
		}
		m.Layers = slices.Clone(m.Layers)
		for i, l := range m.Layers {
			if d, ok := l.Feed.(*arch.Dense); ok {
				d := *d
				d.Activation.After = nil
				m.Layers[i].Feed = &d
			}
		}
	}
	return reflect.DeepEqual(x, y)
}
