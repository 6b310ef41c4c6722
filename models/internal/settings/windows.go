package settings

import (
	"fmt"
	"slices"
)

const slidingLayer, fullLayer = "sliding_attention", "full_attention"

// every tells of every n-th layer, counted from 1, that it sees all tokens; none does if n is 0.
func every(n int) func(layer int) bool {
	return func(layer int) bool { return n > 0 && (layer+1)%n == 0 }
}

// window reads how far all layers see.
func window(r *reader) {
	r.window = max(0, r.Integer("sliding_window", -1, 1, r.most))
	r.whole = every(r.row.Period)
}

// noWindow refuses a window of Llama, whose class does not read it, unless a text fits into it.
func noWindow(r *reader) {
	if n := r.Integer("sliding_window", r.model.Context, 0, r.most); n > 0 && n < r.model.Context {
		r.Fail("sliding_window", fmt.Sprint(n), fmt.Sprintf("none, or %d, the tokens of a text, or more: Llama of transformers sees all of them, whatever it says", r.model.Context))
	}
}

// windowIfSaid is window for classes that have one only if use_sliding_window says so.
func windowIfSaid(r *reader) {
	if r.Has("sliding_window"); r.json.Yes("use_sliding_window") {
		window(r)
	}
}

// late says that layers have a window from one on.
func late(r *reader) {
	first := r.Integer("max_window_layers", -1, 0, r.most)
	r.whole = func(layer int) bool { return layer < first }
}

// period reads which layers see all tokens, as files of Gemma 3 said it before layer_types.
func period(r *reader) {
	r.whole = every(r.Integer("sliding_window_pattern", r.row.Period, 1, r.most))
	const saved = "_sliding_window_pattern" // which transformers writes beside layer_types, and does not read
	if n := r.Integer(saved, r.row.Period, 1, r.most); n != r.row.Period && !r.Has("layer_types") {
		r.Fail(saved, fmt.Sprint(n), fmt.Sprintf("%d, or layer_types beside it", r.row.Period))
	}
}

// layerTypes reads which layers have a window.
func layerTypes(r *reader) {
	var kinds []string
	if !r.json.Read("layer_types", "a list of strings", &kinds) {
		return
	}
	if len(kinds) != r.count {
		r.Fail("layer_types", fmt.Sprintf("%d layers", len(kinds)), fmt.Sprint(r.count))
		return
	}
	for _, kind := range kinds {
		if kind != fullLayer && kind != slidingLayer {
			r.Fail("layer_types", quoted(kind), fmt.Sprintf("%q or %q", fullLayer, slidingLayer))
		}
	}
	if r.window == 0 && slices.Contains(kinds, slidingLayer) {
		r.Fail("layer_types", fmt.Sprintf("%q without a window", slidingLayer), fmt.Sprintf("%q, or sliding_window, and use_sliding_window where the architecture has it", fullLayer))
	}
	r.whole = func(layer int) bool { return kinds[layer] == fullLayer }
}

const bothWaysKey, causalKey = "use_bidirectional_attention", "is_causal"

// eitherWay reads whether tokens of Gemma 3 also see the tokens after them. A window then counts
// both sides together.
func eitherWay(r *reader) {
	if r.json.Yes(bothWaysKey) {
		r.model.BothWays, r.model.Says = true, [2]string{bothWaysKey, "true"}
		if r.window > 0 {
			r.window = r.window/2 + 1
		}
	}
}

// causal reads whether they do as every decoder of transformers may.
func causal(r *reader) {
	if !r.json.Given(causalKey) {
		return
	}
	causal := true
	if !r.json.Read(causalKey, "true or false", &causal) {
		r.Fail(causalKey, "null", "true or false")
	}
	if !causal {
		r.model.BothWays, r.model.Says = true, [2]string{causalKey, "false"}
		if r.window > 0 {
			r.window++ // both ways transformers does not count the query's own key
		}
	}
}

// fileWindow reads how far layers see out of a GGUF file. A file has a window because the
// configuration that it was converted from has one, and the class of that computes it, as Mistral,
// Qwen 2 and 3 and Phi 3 do; so it counts also where llama.cpp does not read the key, for llama,
// qwen2 and qwen3, or reads it and sees all tokens, for phi3.
func fileWindow(r *reader) {
	const key = "attention.sliding_window_pattern"
	if r.Has("sliding_window") {
		r.window = r.Integer("sliding_window", -1, 0, r.most)
	}
	r.whole = every(r.row.Period)
	if windowed := r.gguf.EachLayer(key); windowed != nil {
		r.whole = func(layer int) bool { return !windowed[layer] }
	} else if r.Err() == nil && r.Has(key) {
		r.whole = every(r.Integer(key, -1, 1, r.most))
	}
}

// someWindow demands a window in a GGUF file: nothing else says how far layers see.
func someWindow(r *reader) { r.Integer("sliding_window", 0, 1, r.most) }

// fileCausal reads whether tokens also see those after them out of a GGUF file.
func fileCausal(r *reader) {
	const key = "attention.causal"
	switch causal := r.gguf.Yes(key, !r.model.BothWays); {
	case r.model.BothWays && causal:
		r.Fail(key, "true", "false: "+r.row.GGUF+" sees both ways")
	case r.model.BothWays:
		r.model.Says = [2]string{"general.architecture", quoted(r.row.GGUF)}
		if r.window > 0 {
			r.window = r.window/2 + 1 // a half of it to each side
		}
	case !causal:
		r.model.BothWays, r.model.Says = true, [2]string{r.gguf.Key(key), "false"}
		if r.window > 0 { // files do not say whether it counts one side or both
			r.Fail("sliding_window", fmt.Sprint(r.window), "none with "+r.gguf.Key(key)+" false")
		}
	}
}
