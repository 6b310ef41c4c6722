package layer

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// MultiHead is multi-head attention with its projections (Vaswani et al.: "Attention Is
// All You Need"):
//
//	q = Q(query), cut into Heads heads
//	k = K(key), cut into KVHeads heads
//	v = V(value), cut into KVHeads heads
//	out = O(the outputs of all heads, side by side)
//
// With fewer KVHeads than Heads it is grouped-query attention: Heads/KVHeads query heads
// share a key head and a value head.
//
// Queries and keys have the head size D, values have the head size Dv. Neither has to
// be the width divided by the number of heads: the layers, [outputs, inputs], determine
// both.
//
//	Q  [Heads·D, width of query]
//	K  [KVHeads·D, width of key]
//	V  [KVHeads·Dv, width of value]
//	O  [width of out, Heads·Dv]
//
// A call does not change a MultiHead: any number of goroutines may use one at once.
// [FromTorch] makes one from PyTorch's weights.
type MultiHead struct {
	Heads   int // number of query heads
	KVHeads int // number of key and value heads, a divisor of Heads; 0 means Heads

	// The projections. One that is nil leaves its tensor as it is.
	Q, K, V, O *linear.Linear

	// Similarity scores the keys in every head. nil means ScaledDot.
	Similarity Similarity
}

// Attend lets the tokens of query attend to the tokens of key and value. All are tokens without
// heads, in float32:
//
//	query [B, 1, Lq, width of query]  kernel.BLHD(data, b, lq, 1, width)
//	key   [B, 1, Lk, width of key]
//	value [B, 1, Lk, width of value]
//	out   [B, 1, Lq, width of out]    overwritten; it shares no memory with the others
//
// Tensors may be ragged: out as query is, value as key is. Their rows get the bits that they
// get alone, and no padding is computed.
//
// In self-attention query, key and value are the same tensor. In cross-attention key and
// value are the same, such as the output of an encoder.
//
// The options are for the attention in each head: Options.Weights is [B, Heads, Lq, Lk], and the
// default of Options.Scale is 1/√D.
//
// Tokens that the mask hides are projected too, but they do not change the result. The
// projections take memory for B·(Lq+Lk) tokens. It is recycled: in the steady state a call
// allocates nothing, see [kernel.ReleaseMemory].
//
// Bad input gets a [*kernel.Error], and out stays
// untouched.
func (m *MultiHead) Attend(out, query, key, value kernel.Tensor, opts *kernel.Options) error {
	c := multiHeadCall{MultiHead: m, function: "layer.MultiHead.Attend", out: out, inputs: [3]kernel.Tensor{query, key, value}, opts: valueOf(opts)}
	if bad := c.check(); bad != nil {
		return (*kernel.Error)(bad.In("layer.MultiHead.Attend"))
	}
	s := getScratch(c.sizes[:]...)
	if s == nil {
		return (*kernel.Error)(c.memoryFailure().In(c.function))
	}
	defer s.release()
	return c.run(s)
}

// A multiHeadCall is one call of MultiHead.Attend.
type multiHeadCall struct {
	*MultiHead
	function string // what the caller knows it as

	out    kernel.Tensor
	inputs [3]kernel.Tensor // query, key, value
	opts   kernel.Options
	keeps  bool           // the projections are kept:
	trace  MultiHeadTrace // there

	// Set by check.
	sizes   [4]int // floats of the projected inputs and of the heads' outputs
	kvHeads int
	dv      int // head size of the values
}

// The arguments of Attend and their projections, in the order of multiHeadCall.inputs.
var (
	inputNames = [...]string{"query", "key", "value"}
	layerNames = [...]string{"MultiHead.Q", "MultiHead.K", "MultiHead.V"}
)

// layers returns the projections of the inputs.
func (m *MultiHead) layers() [3]*linear.Linear { return [...]*linear.Linear{m.Q, m.K, m.V} }

// run does the call, which check has accepted.
func (c *multiHeadCall) run(s *scratch) error {
	var x [3]kernel.Tensor
	heads := [...]int{c.Heads, c.kvHeads, c.kvHeads}
	for i, l := range c.layers() {
		x[i] = c.inputs[i]
		if l != nil {
			var err error
			if x[i], err = c.project(s, i, l); err != nil {
				return err
			}
		}
		x[i] = splitHeads(&x[i], heads[i])
	}
	joined := c.out // the outputs of all heads, side by side
	switch {
	case c.O != nil && c.keeps:
		joined = c.trace.Heads
	case c.O != nil:
		joined = s.takeLike(&c.inputs[0], 1, c.Heads*c.dv, true)
	}
	s.options = c.opts
	if err := c.similarity().Attend(splitHeads(&joined, c.Heads), x[0], x[1], x[2], &s.options); err != nil {
		return c.renameHeads(err)
	}
	if c.O == nil {
		return nil
	}
	return c.O.Project(c.out, joined, linear.Options{Exec: c.opts.Exec})
}

// project returns the projection of input i, in memory of the scratch or of the caller.
func (c *multiHeadCall) project(s *scratch, i int, l *linear.Linear) (kernel.Tensor, error) {
	if !c.keeps {
		return s.project(&c.inputs[i], l, c.opts.Exec)
	}
	y := *c.trace.projections()[i]
	return y, l.Project(y, c.inputs[i], linear.Options{Exec: c.opts.Exec})
}

// similarity returns the one that scores the keys.
func (m *MultiHead) similarity() Similarity {
	if m.Similarity == nil {
		return ScaledDot{}
	}
	return m.Similarity
}

// renameHeads returns an error of a similarity with the names of the call and of its inputs.
func (c *multiHeadCall) renameHeads(err error) error {
	if err == nil {
		return nil // without making names
	}
	for i, arg := range qkv {
		err = renameArgument(err, arg, c.function, "the heads of "+inputNames[i])
	}
	return err
}

// check reports the first thing that does not fit. It sets sizes, kvHeads and dv.
func (c *multiHeadCall) check() *check.Failure {
	if bad := c.checkInputs(); bad != nil {
		return bad
	}
	return cmp.Or(c.checkOut(), checkMemory(&c.out, &c.opts, inputNames[:], &c.inputs[0], &c.inputs[1], &c.inputs[2]))
}

// checkInputs reports the first layer or input that does not fit, or an output of another shape.
func (c *multiHeadCall) checkInputs() *check.Failure {
	if bad := c.checkHeads(); bad != nil {
		return bad
	}
	for i, l := range c.layers() {
		x := &c.inputs[i]
		if bad := viewOf(x).CheckFloats(inputNames[i]); bad != nil {
			return bad
		}
		if x.Shape()[1] != 1 {
			return tensorFailure(inputNames[i], x, "tokens without heads, [B, 1, L, width]")
		}
		if l == nil {
			continue
		}
		var bad *check.Failure
		if c.sizes[i], bad = checkProjection(inputNames[i], x, layerNames[i], l); bad != nil {
			return bad
		}
	}
	return cmp.Or(c.checkHeadSizes(), c.checkShapes())
}

// checkOut reports an output that cannot be one, or that is not ragged as query is.
func (c *multiHeadCall) checkOut() *check.Failure {
	out, query := viewOf(&c.out), viewOf(&c.inputs[0])
	if c.O != nil { // it comes last, when the attention has written LSE and Weights
		if bad := viewOf(&c.out).CheckFloats("out"); bad != nil {
			return bad
		}
	}
	if f := cmp.Or(out.Check("out"), out.CheckWritable("out")); f != nil {
		return f
	}
	if out.IsRagged() != query.IsRagged() {
		return tensorFailure("out", &c.out, "a tensor that is ragged if query is, and only then")
	}
	return out.CheckLengths("out", query, "query")
}

// checkHeads reports numbers of heads that do not fit each other.
func (c *multiHeadCall) checkHeads() *check.Failure {
	if c.Heads < 1 {
		return &check.Failure{Where: "MultiHead.Heads", Got: fmt.Sprint(c.Heads), Want: "at least 1"}
	}
	if c.kvHeads = c.KVHeads; c.kvHeads == 0 {
		c.kvHeads = c.Heads
	}
	if c.kvHeads < 0 || c.Heads%c.kvHeads != 0 {
		return &check.Failure{Where: "MultiHead.KVHeads", Got: fmt.Sprint(c.KVHeads), Want: fmt.Sprintf("a divisor of Heads = %d, or 0 for as many", c.Heads)}
	}
	return nil
}

// checkHeadSizes reports projected tokens that do not consist of heads of equal size.
func (c *multiHeadCall) checkHeadSizes() *check.Failure {
	q, k, v := c.width(0), c.width(1), c.width(2)
	if q%c.Heads != 0 {
		return c.widthFailure(0, fmt.Sprintf("a multiple of %d, the number of heads", c.Heads))
	}
	d := q / c.Heads
	if want := product(c.kvHeads, d); k != want {
		return c.widthFailure(1, fmt.Sprintf("%d, for %d key heads of %d, the head size of queries", want, c.kvHeads, d))
	}
	if v%c.kvHeads != 0 {
		return c.widthFailure(2, fmt.Sprintf("a multiple of %d, the number of value heads", c.kvHeads))
	}
	c.dv = v / c.kvHeads
	return nil
}

// memoryFailure reports projections that do not fit memory. It names the input with the
// largest one.
func (c *multiHeadCall) memoryFailure() *check.Failure {
	largest := 0
	for i, n := range c.sizes {
		if n > c.sizes[largest] {
			largest = i
		}
	}
	if largest == len(c.inputs) {
		return memoryFailure("query", &c.inputs[0], "fewer tokens: memory for the outputs of the heads")
	}
	return projectionMemoryFailure(inputNames[largest], &c.inputs[largest])
}

// width returns the width of the tokens of input i after the projection.
func (c *multiHeadCall) width(i int) int {
	if l := c.layers()[i]; l != nil {
		outputs, _ := l.Shape()
		return outputs
	}
	return c.inputs[i].Shape()[3]
}

// widthFailure reports the width of the projected input i. It names what sets that width:
// the projection, or the input where there is none.
func (c *multiHeadCall) widthFailure(i int, want string) *check.Failure {
	if c.layers()[i] == nil {
		return &check.Failure{Where: inputNames[i], Got: fmt.Sprintf("width %d", c.width(i)), Want: want}
	}
	return &check.Failure{Where: layerNames[i], Got: fmt.Sprintf("%d outputs", c.width(i)), Want: want}
}

// checkShapes reports inputs, a projection O or an output that do not fit each other.
func (c *multiHeadCall) checkShapes() *check.Failure {
	query, key, value := c.inputs[0].Shape(), c.inputs[1].Shape(), c.inputs[2].Shape()
	if key[0] != query[0] {
		return tensorFailure("key", &c.inputs[1], fmt.Sprintf("batch %d as query has it", query[0]))
	}
	if value[0] != key[0] || value[2] != key[2] {
		return tensorFailure("value", &c.inputs[2], fmt.Sprintf("batch %d and length %d as key has them", key[0], key[2]))
	}
	if f := viewOf(&c.inputs[2]).CheckLengths("value", viewOf(&c.inputs[1]), "key"); f != nil {
		return f
	}
	width := product(c.Heads, c.dv)
	if c.O != nil {
		outputs, inputs := c.O.Shape()
		if inputs != width {
			return &check.Failure{Where: "MultiHead.O", Got: fmt.Sprintf("%d inputs", inputs), Want: fmt.Sprintf("%d, for %d heads of %d, the head size of values", width, c.Heads, c.dv)}
		}
		batch, rows := viewOf(&c.inputs[0]).AllRows()
		c.sizes[3] = product(batch, rows, width)
		width = outputs
	}
	if want := [4]int{query[0], 1, query[2], width}; c.out.Shape() != want {
		return tensorFailure("out", &c.out, fmt.Sprintf("shape %v", want))
	}
	return nil
}
