package adapters

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/internal/tensors"
)

// config are the keys of adapter_config.json that are not read, with the values that change
// nothing.
var config = strict.Table{
	"fan_in_fan_out": strict.Only("false"), "bias": strict.Only(`"none"`), "lora_bias": strict.Only("false"),
	"use_dora": strict.Only("false"), "use_qalora": strict.Only("false"), "use_bdlora": strict.Only("null", "false"),
	// Others also change the weights of the model, which the adapter is not for as they are in its
	// files.
	"init_lora_weights": strict.Only("true", "false", `"gaussian"`, `"eva"`, `"orthogonal"`),
}.
	Add(strict.None, "modules_to_save", "layer_replication", "target_parameters", "trainable_token_indices", "alora_invocation_tokens", "arrow_config", "megatron_config",
		"loftq_config", "corda_config", "lora_ga_config", "velora_config", "monteclora_config", "kasa_config").
	Add(strict.Only("false"), "ensure_weight_tying").
	Add(strict.Any,
		"task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode",
		// Of training.
		"lora_dropout", "eva_config", "runtime_config", "megatron_core", "qalora_group_size",
		// Which modules have an adapter, the tensors say.
		"target_modules", "exclude_modules", "layers_to_transform", "layers_pattern")

// A peft is what adapter_config.json says.
type peft struct {
	path   string
	rank   int
	alpha  float64
	rooted bool // use_rslora: divided by the root of the rank
	ranks  []pattern
	alphas []pattern
}

// A pattern gives modules whose names it matches another value.
type pattern struct {
	key   string
	of    *regexp.Regexp
	value float64
}

func openPEFT(dir string) (*adapter, error) {
	p := &peft{path: filepath.Join(dir, tensors.AdapterConfig)}
	if err := p.readConfig(dir); err != nil {
		return nil, err
	}
	s, err := tensors.OpenAdapter(dir)
	if err != nil {
		return nil, err
	}
	return &adapter{s, p, s.Close}, nil
}

func (p *peft) bad(key, got, want string) error {
	return &kernel.Error{Where: p.path + ": " + key, Got: got, Want: want}
}

func (p *peft) readConfig(dir string) (err error) {
	c := strict.ReadJSON(dir, tensors.AdapterConfig, &err, p.bad)
	if err != nil {
		return err
	}
	if kind := c.Text("peft_type"); kind != "LORA" {
		c.Fail("peft_type", fmt.Sprintf("%.40q", kind), `"LORA"; others are not supported`)
	}
	p.rank, p.alpha, p.rooted = c.Size("r", 8), c.Number("lora_alpha", 8, -mostAlpha, mostAlpha), c.Yes("use_rslora")
	p.ranks, p.alphas = p.patterns(c, "rank_pattern"), p.patterns(c, "alpha_pattern")
	c.Unknown(config)
	return err
}

const mostAlpha = 1 << 24

// patterns reads the patterns of a key, which match the end of a module's name after a dot, or all
// of it.
func (p *peft) patterns(c *strict.JSON, key string) (list []pattern) {
	var all map[string]float64
	c.Read(key, "an object of numbers", &all)
	for text, value := range all {
		of, err := regexp.Compile(`^(?:.*\.)?(?:` + text + `)$`)
		if err != nil || !(math.Abs(value) <= mostAlpha) {
			c.Fail(key, fmt.Sprintf("%.100q with %v", text, value), "a regular expression of package regexp, with a number")
			return nil
		}
		list = append(list, pattern{text, of, value})
	}
	return list
}

// of returns the value for a module: from the pattern that matches, else the given one. The peft
// library takes the first pattern of several.
func (p *peft) of(key string, list []pattern, module string, value float64) (float64, error) {
	var found *pattern
	for i := range list {
		x := &list[i]
		if !x.of.MatchString(module) {
			continue
		}
		if found != nil && found.value != x.value {
			return 0, p.bad(key, fmt.Sprintf("%q and %q, which both match %s", min(found.key, x.key), max(found.key, x.key), module), "one value for a module")
		}
		found, value = x, x.value
	}
	return value, nil
}

const weight = ".weight"

func (p *peft) names() string {
	return "base_model.model.NAME.lora_A.weight or .lora_B.weight"
}

func (p *peft) split(name string) (target string, isB, ok bool) {
	inside, ok := strings.CutPrefix(name, "base_model.model.")
	for i, end := range []string{".lora_A.weight", ".lora_B.weight"} {
		if stem, is := strings.CutSuffix(inside, end); is && ok {
			return stem + weight, i == 1, true
		}
	}
	return "", false, false
}

func (p *peft) scale(target string, rank int) (float64, error) {
	module := strings.TrimSuffix(target, weight)
	want, err := p.of("rank_pattern", p.ranks, module, float64(p.rank))
	alpha, bad := p.of("alpha_pattern", p.alphas, module, p.alpha)
	switch {
	case err != nil || bad != nil:
		return 0, errors.Join(err, bad)
	case want != float64(rank):
		return 0, p.bad("r, rank_pattern", fmt.Sprintf("%v for %s", want, module), fmt.Sprintf("%d, the rank of its tensors", rank))
	case p.rooted:
		return alpha / math.Sqrt(float64(rank)), nil
	}
	return alpha / float64(rank), nil
}

// roots precede names of modules in classes of transformers and in files: transformers renames
// tensors when it reads a model, and a class for texts reads files of a class for pictures.
var roots = append(tensors.Roots(), "backbone.")

// find returns the tensor of that name, or the only one with names of classes before it, as files
// of a model may have them or not: an adapter of BertModel names encoder.layer.0, an adapter of
// BertForMaskedLM names bert.encoder.layer.0. Else it is the only one with another root. The
// rest of vision_tower.layers.0 is also the name of a layer of the text model, so nothing but the
// name of a class is cut.
func (p *peft) find(s *tensors.Store, target string) (found string, err error) {
	if _, ok := s.Info(target); ok {
		return target, nil
	}
	var list []string
	for _, name := range s.Names() {
		if isWithin(name, target) || isWithin(target, name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		list = withRoots(s, target)
	}
	switch len(list) {
	case 0:
		return "", fmt.Errorf("no tensor %s", target)
	case 1:
		return list[0], nil
	}
	return "", fmt.Errorf("%s for %s", strings.Join(list, " and "), target)
}

// isWithin tells whether whole is the name of a class and then inside.
func isWithin(whole, inside string) bool {
	before, ok := strings.CutSuffix(whole, inside)
	return ok && tensors.IsClass(before)
}

// withRoots returns the tensors that have another root than target.
func withRoots(s *tensors.Store, target string) (list []string) {
	i := slices.IndexFunc(roots, func(root string) bool { return strings.HasPrefix(target, root) })
	if i < 0 {
		return nil
	}
	for _, root := range roots {
		name := root + strings.TrimPrefix(target, roots[i])
		if _, ok := s.Info(name); ok {
			list = append(list, name)
		}
	}
	return list
}
