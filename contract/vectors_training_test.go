package contract_test

import (
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/optimize"
)

var trainingFunctions = map[string]func(c *call) error{
	"cross_entropy": func(c *call) error {
		x := c.floats("logits")
		d := testutil.Filled(len(x), 77)
		mean, err := loss.CrossEntropy(d, x, c.int("n"), numbers[int32](c, "targets"), kernel.Exec{})
		c.out["loss"], c.out["dlogits"] = single(mean), encode(d)
		return err
	},
	"adamw": func(c *call) error {
		a := optimize.AdamW{Rate: c.double("rate"), Beta1: c.double("beta1"), Beta2: c.double("beta2"), Epsilon: c.double("epsilon"), WeightDecay: c.double("decay")}
		w, m, v := c.floats("w"), c.floats("m"), c.floats("v")
		err := a.Step(w, c.floats("g"), m, v, c.int("step"), kernel.Exec{})
		c.out["w"], c.out["m"], c.out["v"] = encode(canonical(w)), encode(canonical(m)), encode(canonical(v))
		return err
	},
	"clip": func(c *call) error {
		g := [][]float32{c.floats("g0"), c.floats("g1")}
		norm, err := optimize.ClipNorm(c.float("most"), g, kernel.Exec{})
		c.out["norm"], c.out["g0"], c.out["g1"] = single(norm), encode(canonical(g[0])), encode(canonical(g[1]))
		return err
	},
}

func trainingCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	for i, n := range []int{1, 7, 70, 200} {
		add(fmt.Sprintf("cross-entropy-%03d", n), "cross_entropy", map[string]any{"logits": array(i, 3*n), "n": n, "targets": encode([]int32{0, -1, int32(n - 1)})})
	}
	add("cross-entropy-none", "cross_entropy", map[string]any{"logits": array(5, 8), "n": 4, "targets": encode([]int32{-1, -1})})
	add("cross-entropy-infinite", "cross_entropy", map[string]any{"logits": encode([]float32{-inf, 1, 2, 3, 400, -300}), "n": 3, "targets": encode([]int32{0, 1})})
	add("cross-entropy-nan", "cross_entropy", map[string]any{"logits": encode([]float32{nan, 1, 2, inf, 4, 3, -inf, -inf, -inf, 1, 2, 3}), "n": 3, "targets": encode([]int32{1, 1, 1, 1})})
	add("cross-entropy-not-finite", "cross_entropy", map[string]any{"logits": wild(testutil.NonFinite, 6, 48), "n": 12, "targets": encode([]int32{0, 3, 6, 9})})
	add("cross-entropy-extreme", "cross_entropy", map[string]any{"logits": wild(testutil.Specials, 7, 48), "n": 12, "targets": encode([]int32{0, 3, 6, 9})})
	for i, step := range []int{1, 2, 10, 1000, 123457} {
		n := 20
		in := map[string]any{
			"w": array(10*i, n), "g": array(10*i+1, n), "m": array(10*i+2, n), "v": encode(spread(10*i+3, n, 0, 2)), "step": step,
			"rate": single(1e-3), "beta1": single(.9), "beta2": single(.999), "epsilon": single(1e-8), "decay": single(.01),
		}
		if i == 1 {
			in["g"], in["m"], in["v"] = encode(random(testutil.Specials, 1, n)), encode(random(testutil.Tinies, 2, n)), encode(make([]float32, n))
			in["rate"], in["decay"] = single(.3), single(0.)
		}
		add(fmt.Sprintf("adamw-%06d", step), "adamw", in)
	}
	add("adamw-subnormal", "adamw", map[string]any{
		"w": encode(tiny(0x1p-126, 60, 40)), "g": encode(tiny(0x1p-126, 61, 40)), "m": encode(tiny(0x1p-126, 62, 40)), "v": encode(absolute(tiny(0x1p-126, 63, 40))), "step": 5,
		"rate": single(1e-3), "beta1": single(.9), "beta2": single(.999), "epsilon": single(1e-8), "decay": single(.01),
	})
	clip := func(name string, most float32, g0, g1 tensor) {
		add("clip-"+name, "clip", map[string]any{"g0": g0, "g1": g1, "most": single(most)})
	}
	clip("above", .5, array(60, 19), array(61, 7))
	clip("below", 500, array(60, 19), array(61, 7))
	clip("nan", 1, replaced(array(60, 19), map[int]float32{3: nan}), array(61, 7))
	clip("infinite", 1, replaced(array(60, 19), map[int]float32{3: 3e38, 4: 3e38}), array(61, 7))
	clip("root", 5, encode([]float32{3, bits(1)[0], 4}), encode([]float32{1e-7}))      // the root is 5 once it is rounded, and above before
	clip("root-above", 1, encode([]float32{1, 0x1.4p-12}), encode([]float32{0x1p-60})) // the root is above 1, its rounded value is not
	clip("least", 1e-45, encode([]float32{bits(1)[0]}), encode([]float32{bits(2)[0]}))
	return list
}

// absolute makes all of x positive, in place.
func absolute(x []float32) []float32 {
	for i := range x {
		x[i] = max(x[i], -x[i])
	}
	return x
}
