package layer

import (
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A MultiHeadTrace is what [MultiHead.Forward] keeps for [MultiHead.Backward], in memory of the
// caller's, in float32. All but LSE are tokens without heads, ragged where the input is. A tensor
// of a projection that is nil is not used. LSE is always needed.
type MultiHeadTrace struct {
	Q     kernel.Tensor // [B, 1, Lq, Heads·D]: the projected queries
	K     kernel.Tensor // [B, 1, Lk, KVHeads·D]: the projected keys
	V     kernel.Tensor // [B, 1, Lk, KVHeads·Dv]: the projected values
	Heads kernel.Tensor // [B, 1, Lq, Heads·Dv]: the outputs of all heads, the inputs of MultiHead.O
	LSE   kernel.Tensor // [B, Heads, Lq, 1]: kernel.Options.LSE of the attention in the heads
}

// lseName is the name of MultiHeadTrace.LSE in errors.
const lseName = "trace.LSE"

// The other tensors of a trace, in the order of projections and of names.
var traceNames = [...]string{"trace.Q", "trace.K", "trace.V", "trace.Heads"}

func (t *MultiHeadTrace) projections() [4]*kernel.Tensor {
	return [...]*kernel.Tensor{&t.Q, &t.K, &t.V, &t.Heads}
}

// Forward is [MultiHead.Attend] and keeps what [MultiHead.Backward] needs: trace is overwritten.
// The options are those with which gradients are known, and Accumulate is not used. out has the
// bits of Attend.
//
// All tokens, of query, key, value and trace, lie at equal distances, as in kernel.BLHD(data, b, l,
// 1, width). The trace shares no memory with anything else.
//
// In the steady state a call allocates nothing. Bad input gets a [*kernel.Error]. out
// then stays untouched; the trace may hold anything.
func (m *MultiHead) Forward(out kernel.Tensor, trace MultiHeadTrace, query, key, value kernel.Tensor, opts *kernel.BackwardOptions) error {
	settings := valueOf(opts)
	c := multiHeadCall{
		MultiHead: m, function: "layer.MultiHead.Forward", out: out, inputs: [3]kernel.Tensor{query, key, value}, keeps: true, trace: trace,
		opts: kernel.Options{Exec: settings.Exec, Scoring: settings.Scoring, Outputs: kernel.Outputs{LSE: trace.LSE}},
	}
	if bad := c.checkForward(); bad != nil {
		return (*kernel.Error)(rename(bad, "Options.LSE", lseName).In(c.function))
	}
	s := getScratch()
	defer s.release()
	return renameArgument(c.run(s), "Options.LSE", c.function, lseName)
}

// checkForward reports the first argument of Forward that does not fit.
func (c *multiHeadCall) checkForward() *check.Failure {
	if f := scoringOf(&c.opts.Scoring).Used().CheckTaken(scoring.Gradients); f != nil {
		return f
	}
	if !viewOf(&c.trace.LSE).IsSet() {
		return &check.Failure{Where: lseName, Got: "none", Want: "memory for [B, Heads, Lq, 1]"}
	}
	if bad := c.check(); bad != nil {
		return bad
	}
	if bad := c.checkTrace(); bad != nil {
		return bad
	}
	var f footprint
	for i, t := range c.trace.projections() {
		if c.uses(i) {
			if bad := viewOf(t).CheckDistinct(traceNames[i]); bad != nil {
				return bad
			}
			f.output(traceNames[i], viewOf(t).Memory())
		}
	}
	f.add("out", viewOf(&c.out).Memory())
	f.add(lseName, viewOf(&c.trace.LSE).Memory())
	f.inputInputs(c)
	f.inputScoring(&c.opts.Scoring)
	return f.check()
}

// inputInputs lists query, key and value.
func (f *footprint) inputInputs(c *multiHeadCall) {
	for i := range c.inputs {
		f.add(inputNames[i], viewOf(&c.inputs[i]).Memory())
	}
}

// uses tells whether tensor i of a trace is used.
func (m *MultiHead) uses(i int) bool { return [...]*linear.Linear{m.Q, m.K, m.V, m.O}[i] != nil }

// checkTrace reports tokens that do not lie at equal distances, or a trace that does not fit the
// call, which checkInputs has accepted.
func (c *multiHeadCall) checkTrace() *check.Failure {
	for i := range c.inputs {
		if bad := checkTokens(inputNames[i], &c.inputs[i]); bad != nil {
			return bad
		}
	}
	widths := [...]int{c.width(0), c.width(1), c.width(2), c.Heads * c.dv}
	like := [...]int{0, 1, 2, 0}
	for i, t := range c.trace.projections() {
		if !c.uses(i) {
			continue
		}
		if bad := c.checkLike(traceNames[i], t, like[i], widths[i]); bad != nil {
			return bad
		}
	}
	return nil
}

// checkLike reports a tensor that has not the tokens of input i, in this width.
func (c *multiHeadCall) checkLike(arg string, t *kernel.Tensor, i, width int) *check.Failure {
	if bad := viewOf(t).CheckLike(arg, viewOf(&c.inputs[i]), inputNames[i], width); bad != nil {
		return bad
	}
	return checkTokens(arg, t)
}

// checkTokens reports tokens that do not lie at equal distances.
func checkTokens(arg string, t *kernel.Tensor) *check.Failure {
	if _, ok := tokenStride(t); !ok {
		return tensorFailure(arg, t, "tokens at equal distances, as kernel.BLHD(data, b, l, 1, width) has them")
	}
	return nil
}

// tokenStride returns the distance between the tokens of a valid tensor [B, 1, L, width]. ok is
// false if they have no common one.
func tokenStride(t *kernel.Tensor) (stride int, ok bool) {
	all := viewOf(t).Joined()
	batch, length, strides := all.Dim(0), all.Dim(2), all.Strides()
	if length <= 1 && batch > 1 {
		return strides[0], true
	}
	return strides[2], batch <= 1 || length == 0 || strides[0] == product(length, strides[2])
}

// tokenMatrix returns the tokens of a tensor that checkTokens has accepted, batch row by batch row.
func tokenMatrix(t *kernel.Tensor) linear.Matrix {
	stride, _ := tokenStride(t)
	all := viewOf(t).Joined()
	return linear.StridedMatrix(all.F32(), product(all.Dim(0), all.Dim(2)), all.Dim(3), stride, 1)
}

// inputTrace lists the tensors of a trace that are used.
func (f *footprint) inputTrace(c *multiHeadCall) {
	for i, t := range c.trace.projections() {
		if c.uses(i) {
			f.add(traceNames[i], viewOf(t).Memory())
		}
	}
	f.add(lseName, viewOf(&c.trace.LSE).Memory())
}
