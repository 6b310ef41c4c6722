package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// MultiHead is the multi-head attention module (Vaswani et al.): queries, keys and
// values are projected, every head attends with its part of them, and the heads'
// outputs, side by side, are projected once more. With KVHeads below Heads it is
// grouped-query attention.
//
//	Q  [H·D, width of query]      K  [Hkv·D, width of key]
//	O  [width of out, H·Dv]       V  [Hkv·Dv, width of value]
//
// What head sizes D and Dv are follows from the layers: they need not be the width
// divided by the heads. A nil layer leaves its tensor as it is.
//
// It is not changed by its use: any number of goroutines may attend with it at once.
// [FromTorch] makes one of PyTorch's weights.
type MultiHead struct {
	Heads   int
	KVHeads int // 0 is Heads; it divides Heads

	Q, K, V, O *linear.Linear

	// Similarity is how heads score; nil is ScaledDot.
	Similarity Similarity
}

// Attend lets the tokens of query look at those of key:
//
//	query [B, 1, Lq, ...]   kernel.BLHD(data, b, lq, 1, width): float32, as all are
//	key   [B, 1, Lk, ...]   of its own width
//	value [B, 1, Lk, ...]   of its own width
//	out   [B, 1, Lq, ...]   is overwritten; it shares no memory with the others
//
// In self-attention query, key and value are one tensor, in cross-attention key and value.
// All options are those of the attention in the middle: Options.Scale, if 0, is
// 1/√D with D the head size, and the shape of Weights is [B, Heads, Lq, Lk].
//
// All of key and value is projected, also what a mask hides; but nothing that is hidden
// matters. The projections take memory for B·(Lq+Lk) tokens, which is recycled: once warm the call
// allocates nothing. Bad input gets an [*kernel.ArgumentError] or
// [*kernel.TierError], and out stays untouched.
func (m *MultiHead) Attend(out, query, key, value kernel.Tensor, opts kernel.Options) error {
	c := multiHeadCall{MultiHead: m, out: out, inputs: [3]kernel.Tensor{query, key, value}, opts: opts}
	if err := c.check(); err != nil {
		return err
	}
	s := borrow(c.sizes[:]...)
	defer s.giveBack()
	return c.run(s)
}

// A multiHeadCall is one call of Attend.
type multiHeadCall struct {
	*MultiHead
	out    kernel.Tensor
	inputs [3]kernel.Tensor // query, key, value
	opts   kernel.Options
	sizes  [4]int // of the projections, and of the heads' outputs

	kvHeads int
	dv      int // head size of the values
}

// inputNames are the arguments in the order of multiHeadCall.inputs.
var inputNames = [...]string{"query", "key", "value"}

// layers returns the projections of the inputs.
func (m *MultiHead) layers() [3]*linear.Linear { return [...]*linear.Linear{m.Q, m.K, m.V} }

// run does the call once all has been checked.
func (c *multiHeadCall) run(s *scratch) error {
	var x [3]kernel.Tensor
	heads := [...]int{c.Heads, c.kvHeads, c.kvHeads}
	for i, l := range c.layers() {
		x[i] = c.inputs[i]
		if l != nil {
			var err error
			if x[i], err = s.project(&c.inputs[i], l, &c.opts); err != nil {
				return err
			}
		}
		x[i] = splitHeads(&x[i], heads[i])
	}
	merged := c.out
	if c.O != nil {
		shape := c.out.Shape()
		merged = kernel.BLHD(s.take(c.sizes[3]), shape[0], shape[2], 1, c.Heads*c.dv)
	}
	similarity := c.Similarity
	if similarity == nil {
		similarity = ScaledDot{}
	}
	if err := similarity.Attend(splitHeads(&merged, c.Heads), x[0], x[1], x[2], c.opts); err != nil || c.O == nil {
		return err
	}
	return c.O.Project(c.out, merged, linear.Options{Exec: c.opts.Exec})
}

// check reports the first thing that does not fit, and completes the call.
func (c *multiHeadCall) check() error {
	if err := c.checkHeads(); err != nil {
		return err
	}
	for i, l := range c.layers() {
		x := &c.inputs[i]
		if err := checkFloats(inputNames[i], x); err != nil {
			return err
		}
		if x.Shape()[1] != 1 {
			return fault(inputNames[i], x, "tokens without heads, [B, 1, L, W]")
		}
		if l == nil {
			continue
		}
		var err error
		if c.sizes[i], err = projectedFloats(inputNames[i], x, l); err != nil {
			return err
		}
	}
	if err := c.checkShapes(); err != nil {
		return err
	}
	return checkOutput(&c.out, &c.inputs[0], &c.inputs[1], &c.inputs[2])
}

// checkHeads reports numbers of heads that do not fit each other.
func (c *multiHeadCall) checkHeads() error {
	if c.Heads < 1 {
		return &kernel.ArgumentError{Arg: "MultiHead.Heads", Got: fmt.Sprint(c.Heads), Want: "at least 1"}
	}
	if c.kvHeads = c.KVHeads; c.kvHeads == 0 {
		c.kvHeads = c.Heads
	}
	if c.kvHeads < 0 || c.Heads%c.kvHeads != 0 {
		return &kernel.ArgumentError{Arg: "MultiHead.KVHeads", Got: fmt.Sprint(c.KVHeads), Want: fmt.Sprintf("a divisor of the %d heads, or 0 for as many", c.Heads)}
	}
	return nil
}

// widths returns the sizes of the inputs' tokens after their projections.
func (c *multiHeadCall) widths() (w [3]int) {
	for i, l := range c.layers() {
		w[i] = c.inputs[i].Shape()[3]
		if l != nil {
			w[i], _ = l.Shape()
		}
	}
	return w
}

// checkShapes reports shapes and layers that do not fit each other.
func (c *multiHeadCall) checkShapes() error {
	w := c.widths()
	d := w[0] / c.Heads
	c.dv = w[2] / c.kvHeads
	for i, want := range [...]int{d * c.Heads, d * c.kvHeads, c.dv * c.kvHeads} {
		if w[i] != want || want == 0 {
			return &kernel.ArgumentError{Arg: "MultiHead." + "QKV"[i:i+1], Got: fmt.Sprintf("%d outputs", w[i]),
				Want: fmt.Sprintf("a head size times %d heads of queries and %d of keys and values, that of keys that of queries", c.Heads, c.kvHeads)}
		}
	}
	query, key, value, out := c.inputs[0].Shape(), c.inputs[1].Shape(), c.inputs[2].Shape(), c.out.Shape()
	if key[0] != query[0] {
		return fault("key", &c.inputs[1], fmt.Sprintf("batch %d, that of query", query[0]))
	}
	if value[0] != key[0] || value[2] != key[2] {
		return fault("value", &c.inputs[2], fmt.Sprintf("batch %d and length %d, those of key", key[0], key[2]))
	}
	width := c.Heads * c.dv
	if c.O != nil {
		outputs, inputs := c.O.Shape()
		if inputs != width {
			return &kernel.ArgumentError{Arg: "MultiHead.O", Got: fmt.Sprintf("%d inputs", inputs), Want: fmt.Sprintf("%d, the outputs of %d heads of %d", width, c.Heads, c.dv)}
		}
		if c.sizes[3] = elements(query[0], query[2], width); c.sizes[3] > maxScratch {
			return fault("query", &c.inputs[0], "fewer tokens")
		}
		width = outputs
	}
	if want := [4]int{query[0], 1, query[2], width}; out != want {
		return fault("out", &c.out, fmt.Sprintf("shape %v", want))
	}
	return nil
}
