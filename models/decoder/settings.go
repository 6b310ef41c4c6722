package decoder

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/folder"
)

// settings reads an object of a JSON file. The first error stays, also that of objects in it.
type settings struct {
	file  string
	path  string // of the object in the file
	keys  map[string]json.RawMessage
	asked map[string]bool
	err   *error
}

// ignored are keys of config.json that change nothing of what is computed here, or that are read
// elsewhere.
var ignored = []string{
	"architectures", "auto_map", "torch_dtype", "dtype", "transformers_version", "use_cache", "initializer_range", "vocab_size",
	"attention_dropout", "embd_pdrop", "resid_pdrop", "hidden_dropout", "bos_token_id", "eos_token_id", "pad_token_id", "pretraining_tp",
	"cache_implementation", "output_router_logits", "router_aux_loss_coef", "is_llama_config", "transformers.js_config", "unsloth_version",
	"unsloth_fixed", "rope_interleaved", "max_window_layers", "output_hidden_states", "output_attentions", "return_dict", "id2label", "label2id",
}

// readSettings reads a file of a folder.
func readSettings(dir, name string, err *error) *settings {
	s := &settings{file: name, asked: map[string]bool{}, err: err}
	if *err == nil {
		*err = folder.ReadJSON(filepath.Join(dir, name), &s.keys)
	}
	return s
}

// fail records an error about a key.
func (s *settings) fail(key, got, want string) {
	if *s.err == nil {
		*s.err = &ConfigError{s.file, s.path + key, got, want}
	}
}

// has tells whether there is a key with a value.
func (s *settings) has(key string) bool {
	s.asked[key] = true
	v, ok := s.keys[key]
	return ok && string(v) != "null"
}

// read decodes the value of a key, if there is one.
func (s *settings) read(key, want string, to any) bool {
	if !s.has(key) {
		return false
	}
	if json.Unmarshal(s.keys[key], to) != nil {
		s.fail(key, abbreviated(s.keys[key]), want)
		return false
	}
	return true
}

// abbreviated returns the beginning of a value.
func abbreviated(v json.RawMessage) string {
	if len(v) > 60 {
		return strings.ToValidUTF8(string(v[:60]), "") + "..."
	}
	return string(v)
}

// size reads a positive integer. A missing key is the default, or an error if that is 0.
func (s *settings) size(key string, missing int) int { return s.integer(key, missing, 1, most) }

// integer reads an integer from low to high.
func (s *settings) integer(key string, missing, low, high int) int {
	want := fmt.Sprintf("an integer from %d to %d", low, high)
	var n int
	switch {
	case !s.has(key) && missing != 0:
		return missing
	case !s.has(key):
		s.fail(key, "none", want)
		return low
	case s.read(key, want, &n) && (n < low || n > high):
		s.fail(key, fmt.Sprint(n), want)
		return low
	}
	return max(n, low)
}

// number reads a number from low to high. A missing key is the default.
func (s *settings) number(key string, missing, low, high float64) float64 {
	want := fmt.Sprintf("a number from %g to %g", low, high)
	x := missing
	if s.read(key, want, &x) && !(x >= low && x <= high) {
		s.fail(key, fmt.Sprint(x), want)
		return low
	}
	return x
}

// text reads a string, "" if there is none.
func (s *settings) text(key string) (x string) {
	s.read(key, "a string", &x)
	return x
}

// yes reads a boolean, false if there is none.
func (s *settings) yes(key string) (x bool) {
	s.read(key, "true or false", &x)
	return x
}

// only reports a key that has another value than the one that is supported, if it has any.
func (s *settings) only(key string, value any) {
	want, _ := json.Marshal(value)
	if s.has(key) && string(s.keys[key]) != string(want) {
		s.fail(key, abbreviated(s.keys[key]), string(want)+"; others are not supported")
	}
}

// object reads an object. One without keys stands for none.
func (s *settings) object(key string) *settings {
	o := &settings{file: s.file, path: s.path + key + ".", asked: map[string]bool{}, err: s.err}
	s.read(key, "an object", &o.keys)
	return o
}

// unknown reports a key that nothing has asked for, and whose value is not one that means no.
func (s *settings) unknown(ignored ...string) {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		switch v := string(s.keys[key]); {
		case s.asked[key] || slices.Contains(ignored, key) || strings.HasPrefix(key, "_"):
		case v == "null" || v == "false" || v == "[]" || v == "{}":
		default:
			s.fail(key, abbreviated(s.keys[key]), "no such key: what it changes is not known")
		}
	}
}
