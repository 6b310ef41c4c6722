package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

// check reports the first argument of AttentionBackward that does not fit. It reads no
// element of a tensor (but lengths and ids) and writes nothing.
func (c *backwardViews) check(o *Options) *check.Failure {
	names := [...]string{"q", "k", "v", "dout"}
	for i, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out} {
		if f := t.Check(names[i]); f != nil {
			return f
		}
		if !t.IsFloat() {
			return &check.Failure{Arg: names[i], Got: t.Describe(), Want: view.WantFloat}
		}
	}
	if f := c.checkShapes("dout"); f != nil {
		return f
	}
	s := c.scores()
	if f := c.checkSettings(o, &s); f != nil {
		return f
	}
	if o.Score != nil {
		return &check.Failure{Arg: "Options.Score", Got: "a function", Want: "nil: its derivative is unknown"}
	}
	if f := c.checkLSE(&s); f != nil {
		return f
	}
	return c.checkGradients(o)
}

func (c *backwardViews) checkLSE(s *view.Scores) *check.Failure {
	const arg = "Options.LSE"
	if want := [4]int{s.Batch, s.Heads, s.Queries, 1}; !c.lse.IsSet() || c.lse.Shape() != want || c.lse.DType() != view.Float32 {
		got := "none"
		if c.lse.IsSet() {
			got = c.lse.Describe()
		}
		return &check.Failure{Arg: arg, Got: got, Want: fmt.Sprintf("the float32 %v that Attention has written", want)}
	}
	if f := c.lse.Check(arg); f != nil {
		return f
	}
	return c.lse.CheckLengths(arg, c.q, "q")
}

// checkGradients reports an output that does not fit the call or that shares memory with
// anything else.
func (c *backwardViews) checkGradients(o *Options) *check.Failure {
	g := c.grads
	outputs := [...]struct {
		arg   string
		t     *view.Tensor
		of    string
		like  *view.Tensor
		plain bool
	}{
		{"Gradients.Q", g.Q.view(), "q", c.q, false},
		{"Gradients.K", g.K.view(), "k", c.k, false},
		{"Gradients.V", g.V.view(), "v", c.v, false},
		{"Gradients.Bias", g.Bias.view(), biasArg, o.Bias.view(), true},
	}
	var written [len(outputs) + 1]view.Memory
	for i, x := range outputs {
		if !x.t.IsSet() {
			continue
		}
		if !x.like.IsSet() || x.t.Shape() != x.like.Shape() || x.t.DType() != view.Float32 {
			return &check.Failure{Arg: x.arg, Got: x.t.Describe(), Want: wantedGradient(x.of, x.like)}
		}
		if f := x.t.Check(x.arg); f != nil {
			return f
		}
		if !x.t.IsFloat() || x.plain && !x.t.IsPlain() {
			return &check.Failure{Arg: x.arg, Got: x.t.Describe(), Want: wantedGradient(x.of, x.like)}
		}
		if f := x.t.CheckWritable(x.arg); f != nil {
			return f
		}
		if !x.plain {
			if f := x.t.CheckLengths(x.arg, x.like, x.of); f != nil {
				return f
			}
		}
		written[i] = x.t.Memory()
		if f := c.checkShared(x.arg, written[i], o, written[:i]); f != nil {
			return f
		}
	}
	return c.checkSinks(o, written[:len(outputs)])
}

func wantedGradient(of string, like *view.Tensor) string {
	if !like.IsSet() {
		return "none, as there is no " + of
	}
	return fmt.Sprintf("float32, in the shape of %s, %v", of, like.Shape())
}

func (c *backwardViews) checkSinks(o *Options, others []view.Memory) *check.Failure {
	const arg = "Gradients.Sinks"
	if c.grads.Sinks == nil {
		return nil
	}
	if len(c.grads.Sinks) != len(o.Sinks) {
		return &check.Failure{Arg: arg, Got: fmt.Sprintf("%d numbers", len(c.grads.Sinks)), Want: fmt.Sprintf("as many as Options.Sinks has: %d", len(o.Sinks))}
	}
	return c.checkShared(arg, view.MemoryOf(c.grads.Sinks), o, others)
}

// checkShared reports a gradient whose memory an input or another gradient shares.
func (c *backwardViews) checkShared(arg string, written view.Memory, o *Options, others []view.Memory) *check.Failure {
	if f := c.checkOverlap(arg, written, o, others); f != nil {
		return f
	}
	names := [...]string{"dout", "Options.LSE"}
	for i, in := range [...]*view.Tensor{c.out, c.lse} {
		if written.Overlaps(in.Memory()) {
			return &check.Failure{Arg: arg, Got: "memory that overlaps " + names[i], Want: "a range of memory of its own"}
		}
	}
	return nil
}
