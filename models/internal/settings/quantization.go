package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

const quantizationKey = "quantization_config"

// methods read the object of a quant_method. What inputs of layers are rounded to is not computed:
// they stay float32.
var methods = map[string]func(r *reader, s *strict.JSON, q *arch.Quantization){
	"fp8": readFloat8, "gptq": readGPTQ, "awq": readAWQ, "compressed-tensors": readCompressed,
}

// quantization reads how the weights of a folder lie, of the object that has the key.
func (r *reader) quantization(from ...*strict.JSON) {
	for _, s := range from {
		if !s.Has(quantizationKey) {
			continue
		}
		if r.model.Quantized != nil {
			s.Fail(quantizationKey, "one of a model and of its part", "one of both")
			return
		}
		o := s.Under(quantizationKey)
		q := &arch.Quantization{Method: o.Text("quant_method")}
		r.model.Quantized = q
		switch read := methods[q.Method]; {
		case r.row.InTurn: // of gpt-oss the tensors have the blocks
			o.Only("quant_method", "mxfp4")
			r.model.Quantized = nil
			o.Unknown(strict.Table{}.Add(strict.Any, "modules_to_not_convert", "dequantize"))
		case read == nil:
			o.Fail("quant_method", quoted(q.Method), alternatives(slices.Sorted(maps.Keys(methods))))
		default:
			read(r, o, q)
			o.Unknown(ofQuantizers)
		}
	}
}

// ofQuantizers are keys that say how weights were quantized, or by which kernels others compute
// with them.
var ofQuantizers = strict.Table{}.
	Add(strict.Any,
		"damp_percent", "damp_auto_increment", "true_sequential", "static_groups", "model_name_or_path", "model_file_base_name", "quantizer", "meta", "dataset", "tokenizer", "batch_size", "mse",
		"block_name_to_quantize", "module_name_preceding_first_block", "modules_in_block_to_quantize", "pad_token_id", "max_input_length", "model_seqlen", "cache_block_outputs", "act_group_aware", "backend",
		"use_cuda_fp16", "use_exllama", "disable_exllama", "exllama_config", "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "group_aware", "offload_to_disk",
		"dequantize", "run_compressed", "use_optimized_inference", "global_compression_ratio", "quantization_status", "observer", "observer_kwargs", "version", "zp_dtype", "scale_dtype").
	Add(strict.None, "dynamic", "kv_cache_scheme", "sparsity_config", "transform_config", "modules_to_convert", "lm_head_dynamic").
	Add(strict.Only("false"), "is_marlin_format", "use_mm").
	Add(strict.Only(`"int32"`), "pack_dtype").
	Add(strict.Any, "lm_head") // whose tensors say it

// ignored reads the names of modules whose weights are numbers.
func ignored(s *strict.JSON, keys ...string) (m arch.Modules) {
	m.Parts = true
	for _, key := range keys {
		var names []string
		s.Read(key, "a list of names of modules", &names)
		m.Names = append(m.Names, names...)
	}
	return m
}

// readFloat8: FP8 in blocks, as DeepSeek V3 and Qwen3 have it.
func readFloat8(r *reader, s *strict.JSON, q *arch.Quantization) {
	q.Ignored = ignored(s, "modules_to_not_convert", "ignored_layers")
	s.Only("fmt", "e4m3")
	s.Only("expert_dtype", "fp8")
	oneOf(s, "activation_scheme", "dynamic", "static")
	oneOf(s, "scale_fmt", "float", "ue8m0")
	x := arch.Scheme{Form: arch.Float8, Others: true}
	if !s.Has("weight_block_size") {
		if !s.Given("weight_block_size") {
			x.Rows, x.Columns = 128, 128
		}
	} else {
		x.Rows, x.Columns = r.block(s, "weight_block_size")
	}
	q.Schemes = []arch.Scheme{x}
}

// oneOf reports a text that is none of some, if there is one.
func oneOf(s *strict.JSON, key string, texts ...string) string {
	text := s.Text(key)
	if s.Has(key) && !slices.Contains(texts, text) {
		s.Fail(key, quoted(text), alternatives(texts))
	}
	return text
}

// block reads the rows and columns of a block, as a list, or with an x between them.
func (r *reader) block(s *strict.JSON, key string) (rows, columns int) {
	var sizes [2]int
	var both []int
	text := ""
	raw := s.Raw(key)
	if json.Unmarshal(raw, &text) == nil {
		if n, err := fmt.Sscanf(text+" ", "%dx%d ", &sizes[0], &sizes[1]); err != nil || n != 2 {
			sizes = [2]int{}
		}
	} else if json.Unmarshal(raw, &both) == nil && len(both) == 2 {
		sizes = [2]int(both)
	}
	if min(sizes[0], sizes[1]) < 1 || max(sizes[0], sizes[1]) > r.most {
		s.Fail(key, strict.Abbreviated(raw), "two sizes of a block")
		return 1, 1
	}
	return sizes[0], sizes[1]
}

// groupSize reads how many inputs share a scale: 0 stands for all.
func (r *reader) groupSize(s *strict.JSON, missing int, keys ...string) int {
	for _, key := range keys {
		if s.Has(key) {
			if n := s.Integer(key, missing, -1, r.most); n != 0 {
				return max(n, 0)
			}
			s.Fail(key, "0", "-1 for all inputs, or a number of them")
		}
	}
	return missing
}

// integers reads how many bits codes have.
func integers(s *strict.JSON, key string) int {
	n := s.Integer(key, 0, 1, 8)
	if n != 2 && n != 4 && n != 8 {
		s.Fail(key, fmt.Sprint(n), "2, 4 or 8")
	}
	return n
}

// readGPTQ: with desc_act each input has the number of its group, in a tensor that may be there
// without it, too.
func readGPTQ(r *reader, s *strict.JSON, q *arch.Quantization) {
	x := arch.Scheme{Form: arch.GPTQ, Others: true, Bits: integers(s, "bits"), Zeros: true, Rows: 1, Columns: r.groupSize(s, 128, "group_size"), Offset: 1}
	x.Sorted = s.Yes("desc_act") && x.Columns > 0 // one group has all inputs
	s.Yes("sym")
	for _, key := range []string{"checkpoint_format", "format"} {
		if oneOf(s, key, "gptq", "gptq_v2") == "gptq_v2" {
			x.Offset = 0
		}
	}
	q.Schemes = []arch.Scheme{x}
}

func readAWQ(r *reader, s *strict.JSON, q *arch.Quantization) {
	key := "bits"
	if !s.Has(key) {
		key = "w_bit"
	}
	if n := s.Integer(key, 4, 1, 8); n != 4 {
		s.Fail(key, fmt.Sprint(n), "4")
	}
	q.Ignored = ignored(s, "modules_to_not_convert")
	s.Only("zero_point", true)
	for _, key := range []string{"version", "format"} {
		if text := strings.ToLower(s.Text(key)); s.Has(key) && text != "gemm" {
			s.Fail(key, quoted(text), `"gemm"; others are not supported`)
		}
	}
	q.Schemes = []arch.Scheme{{Form: arch.AWQ, Others: true, Bits: 4, Zeros: true, Rows: 1, Columns: r.groupSize(s, 128, "group_size", "q_group_size")}}
}

// readCompressed: groups of modules, each with its scheme.
func readCompressed(r *reader, s *strict.JSON, q *arch.Quantization) {
	var names []string
	s.Read("ignore", "a list of names of modules", &names)
	q.Ignored = modules(s, "ignore", names)
	formats := []string{"pack-quantized", "int-quantized", "float-quantized", "naive-quantized"}
	form := oneOf(s, "format", append(formats, "mixed-precision")...)
	groups := s.Under("config_groups")
	var all map[string]json.RawMessage
	s.Read("config_groups", "an object", &all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := groups.Under(name)
		own := form
		if g.Has("format") {
			own = oneOf(g, "format", formats...)
		}
		g.Has("input_activations") // which stay float32
		g.Only("output_activations", nil)
		w := g.Under("weights")
		x := r.compressed(w, own)
		targets(g, &x, q)
		w.Unknown(ofQuantizers)
		g.Unknown()
		q.Schemes = append(q.Schemes, x)
	}
	groups.Unknown()
	if len(q.Schemes) == 0 {
		s.Fail("config_groups", "none", "the schemes of some modules")
	}
}

// targets reads which modules have a scheme: some, or with the name Linear all that no scheme
// names.
func targets(s *strict.JSON, x *arch.Scheme, q *arch.Quantization) {
	const key, all = "targets", "Linear"
	var names []string
	s.Read(key, "a list of names of modules", &names)
	if x.Others = slices.Contains(names, all); len(names) == 0 {
		s.Fail(key, "none", "the names of some modules")
	} else if x.Others && slices.ContainsFunc(q.Schemes, func(x arch.Scheme) bool { return x.Others }) {
		s.Fail(key, quoted(all), "one group that has it")
	}
	x.Modules = modules(s, key, slices.DeleteFunc(names, func(name string) bool { return name == all }))
}

// modules are names, and patterns behind "re:".
func modules(s *strict.JSON, key string, names []string) (m arch.Modules) {
	for _, name := range names {
		pattern, ok := strings.CutPrefix(name, "re:")
		if !ok {
			m.Names = append(m.Names, name)
		} else if p, err := regexp.Compile(pattern); err != nil {
			s.Fail(key, quoted(name), "a regular expression of Go")
		} else {
			m.Patterns = append(m.Patterns, p)
		}
	}
	return m
}

// compressed reads the scheme of weights.
func (r *reader) compressed(w *strict.JSON, form string) arch.Scheme {
	kind := oneOf(w, "type", "int", "float")
	x := arch.Scheme{Form: arch.Packed, Bits: integers(w, "num_bits"), Zeros: w.Has("symmetric") && !w.Yes("symmetric")}
	w.Only("dynamic", false)
	if order := w.Text("actorder"); order != "" && order != "weight" && order != "static" {
		w.Fail("actorder", quoted(order), `"weight" or "static"; others are not supported`)
	}
	switch {
	case kind == "float" && form != "pack-quantized":
		w.Only("num_bits", 8)
		w.Only("symmetric", true)
		x.Form = arch.Float8
	case kind == "float":
		w.Fail("type", quoted(kind), `"int" with pack-quantized`)
	case form != "pack-quantized":
		w.Only("num_bits", 8)
		x.Form = arch.Int8
	}
	size := r.groupSize(w, 0, "group_size")
	strategy := oneOf(w, "strategy", "tensor", "channel", "group", "block")
	if strategy == "block" {
		x.Rows, x.Columns = r.block(w, "block_structure")
	} else {
		w.Only("block_structure", nil)
	}
	if size > 0 && strategy != "" && strategy != "group" {
		w.Fail("group_size", fmt.Sprint(size), "none with the strategy "+strategy)
	}
	switch {
	case strategy == "channel" || strategy == "" && size == 0 && w.Has("group_size"):
		x.Rows = 1
	case strategy == "group" || strategy == "" && size > 0:
		if x.Rows, x.Columns = 1, size; size == 0 {
			w.Fail("group_size", "none", "a number of inputs")
		}
	case strategy == "block" && x.Form != arch.Float8:
		w.Fail("strategy", quoted(strategy), `"tensor", "channel" or "group" for integers`)
	}
	return x
}
