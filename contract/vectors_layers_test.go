package contract_test

import (
	"fmt"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/rope"
)

// rows returns an argument [rows, D] as a tensor [1, 1, rows, D], or the zero one if it is not
// there.
func (c *call) rows(name string) kernel.Tensor {
	if !c.has(name) {
		return kernel.Tensor{}
	}
	s := c.raw(name).Shape
	return kernel.BHLD(c.floats(name), 1, 1, s[0], s[1])
}

// normalises is a norm of the rows of x.
func normalises(isLayer bool) func(c *call) error {
	return func(c *call) error {
		s := c.raw("x").Shape
		out := kernel.BHLD(testutil.Filled(count(s), 77), 1, 1, s[0], s[1])
		o := norm.Options{Residual: c.rows("residual")}
		if c.has("residual") {
			o.Sum = kernel.BHLD(testutil.Filled(count(s), 77), 1, 1, s[0], s[1])
		}
		var err error
		if isLayer {
			err = norm.LayerNorm(out, c.rows("x"), c.floats("weight"), c.floats("bias"), c.float("eps"), o)
		} else {
			err = norm.RMSNorm(out, c.rows("x"), c.floats("weight"), c.float("eps"), o)
		}
		c.out["out"] = encode(elements(out), s...)
		if c.has("residual") {
			c.out["sum"] = encode(elements(o.Sum), s...)
		}
		return err
	}
}

// normalisesBackward is the gradient of a norm.
func normalisesBackward(isLayer bool) func(c *call) error {
	return func(c *call) error {
		s := c.raw("x").Shape
		g := norm.Gradients{X: kernel.BHLD(testutil.Filled(count(s), 77), 1, 1, s[0], s[1]), Weight: c.held("dweight", s[1])}
		o := norm.BackwardOptions{Direct: c.rows("direct"), Accumulate: c.has("dweight")}
		var err error
		if isLayer {
			g.Bias = c.held("dbias", s[1])
			err = norm.LayerNormBackward(g, c.rows("dy"), c.rows("x"), c.floats("weight"), c.float("eps"), o)
			c.out["dbias"] = encode(g.Bias)
		} else {
			err = norm.RMSNormBackward(g, c.rows("dy"), c.rows("x"), c.floats("weight"), c.float("eps"), o)
		}
		c.out["dx"], c.out["dweight"] = encode(elements(g.X), s...), encode(g.Weight)
		return err
	}
}

// gates is a gated activation.
func gates(f func(dst, gate, up []float32, exec kernel.Exec) error) func(c *call) error {
	return func(c *call) error {
		gate := c.floats("gate")
		y := testutil.Filled(len(gate), 77)
		err := f(y, gate, c.floats("up"), kernel.Exec{})
		c.out["y"] = encode(canonical(y))
		return err
	}
}

// slopes is the gradient of an activation from x, or from its result.
func slopes(from string, f func(dx, dy, x []float32, exec kernel.Exec) error) func(c *call) error {
	return func(c *call) error {
		x := c.floats(from)
		dx := testutil.Filled(len(x), 77)
		err := f(dx, c.floats("dy"), x, kernel.Exec{})
		c.out["dx"] = encode(canonical(dx))
		return err
	}
}

// gateSlopes is the gradient of a gated activation.
func gateSlopes(f func(dgate, dup, dy, gate, up []float32, exec kernel.Exec) error) func(c *call) error {
	return func(c *call) error {
		gate := c.floats("gate")
		dgate, dup := testutil.Filled(len(gate), 77), testutil.Filled(len(gate), 77)
		err := f(dgate, dup, c.floats("dy"), gate, c.floats("up"), kernel.Exec{})
		c.out["dgate"], c.out["dup"] = encode(canonical(dgate)), encode(canonical(dup))
		return err
	}
}

// rotation makes the Rope of the arguments.
func (c *call) rotation() (*rope.Rope, error) {
	return rope.New(rope.Config{
		Dims: c.int("dims"), Base: c.double("base"), Scaling: c.double("scaling"), Frequencies: numbers[float64](c, "frequencies"),
		Pairing: rope.Pairing(c.int("interleaved")),
	})
}

var layerFunctions = map[string]func(c *call) error{
	"rms": normalises(false), "rms_backward": normalisesBackward(false),
	"layer_norm": normalises(true), "layer_norm_backward": normalisesBackward(true),
	"silu": onSlice(activation.SiLU), "gelu": onSlice(activation.GELU), "gelu_tanh": onSlice(activation.GELUTanh),
	"swiglu": gates(activation.SwiGLU), "geglu": gates(activation.GeGLU), "geglu_tanh": gates(activation.GeGLUTanh),
	"silu_backward": slopes("x", activation.SiLUBackward), "gelu_backward": slopes("x", activation.GELUBackward), "gelu_tanh_backward": slopes("x", activation.GELUTanhBackward),
	"tanh_backward": slopes("y", activation.TanhBackward), "sigmoid_backward": slopes("y", activation.SigmoidBackward),
	"swiglu_backward": gateSlopes(activation.SwiGLUBackward), "geglu_backward": gateSlopes(activation.GeGLUBackward), "geglu_tanh_backward": gateSlopes(activation.GeGLUTanhBackward),
	"gru": func(c *call) error {
		state := c.floats("state")
		gates := testutil.Filled(3*len(state), 77)
		err := activation.GRU(state, gates, c.floats("in"), c.floats("hidden"), c.int("size"), kernel.Exec{})
		c.out["state"], c.out["gates"] = encode(canonical(state)), encode(canonical(gates))
		return err
	},
	"gru_backward": func(c *call) error {
		d := c.floats("d")
		dIn, dHidden := testutil.Filled(3*len(d), 77), testutil.Filled(3*len(d), 77)
		err := activation.GRUBackward(d, dIn, dHidden, c.floats("gates"), c.floats("hidden"), c.floats("before"), c.int("size"), kernel.Exec{})
		c.out["d"], c.out["d_in"], c.out["d_hidden"] = encode(canonical(d)), encode(canonical(dIn)), encode(canonical(dHidden))
		return err
	},
	"rope_cos_sin": func(c *call) error {
		r, err := c.rotation()
		if err != nil {
			return err
		}
		positions, n := c.ints("positions"), r.Dims()/2
		cos, sin := make([]float32, len(positions)*n), make([]float32, len(positions)*n)
		for i, p := range positions {
			if err := r.CosSin(p, cos[i*n:(i+1)*n], sin[i*n:(i+1)*n]); err != nil {
				return err
			}
		}
		c.out["cos"], c.out["sin"] = encode(cos, len(positions), n), encode(sin, len(positions), n)
		return nil
	},
	"rope": func(c *call) error {
		r, err := c.rotation()
		if err != nil {
			return err
		}
		x := c.rows("x")
		err = r.Apply(x, c.ints("positions"), kernel.Exec{})
		c.out["y"] = encode(elements(x), c.raw("x").Shape...)
		return err
	},
}

// halfwayAngles are angles whose cosine or sine lies in the middle of two floats, to within 53
// bits. They show how the angle is cut to 53 bits, and where the series round.
var halfwayAngles = []float64{
	-0x1.462beeebf159cp-3, -0x1.9caf2d2ab29a0p-1, -0x1.f3cf0e7706315p-2, 0x1.d9553564f6993p-3, 0x1.bbefd17a10cc0p-3, -0x1.9f98767daef94p-1, -0x1.83a767757b856p-1,
}

func layerCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	eps := single(float32(1e-5))
	for _, f := range []string{"rms", "layer_norm"} {
		for i, d := range []int{1, 9, 64, 150} {
			add(fmt.Sprintf("%s-%03d", f, d), f, map[string]any{"x": array(i, 2, d), "weight": array(i+1, d), "eps": eps})
			if d < 64 {
				add(fmt.Sprintf("%s-backward-%03d", f, d), f+"_backward", map[string]any{"x": array(i, 2, d), "dy": array(i+2, 2, d), "weight": array(i+1, d), "eps": eps})
			}
		}
		add(f+"-residual", f, map[string]any{"x": array(20, 2, 5), "residual": replaced(array(21, 2, 5), map[int]float32{8: nan}), "eps": eps})
		add(f+"-special", f, map[string]any{"x": encode(append(random(testutil.Specials, 5, 40), random(testutil.Tinies, 6, 20)...), 6, 10), "eps": single(float32(0))})
		add(f+"-backward-direct", f+"_backward", map[string]any{"x": array(22, 3, 70), "dy": array(23, 3, 70), "direct": array(24, 3, 70), "eps": eps})
		add(f+"-backward-rows", f+"_backward", map[string]any{"x": array(25, 35, 2), "dy": array(26, 35, 2), "weight": array(27, 2), "eps": eps})
		add(f+"-backward-groups", f+"_backward", map[string]any{"x": array(28, 1060, 1), "dy": array(29, 1060, 1), "eps": eps})
		held := func(seed int) tensor { return replaced(array(seed, 3), map[int]float32{1: nan}) }
		add(f+"-backward-accumulate", f+"_backward", map[string]any{"x": replaced(array(30, 2, 3), map[int]float32{0: nan}), "dy": array(31, 2, 3), "eps": eps, "dweight": held(32), "dbias": held(33)})
		nothing := encode([]float32{nan, bits(0x80000000)[0], 5})
		add(f+"-backward-no-rows", f+"_backward", map[string]any{"x": array(34, 0, 3), "dy": array(35, 0, 3), "eps": eps, "dweight": nothing, "dbias": nothing})
		add(f+"-not-finite", f, map[string]any{"x": wild(testutil.NonFinite, 9, 5, 12), "weight": wild(testutil.Specials, 10, 12), "eps": eps})
		add(f+"-backward-not-finite", f+"_backward", map[string]any{"x": wild(testutil.NonFinite, 11, 5, 12), "dy": wild(testutil.NonFinite, 12, 5, 12), "eps": eps})
		add(f+"-backward-special", f+"_backward", map[string]any{"x": encode(random(testutil.Specials, 7, 40), 4, 10), "dy": encode(random(testutil.Specials, 8, 40), 4, 10), "eps": eps})
	}
	for _, spread := range []float64{0, 1e-3, 1} {
		x := aroundMean(43, 1234.1, spread, 3, 130)
		in := map[string]any{"x": x, "weight": array(44, 130), "eps": single(float32(1e-12))}
		add(fmt.Sprintf("layer_norm-mean-%g", spread), "layer_norm", in)
		add(fmt.Sprintf("layer_norm-backward-mean-%g", spread), "layer_norm_backward", map[string]any{"x": x, "dy": array(45, 3, 130), "weight": in["weight"], "eps": in["eps"]})
	}
	add("layer_norm-bias", "layer_norm", map[string]any{"x": array(40, 2, 9), "weight": array(41, 9), "bias": array(42, 9), "eps": eps})
	list = append(list, activationCases()...)
	rotations := map[string]map[string]any{
		"base":        {"dims": 8, "base": single(10000.)},
		"base-large":  {"dims": 4, "base": single(5e5), "scaling": single(8.)},
		"frequencies": {"dims": 6, "frequencies": encode([]float64{1, -.25, 3e-3})},
		"scaled":      {"dims": 4, "frequencies": encode([]float64{2.5, 0}), "scaling": single(3.)},
	}
	for _, name := range sortedKeys(rotations) {
		in := rotations[name]
		in["positions"] = []int{0, 1, -1, 2, 100, 4095, 123456, -2147483648, 2147483647}
		add("rope-"+name, "rope_cos_sin", in)
	}
	add("rope-halfway", "rope_cos_sin", map[string]any{"dims": 2 * len(halfwayAngles), "frequencies": encode(halfwayAngles), "positions": []int{1}})
	add("rope-halves", "rope", map[string]any{"x": replaced(array(50, 3, 7), map[int]float32{8: nan, 15: inf}), "dims": 6, "base": single(10000.), "positions": []int{5, 0, 77}})
	add("rope-interleaved", "rope", map[string]any{"x": array(51, 3, 6), "dims": 4, "base": single(10000.), "positions": []int{5, -3, 77}, "interleaved": 1})
	return list
}

// aroundMean has rows of a mean, or equal elements if spread is 0.
func aroundMean(seed int, mean, spread float64, shape ...int) tensor {
	x, err := decode[float32](array(seed, shape...))
	if err != nil {
		panic(err) // of the vectors' own arguments
	}
	for i, y := range x {
		x[i] = float32(mean + spread*float64(y))
	}
	return encode(x, shape...)
}

// activationCases are the cases of package activation.
func activationCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	limits := around(-110, -100, 100, -14.4, 6, -10.9, 30, -87, -5, 5, 1.2, 4.7, 9.5)
	x := append(append(append([]float32{}, specials...), limits...), append(spread(1, 50, -16, 8), spread(2, 15, -110, 110)...)...)
	n := len(x)
	dy, up := encode(normal(3, n)), encode(normal(4, n))
	for _, f := range []string{"silu", "gelu", "gelu_tanh"} {
		add(f, f, map[string]any{"x": encode(x)})
		add(f+"-backward", f+"_backward", map[string]any{"x": encode(x), "dy": dy})
	}
	for _, f := range []string{"swiglu", "geglu", "geglu_tanh"} {
		add(f, f, map[string]any{"gate": encode(x[20:]), "up": encode(normal(4, n-20))})
		add(f+"-backward", f+"_backward", map[string]any{"gate": encode(x[20:]), "up": encode(normal(5, n-20)), "dy": encode(normal(6, n-20))})
	}
	results := append(spread(5, n-20, -1, 1), specials[:20]...)
	add("tanh-backward", "tanh_backward", map[string]any{"y": encode(results), "dy": dy})
	add("sigmoid-backward", "sigmoid_backward", map[string]any{"y": encode(results), "dy": up})
	for i, f := range []string{"silu", "gelu", "gelu_tanh"} {
		add(f+"-mantissas", f, map[string]any{"x": wild(testutil.Mantissas, 14+i, 40)})
		add(f+"-backward-mantissas", f+"_backward", map[string]any{"x": wild(testutil.Mantissas, 17+i, 40), "dy": wild(testutil.Specials, 20+i, 40)})
	}
	const rows, size = 3, 7
	gru := map[string]any{"state": array(7, rows*size), "in": replaced(array(8, 3*rows*size), map[int]float32{0: inf, 3: -200, 4: 200, 30: nan, 33: -inf}), "hidden": array(9, 3*rows*size), "size": size}
	add("gru", "gru", gru)
	back := afterForward(layerFunctions["gru"], map[string]any{"state": array(10, rows*size), "in": array(11, 3*rows*size), "hidden": array(12, 3*rows*size), "size": size}, map[string]string{"gates": "gates"})
	back["before"], back["d"] = back["state"], array(13, rows*size)
	delete(back, "state")
	delete(back, "in")
	add("gru-backward", "gru_backward", back)
	return list
}
