package settings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

func init() { Decoders.rows = append(Decoders.rows, gemma4) }

var gemma4 = family{
	Family: arch.Family{Types: []string{"gemma4_text"}, Classes: []string{"Gemma4", "Gemma4Text"}, GGUF: "gemma4", Period: 6, Names: gemma4Names},
	draft:  gemma4Block(),
	folder: decoder(decoderKeys, gelu, logitSoftcap, scaled, window, layerTypes, bothWaysIfAll, gemma4Heads, gemma4Rotaries, gemma4Layers, attentionBias),
	file:   []group{sizes, rmsEpsilon, logitSoftcap, scaled, fileWindow, fileForward, someWindow, fileGemma4Heads, fileGemma4Layers},
	missing: values{
		"rms_norm_eps": 1e-6, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512, "tie_word_embeddings": true, "hidden_size_per_layer_input": 256, "num_kv_shared_layers": 0,
	},
	nested:   values{"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8, "max_position_embeddings": 131072},
	harmless: strict.Table{"vocab_size_per_layer_input": strict.Any}.Add(strict.Any, "num_experts", "top_k_experts", "moe_intermediate_size"), // the table has as many rows as the embedding, and layers without experts need none
}

// gemma4Block is the block of Gemma 4.
func gemma4Block() draft {
	d := sandwich(headNorms(gatedBlock(activations.GELUTanh)))
	d.attention.Scale, d.attention.ValueNorm = 1, true
	d.layer.Scaled, d.layer.Activation = true, activations.GELUTanh
	return d
}

func logitSoftcap(r *reader) { softcap(r, "final_logit_softcapping", &r.model.Logits.Softcap) }

// bothWaysIfAll reads whether tokens also see later ones; with "vision" only tokens of images do.
func bothWaysIfAll(r *reader) {
	switch kind := r.Text(bothWaysKey); kind {
	case "", "vision":
	case "all":
		r.model.BothWays, r.model.Says, r.window = true, [2]string{bothWaysKey, quoted(kind)}, r.window/2+1
	default:
		r.Fail(bothWaysKey, quoted(kind), `"all", "vision" or null`)
	}
}

// A wide is what the heads of layers that see all tokens have otherwise.
type wide struct{ size, heads int }

// gemma4Heads reads the heads of layers that see all tokens.
func gemma4Heads(r *reader) {
	same := r.json.Yes("attention_k_eq_v")
	w := wide{r.Size("global_head_dim", 512), r.Size("num_global_key_value_heads", r.attention.KVHeads)}
	if !same {
		w.heads = r.attention.KVHeads
	}
	r.otherHeads(w, same)
}

// otherHeads reads the heads of layers that see all tokens, among which the last one always is,
// where the file says them by layers. Otherwise they are w.
func (r *reader) otherHeads(w wide, same bool) {
	others := r.whole
	r.whole = func(layer int) bool { return layer == r.count-1 || others(layer) }
	r.perLayer(&w)
	if r.attention.Heads%w.heads != 0 {
		r.Fail("num_global_key_value_heads", fmt.Sprint(w.heads), fmt.Sprintf("a divisor of the %d query heads", r.attention.Heads))
	}
	if r.beyond(w.size, r.attention.Heads) {
		r.Fail("global_head_dim", fmt.Sprint(w.size), fmt.Sprintf("at most %d for all heads together", r.most))
	}
	r.wideHeads(w, same)
}

// fileGemma4Heads reads the heads of both kinds of layers, and their rotations, out of a GGUF file.
// Values are keys where the first layer that sees all tokens has no values.
func fileGemma4Heads(r *reader) {
	heads, near := r.gguf.Each("num_key_value_heads"), 0
	w := wide{size: r.Size("head_dim", 0)}
	same := false
	for i, n := range heads {
		to := &near
		if r.whole(i) || r.window == 0 {
			if to = &w.heads; *to == 0 {
				_, has := r.tensors.Tensor(fmt.Sprintf("blk.%d.attn_v.weight", i))
				same = !has
			}
		}
		if n < 1 || r.attention.Heads%n != 0 || *to != 0 && n != *to {
			r.Fail("num_key_value_heads", fmt.Sprintf("%d in layer %d", n, i), fmt.Sprintf("a divisor of the %d query heads, the same in all layers of a kind", r.attention.Heads))
			return
		}
		*to = n
	}
	r.attention.Size = w.size
	fileValues(r)
	fileRope(r)
	r.rope.Factored = true
	const size = "attention.key_length_swa"
	r.attention.KVHeads, r.attention.Size = max(near, 1), r.Size(size, w.size)
	r.same("attention.value_length_swa", r.attention.Size)
	if r.beyond(w.size, r.attention.Heads) || r.beyond(r.attention.Size, r.attention.Heads) {
		r.Fail(size, fmt.Sprint(r.attention.Size), fmt.Sprintf("at most %d for all heads together, with attention.key_length too", r.most))
	}
	r.local = &arch.Rope{Dims: r.pairs(r.Size("rope.dimension_count_swa", r.attention.Size)), Base: r.Number("rope_local_base_freq", 10000, 1, mostBase), Divide: 1, Scaling: unscaled}
	if r.local.Dims > r.attention.Size {
		r.Fail("rope.dimension_count_swa", fmt.Sprint(r.local.Dims), fmt.Sprintf("at most %d", r.attention.Size))
	}
	r.wideHeads(w, same)
}

// wideHeads gives layers that see all tokens their heads.
func (r *reader) wideHeads(w wide, same bool) {
	kinds := map[*arch.Attention]*arch.Attention{}
	r.each = func(_ int, l *arch.Layer) {
		a := l.Attention()
		if a.Window == 0 && kinds[a] == nil {
			own := *a
			own.Size, own.KVHeads, own.KeysAsValues = w.size, w.heads, same
			kinds[a] = &own
		}
		if a.Window == 0 {
			l.Mixer = kinds[a]
		}
	}
	r.wide = w
}

// perLayer reads the heads of those layers as transformers 5 writes them: one object for each.
func (r *reader) perLayer(w *wide) {
	const key = "per_layer_config"
	var all map[string]map[string]int
	if !r.json.Read(key, "an object of objects with integers", &all) {
		return
	}
	layers := map[int]map[string]int{}                   // files have leading zeros in their numbers
	for _, name := range slices.Sorted(maps.Keys(all)) { // in order, for the same error every time
		one := all[name]
		i, err := strconv.Atoi(name)
		if _, twice := layers[i]; err != nil || i < 0 || i >= r.count || twice {
			r.Fail(key, quoted(name), fmt.Sprintf("the number of one of %d layers, once", r.count))
		}
		layers[i] = one
	}
	found := make([]wide, r.count)
	for i := range found {
		one := layers[i]
		for _, name := range slices.Sorted(maps.Keys(one)) {
			if name != "head_dim" && name != "num_key_value_heads" {
				r.Fail(key, name, "head_dim and num_key_value_heads alone")
			}
		}
		found[i] = wide{r.attention.Size, r.attention.KVHeads}
		if n, ok := one["head_dim"]; ok {
			found[i].size = n
		}
		if n, ok := one["num_key_value_heads"]; ok {
			found[i].heads = n
		}
	}
	last := found[r.count-1]
	if last.size < 1 || last.size > r.most || last.heads < 1 || last.heads > r.most {
		r.Fail(key, fmt.Sprintf("%d heads of %d in layer %d", last.heads, last.size, r.count-1), fmt.Sprintf("1 to %d of both", r.most))
		return
	}
	*w = last
	for i, x := range found {
		want := wide{r.attention.Size, r.attention.KVHeads}
		if r.whole(i) {
			want = *w
		}
		if x != want {
			r.Fail(key, fmt.Sprintf("%d heads of %d in layer %d", x.heads, x.size, i), fmt.Sprintf("%d of %d, the same in all layers of a kind", want.heads, want.size))
		}
	}
}

// gemma4Rotaries reads the rotations of both kinds of layers.
func gemma4Rotaries(r *reader) {
	r.twoRotaries(values{"rope_type": "proportional", partKey: 0.25, "rope_theta": 1e6})
}

// twoRotaries reads them. Layers that see all tokens have whole where the file says nothing.
func (r *reader) twoRotaries(whole values) {
	p := r.parameters()
	full, near := p.Under(fullLayer), p.Under(slidingLayer)
	if !r.Has("rope_parameters") && !r.Has("rope_scaling") {
		full.Default(whole)
		near.Default(values{"rope_theta": 10000})
	}
	near.Only("rope_type", "default")
	r.local = &arch.Rope{Dims: r.pairs(r.attention.Size), Divide: 1, Base: r.base(near, "rope_theta", 0), Scaling: unscaled}
	near.Unknown(strict.Parameters)
	r.turn(full, r.wide.size)
	r.scaling(full, full.Size(original, r.model.Context), scalings{"default": plain, "proportional": proportional})
	full.Unknown(strict.Parameters)
	p.Unknown(strict.Parameters)
}

// proportional rotates the first pairs of a head alone, with the frequencies that they have among
// all.
func proportional(s *scaling) {
	part := s.Number(partKey, 1, 0, 1)
	turned := int(math.Floor(float64(part*float64(s.rope.Dims)) / 2))
	for i := range s.rope.Dims / 2 {
		x := s.to.Factor
		if i >= turned {
			x = math.Inf(1)
		}
		s.to.Factors = append(s.to.Factors, x)
	}
	s.to.Factor = 1
}

// projected is the block of EmbeddingGemma 2: Gemma 4's both ways, whose inputs of layers
// are made of the states alone, and whose last states a linear layer projects.
func projected() draft {
	d := bothWays(withoutEnds(gemma4Block()))
	d.model.Embed.Derived = true
	return d
}

// projectedLayers reads its heads, its windows, which count the tokens to each side, its rotations
// and its widths.
func projectedLayers(r *reader) {
	const inputs = "hidden_size_per_layer_input"
	r.window++                     // the token itself
	r.json.Only(bothWaysKey, true) // which the class computes, whatever the key says
	r.otherHeads(wide{r.Size("global_head_dim", 512), r.Size("num_global_key_value_heads", 1)}, false)
	if r.json.Given("rope_theta") {
		r.Fail("rope_theta", "a number beside rope_parameters", "one in each of its objects")
	}
	r.twoRotaries(values{"rope_theta": 1e6})
	n := r.Size(inputs, 0)
	if r.beyond(n, r.count) {
		r.Fail(inputs, fmt.Sprint(n), fmt.Sprintf("at most %d for all layers", r.most))
	}
	r.layer.Inputs, r.model.Embed.Inputs, r.model.Project = n, n, r.Size("embedding_dim", 0)
}

// gemma4Layers reads which layers have the keys and values of others, and what else layers have.
func gemma4Layers(r *reader) {
	const key = "num_kv_shared_layers"
	inner := r.dense.Inner
	if r.json.Yes("use_double_wide_mlp") {
		inner *= 2
	}
	if r.json.Yes("enable_moe_block") {
		r.experts.Inner, r.experts.Count = r.Size("moe_intermediate_size", 0), r.Size("num_experts", 0)
		r.experts.Used = r.Integer("top_k_experts", 0, 1, r.experts.Count)
	}
	r.sharing(r.Integer(key, 0, 0, r.count), inner)
}

// fileGemma4Layers reads a GGUF file.
func fileGemma4Layers(r *reader) {
	shared, widths := r.optional("num_kv_shared_layers", 0, r.count), r.gguf.Each("intermediate_size")
	inner := widths[r.count-1]
	r.dense.Inner = widths[0]
	for i, n := range widths {
		if want := []int{r.dense.Inner, inner}[min(1, max(0, i-(r.count-shared)+1))]; n != want || n < 1 {
			r.Fail("intermediate_size", fmt.Sprintf("%d in layer %d", n, i), "the same width in layers with keys and values of their own, and in those without")
			return
		}
	}
	if r.optional("num_experts", 0, r.most) > 0 {
		chosen("num_experts")(r)
		r.experts.Inner = r.Size("moe_intermediate_size", 0)
	} else {
		noExperts(r)
	}
	r.sharing(shared, inner)
}

// sharing says that the last layers have the keys and values of others, and networks of a width of
// their own.
func (r *reader) sharing(shared, inner int) {
	const key = "num_kv_shared_layers"
	first := r.count - shared
	r.model.Embed.Inputs = max(0, r.Integer("hidden_size_per_layer_input", -1, 0, r.most/r.count))
	r.layer.Inputs = r.model.Embed.Inputs
	source := map[bool]int{} // by whether layers see all tokens, counted from 1
	for i := range first {
		source[r.whole(i)] = i + 1
	}
	heads, kinds := r.each, map[*arch.Attention]*arch.Attention{}
	for i := first; i < r.count; i++ {
		if source[r.whole(i)] == 0 {
			r.Fail(key, fmt.Sprint(shared), "fewer, so that layers before them have keys and values")
			return
		}
	}
	network, wider := r.besideExperts(inner)
	r.each = func(i int, l *arch.Layer) {
		l.Feed = network
		if heads != nil {
			heads(i, l)
		}
		if i < first {
			return
		}
		a := l.Attention()
		if kinds[a] == nil {
			own := *a
			own.Source = source[r.whole(i)]
			kinds[a] = &own
		}
		l.Mixer, l.Feed = kinds[a], wider
	}
}

// besideExperts returns the parts of layers, with experts beside the dense network if there are
// some: of layers with keys and values of their own, and of those without.
func (r *reader) besideExperts(inner int) (network, wider arch.Feed) {
	wide := r.dense
	if wide.Inner = inner; inner > r.most {
		r.Fail("intermediate_size", fmt.Sprint(inner), fmt.Sprintf("at most %d", r.most))
	}
	if r.experts.Count == 0 {
		return &r.dense, &wide
	}
	e := arch.Experts{Count: r.experts.Count, Used: r.experts.Used, Shares: true, Dense: r.dense}
	e.Inner, r.experts.Count = r.experts.Inner, 0 // else finish would give layers experts alone
	return &arch.Twofold{Dense: r.dense, Experts: e}, &arch.Twofold{Dense: wide, Experts: e}
}
