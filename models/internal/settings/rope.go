package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/models/internal/strict"
)

// mostBase is the largest base of frequencies.
const mostBase = 0x1p64

// rotary reads the rotations of all layers: from rope_parameters, or, in older files, from
// rope_scaling and rope_theta.
func rotary(r *reader) { r.rotate(r.parameters()) }

// rotate reads the rotations out of their object.
func (r *reader) rotate(p *strict.JSON) {
	r.turn(p, r.attention.Size)
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	p.Unknown(strict.Parameters)
}

// neighbours says that neighbours rotate together, also in folders.
func neighbours(r *reader) { r.rope.Interleaved = true }

// partKey is the share of a head that is rotated.
const partKey = "partial_rotary_factor"

// rotaryOfPart is rotary for heads of which a part may rotate.
func rotaryOfPart(r *reader) {
	p := r.parameters()
	r.turn(p, r.part(p))
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	p.Unknown(strict.Parameters)
}

// part returns how many elements of a head rotate: all times partial_rotary_factor, which p or the
// model has.
func (r *reader) part(p *strict.JSON) int {
	at := r.json
	if p.Has(partKey) {
		at = p
	}
	part := p.Number(partKey, r.Number(partKey, 1, 0, 1), 0, 1)
	if at == r.json && r.json.Given(partKey) && !r.Has(partKey) {
		part = 0 // null
	}
	dims := int(part * float64(r.attention.Size))
	if dims < 2 || dims%2 != 0 {
		at.Fail(partKey, fmt.Sprint(part), fmt.Sprintf("an even number of the %d elements of a head", r.attention.Size))
		return 2
	}
	return dims
}

// rotaryOfPhi is rotary for Phi 3. It may rotate a part of a head. The length of texts before the
// scaling has a key of its own. The only scaling is LongRoPE, which older files call su or yarn.
func rotaryOfPhi(r *reader) {
	p := r.parameters()
	dims := r.part(p)
	p.Has(original) // in place of which the key of the model counts
	r.turn(p, dims)
	r.scaling(p, r.Size(original, 0), scalings{"default": plain, "longrope": long, "su": long, "yarn": long})
	p.Unknown(strict.Parameters)
}

// rotaryThatGrows is rotary for Ministral 3, whose queries grow with their position.
func rotaryThatGrows(r *reader) {
	const key = "llama_4_scaling_beta"
	p := r.parameters()
	if !r.Has("rope_parameters") && p.Empty() {
		p.Default(values{
			"rope_type": "yarn", "rope_theta": 1e6, "factor": 16, original: 16384, "beta_fast": 32, "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1, key: 0.1,
		})
	}
	r.turn(p, r.attention.Size)
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	if r.rope.Growth = p.Number(key, 0, 0, 1e3); !p.Has(key) {
		p.Fail(key, "none", "a number from 0 to 1000")
	}
	p.Has("max_position_embeddings")
	p.Unknown(strict.Parameters)
}

// fileGrowth reads the growth in a GGUF file.
func fileGrowth(r *reader) { r.rope.Growth = r.Optional("attention.temperature_scale", 0x1p-32, 1e3) }

// rotaryOfHunyuan is rotary for Hunyuan, in which a dynamic scaling with an alpha is another base:
// base·alpha^(dims/(dims-2)).
func rotaryOfHunyuan(r *reader) {
	p := r.parameters()
	r.turn(p, r.attention.Size)
	kinds := maps.Clone(everyScaling)
	kinds["dynamic"] = func(s *scaling) {
		alpha := s.Number("alpha", 0, 1, 1<<16)
		if s.to.Factor = 1; alpha == 0 {
			s.rope.Dynamic = true
			return
		}
		root, _ := powers.Root(alpha, max(1, s.rope.Dims/2-1)).Float64() // alpha^(2/(dims-2))
		if s.rope.Base *= float64(alpha * root); s.rope.Base > mostBase || s.rope.Dims < 4 {
			s.Fail("alpha", fmt.Sprint(alpha), "one with which the base is at most 2^64, of heads of 4 elements or more")
		}
	}
	r.scaling(p, p.Size(original, r.model.Context), kinds)
	for _, key := range []string{"beta_fast", "beta_slow", "mscale", "mscale_all_dim"} { // which published models have beside alpha
		p.Has(key)
	}
	p.Unknown(strict.Parameters)
}

// rotaries reads the rotations of Gemma 3: of layers with all tokens, and of layers with a window.
// Files without rope_parameters scale the former alone.
func rotaries(r *reader) { r.rotaries("rope_local_base_freq") }

// rotariesOfOLMo reads the rotations of OLMo 3. Versions of transformers take other bases for
// layers with a window than this one, where rope_theta stands outside of rope_parameters.
func rotariesOfOLMo(r *reader) {
	const key = "rope_theta"
	r.rotaries(key)
	if r.Has("rope_parameters") {
		return
	}
	base := r.row.missing.number(key)
	want := fmt.Sprintf("%v, or rope_parameters, as versions of transformers differ in what it means for layers with a window", base)
	if got := r.Number(key, base, 1, mostBase); got != base {
		r.Fail(key, fmt.Sprint(got), want)
	} else if r.rope.Base != base {
		r.Fail("rope_scaling."+key, fmt.Sprint(r.rope.Base), want)
	}
}

func (r *reader) rotaries(local string) {
	p := r.parameters()
	near := r.json.None()
	if r.Has("rope_parameters") {
		whole := p.Under(fullLayer)
		near = p.Under(slidingLayer)
		p.Unknown(strict.Parameters)
		p = whole
	} else if kind := p.Text("type"); kind != "" && kind != "default" && !p.Has("rope_type") {
		p.Fail("type", quoted(kind), "rope_type in its place, as some versions of transformers do not read type for such models")
	}
	near.Only("rope_type", "default")
	r.local = &arch.Rope{Dims: r.pairs(r.attention.Size), Divide: 1, Base: r.base(near, local, 0), Scaling: unscaled}
	near.Unknown(strict.Parameters)
	r.rotate(p)
}

// unscaled scales nothing.
var unscaled = ropescaling.Scaling{Factor: 1, Magnitude: 1}

// parameters returns the object that says how positions are scaled.
func (r *reader) parameters() *strict.JSON {
	if r.Has("rope_parameters") {
		return r.json.Under("rope_parameters")
	}
	return r.json.Under("rope_scaling")
}

// turn sets the rotation of so many elements of a head.
func (r *reader) turn(p *strict.JSON, dims int) {
	r.rope = &arch.Rope{Dims: r.pairs(dims), Divide: 1, Base: r.base(p, "rope_theta", 0)}
}

// base reads the base of frequencies: rope_theta in p, the object of the rotations, or else a key
// of the model. A null is an error, as in transformers.
func (r *reader) base(p *strict.JSON, key string, missing float64) float64 {
	const inner, want = "rope_theta", "a number from 1 to 2^64"
	x := p.Number(inner, r.Number(key, missing, 1, mostBase), 1, mostBase)
	switch {
	case p.Given(inner) && !p.Has(inner):
		p.Fail(inner, "none", want)
	case x < 1:
		r.Fail(key, "none", want)
	default:
		return x
	}
	return 1
}

// mostDims is the limit of package rope.
const mostDims = 1 << 16

// pairs returns how many elements of a head are rotated, if they are pairs.
func (r *reader) pairs(dims int) int {
	const key = "head_dim"
	switch {
	case dims%2 == 0 && dims >= 2 && dims <= mostDims:
		return dims
	case r.Has(key):
		r.Fail(key, fmt.Sprint(dims), evenDims)
	default:
		r.Fail("num_attention_heads", fmt.Sprintf("heads of %d elements", dims), evenDims)
	}
	return 2
}

var evenDims = fmt.Sprintf("an even number from 2 to %d, as pairs of elements of a head rotate", mostDims)

const original = "original_max_position_embeddings"

// scalings are ways of scaling positions by their names.
type scalings map[string]func(s *scaling)

// A scaling reads one.
type scaling struct {
	*strict.JSON
	rope    *arch.Rope
	to      *ropescaling.Scaling
	context int
}

var everyScaling = scalings{"default": plain, "dynamic": dynamic, "linear": linear, "llama3": llama3, "yarn": yarn, "longrope": long, "su": long}

// scaling reads how positions are scaled. trained is the length of the texts of the first training.
func (r *reader) scaling(p *strict.JSON, trained int, known scalings) {
	kind := p.Text("rope_type")
	if kind == "" {
		kind = p.Text("type") // its name before
	} else {
		p.Has("type")
	}
	if kind == "" {
		kind = "default"
	}
	read, ok := known[kind]
	if !ok {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return name == "su" }) // which longrope was called
		p.Fail("rope_type", quoted(kind), alternatives(names)+"; others are not supported")
		return
	}
	r.rope.Scaling = ropescaling.Scaling{Factor: p.Number("factor", 1, 0x1p-32, 0x1p32), Original: float64(trained), Magnitude: 1}
	read(&scaling{p, r.rope, &r.rope.Scaling, r.model.Context})
}

func plain(s *scaling)   { s.to.Factor = 1 }
func dynamic(s *scaling) { s.to.Factor, s.rope.Dynamic = 1, true }

func linear(s *scaling) {
	s.factor()
	s.rope.Divide = s.to.Factor
}

// factor reports one that is missing.
func (s *scaling) factor() {
	if !s.Has("factor") {
		s.Fail("factor", "none", "how much longer texts become")
	}
}

func llama3(s *scaling) {
	s.factor()
	x := s.to
	x.Llama3 = true
	x.Low, x.High = s.Number("low_freq_factor", 1, 1e-3, 1e6), s.Number("high_freq_factor", 4, 1e-3, 1e6)
	if !(x.Low < x.High) {
		s.Fail("high_freq_factor", fmt.Sprint(x.High), fmt.Sprintf("more than low_freq_factor, %v", x.Low))
	}
}

func yarn(s *scaling) {
	s.factor()
	x := s.to
	x.YaRN, x.Round = true, !s.Has("truncate") || s.Yes("truncate")
	x.Fast, x.Slow = s.Number("beta_fast", 32, 1e-3, 1e6), s.Number("beta_slow", 1, 1e-3, 1e6)
	one, all := s.Number("mscale", 0, 0, 1e3), s.Number("mscale_all_dim", 0, 0, 1e3)
	switch {
	case s.Has("attention_factor"):
		x.Magnitude = s.Number("attention_factor", 1, 0x1p-16, 0x1p16)
	case one != 0 && all != 0:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, one) / ropescaling.YaRNMagnitude(x.Factor, all)
	default:
		x.Magnitude = ropescaling.YaRNMagnitude(x.Factor, 1)
	}
}

func long(s *scaling) {
	x := s.to
	if !s.Has("factor") {
		x.Factor = float64(s.context) / x.Original
	}
	x.Magnitude = s.Number("attention_factor", ropescaling.LongMagnitude(x.Factor, x.Original), 0x1p-16, 0x1p16)
	for _, list := range []struct {
		key string
		to  *[]float64
	}{{"short_factor", &x.Short}, {"long_factor", &x.Long}} {
		key, to := list.key, list.to
		want := fmt.Sprintf("a list of %d numbers above 0", s.rope.Dims/2)
		if !s.Read(key, want, to) {
			s.Fail(key, "none", want)
		} else if len(*to) != s.rope.Dims/2 || slices.ContainsFunc(*to, func(f float64) bool { return !(f >= 0x1p-32 && f <= 0x1p32) }) {
			s.Fail(key, fmt.Sprintf("%d numbers", len(*to)), want)
		}
	}
}

// fileRope reads the rotations out of a GGUF file, whose factors of pairs are tensors.
func fileRope(r *reader) {
	k := r.gguf
	const dims = "rope.dimension_count"
	if !r.Has(dims) {
		r.pairs(r.attention.Size)
	}
	r.rope = &arch.Rope{Dims: r.Size(dims, r.attention.Size), Base: r.Number("rope_theta", 10000, 1, mostBase), Divide: 1, Interleaved: r.row.Interleaved}
	kind := k.Text("rope.scaling.type")
	switch {
	case kind != "":
	case k.Has("rope.scaling.factor"):
		kind = "linear" // as llama.cpp takes it
	case k.Has("rope.scale_linear"): // of older files
		r.rope.Divide = k.Number("rope.scale_linear", 1, 0x1p-32, 0x1p32)
	}
	s := ropescaling.Scaling{
		Factor:    k.Number("rope.scaling.factor", 1, 0x1p-32, 0x1p32),
		Original:  float64(k.Size("rope.scaling.original_context_length", r.model.Context)),
		Fast:      k.Number("rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6),
		Slow:      k.Number("rope.scaling.yarn_beta_slow", 1, 1e-3, 1e6),
		Magnitude: k.Number("rope.scaling.attn_factor", 1, 0x1p-16, 0x1p16),
		Round:     true,
	}
	switch kind {
	case "", "none":
	case "linear", "longrope": // whose factors of pairs are tensors, beside this one, which llama.cpp takes for all of them
		r.rope.Divide = s.Factor
	case "yarn":
		// The converter of OLMo writes attention_factor of config.json, the whole magnitude, where
		// other files have what the magnitude is multiplied by.
		if s.YaRN = true; r.row.GGUF != "olmo2" || !k.Has("rope.scaling.attn_factor") {
			s.Magnitude = float64(s.Magnitude * fileMagnitude(k, s.Factor))
		}
	default:
		k.Fail("rope.scaling.type", quoted(kind), `"none", "linear", "yarn" or "longrope"; others are not supported`)
	}
	r.rope.Scaling = s
	switch n := r.rope.Dims; {
	case n > r.attention.Size || n%2 != 0:
		k.Fail(dims, fmt.Sprint(n), fmt.Sprintf("an even number up to the head size %d", r.attention.Size))
	case n > mostDims:
		k.Fail(dims, fmt.Sprint(n), evenDims)
	}
}

// fileMagnitude reads what YaRN multiplies cosines and sines by: attention_factor of config.json,
// or what it is with mscale 1 and an mscale_all_dim.
func fileMagnitude(k *strict.GGUF, factor float64) float64 {
	const key = "rope.scaling.yarn_attn_factor"
	all := k.Optional("rope.scaling.yarn_log_multiplier", 0x1p-32, 1e3)
	if k.Has(key) {
		return k.Number(key, 1, 0x1p-16, 0x1p16)
	}
	x := ropescaling.YaRNMagnitude(factor, 1)
	if all != 0 {
		x /= ropescaling.YaRNMagnitude(factor, all)
	}
	return x
}

// fileNearRope reads the rotations of layers with a window of OLMo 3, which are not scaled.
func fileNearRope(r *reader) {
	r.local = &arch.Rope{Dims: r.rope.Dims, Base: r.Number("rope_local_base_freq", r.rope.Base, 1, mostBase), Divide: 1, Scaling: unscaled}
}

// fileLocalRope reads the rotations of layers with a window out of a GGUF file.
func fileLocalRope(r *reader) {
	if r.window > 0 {
		r.local = &arch.Rope{Dims: r.rope.Dims, Base: r.Number("rope_local_base_freq", 10000, 1, mostBase), Divide: 1, Interleaved: r.row.Interleaved, Scaling: unscaled}
	}
}

// fileSame checks keys that repeat others: the size of values, and sizes in layers with a window.
func fileSame(r *reader) {
	for _, key := range []string{"attention.value_length", "attention.key_length_swa", "attention.value_length_swa"} {
		r.same(key, r.attention.Size)
	}
	r.same("rope.dimension_count_swa", r.rope.Dims)
	if base := r.rope.Base; r.local == nil && r.Number("rope_local_base_freq", base, 1, mostBase) != base {
		r.Fail("rope_local_base_freq", "another one", fmt.Sprintf("%v as rope.freq_base", base))
	}
}
