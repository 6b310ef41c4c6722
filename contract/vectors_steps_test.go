package contract_test

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// sortedVectors sorts vectors by name.
func sortedVectors(list []vector) []vector {
	slices.SortStableFunc(list, func(x, y vector) int { return strings.Compare(x.Name, y.Name) })
	return list
}

var stepFunctions = map[string]func(c *call) error{
	"cosine": func(c *call) error {
		return c.attention(layer.Cosine{}.Attend)
	},
	"cosine_backward": func(c *call) error {
		g := kernel.Gradients{Q: c.gradient("dq", c.shape("q")), K: c.gradient("dk", c.shape("k")), V: c.gradient("dv", c.shape("v"))}
		err := layer.Cosine{}.Backward(g, c.tensor("dout"), c.tensor("q"), c.tensor("k"), c.tensor("v"), c.tensor("lse"), c.backwardOptions())
		c.results("q", g.Q, "k", g.K, "v", g.V)
		return err
	},
	"softmax": func(c *call) error {
		x := c.floats("x")
		y := testutil.Filled(len(x), 77)
		err := layer.Softmax(y, x, c.int("n"), c.ints("lengths"), kernel.Exec{})
		c.out["y"] = encode(y)
		return err
	},
	"softmax_backward": func(c *call) error {
		y := c.floats("y")
		dx := testutil.Filled(len(y), 77)
		err := layer.SoftmaxBackward(dx, c.floats("dy"), y, c.int("n"), kernel.Exec{})
		c.out["dx"] = encode(dx)
		return err
	},
	"weighted_sum": func(c *call) error {
		w, v := c.shape("weights"), c.shape("v")
		out := c.gradient("out", [4]int{w[0], w[1], w[2], v[3]})
		err := layer.WeightedSum(out, c.tensor("weights"), c.tensor("v"), kernel.Exec{})
		c.out["out"] = encode(elements(out), shapeOf(out)...)
		return err
	},
	"weighted_sum_backward": func(c *call) error {
		g := layer.WeightedSumGradients{Weights: c.gradient("dweights", c.shape("weights")), V: c.gradient("dv", c.shape("v"))}
		err := layer.WeightedSumBackward(g, c.tensor("dout"), c.tensor("weights"), c.tensor("v"), kernel.Exec{})
		c.results("weights", g.Weights, "v", g.V)
		return err
	},
}

// halfwayRows has rows x for which an element of x/|x| lies so close to the middle of two floats
// that it shows whether the root or its reciprocal is rounded, and the order of the sum.
func halfwayRows() map[string]any {
	rows := encode(bits(
		0x3fee7a5e, 0x3f124d4e, 0x39615111, 0x3385821c,
		0x3f873d13, 0x3f284c3f, 0x393c924c, 0x337db74d,
		0x3fd1b96e, 0x3f24e44b, 0x395b3ecc, 0x338244bd,
		0x3ff44902, 0x3f636bee, 0x3970a5b0, 0x331e49f8,
	), 1, 1, 4, 4)
	first := encode([]float32{1, 0, 0, 0}, 1, 1, 1, 4)
	return map[string]any{"q": first, "k": rows, "v": array(1, 1, 1, 4, 1)}
}

func stepCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	z := sizes4{1, 2, 1, 3, 5, 7, 3}
	keys := replaced(array(1, 1, 1, 5, 7), map[int]float32{0: 3e38, 1: -3e38, 7: 0, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 13: 0})
	least := testutil.Filled(35, 0)
	least[3], least[7], least[8], least[20], least[30] = bits(1)[0], 3e38, 3e38, -2, bits(0x80000001)[0]
	add("cosine", "cosine", z.inputs(10, nil))
	add("cosine-options", "cosine", z.inputs(20, map[string]any{"scale": single(float32(10)), "visible": causal(3, 5, 1)}))
	add("cosine-large", "cosine", z.inputs(30, map[string]any{"k": keys}))
	add("cosine-least", "cosine", z.inputs(40, map[string]any{"k": encode(least, 1, 1, 5, 7), "scale": single(float32(4))}))
	for name, more := range map[string]map[string]any{"plain": nil, "options": {"scale": single(float32(3)), "visible": causal(3, 5, 1)}, "large": {"k": keys}} {
		in := afterForward(stepFunctions["cosine"], z.inputs(50, more), map[string]string{"lse": "lse"})
		in["dout"] = array(59, 1, 2, 3, 3)
		add("cosine-backward-"+name, "cosine_backward", in)
	}
	add("cosine-halfway", "cosine", halfwayRows())
	hidden := afterForward(stepFunctions["cosine"], z.inputs(55, map[string]any{"k": replaced(keys, map[int]float32{28: nan, 29: inf}), "visible": causal(3, 5, 1)}), map[string]string{"lse": "lse"})
	hidden["dout"] = array(59, 1, 2, 3, 3) // no query sees the key that is NaN
	add("cosine-backward-hidden", "cosine_backward", hidden)
	tiny := afterForward(stepFunctions["cosine"], z.inputs(57, map[string]any{"k": keys, "scale": single(float32(1e-10))}), map[string]string{"lse": "lse"})
	tiny["dout"] = array(59, 1, 2, 3, 3) // some gradients of the large key round to -0
	add("cosine-backward-tiny", "cosine_backward", tiny)
	for i, kind := range []testutil.Kind{testutil.NonFinite, testutil.Specials, testutil.Tinies} {
		more := map[string]any{"visible": causal(4, 6, 1), "scale": single(float32(5))}
		in := wildSizes.wildInputs(kind, 60+10*i, more)
		add("cosine-"+kind.String(), "cosine", in)
		back := afterForward(stepFunctions["cosine"], in, map[string]string{"lse": "lse"})
		back["dout"] = wild(kind, 64+10*i, 1, 2, 4, 2)
		add("cosine-backward-"+kind.String(), "cosine_backward", back)
		add("softmax-"+kind.String(), "softmax", map[string]any{"x": wild(kind, 90+i, 40), "n": 8})
		add("softmax-backward-"+kind.String(), "softmax_backward", map[string]any{"y": wild(kind, 93+i, 20), "dy": wild(kind, 96+i, 20), "n": 5})
		add("weighted-sum-"+kind.String(), "weighted_sum", map[string]any{"weights": wild(kind, 100+i, 1, 2, 2, 4), "v": wild(kind, 103+i, 1, 1, 4, 3)})
		add("weighted-sum-backward-"+kind.String(), "weighted_sum_backward", map[string]any{"weights": wild(kind, 100+i, 1, 2, 2, 4), "v": wild(kind, 103+i, 1, 1, 4, 3), "dout": wild(kind, 106+i, 1, 2, 2, 3)})
	}
	add("softmax", "softmax", map[string]any{"x": array(1, 20), "n": 5})
	add("softmax-special", "softmax", map[string]any{"x": encode([]float32{-inf, -inf, -inf, 1, nan, 2, 1, inf, 2, -inf, 0, -200, 3e38, -3e38, 3e38}), "n": 3})
	add("softmax-lengths", "softmax", map[string]any{"x": array(2, 24), "n": 4, "lengths": []int{0, 3, 4}})
	add("softmax-backward", "softmax_backward", map[string]any{"y": array(3, 20), "dy": array(4, 20), "n": 5})
	add("softmax-backward-zeros", "softmax_backward", map[string]any{"y": encode([]float32{0, .5, .5, .25, 0, .75}), "dy": encode([]float32{nan, 1, 2, 3, inf, nan}), "n": 3})
	weights := replaced(array(5, 1, 2, 3, 4), map[int]float32{1: 0, 5: 0, 9: 0})
	add("weighted-sum", "weighted_sum", map[string]any{"weights": weights, "v": replaced(array(6, 1, 1, 4, 5), map[int]float32{7: nan, 16: inf})})
	add("weighted-sum-backward", "weighted_sum_backward", map[string]any{"weights": weights, "v": array(7, 1, 1, 4, 5), "dout": array(8, 1, 2, 3, 5)})
	add("weighted-sum-backward-nan", "weighted_sum_backward", map[string]any{"weights": weights, "v": replaced(array(7, 1, 1, 4, 5), map[int]float32{7: nan}), "dout": replaced(array(8, 1, 2, 3, 5), map[int]float32{2: nan})})
	return sortedVectors(list)
}
