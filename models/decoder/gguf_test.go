package decoder

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/numeric"
)

// A converter writes the GGUF file of a folder as llama.cpp's convert_hf_to_gguf.py does.
type converter struct {
	t *testing.T
	c Config
	m *arch.Model
	l *loader
	ggufwriter.File
}

// convert returns the GGUF file of a folder.
func convert(t *testing.T, dir string) (*converter, *gguf.File) {
	m, err := settings.Decoders.ReadFolder(dir, configError)
	if err != nil {
		t.Fatal(err)
	}
	l, err := folderLoader(dir, m, Options{MTP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.Rename = nil
	if m.Family.GGUF == "nemotron_h" && routes(m) {
		family := *m.Family
		family.GGUF = "nemotron_h_moe"
		m.Family = &family
	}
	v := &converter{t: t, c: configOf(m), m: m, l: l}
	v.tensors()
	v.metadata()
	if slices.ContainsFunc(v.Tensors, func(t gguf.Tensor) bool { return strings.Contains(t.Name, "nextn.") }) {
		v.Set(m.Family.GGUF+".block_count", uint32(v.c.Layers+1))
		v.Set(m.Family.GGUF+".nextn_predict_layers", uint32(1))
	}
	f, err := gguf.New(v.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return v, f
}

// routes tells whether a model has experts.
func routes(m *arch.Model) bool {
	return slices.ContainsFunc(m.Layers, func(l arch.Layer) bool { _, ok := l.Feed.(*arch.Experts); return ok })
}

// metadata writes the keys.
func (v *converter) metadata() {
	c := &v.c
	v.set("general.architecture", v.m.Family.GGUF)
	for key, n := range map[string]int{
		"block_count": c.Layers, "embedding_length": c.Width, "attention.head_count": c.Heads, "attention.head_count_kv": c.KVHeads,
		"attention.key_length": c.HeadSize, "attention.value_length": cmp.Or(c.InKeys, c.HeadSize), "feed_forward_length": v.inner(), "context_length": c.Context,
		"rope.dimension_count": cmp.Or(c.RopeDims, c.HeadSize),
	} {
		v.set(v.m.Family.GGUF+"."+key, uint32(n))
	}
	epsilon := "attention.layer_norm_rms_epsilon"
	if v.m.Layers[0].Norm.Kind == arch.LayerNorm {
		epsilon = "attention.layer_norm_epsilon"
	}
	for key, x := range map[string]float64{
		epsilon: float64(c.Epsilon), "rope.freq_base": c.RopeBase, "attention.temperature_scale": ropeOf(v.m).Growth, "attention.scale": float64(c.ScoreScale),
		"attn_logit_softcapping": float64(c.ScoreSoftcap), "final_logit_softcapping": float64(c.LogitSoftcap),
	} {
		if x != 0 && (key != "attention.scale" || c.InKeys == 0) {
			v.set(v.m.Family.GGUF+"."+key, float32(x))
		}
	}
	switch v.m.Family.GGUF {
	case "granitehybrid":
		v.set("granitehybrid.rope.scaling.finetuned", false)
		fallthrough
	case "granite", "granitemoe":
		v.set(v.m.Family.GGUF+".embedding_scale", c.EmbeddingScale)
		v.set(v.m.Family.GGUF+".residual_scale", c.ResidualScale)
		v.set(v.m.Family.GGUF+".logit_scale", 1/c.LogitScale)
	case "cohere2":
		v.set("cohere2.logit_scale", c.LogitScale)
	case "stablelm":
		v.set("stablelm.use_parallel_residual", true)
	}
	if c.Windows != nil {
		v.set(v.m.Family.GGUF+".attention.sliding_window", uint32(slices.Max(c.Windows)))
	}
	if at := slices.Index(c.Windows, 0); slices.Contains([]string{"olmo2", "exaone4"}, v.m.Family.GGUF) && c.Windows != nil {
		var near []bool
		for _, n := range c.Windows {
			near = append(near, n > 0)
		}
		v.set(v.m.Family.GGUF+".attention.sliding_window_pattern", near)
	} else if at >= 0 && at+1 != v.m.Family.Period {
		v.set(v.m.Family.GGUF+".attention.sliding_window_pattern", uint32(at+1))
	}
	if l, ok := v.m.Layers[0].Mixer.(*arch.Latent); ok {
		v.latent(l)
	}
	if e, ok := v.m.Layers[c.Layers-1].Feed.(*arch.Experts); ok {
		v.experts(e)
	}
	v.recurrent()
	if v.m.Embed.Inputs > 0 || v.m.Family.GGUF == "gemma4" {
		v.gemma4()
	}
	v.scaling()
}

// recurrent writes what layers without attention have.
func (v *converter) recurrent() {
	key, heads := v.m.Family.GGUF+".", make([]int32, v.c.Layers)
	for i, l := range v.m.Layers {
		switch t := l.Mixer.(type) {
		case *arch.Attention:
			heads[i] = int32(t.KVHeads)
		case *arch.Convolution:
			v.Set(key+"attention.head_count_kv", heads) // which has the numbers of later layers, too
			v.Set(key+"shortconv.l_cache", uint32(t.Taps))
		case *arch.StateSpace:
			v.Set(key+"attention.head_count_kv", heads)
			v.space(t)
		case *arch.Both:
			v.space(t.Space)
		case *arch.Delta:
			v.space(&arch.StateSpace{Heads: t.Heads, KeyHeads: t.KeyHeads, KeySize: t.KeySize, ValueSize: t.ValueSize, Taps: t.Taps})
			v.Set(key+"full_attention_interval", uint32(1+slices.IndexFunc(v.m.Layers, func(l arch.Layer) bool { return l.Attention() != nil })))
			v.Set(key+"rope.dimension_sections", []int32{1, 1, 1, 0})
		}
	}
	if strings.HasPrefix(v.m.Family.GGUF, "nemotron_h") {
		v.Set(key+"attention.head_count_kv", heads)
		v.Set(key+"feed_forward_length", v.widths())
		v.Set(key+"rope.scaling.finetuned", false)
	}
}

// gemma4 writes what files say of layers that differ in their heads and networks.
func (v *converter) gemma4() {
	n, key := v.c.Layers, v.m.Family.GGUF+"."
	near, heads, full, shared := make([]bool, n), make([]int32, n), v.m.Layers[n-1].Attention(), 0
	for i, l := range v.m.Layers {
		a := l.Attention()
		if heads[i] = int32(a.KVHeads); a.Source > 0 {
			shared++
		}
		if near[i] = a.Window > 0; near[i] {
			v.Set(key+"attention.key_length_swa", uint32(a.Size))
			v.Set(key+"attention.value_length_swa", uint32(a.Size))
			v.Set(key+"rope.dimension_count_swa", uint32(a.Rope.Dims))
			v.Set(key+"rope.freq_base_swa", float32(a.Rope.Base))
		}
		if f, ok := l.Feed.(*arch.Twofold); ok && i == 0 {
			v.experts(&f.Experts)
		}
	}
	v.Set(key+"attention.key_length", uint32(full.Size))
	v.Set(key+"attention.value_length", uint32(full.Size))
	v.Set(key+"rope.dimension_count", uint32(full.Size))
	v.Set(key+"rope.freq_base", float32(full.Rope.Base))
	v.Set(key+"attention.sliding_window_pattern", near)
	v.Set(key+"attention.shared_kv_layers", uint32(shared))
	v.Set(key+"embedding_length_per_layer_input", uint32(v.m.Embed.Inputs))
	v.Set(key+"attention.head_count_kv", heads)
	v.Set(key+"feed_forward_length", v.widths())
	v.Set(key+"attention.scale", nil)
	factors := make([]float32, full.Rope.Dims/2)
	for i, x := range full.Rope.Scaling.Factors {
		factors[i] = float32(min(x, 1e30))
	}
	if v.m.Family.GGUF == "gemma4" {
		v.AddFloats("rope_freqs.weight", factors, len(factors))
		return
	}
	v.Set(key+"altup.active_idx", uint32(0))
	v.Set(key+"altup.num_inputs", uint32(v.m.Streams))
	var beyond []float32
	for _, l := range v.m.Layers {
		x := float32(math.Inf(-1))
		if d := l.Feed.(*arch.Dense); d.Beyond != nil {
			x = *d.Beyond
		}
		beyond = append(beyond, x)
	}
	v.Set(key+"activation_sparsity_scale", beyond)
	tensor := func(name string) *gguf.Tensor {
		return &v.Tensors[slices.IndexFunc(v.Tensors, func(t gguf.Tensor) bool { return t.Name == name })]
	}
	table, vocab := tensor("per_layer_token_embd.weight"), tensor("token_embd.weight").Shape[0]
	for width := table.Shape[1]; table.Shape[0] < vocab; table.Shape = []int{table.Shape[0] + 1, width} { // rows of tokens that the folder has no row for: as id 0, by the class. The converter fills them with 0, for images alone
		table.Data = append(table.Data, table.Data[:4*width]...)
	}
}

// widths are the widths of the networks of each layer, or 0.
func (v *converter) widths() []int32 {
	all := make([]int32, v.c.Layers)
	for i, l := range v.m.Layers {
		switch f := l.Feed.(type) {
		case *arch.Dense:
			all[i] = int32(f.Inner)
		case *arch.Experts:
			all[i] = int32(f.Inner)
		case *arch.Twofold:
			all[i] = int32(f.Dense.Inner)
		}
	}
	return all
}

// deltaTensor writes a tensor of a gated delta net and tells whether it is one. The first layer of
// Qwen3-Next has the tensor that older files have.
func (v *converter) deltaTensor(name, block string, x []float32, shape []int) bool {
	d, ok := v.m.Layers[0].Mixer.(*arch.Delta)
	if !ok {
		return false
	}
	order := make([]int, d.Heads)
	for h := range order {
		order[h] = h
	}
	if v.m.Family.GGUF != "qwen3next" { // head h of values comes to the place h%R·KeyHeads + h/R, with R of them for each of keys
		for h := range order {
			r := d.Heads / d.KeyHeads
			order[h%r*d.KeyHeads+h/r] = h
		}
	}
	heads := func(x []float32, n int) (y []float32) { // rows of heads of values
		for _, h := range order {
			y = append(y, x[h*n:][:n]...)
		}
		return y
	}
	width, keys := shape[len(shape)-1], 2*d.KeyHeads*d.KeySize
	switch strings.TrimSuffix(strings.TrimPrefix(name, block), ".weight") {
	case "attn_qkv", "ssm_conv1d":
		if len(shape) == 3 {
			shape = []int{shape[0], width}
		}
		x = slices.Concat(x[:keys*width], heads(x[keys*width:], d.ValueSize*width))
	case "attn_gate":
		x = heads(x, d.ValueSize*width)
	case "ssm_beta", "ssm_alpha":
		x = heads(x, width)
	case "ssm_a":
		for i, a := range x {
			x[i] = -numeric.Exp2(float32(a * float32(math.Log2E)))
		}
		x = heads(x, 1)
	case "ssm_dt.bias":
		x = heads(x, 1)
	case "ssm_out":
		var y []float32
		for ; len(x) > 0; x = x[width:] {
			y = append(y, heads(x[:width], d.ValueSize)...)
		}
		x = y
	case "ssm_in":
		if block != "blk.0." {
			v.qkvz(block, d, x, width)
			return true
		}
	case "ssm_norm", "ssm_ba":
	default:
		return false
	}
	v.AddFloats(name, x, shape...)
	return true
}

// qkvz writes the tensors of queries, keys and values, and of z, of rows that are grouped by heads
// of keys.
func (v *converter) qkvz(block string, d *arch.Delta, x []float32, width int) {
	r := d.Heads / d.KeyHeads
	parts := make([][]float32, 4)
	for range d.KeyHeads {
		for i, n := range []int{d.KeySize, d.KeySize, r * d.ValueSize, r * d.ValueSize} {
			parts[i] = append(parts[i], x[:n*width]...)
			x = x[n*width:]
		}
	}
	qkv := slices.Concat(parts[:3]...)
	v.AddFloats(block+"attn_qkv.weight", qkv, len(qkv)/width, width)
	v.AddFloats(block+"attn_gate.weight", parts[3], len(parts[3])/width, width)
}

// space writes what files say of Mamba-2.
func (v *converter) space(t *arch.StateSpace) {
	for name, n := range map[string]int{"conv_kernel": t.Taps, "state_size": t.KeySize, "group_count": t.KeyHeads, "inner_size": t.Heads * t.ValueSize, "time_step_rank": t.Heads} {
		v.Set(v.m.Family.GGUF+".ssm."+name, uint32(n))
	}
}

// spaceTensor returns a tensor of Mamba-2 as files have it.
func (v *converter) spaceTensor(name string, x []float32, shape []int) ([]float32, []int) {
	switch name {
	case "ssm_a":
		for i, a := range x {
			x[i] = -numeric.Exp2(float32(a * float32(math.Log2E)))
		}
		return x, append(shape, 1)
	case "ssm_d":
		return x, append(shape, 1)
	case "ssm_conv1d":
		if len(shape) == 3 {
			return x, []int{shape[0], shape[2]}
		}
	case "ssm_norm":
		groups := 1
		for _, l := range v.m.Layers {
			switch t := l.Mixer.(type) {
			case *arch.StateSpace:
				groups = t.KeyHeads
			case *arch.Both:
				groups = t.Space.KeyHeads
			}
		}
		return x, []int{groups, len(x) / groups}
	}
	return x, shape
}

func (v *converter) set(key string, value any) {
	v.Metadata = append(v.Metadata, ggufwriter.Entry{Key: key, Value: value})
}

// inner returns the width of the feed-forward networks without experts, or of all.
func (v *converter) inner() int {
	if d, ok := v.m.Layers[0].Feed.(*arch.Dense); ok {
		return d.Inner
	}
	return v.c.FFN
}

// latent writes what files say of attention over latents. The mscale_all_dim of the models here
// is 1.
func (v *converter) latent(l *arch.Latent) {
	keys := map[string]int{"attention.kv_lora_rank": l.Rank, "attention.key_length_mla": l.Plain + l.Turned(), "attention.value_length_mla": l.Values}
	if l.QueryRank > 0 {
		keys["attention.q_lora_rank"] = l.QueryRank
	}
	for key, n := range keys {
		v.set(v.m.Family.GGUF+"."+key, uint32(n))
	}
	if l.Rope.Scaling.YaRN {
		v.set(v.m.Family.GGUF+".rope.scaling.yarn_log_multiplier", float32(0.1))
	}
}

// experts writes what files say of experts.
func (v *converter) experts(e *arch.Experts) {
	lead := slices.IndexFunc(v.m.Layers, func(l arch.Layer) bool { _, ok := l.Feed.(*arch.Experts); return ok })
	keys := map[string]int{"count": e.Count, "used_count": e.Used, "feed_forward_length": e.Inner}
	switch {
	case e.SharedGate || slices.Contains([]string{"granitehybrid", "nemotron_h_moe"}, v.m.Family.GGUF) && e.Shared > 0:
		keys["shared_feed_forward_length"] = e.Shared
	case e.Shared > 0:
		keys["shared_count"] = e.Shared / e.Inner
	}
	if e.Sigmoid {
		keys["gating_func"] = 2
	}
	if e.Groups.Count > 0 {
		keys["group_count"], keys["group_used_count"] = e.Groups.Count, e.Groups.Used
	}
	for key, n := range keys {
		v.set(v.m.Family.GGUF+".expert_"+key, uint32(n))
	}
	if e.Scale != 0 {
		v.set(v.m.Family.GGUF+".expert_weights_scale", float32(e.Scale))
		v.set(v.m.Family.GGUF+".expert_weights_norm", e.Shares)
	}
	if e.Latent > 0 {
		v.set(v.m.Family.GGUF+".moe_latent_size", uint32(e.Latent))
	}
	if lead > 0 && v.m.Family.GGUF != "nemotron_h_moe" {
		v.set(v.m.Family.GGUF+".leading_dense_block_count", uint32(lead))
	}
}

// scaling writes how positions are scaled: of Llama 3 and LongRoPE as tensors.
func (v *converter) scaling() {
	s, key := &ropeOf(v.m).Scaling, v.m.Family.GGUF+".rope.scaling."
	floats := func(name string, factors []float64) {
		x := make([]float32, len(factors))
		for i, f := range factors {
			x[i] = float32(f)
		}
		v.AddFloats(name, x, len(x))
	}
	switch {
	case v.c.RopeDims == 0: // nothing rotates
	case v.c.RopeScaling != 1:
		v.set(key+"type", "linear")
		v.set(key+"factor", float32(v.c.RopeScaling))
	case s.YaRN:
		v.set(key+"type", "yarn")
		v.set(key+"factor", float32(s.Factor))
		v.set(key+"original_context_length", uint32(s.Original))
		switch v.m.Family.GGUF {
		case "mistral3":
			v.set(key+"yarn_log_multiplier", float32(1))
		case "olmo2":
			v.set(key+"attn_factor", float32(s.Magnitude)) // attention_factor of config.json
		}
	case s.Llama3:
		floats("rope_freqs.weight", s.Of(v.c.RopeBase, v.c.RopeDims, 0))
	case s.Long != nil:
		v.set(key+"original_context_length", uint32(s.Original))
		v.set(key+"attn_factor", float32(s.Magnitude))
		floats("rope_factors_short.weight", s.Short)
		floats("rope_factors_long.weight", s.Long)
	}
}

// tensors writes the weights by their other names.
func (v *converter) tensors() {
	names := map[string]string{}
	for ours, theirs := range v.m.Family.Names {
		names[theirs] = ours
	}
	_, whole := v.l.Info(v.m.Family.Names["output_norm"] + ".weight")
	digits := regexp.MustCompile(`\b\d+\b`)
	joined := map[string][]float32{}
	for _, theirs := range v.l.Names() {
		info, _ := v.l.Info(theirs)
		x := v.l.Floats(theirs, info.Shape...)
		if err := v.l.Err(); err != nil {
			v.t.Fatal(err)
		}
		stem, kind := theirs[:strings.LastIndexByte(theirs, '.')], filepath.Ext(theirs)
		if !whole {
			stem = "model." + stem
		}
		numbers := digits.FindAllString(stem, 2) // behind which w1 of Mixtral has another one
		for _, place := range []string{"%d", "%e"} {
			if at := digits.FindStringIndex(stem); at != nil {
				stem = stem[:at[0]] + place + stem[at[1]:]
			}
		}
		ours, ok := names[stem]
		if whole, is := names[stem+kind]; is {
			ours, kind = strings.TrimSuffix(whole, filepath.Ext(whole)), filepath.Ext(whole)
		} else if !ok {
			v.t.Fatalf("no name for %q", theirs)
		}
		for i, n := range numbers {
			ours = strings.Replace(ours, []string{"%d", "%e"}[i], n, 1)
		}
		if name, ok := strings.CutSuffix(ours, "."+slices.Concat(numbers, []string{""})[0]); ok && strings.HasPrefix(name, "altup_") {
			n := v.m.Streams - 1
			if joined[name] = append(joined[name], x...); numbers[0] == fmt.Sprint(n-1) {
				v.AddFloats(name+".weight", joined[name], append([]int{n}, info.Shape...)...)
			}
			continue
		}
		switch {
		case len(numbers) == 2: // an expert, or the norm of a head: all of a layer become one tensor, in ascending order
			ours = strings.TrimSuffix(ours, "."+numbers[1])
			n := v.c.Experts
			switch {
			case strings.HasSuffix(ours, "attn_q_norm"):
				n = v.c.Heads
			case strings.HasSuffix(ours, "attn_k_norm"):
				n = v.c.KVHeads
			default:
				ours += "_exps"
			}
			joined[ours] = append(joined[ours], x...)
			if numbers[1] == fmt.Sprint(n-1) {
				v.AddFloats(ours+".weight", joined[ours], append([]int{n}, info.Shape...)...)
			}
			continue
		case v.m.Layers[0].Norm.LessOne && strings.HasSuffix(ours, "norm") && !strings.HasSuffix(ours, "ssm_norm") && kind == ".weight":
			for i := range x {
				x[i]++
			}
		case v.permutes() && (strings.HasSuffix(ours, "attn_q") || strings.HasSuffix(ours, "attn_k")):
			x = interleave(x, v.c.HeadSize, len(x)/info.Shape[0])
		case strings.HasSuffix(ours, "shortconv.conv") && len(info.Shape) == 3:
			info.Shape = []int{info.Shape[0], info.Shape[2]}
		case ours == "output_norm" && v.m.Family.FinalNorm != "":
			ours = v.m.Family.FinalNorm
		case v.m.Family.GGUF == "falcon-h1" && ours == "token_embd":
			times(x, v.c.EmbeddingScale)
		case v.m.Family.GGUF == "falcon-h1" && ours == "output":
			times(x, v.c.LogitScale)
		case strings.HasSuffix(theirs, "shared_mlp.input_linear.weight"):
			end, n := map[bool]string{true: "_shexp"}[v.c.Experts > 0], len(x)/2
			v.AddFloats("blk."+numbers[0]+".ffn_gate"+end+kind, x[:n], info.Shape[0]/2, info.Shape[1])
			v.AddFloats("blk."+numbers[0]+".ffn_up"+end+kind, x[n:], info.Shape[0]/2, info.Shape[1])
			continue
		case strings.HasSuffix(theirs, "shared_mlp.output_linear.weight"):
			ours = "blk." + numbers[0] + ".ffn_down" + map[bool]string{true: "_shexp"}[v.c.Experts > 0]
		case strings.HasSuffix(ours, "ffn_gate_up"):
			ours = strings.Replace(ours, "ffn_gate_up", "ffn_up", 1)
		}
		if stem, ok := strings.CutSuffix(ours, "ffn_gate_up_exps"); ok && v.m.Family.GGUF != "gemma4" {
			v.separate(stem, x, info.Shape)
			continue
		}
		if len(numbers) == 1 {
			block := "blk." + numbers[0] + "."
			if v.deltaTensor(ours+kind, block, x, info.Shape) {
				continue
			}
			ours, info.Shape = v.renamed(strings.TrimPrefix(ours, block), info.Shape)
			switch kind {
			case ".weight":
				x, info.Shape = v.spaceTensor(strings.TrimPrefix(ours, block), x, info.Shape)
			case ".ssm_a", ".ssm_d":
				x, info.Shape = v.spaceTensor(kind[1:], x, info.Shape)
				block = "" // it is in ours
			}
			ours = block + ours
		}
		v.AddFloats(ours+kind, x, info.Shape...)
	}
}

// permutes tells whether heads have their elements in another order than in the folder.
func (v *converter) permutes() bool { return v.m.Family.Interleaved && !ropeOf(v.m).Interleaved }

// rounds tells whether the file has a number as float32 that the folder has as float64, or other
// orders of sums.
func (v *converter) rounds() bool {
	r := ropeOf(v.m)
	if d, ok := v.m.Layers[0].Mixer.(*arch.Delta); ok && !d.Grouped && d.Heads > d.KeyHeads { // whose heads of values have another order
		return true
	}
	return r.Growth != 0 || r.Base != float64(float32(r.Base)) || v.m.Family.GGUF == "olmo2" && r.Scaling.YaRN || v.m.Family.GGUF == "falcon-h1" // whose head is multiplied
}

// times multiplies numbers.
func times(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// separate writes the gate and the layer up of experts that have both in one tensor.
func (v *converter) separate(block string, x []float32, shape []int) {
	n := shape[1] / 2 * shape[2]
	var gate, up []float32
	for ; len(x) > 0; x = x[2*n:] {
		gate, up = append(gate, x[:n]...), append(up, x[n:2*n]...)
	}
	v.AddFloats(block+"ffn_gate_exps.weight", gate, shape[0], shape[1]/2, shape[2])
	v.AddFloats(block+"ffn_up_exps.weight", up, shape[0], shape[1]/2, shape[2])
}

// renamed returns the name and the shape of a tensor that files of some architectures have
// otherwise.
func (v *converter) renamed(name string, shape []int) (string, []int) {
	switch {
	case name == "ffn_gate_inp_shexp":
		return name, shape[1:]
	case name == "ffn_norm" && slices.Contains([]string{"glm4moe", "gpt-oss", "seed_oss", "qwen35", "qwen35moe", "qwen3next"}, v.m.Family.GGUF):
		return "post_attention_norm", shape
	}
	return name, shape
}

// interleave puts row i of the first half of each head before row i of the second half.
func interleave(x []float32, head, width int) []float32 {
	y := make([]float32, 0, len(x))
	for at := 0; at < len(x)/width; at += head {
		for i := range head / 2 {
			y = append(y, x[(at+i)*width:][:width]...)
			y = append(y, x[(at+i+head/2)*width:][:width]...)
		}
	}
	return y
}

// The GGUF file of a folder is the model of the folder: its numbers equal the references, and have
// the same bits but for architectures whose heads have their elements in another order, or with a
// setting that is no float32.
func TestGGUF(t *testing.T) {
	folders, err := filepath.Glob(tinyFolders)
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	if dir := references.Folder(""); dir != "" {
		folders = append(folders, dir)
	}
	for _, dir := range folders {
		if r := readTiny(t, dir); r.Kind == "decoder" && hasFiles(t, dir) { // of embedders, see TestEmbedderGGUF
			t.Run(filepath.Base(dir), func(t *testing.T) { checkGGUF(t, dir, r) })
		}
	}
}

// hasFiles tells whether there are GGUF files of the family of a folder.
func hasFiles(t *testing.T, dir string) bool {
	m, err := settings.Decoders.ReadFolder(dir, configError)
	if err != nil {
		t.Fatal(err)
	}
	norms := m.Attentions()[0].HeadNorm    // of which files of Phi have no names
	turns := m.Attentions()[0].Rope != nil // which files of Granite's hybrids never say
	return slices.Contains(settings.Decoders.Files(), m.Family.GGUF) && !(m.Family.GGUF == "phi2" && norms != nil) && !(m.Family.GGUF == "granitehybrid" && turns)
}

func checkGGUF(t *testing.T, dir string, r *tinyReferences) {
	v, f := convert(t, dir)
	m, err := New(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.model = m
	r.checkNumbers(t)
	r.checkGreedy(t)
	if v.permutes() || v.rounds() {
		return
	}
	ids := prompt(40, 3)
	run := func(m *Model) []float32 {
		s := session(t, m, 1, len(ids))
		return forward(t, s, Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})[0]
	}
	sameBits(t, "logits", run(m), run(want))
}

// TestGGUFRefusals: a file that is not whole, or that says something twice and not the same, is an
// error about it.
func TestGGUFRefusals(t *testing.T) {
	for _, x := range []struct {
		dir    string
		change func(f *ggufwriter.File)
		want   error
	}{
		{"gemma4-67", func(f *ggufwriter.File) { f.Remove("rope_freqs.weight") }, tensorError("rope_freqs.weight", "nothing", "F32, F16, BF16 or blocks [16]")},
		{"nemotron_h-41", func(f *ggufwriter.File) { f.Set("nemotron_h_moe.feed_forward_length", []int32{0, 100, 0, 0, 37}) }, gguf.KeyError("nemotron_h_moe.feed_forward_length", "37 in layer 4", "36, the width of an expert")},
		{"nemotron_h-41", func(f *ggufwriter.File) { f.Set("nemotron_h_moe.expert_shared_count", uint32(3)) }, gguf.KeyError("nemotron_h_moe.expert_shared_count", "3", "0 to 1")},
		{"nemotron_h-41", func(f *ggufwriter.File) { f.Set("nemotron_h_moe.expert_shared_count", uint32(1)) }, nil},
	} {
		v, _ := convert(t, filepath.Join(filepath.Dir(tinyFolders), x.dir))
		x.change(&v.File)
		f, err := gguf.New(v.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = New(f, Options{}); x.want != nil {
			checkError(t, x.dir, err, x.want)
		} else if err != nil {
			t.Errorf("%s: %v", x.dir, err)
		}
	}
}
