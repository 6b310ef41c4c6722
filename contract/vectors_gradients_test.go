package contract_test

import (
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

var gradientFunctions = map[string]func(c *call) error{
	"attention_backward": func(c *call) error {
		q, k, v, dout, o := c.tensor("q"), c.tensor("k"), c.tensor("v"), c.tensor("dout"), c.backwardOptions()
		var g kernel.Gradients
		for name, t := range map[string]*kernel.Tensor{"q": &g.Q, "k": &g.K, "v": &g.V, "bias": &g.Bias} {
			if c.has(name) {
				*t = c.gradient("d"+name, c.shape(name))
			}
		}
		if c.has("sinks") {
			g.Sinks = make([]float32, len(c.floats("sinks")))
		}
		if c.err != nil {
			return c.err
		}
		err := kernel.AttentionBackward(g, dout, q, k, v, c.tensor("lse"), o)
		c.results("q", g.Q, "k", g.K, "v", g.V)
		if c.has("bias") {
			c.results("bias", g.Bias)
		}
		if g.Sinks != nil {
			c.out["dsinks"] = encode(g.Sinks)
		}
		return err
	},
	"additive_backward": func(c *call) error {
		g := kernel.AdditiveGradients{Q: c.gradient("dq", c.shape("q")), K: c.gradient("dk", c.shape("k")), V: c.gradient("dv", c.shape("v"))}
		weights := c.floats("weights")
		g.Weights = c.held("dweights", len(weights))
		o := kernel.AdditiveBackwardOptions{Scale: c.float("scale"), Accumulate: c.has("dq")}
		if c.err != nil {
			return c.err
		}
		err := kernel.AdditiveBackward(g, c.tensor("dout"), c.tensor("q"), c.tensor("k"), c.tensor("v"), c.tensor("p"), weights, o)
		c.results("q", g.Q, "k", g.K, "v", g.V)
		c.out["dweights"] = encode(g.Weights)
		return err
	},
}

// gradient returns memory for a gradient, which holds what the argument of its name holds, if there
// is one.
func (c *call) gradient(name string, shape [4]int) kernel.Tensor {
	return dense(c.held(name, count(shape[:])), shape)
}

// results sets the results d… to contiguous gradients, given as names and tensors.
func (c *call) results(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		t := pairs[i+1].(kernel.Tensor)
		c.out["d"+pairs[i].(string)] = encode(elements(t), shapeOf(t)...)
	}
}

func shapeOf(t kernel.Tensor) []int {
	s := t.Shape()
	return s[:]
}

// elements returns the elements of a float32 tensor.
func elements(t kernel.Tensor) (x []float32) {
	s := t.Shape()
	for b := range s[0] {
		for h := range s[1] {
			for l := range s[2] {
				x = append(x, kernel.Row[float32](t, b, h, l)...)
			}
		}
	}
	return x
}

// afterForward returns the arguments of a gradient: the arguments of the forward call, and some of
// its results.
func afterForward(function func(c *call) error, in map[string]any, results map[string]string) map[string]any {
	c := &call{in: in, out: map[string]any{}}
	if err := function(c); err != nil {
		panic(err) // of the vectors' own arguments
	}
	all := map[string]any{}
	for name, x := range in {
		all[name] = x
	}
	for from, to := range results {
		all[to] = c.out[from]
	}
	return all
}

// backwardOf returns the arguments of attention_backward.
func backwardOf(z sizes4, seed int, more map[string]any) map[string]any {
	in := afterForward(attentionFunctions["attention"], z.inputs(seed, more), map[string]string{"lse": "lse"})
	in["dout"] = array(seed+9, z.b, z.h, z.lq, z.dv)
	return in
}

// additiveBackwardOf returns the arguments of additive_backward.
func additiveBackwardOf(z sizes4, seed int, more map[string]any) map[string]any {
	in := z.inputs(seed, more)
	in["weights"] = array(seed+4, z.d)
	in = afterForward(attentionFunctions["additive"], in, map[string]string{"weights": "p"})
	in["dout"] = array(seed+9, z.b, z.h, z.lq, z.dv)
	delete(in, "visible")
	return in
}

func gradientCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	for i, z := range []sizes4{{1, 1, 1, 1, 1, 1, 1}, {1, 2, 2, 3, 5, 8, 4}, {1, 4, 2, 3, 4, 70, 66}, {1, 1, 1, 2, 140, 2, 2}, {1, 3, 1, 45, 3, 2, 2}} {
		add("plain-"+string(rune('a'+i)), "attention_backward", backwardOf(z, 100*i, nil))
	}
	options := attentionOptions()
	for i, name := range sortedKeys(options) {
		if name != "bias" { // whose NaN spreads far: see special-bias
			add(name, "attention_backward", backwardOf(optionSizes, 1000+10*i, options[name]))
		}
	}
	add("special-bias", "attention_backward", backwardOf(optionSizes, 1500, options["bias"]))
	add("rows-from-below-0", "attention_backward", backwardOf(sizes4{1, 3, 1, 30, 3, 2, 2}, 2000, map[string]any{"query_start": []int{-10}}))
	add("keys-from-position-20", "attention_backward", backwardOf(sizes4{1, 1, 1, 2, 150, 2, 2}, 2010, map[string]any{"key_start": []int{20}}))
	for i, name := range []string{"attention_backward", "additive_backward"} {
		z := sizes4{1, 2, 1, 3, 6, 5, 3}
		in := []func(sizes4, int, map[string]any) map[string]any{backwardOf, additiveBackwardOf}[i](z, 2020+100*i, nil)
		in["dout"] = encode(tiny(0x1p-100, 2021+i, z.b*z.h*z.lq*z.dv), z.b, z.h, z.lq, z.dv)
		add("tiny-dout-"+name, name, in)
	}
	add("special-dout", "attention_backward", specialDout())
	wild := wildOptions(wildSizes)
	for i, name := range sortedKeys(wild) {
		for k, kind := range []testutil.Kind{testutil.NonFinite, testutil.Specials} {
			in := afterForward(attentionFunctions["attention"], wildSizes.wildInputs(kind, 2100+20*i+10*k, wild[name]), map[string]string{"lse": "lse"})
			in["dout"] = encode(random(kind, 2400+10*i+k, 16), 1, 2, 4, 2)
			add([]string{"not-finite-", "extreme-"}[k]+name, "attention_backward", in)
		}
	}
	add("special-lse", "attention_backward", specialLSE())
	z := sizes4{1, 2, 1, 3, 6, 5, 3}
	add("additive", "additive_backward", additiveBackwardOf(z, 3000, nil))
	in := wildSizes.wildInputs(testutil.NonFinite, 3040, map[string]any{"weights": array(3043, 3), "visible": causal(4, 6, 1)})
	in = afterForward(attentionFunctions["additive"], in, map[string]string{"weights": "p"})
	in["dout"] = encode(random(testutil.NonFinite, 3044, 16), 1, 2, 4, 2)
	delete(in, "visible")
	add("additive-not-finite", "additive_backward", in)
	add("additive-segments", "additive_backward", additiveBackwardOf(sizes4{2, 2, 2, 2, 5, 3, 66}, 3010, map[string]any{"scale": single(float32(.5))}))
	add("additive-blocks-of-keys", "additive_backward", additiveBackwardOf(sizes4{1, 1, 1, 2, 260, 2, 1}, 3020, nil))
	add("additive-blocks-of-queries", "additive_backward", additiveBackwardOf(sizes4{1, 1, 1, 258, 3, 2, 1}, 3030, nil))
	for name, dout := range map[string]float32{"finite": 1, "nan": nan, "inf": inf} {
		in := additiveBackwardOf(z, 3040, map[string]any{"visible": causal(3, 6, 1)})
		in["dout"] = replaced(in["dout"].(tensor), map[int]float32{7: dout})
		for i, g := range []string{"q", "k", "v"} {
			shape := in[g].(tensor).Shape
			in["d"+g] = replaced(array(3050+i, shape...), map[int]float32{0: nan, 1: bits(0x80000000)[0]})
		}
		k := in["dk"].(tensor)
		last := count(k.Shape) - 1 // of a key that no query sees
		in["dk"] = replaced(k, map[int]float32{last: nan, last - 1: bits(0x80000000)[0]})
		in["dweights"] = array(3053, 5)
		list = append(list, vector{Name: "additive-accumulate-" + name, Function: "additive_backward", In: in})
	}
	in = additiveBackwardOf(z, 3060, map[string]any{"visible": causal(3, 6, 1)})
	for name, dout := range map[string]float32{"nan": nan, "inf": -inf} { // of the first query, which does not see keys that others see
		add("additive-hidden-"+name, "additive_backward", with(in, "dout", replaced(in["dout"].(tensor), map[int]float32{1: dout})))
	}
	add("additive-accumulate-no-queries", "additive_backward", additiveNothing())
	in = backwardOf(sizes4{1, 2, 1, 1, 1, 1, 1}, 2040, map[string]any{"q": encode([]float32{0, 0}, 1, 2, 1, 1), "v": encode([]float32{1}, 1, 1, 1, 1), "sinks": encode([]float32{-1, -1})})
	in["dout"] = encode([]float32{0x1p-149, -0x1p-149}, 1, 2, 1, 1) // the gradients of the sinks are between -2^-150 and 2^-150
	add("sinks-tiny", "attention_backward", in)
	add("sinks-no-key", "attention_backward", backwardOf(sizes4{1, 2, 1, 2, 3, 2, 2}, 2050, map[string]any{"sinks": encode([]float32{-inf, 1}), "visible": causal(2, 3, -1)}))
	add("bias-lowest", "attention_backward", backwardOf(biasSizes, 2060, map[string]any{"bias": lowestBiases()}))
	add("bias-lowest-options", "attention_backward", backwardOf(biasSizes, 2070, map[string]any{
		"bias": lowestBiases(), "alibi": encode([]float32{0x1p127, -0x1p71}), "query_start": []int{1 << 29}, "softcap": single(float32(2)), "sinks": encode([]float32{-1e38, 1}),
	}))
	add("weights-far-apart", "attention_backward", farApartBackward())
	return sortedVectors(list)
}

// additiveNothing accumulates with no queries: NaN and -0 of what memory holds do not stay.
func additiveNothing() map[string]any {
	held := []float32{nan, bits(0x80000000)[0], 2}
	return map[string]any{
		"q": array(1, 1, 1, 0, 3), "k": array(2, 1, 1, 1, 3), "v": array(3, 1, 1, 1, 3), "p": array(4, 1, 1, 0, 1), "dout": array(5, 1, 1, 0, 3), "weights": array(6, 3),
		"dq": array(7, 1, 1, 0, 3), "dk": encode(held, 1, 1, 1, 3), "dv": encode(held, 1, 1, 1, 3), "dweights": encode(held),
	}
}

// farApartBackward has weights around 2^-100, which a gradient shows by a large dout.
func farApartBackward() map[string]any {
	in := sizes4{1, 1, 1, 1, 5, 1, 2}.inputs(2060, map[string]any{"scale": single(float32(1))})
	in["q"], in["k"] = encode([]float32{1}, 1, 1, 1, 1), encode([]float32{0, -69, -69.5, -75, -86}, 1, 1, 5, 1)
	in = afterForward(attentionFunctions["attention"], in, map[string]string{"lse": "lse"})
	in["dout"] = encode([]float32{0x1p90, -0x1p60}, 1, 1, 1, 2)
	return in
}

// specialDout has a NaN and an infinity in rows that do not see all keys.
func specialDout() map[string]any {
	in := backwardOf(sizes4{1, 2, 1, 3, 5, 4, 3}, 2020, map[string]any{"visible": causal(3, 5, 0)})
	in["dout"] = replaced(in["dout"].(tensor), map[int]float32{1: inf, 5: nan})
	return in
}

// specialLSE has scores above LSE, and an LSE of NaN and of infinity.
func specialLSE() map[string]any {
	in := backwardOf(sizes4{1, 1, 1, 5, 4, 2, 2}, 2030, nil)
	in["lse"] = replaced(in["lse"].(tensor), map[int]float32{0: -3, 1: nan, 2: -inf, 3: inf})
	in["k"] = encode(random(testutil.Mantissas, 5, 8), 1, 1, 4, 2)
	return in
}
