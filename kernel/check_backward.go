package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/backward"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
)

// check reports the first argument of AttentionBackward that does not fit. It reads no
// element of a tensor (but lengths and ids) and writes nothing.
func (c *backwardCall) check() *check.Failure {
	names := [...]string{"q", "k", "v", "dout"}
	for i, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out} {
		if f := t.Check(names[i]); f != nil {
			return f
		}
		if !t.IsFloat() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: view.WantFloat}
		}
	}
	if f := c.checkShapes("dout"); f != nil {
		return f
	}
	return cmp.Or(c.checkOptions(), c.checkLSE(), c.checkGradients())
}

func (c *backwardCall) checkLSE() *check.Failure {
	const arg = "lse"
	s := &c.scores
	if want := [4]int{s.Batch, s.Heads, s.Queries, 1}; !c.lse.IsSet() || c.lse.Shape() != want || c.lse.DType() != view.Float32 {
		got := "none"
		if c.lse.IsSet() {
			got = c.lse.Describe()
		}
		return &check.Failure{Where: arg, Got: got, Want: fmt.Sprintf("the float32 %v that Attention has written", want)}
	}
	if f := c.lse.Check(arg); f != nil {
		return f
	}
	return c.lse.CheckLengths(arg, c.q, "q")
}

// checkGradients reports an output that does not fit the call or that shares memory with
// anything else.
func (c *backwardCall) checkGradients() *check.Failure {
	// Names and tensors in one struct would make the tensors escape.
	names := [...]string{"Gradients.Q", "Gradients.K", "Gradients.V", "Gradients.Bias"}
	inputs := [...]string{"q", "k", "v", "Options.Bias"}
	like := [...]*view.Tensor{c.q, c.k, c.v, &c.scoring.Bias}
	g := c.grads
	var written [len(names)]view.Memory
	grads := [...]*view.Tensor{g.Q.view(), g.K.view(), g.V.view(), g.Bias.view()}
	for i, t := range grads {
		if !t.IsSet() {
			continue
		}
		if !like[i].IsSet() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: "none, as there is no " + inputs[i]}
		}
		if t.Shape() != like[i].Shape() || t.DType() != view.Float32 || !t.IsFloat() || like[i].IsPlain() && !t.IsPlain() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: fmt.Sprintf("float32, in the shape of %s, %v", inputs[i], like[i].Shape())}
		}
		if t.Dim(3) == 0 { // a bias for no keys
			continue
		}
		if f := t.Check(names[i]); f != nil {
			return f
		}
		if f := cmp.Or(t.CheckWritable(names[i]), t.CheckLengths(names[i], like[i], inputs[i])); f != nil {
			return f
		}
		written[i] = t.Memory()
		if f := c.checkShared(names[i], written[i], nil); f != nil {
			return f
		}
		for _, other := range grads[:i] {
			if other.IsSet() && !t.IsApartFrom(other) {
				return view.Overlap(names[i], "another output")
			}
		}
	}
	return cmp.Or(c.checkSinks(written[:]), c.checkSums())
}

// checkSums reports gradients that accumulate and whose sums, beside the outputs, do not fit the memory.
func (c *backwardCall) checkSums() *check.Failure {
	g, n := c.grads, 0
	for _, t := range [...]*view.Tensor{g.K.view(), g.V.view(), g.Bias.view()} {
		if isOwn := t == g.Bias.view() && !backward.SharesBias(t, c.q); c.accumulate && t.IsSet() && t.Dim(3) > 0 && !isOwn {
			batch, rows := t.AllRows()
			n = ints.AddSat(n, ints.MulSat(ints.MulSat(batch, rows), ints.MulSat(t.Dim(1), t.Dim(3))))
		}
	}
	if !hugepages.Fits(n, 4) {
		return &check.Failure{Where: "Options.Accumulate", Got: "true", Want: fmt.Sprintf("false: memory for the sums of the gradients, %d numbers", n), Kind: check.ErrMemory}
	}
	return nil
}

func (c *backwardCall) checkSinks(others []view.Memory) *check.Failure {
	const arg = "Gradients.Sinks"
	if c.grads.Sinks == nil {
		return nil
	}
	if len(c.grads.Sinks) != len(c.scoring.Sinks) {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d numbers", len(c.grads.Sinks)), Want: fmt.Sprintf("as many as Options.Sinks has: %d", len(c.scoring.Sinks))}
	}
	return c.checkShared(arg, view.MemoryOf(c.grads.Sinks), others)
}

// checkShared reports a gradient whose memory an input or another gradient shares.
func (c *backwardCall) checkShared(arg string, written view.Memory, others []view.Memory) *check.Failure {
	if f := c.checkOverlap(arg, written, others); f != nil {
		return f
	}
	names := [...]string{"dout", "lse"}
	for i, in := range [...]*view.Tensor{c.out, c.lse} {
		if written.Overlaps(in.Memory()) {
			return view.Overlap(arg, names[i])
		}
	}
	return nil
}
