package contract_test

import (
	"maps"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
)

// projection makes the layer of the weights w… and the bias b…, or nil if they are not there, with
// memory for the gradients of both.
func (c *call) projection(name string) (*linear.Linear, layer.Parameters) {
	if !c.has("w" + name) {
		return nil, layer.Parameters{}
	}
	w := c.matrix("w" + name)
	l, err := linear.New(w, c.floats("b"+name), kernel.Exec{})
	c.fail("w"+name, err)
	n, k := w.Shape()
	p := layer.Parameters{Weight: testutil.Filled(n*k, 77)}
	if c.has("b" + name) {
		p.Bias = testutil.Filled(n, 77)
	}
	return l, p
}

// put sets the results d… to the gradients of a projection.
func (c *call) put(name string, p layer.Parameters) {
	if p.Weight != nil {
		c.out["dw"+name] = encode(p.Weight, c.raw("w"+name).Shape...)
	}
	if p.Bias != nil {
		c.out["db"+name] = encode(p.Bias)
	}
}

// module makes the MultiHead of the arguments, and its gradients.
func (c *call) module() (m layer.MultiHead, g layer.MultiHeadGradients) {
	m.Heads, m.KVHeads = c.int("heads"), c.int("kv_heads")
	m.Q, g.Q = c.projection("q")
	m.K, g.K = c.projection("k")
	m.V, g.V = c.projection("v")
	m.O, g.O = c.projection("o")
	return m, g
}

// forward computes a MultiHead, and what its gradient needs.
func (c *call) forward(m *layer.MultiHead) (out kernel.Tensor, trace layer.MultiHeadTrace, err error) {
	query, key := c.shape("query"), c.shape("key")
	tokens := func(like [4]int, l *linear.Linear, width int) kernel.Tensor {
		if l != nil {
			width, _ = l.Shape()
		}
		return dense(testutil.Filled(like[0]*like[2]*width, 77), [4]int{like[0], 1, like[2], width})
	}
	trace = layer.MultiHeadTrace{Q: tokens(query, m.Q, query[3]), K: tokens(key, m.K, key[3]), V: tokens(key, m.V, c.shape("value")[3])}
	width := trace.V.Shape()[3] * m.Heads / max(m.KVHeads, 1)
	trace.Heads = tokens(query, nil, width)
	out = tokens(query, m.O, width)
	trace.LSE = dense(make([]float32, query[0]*m.Heads*query[2]), [4]int{query[0], m.Heads, query[2], 1})
	if c.err != nil {
		return out, trace, c.err
	}
	return out, trace, m.Forward(out, trace, c.tensor("query"), c.tensor("key"), c.tensor("value"), c.backwardOptions())
}

// general makes the General of the arguments.
func (c *call) general() (layer.General, error) {
	return layer.NewGeneral(c.matrix("w"), kernel.Exec{})
}

// network makes the Additive of the arguments, and its gradients.
func (c *call) network() (a layer.Additive, g layer.AdditiveGradients) {
	a.V = c.floats("scoring")
	a.Query, g.Query = c.projection("q")
	a.Key, g.Key = c.projection("k")
	g.Scoring = testutil.Filled(len(a.V), 77)
	return a, g
}

var moduleFunctions = map[string]func(c *call) error{
	"general": func(c *call) error {
		g, err := c.general()
		if err != nil {
			return err
		}
		return c.attention(g.Attend)
	},
	"general_backward": func(c *call) error {
		general, err := c.general()
		if err != nil {
			return err
		}
		w := c.floats("w")
		g := layer.GeneralGradients{W: testutil.Filled(len(w), 77)}
		g.Q, g.K, g.V = c.gradient("dq", c.shape("q")), c.gradient("dk", c.shape("k")), c.gradient("dv", c.shape("v"))
		err = general.Backward(g, c.tensor("dout"), c.tensor("q"), c.tensor("k"), c.tensor("v"), c.tensor("lse"), w, c.backwardOptions())
		c.results("q", g.Q, "k", g.K, "v", g.V)
		c.out["dw"] = encode(g.W, c.raw("w").Shape...)
		return err
	},
	"additive_network": func(c *call) error {
		a, _ := c.network()
		return c.attention(a.Attend)
	},
	"additive_network_backward": func(c *call) error {
		a, g := c.network()
		g.Q, g.K, g.V = c.gradient("dq", c.shape("q")), c.gradient("dk", c.shape("k")), c.gradient("dv", c.shape("v"))
		w := layer.AdditiveWeights{Query: c.floats("wq"), Key: c.floats("wk")}
		err := a.Backward(g, c.tensor("dout"), c.tensor("q"), c.tensor("k"), c.tensor("v"), c.tensor("p"), w, kernel.AdditiveBackwardOptions{Scale: c.float("scale")})
		c.results("q", g.Q, "k", g.K, "v", g.V)
		c.put("q", g.Query)
		c.put("k", g.Key)
		c.out["dscoring"] = encode(g.Scoring)
		return err
	},
	"multi_head": func(c *call) error {
		m, _ := c.module()
		out, trace, err := c.forward(&m)
		if err != nil {
			return err
		}
		c.out["out"], c.out["lse"] = encode(elements(out), shapeOf(out)...), encode(elements(trace.LSE), shapeOf(trace.LSE)...)
		return nil
	},
	"multi_head_backward": func(c *call) error {
		m, g := c.module()
		_, trace, err := c.forward(&m)
		if err != nil {
			return err
		}
		g.Query = c.gradient("dquery", c.shape("query"))
		g.Key, g.Value = g.Query, g.Query
		if c.int("joint") == 0 {
			g.Key, g.Value = c.gradient("dkey", c.shape("key")), c.gradient("dvalue", c.shape("value"))
		}
		w := layer.MultiHeadWeights{Q: c.floats("wq"), K: c.floats("wk"), V: c.floats("wv"), O: c.floats("wo")}
		err = m.Backward(g, c.tensor("dout"), c.tensor("query"), c.tensor("key"), c.tensor("value"), trace, w, c.backwardOptions())
		c.results("query", g.Query)
		if c.int("joint") == 0 {
			c.results("key", g.Key, "value", g.Value)
		}
		for name, p := range map[string]layer.Parameters{"q": g.Q, "k": g.K, "v": g.V, "o": g.O} {
			c.put(name, p)
		}
		return err
	},
}

func moduleCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	z := sizes4{2, 2, 1, 3, 4, 5, 3}
	general := z.inputs(100, map[string]any{"w": array(103, 7, 5), "visible": causal(3, 4, 1)})
	general["q"] = array(104, 2, 2, 3, 7)
	add("general", "general", general)
	back := afterForward(moduleFunctions["general"], general, map[string]string{"lse": "lse"})
	back["dout"] = array(105, 2, 2, 3, 3)
	add("general-backward", "general_backward", back)

	network := z.inputs(200, map[string]any{"wq": array(203, 6, 5), "bq": array(204, 6), "wk": array(205, 6, 5), "scoring": array(206, 6), "visible": causal(3, 4, 1), "scale": single(float32(.5))})
	add("additive-network", "additive_network", network)
	back = afterForward(moduleFunctions["additive_network"], network, map[string]string{"weights": "p"})
	back["dout"] = array(207, 2, 2, 3, 3)
	delete(back, "visible")
	add("additive-network-backward", "additive_network_backward", back)

	self := array(300, 2, 1, 4, 6)
	heads := map[string]any{
		"query": self, "key": self, "value": self, "heads": 4, "kv_heads": 2, "joint": 1, "visible": causal(4, 4, 0),
		"wq": array(301, 8, 6), "bq": array(302, 8), "wk": array(303, 4, 6), "bk": array(304, 4), "wv": array(305, 6, 6), "bv": array(306, 6), "wo": array(307, 5, 12), "bo": array(308, 5),
	}
	add("self-attention", "multi_head", heads)
	add("self-attention-backward", "multi_head_backward", with(heads, "dout", array(309, 2, 1, 4, 5)))
	cross := map[string]any{"query": array(310, 2, 1, 3, 4), "key": array(311, 2, 1, 5, 6), "value": array(312, 2, 1, 5, 4), "heads": 2, "kv_heads": 2, "wk": array(313, 4, 6)}
	add("cross-attention", "multi_head", cross)
	add("cross-attention-backward", "multi_head_backward", with(cross, "dout", array(314, 2, 1, 3, 4)))
	return list
}

// with returns arguments with one that is another or new.
func with(in map[string]any, name string, x any) map[string]any {
	all := maps.Clone(in)
	all[name] = x
	return all
}
