package lane

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// training are the kernels of training and of layers that take all rows for some columns, or
// elements.
var training = []Kernel{
	{Function: spec.AdamW, Lanes: "w", Vectors: 2, Body: adamW},
	{Function: spec.Add, Lanes: "dst", Body: func(b *Builder) {
		b.Store(b.Slice("dst"), b.Canonical(b.Add(b.Load(b.Slice("x")), b.Load(b.Slice("y")))))
	}},
	{Function: spec.Mul, Lanes: "dst", Body: func(b *Builder) {
		b.Store(b.Slice("dst"), b.Mul(b.Load(b.Slice("x")), b.Load(b.Slice("y"))))
	}},
	{Function: spec.Scale, Lanes: "dst", Vectors: 4, Body: func(b *Builder) {
		b.Store(b.Slice("dst"), b.Mul(b.Mul(b.Load(b.Slice("src")), b.Param("first")), b.Param("second")))
	}},
	{Function: spec.AddRows, Lanes: "dst", Vectors: 8, Body: addRows},
	{Function: spec.AddWeighted, Lanes: "weights", Vectors: 3, Body: addWeighted},
	{Function: spec.Rotate, Lanes: "cos", Vectors: 2, Body: rotate},
	{Function: spec.RotatePairs, Lanes: "cos", Vectors: 2, Pairs: true, Body: rotatePairs},
	{Function: spec.TanhBackward, Lanes: "dx", Body: fromResult((*Builder).slope)},
	{Function: spec.SigmoidBackward, Lanes: "dx", Body: fromResult(func(b *Builder, y *Value) *Value { return b.Mul(b.Sub(b.Const(spec.One), y), y) })},
	{Function: spec.AdditiveBackward, Lanes: "q", Vectors: 1, Body: additiveBackward},
	{Function: spec.AddBias, Lanes: "bias", Tile: true, Step: ukernel.PanelStep, Vectors: 2, Body: addBias},
	{Function: spec.GRU, Lanes: "state", Body: gru},
	{Function: spec.GRUBackward, Lanes: "d", Body: gruBackward},
}

func adamW(b *Builder) {
	w, m, v, g := b.Slice("w"), b.Slice("m"), b.Slice("v"), b.Load(b.Slice("g"))
	square := b.Mul(b.Load(v), b.Param("beta2"))
	square = b.flush(b.Add(square, b.Mul(b.Mul(g, b.Param("gain2")), g)), spec.LeastNormal)
	b.Store(v, square)
	mean := b.Load(m)
	mean = b.flush(b.Add(mean, b.Mul(b.Sub(g, mean), b.Param("gain1"))), spec.LeastNormal)
	b.Store(m, mean)
	root := b.Add(b.Div(b.Sqrt(square), b.Param("root")), b.Param("epsilon"))
	step := b.Mul(b.Div(mean, root), b.Param("rate"))
	b.Store(w, b.flush(b.Sub(b.Mul(b.Load(w), b.Param("keep")), step), spec.LeastNormal))
}

// addRows keeps the sums of some columns in registers: of as many vectors as hide the latency of an
// addition.
func addRows(b *Builder) {
	dst, src := b.Slice("dst"), b.Matrix("src", "lds")
	sum := b.Var(b.Load(dst))
	b.EachRow("n", func() { b.Set(sum, b.Add(sum, b.Load(src))) })
	b.Store(dst, b.Canonical(sum))
}

func addWeighted(b *Builder) {
	dst, src, weight := b.Matrix("dst", "ldd"), b.Matrix("src", "lds"), b.Load(b.Slice("weights"))
	b.EachRow("n", func() {
		x := b.Mul(b.Load(src), weight)
		b.Store(dst, b.Canonical(b.Add(b.Load(dst), x)))
	})
}

func rotate(b *Builder) {
	first, second, cos, sin := b.Matrix("first", "ld"), b.Matrix("second", "ld"), b.Load(b.Slice("cos")), b.Load(b.Slice("sin"))
	b.EachRow("n", func() {
		x, y := b.Load(first), b.Load(second)
		b.Store(first, b.Canonical(b.Sub(b.Mul(x, cos), b.Mul(y, sin))))
		b.Store(second, b.Canonical(b.Add(b.Mul(y, cos), b.Mul(x, sin))))
	})
}

func rotatePairs(b *Builder) {
	m, cos, sin := b.Matrix("x", "ld"), b.Load(b.Slice("cos")), b.Load(b.Slice("sin"))
	b.EachRow("n", func() {
		x := b.Load(m)
		y := b.Mul(b.Swap(x), sin)
		b.Store(m, b.Canonical(b.Add(b.Mul(x, cos), y)))
	})
}

// fromResult is the gradient of a function whose slope is a function of its result.
func fromResult(slope Function) func(b *Builder) {
	return func(b *Builder) {
		k := slope(b, b.Load(b.Slice("y")))
		b.Store(b.Slice("dx"), b.Mul(k, b.Load(b.Slice("dy"))))
	}
}

// addBias adds a bias to the rows of a product and makes every NaN the same one.
func addBias(b *Builder) {
	dst, c, bias := b.Matrix("dst", "ldd"), b.Matrix("c", "ldc"), b.Load(b.Slice("bias"))
	b.EachRow("m", func() { b.Store(dst, b.Canonical(b.Add(b.Load(c), bias))) })
}

// slope is (1-x)·(1+x), which is 0 where x is ±1.
func (b *Builder) slope(x *Value) *Value {
	one := b.Const(spec.One)
	return b.Mul(b.Sub(one, x), b.Add(x, one))
}

// additiveBackward has the hidden units in the lanes, and the sums over keys in registers.
func additiveBackward(b *Builder) {
	k, dk, x := b.Matrix("k", "ldk"), b.Matrix("dk", "ldd"), b.Slice("x")
	q, dq, dw := b.Load(b.Slice("q")), b.Var(b.Load(b.Slice("dq"))), b.Var(b.Load(b.Slice("dw")))
	b.EachRow("n", func() {
		w, t := b.Spread(x), b.Tanh(b.Add(b.Load(k), q))
		b.Set(dw, b.MulAdd(t, w, dw))
		u := b.slope(t)
		b.Set(dq, b.MulAdd(u, w, dq))
		b.Store(dk, b.Add(b.Load(dk), b.Mul(u, w)))
	})
	b.Store(b.Slice("dq"), dq)
	b.Store(b.Slice("dw"), dw)
}

// sigmoid is 1/(1+e), and e/(1+e) for negative numbers, with e = exp(-|x|).
func (b *Builder) sigmoid(x *Value) *Value {
	one := b.Const(spec.One)
	e := b.Exp2(b.Mul(b.Or(x, b.Const(spec.SignBit)), b.Const(spec.Log2E)), spec.Minus126)
	return b.Div(b.Select(LessInt, x, b.Const(0), e, one), b.Add(e, one))
}

// gru is the element-wise part of a gated recurrent unit. Most slices have three parts: for the
// reset gate, for the update gate, and for the new state.
func gru(b *Builder) {
	in := func(part int) *Value { return b.Load(b.Part("in", part)) }
	hidden := func(part int) *Value { return b.Load(b.Part("hidden", part)) }
	gate := func(part int, x *Value) *Value {
		b.Store(b.Part("gates", part), x)
		return x
	}
	reset := gate(0, b.sigmoid(b.Add(in(0), hidden(0))))
	update := gate(1, b.sigmoid(b.Add(in(1), hidden(1))))
	c := gate(2, b.Tanh(b.Add(b.Mul(reset, hidden(2)), in(2))))
	state := b.Slice("state")
	b.Store(state, b.Add(b.Mul(b.Sub(b.Load(state), c), update), c))
}

func gruBackward(b *Builder) {
	gate := func(i int) *Value { return b.Load(b.Part("gates", i)) }
	grad := func(part int, x *Value, slices ...string) {
		for _, s := range slices {
			b.Store(b.Part(s, part), x)
		}
	}
	one, d := b.Const(spec.One), b.Slice("d")
	// dc = (d·(1-z))·((1-c)·(1+c))
	z, c, dh := gate(1), gate(2), b.Load(d)
	rest := b.Sub(one, z)
	dc := b.Mul(b.Mul(dh, rest), b.slope(c))
	grad(2, dc, "dIn")
	// dz = (d·(before-c))·((1-z)·z)
	grad(1, b.Mul(b.Mul(dh, b.Sub(b.Load(b.Slice("before")), c)), b.Mul(rest, z)), "dIn", "dHidden")
	b.Store(d, b.Mul(dh, z))
	// dr = (dc·hidden)·((1-r)·r)
	r := gate(0)
	dr := b.Mul(dc, b.Load(b.Part("hidden", 2)))
	grad(2, b.Mul(dc, r), "dHidden")
	grad(0, b.Mul(dr, b.Mul(b.Sub(one, r), r)), "dIn", "dHidden")
}
