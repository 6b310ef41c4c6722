package hostile

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/optimize"
	"github.com/attn-go/attn/recurrent"
	"github.com/attn-go/attn/retrieval"
	"github.com/attn-go/attn/rope"
)

// A place holds the arguments of a call far from each other, but for one output, whose first
// element is another argument's last one.
type place struct {
	memory    []float32
	lengths   []int // of the arguments so far
	outputs   []int // the outputs among them
	from, to  int   // argument from starts where argument to ends; -1 if none does
	toLengths []int // of the arguments when none overlapped
}

// Arguments have at most slotSize/2 elements.
const slotSize = 1024

func (p *place) in(n int) []float32 {
	x := len(p.lengths)
	p.lengths = append(p.lengths, n)
	at := x * slotSize
	if x == p.from {
		at = p.to*slotSize + p.toLengths[p.to] - 1
	}
	return p.memory[at : at+n : at+n]
}

func (p *place) out(n int) []float32 {
	p.outputs = append(p.outputs, len(p.lengths))
	return p.in(n)
}

func (p *place) tensor(b, h, l, d int) kernel.Tensor { return kernel.BHLD(p.in(b*h*l*d), b, h, l, d) }

func (p *place) output(b, h, l, d int) kernel.Tensor { return kernel.BHLD(p.out(b*h*l*d), b, h, l, d) }

// quantized is int8 whose scales lie in p.
func (p *place) quantized(b, h, l, d int) kernel.Tensor {
	s := p.tensor(b, h, l, 1)
	return kernel.BHLD(make([]int8, b*h*l*d), b, h, l, d).Scaled(&s)
}

// options have all outputs and inputs for 2 batch rows, some heads, 3 queries and 7 keys.
func (p *place) options(heads int) *kernel.Options {
	o := p.inputs(heads)
	o.Sinks, o.LSE, o.Weights, o.Scores = p.in(heads), p.output(2, heads, 3, 1), p.output(2, heads, 3, 7), p.output(2, heads, 3, 7)
	return &o
}

func (p *place) inputs(heads int) kernel.Options {
	return kernel.Options{Scoring: kernel.Scoring{Bias: p.tensor(1, heads, 3, 7), ALiBi: p.in(heads)}}
}

// backwardOptions have all inputs of gradients.
func (p *place) backwardOptions(heads int) *kernel.BackwardOptions {
	o := contracttest.BackwardOptions(p.inputs(heads))
	o.Sinks = p.in(heads)
	return o
}

func (p *place) partials(x func(n int) []float32) kernel.Partials {
	return kernel.Partials{Blocks: 1, Batch: 2, Heads: 4, Queries: 3, HeadSize: 5, Max: x(24), Sum: x(24), Out: x(120)}
}

func (p *place) linear(outputs, inputs int) *linear.Linear {
	return must(linear.New(linear.DenseMatrix(floats(outputs*inputs), outputs, inputs), nil, kernel.Exec{}))
}

func (p *place) attend(s layer.Similarity) error {
	return s.Attend(p.output(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.options(4))
}

// gradients are the gradients of attend.
func (p *place) gradients() kernel.Gradients {
	return kernel.Gradients{Q: p.output(2, 4, 3, 6), K: p.output(2, 2, 7, 6), V: p.output(2, 2, 7, 5), Bias: p.output(1, 4, 3, 7), Sinks: p.out(4)}
}

func (p *place) backward(s layer.Differentiable) error {
	return s.Backward(p.gradients(), p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.tensor(2, 4, 3, 1), p.backwardOptions(4))
}

// writers are all functions that write to memory of the caller's.
var writers = []struct {
	name string
	call func(p *place) error
}{
	{"kernel.Attention", func(p *place) error {
		return kernel.Attention(p.output(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.options(4))
	}},
	{"kernel.AttentionBackward", func(p *place) error {
		return kernel.AttentionBackward(p.gradients(), p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.tensor(2, 4, 3, 1), p.backwardOptions(4))
	}},
	{"kernel.Attention of int8", func(p *place) error {
		return kernel.Attention(p.output(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.quantized(2, 2, 7, 6), p.quantized(2, 2, 7, 5), p.options(4))
	}},
	{"numeric.AddSlice", func(p *place) error { return numeric.AddSlice(p.out(7), p.in(7), p.in(7), kernel.Exec{}) }},
	{"recurrent.Layer.Apply", func(p *place) error {
		d := recurrent.Layer{Heads: 1, KeyHeads: 1, KeySize: 6, ValueSize: 5} // whose states are small after whole chunks
		x := recurrent.Text{Q: p.tensor(1, 1, 64, 6), K: p.tensor(1, 1, 64, 6), V: p.tensor(1, 1, 64, 5), Decay: p.in(64), Gate: p.in(64), Position: 64, Before: p.in(d.StateSize(64)), After: p.out(d.StateSize(128))}
		return d.Apply(p.output(1, 1, 64, 5), x, kernel.Exec{})
	}},
	{"retrieval.MaxSim", func(p *place) error {
		return retrieval.MaxSim(p.out(2), p.tensor(1, 1, 3, 5), p.tensor(2, 1, 4, 5), kernel.Exec{})
	}},
	{"norm.RMSNorm", func(p *place) error {
		return norm.RMSNorm(p.output(2, 2, 3, 5), p.tensor(2, 2, 3, 5), p.in(5), 1e-5, norm.Options{})
	}},
	{"norm.LayerNorm", func(p *place) error {
		return norm.LayerNorm(p.output(2, 2, 3, 5), p.tensor(2, 2, 3, 5), p.in(5), p.in(5), 1e-5, norm.Options{Residual: p.tensor(2, 2, 3, 5), Sum: p.output(2, 2, 3, 5)})
	}},
	{"norm.LayerNormBackward", func(p *place) error {
		g := norm.Gradients{X: p.output(2, 2, 3, 5), Weight: p.out(5), Bias: p.out(5)}
		return norm.LayerNormBackward(g, p.tensor(2, 2, 3, 5), p.tensor(2, 2, 3, 5), p.in(5), 1e-5, norm.BackwardOptions{Direct: p.tensor(2, 2, 3, 5)})
	}},
	{"kernel.Additive", func(p *place) error {
		return kernel.Additive(p.output(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.in(6), p.options(4))
	}},
	{"kernel.AdditiveBackward", func(p *place) error {
		g := kernel.AdditiveGradients{Q: p.output(2, 4, 3, 6), K: p.output(2, 2, 7, 6), V: p.output(2, 2, 7, 5), Weights: p.out(6)}
		return kernel.AdditiveBackward(g, p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.tensor(2, 4, 3, 7), p.in(6), kernel.AdditiveBackwardOptions{})
	}},
	{"kernel.AttentionPartials", func(p *place) error {
		d := p.partials(p.out)
		return kernel.AttentionPartials(&d, p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), contracttest.PartialOptions(p.inputs(4)))
	}},
	{"kernel.AccumulatePartials", func(p *place) error {
		d := p.partials(p.out)
		return kernel.AccumulatePartials(&d, p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), contracttest.PartialOptions(p.inputs(4)))
	}},
	{"kernel.MergeInto", func(p *place) error {
		d := p.partials(p.out)
		return kernel.MergeInto(&d, []kernel.Partials{p.partials(p.in), p.partials(p.in)}, kernel.Exec{})
	}},
	{"kernel.MergePartials", func(p *place) error {
		return kernel.MergePartials(p.output(2, 4, 3, 5), []kernel.Partials{p.partials(p.in), p.partials(p.in)}, kernel.MergeOptions{Sinks: p.in(4), LSE: p.output(2, 4, 3, 1)})
	}},
	{"layer.Dot", func(p *place) error { return p.attend(layer.Dot{}) }},
	{"layer.ScaledDot", func(p *place) error { return p.attend(layer.ScaledDot{}) }},
	{"layer.Cosine", func(p *place) error { return p.attend(layer.Cosine{}) }},
	{"layer.Func", func(p *place) error { return p.attend(layer.Func(product)) }},
	{"layer.General", func(p *place) error { return p.attend(layer.General{Query: p.linear(6, 6)}) }},
	{"layer.Additive", func(p *place) error {
		return p.attend(layer.Additive{Query: p.linear(8, 6), Key: p.linear(8, 6), V: p.in(8)})
	}},
	{"layer.Additive of projected keys", func(p *place) error { return p.attend(layer.Additive{Query: p.linear(6, 6), V: p.in(6)}) }},
	{"layer.MultiHead", func(p *place) error {
		m := layer.MultiHead{Heads: 2, Q: p.linear(8, 8), K: p.linear(8, 4), V: p.linear(6, 4), O: p.linear(8, 6)}
		return m.Attend(p.output(2, 1, 3, 8), p.tensor(2, 1, 3, 8), p.tensor(2, 1, 7, 4), p.tensor(2, 1, 7, 4), p.options(2))
	}},
	{"layer.MultiHead.Forward", func(p *place) error {
		m := layer.MultiHead{Heads: 2, Q: p.linear(8, 8), K: p.linear(8, 4), V: p.linear(6, 4), O: p.linear(8, 6)}
		trace := layer.MultiHeadTrace{Q: p.output(2, 1, 3, 8), K: p.output(2, 1, 7, 8), V: p.output(2, 1, 7, 6), Heads: p.output(2, 1, 3, 6), LSE: p.output(2, 2, 3, 1)}
		return m.Forward(p.output(2, 1, 3, 8), trace, p.tensor(2, 1, 3, 8), p.tensor(2, 1, 7, 4), p.tensor(2, 1, 7, 4), p.backwardOptions(2))
	}},
	{"layer.MultiHead.Backward", func(p *place) error {
		m := layer.MultiHead{Heads: 2, Q: p.linear(8, 8), K: p.linear(8, 4), V: p.linear(6, 4), O: p.linear(8, 6)}
		trace := layer.MultiHeadTrace{Q: p.tensor(2, 1, 3, 8), K: p.tensor(2, 1, 7, 8), V: p.tensor(2, 1, 7, 6), Heads: p.tensor(2, 1, 3, 6), LSE: p.tensor(2, 2, 3, 1)}
		g := layer.MultiHeadGradients{Query: p.output(2, 1, 3, 8), Key: p.output(2, 1, 7, 4), Value: p.output(2, 1, 7, 4), Bias: p.output(1, 2, 3, 7), Sinks: p.out(2)}
		g.Q, g.K = layer.Parameters{Weight: p.out(64), Bias: p.out(8)}, layer.Parameters{Weight: p.out(32), Bias: p.out(8)}
		g.V, g.O = layer.Parameters{Weight: p.out(24), Bias: p.out(6)}, layer.Parameters{Weight: p.out(48), Bias: p.out(8)}
		weights := layer.MultiHeadWeights{Q: p.in(64), K: p.in(32), V: p.in(24), O: p.in(48)}
		return m.Backward(g, p.tensor(2, 1, 3, 8), p.tensor(2, 1, 3, 8), p.tensor(2, 1, 7, 4), p.tensor(2, 1, 7, 4), trace, weights, p.backwardOptions(2))
	}},
	{"layer.Dot.Backward", func(p *place) error { return p.backward(layer.Dot{}) }},
	{"layer.ScaledDot.Backward", func(p *place) error { return p.backward(layer.ScaledDot{}) }},
	{"layer.Cosine.Backward", func(p *place) error { return p.backward(layer.Cosine{}) }},
	{"layer.General.Backward", func(p *place) error {
		g := layer.GeneralGradients{Gradients: p.gradients(), W: p.out(36)}
		return layer.General{Query: p.linear(6, 6)}.Backward(g, p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.tensor(2, 4, 3, 1), p.in(36), p.backwardOptions(4))
	}},
	{"layer.Additive.Backward", func(p *place) error {
		parameters := func() layer.Parameters { return layer.Parameters{Weight: p.out(48), Bias: p.out(8)} }
		g := layer.AdditiveGradients{Q: p.output(2, 4, 3, 6), K: p.output(2, 2, 7, 6), V: p.output(2, 2, 7, 5), Query: parameters(), Key: parameters(), Scoring: p.out(8)}
		a := layer.Additive{Query: p.linear(8, 6), Key: p.linear(8, 6), V: p.in(8)}
		return a.Backward(g, p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), p.tensor(2, 2, 7, 5), p.tensor(2, 4, 3, 7), layer.AdditiveWeights{Query: p.in(48), Key: p.in(48)}, kernel.AdditiveBackwardOptions{})
	}},
	{"layer.MultiHead without projections", func(p *place) error {
		m := layer.MultiHead{Heads: 2, Similarity: layer.Cosine{}}
		return m.Attend(p.output(2, 1, 3, 8), p.tensor(2, 1, 3, 8), p.tensor(2, 1, 7, 8), p.tensor(2, 1, 7, 8), p.options(2))
	}},
	{"layer.Scores", func(p *place) error {
		return layer.Scores(p.output(2, 4, 3, 7), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), layer.Dot{}, &layer.ScoreOptions{Scoring: kernel.Scoring{Bias: p.tensor(1, 4, 3, 7), ALiBi: p.in(4)}})
	}},
	{"layer.Scores of Cosine", func(p *place) error {
		return layer.Scores(p.output(2, 4, 3, 7), p.tensor(2, 4, 3, 6), p.tensor(2, 2, 7, 6), layer.Cosine{}, &layer.ScoreOptions{Scoring: kernel.Scoring{Bias: p.tensor(1, 4, 3, 7), ALiBi: p.in(4)}})
	}},
	{"layer.WeightedSum", func(p *place) error {
		return layer.WeightedSum(p.output(2, 4, 3, 5), p.tensor(2, 4, 3, 7), p.tensor(2, 2, 7, 5), kernel.Exec{})
	}},
	{"layer.WeightedSumBackward", func(p *place) error {
		g := layer.WeightedSumGradients{Weights: p.output(2, 4, 3, 7), V: p.output(2, 2, 7, 5)}
		return layer.WeightedSumBackward(g, p.tensor(2, 4, 3, 5), p.tensor(2, 4, 3, 7), p.tensor(2, 2, 7, 5), kernel.Exec{})
	}},
	{"layer.Softmax", func(p *place) error { return layer.Softmax(p.out(12), p.in(12), 4, nil, kernel.Exec{}) }},
	{"layer.SoftmaxBackward", func(p *place) error { return layer.SoftmaxBackward(p.out(12), p.in(12), p.in(12), 4, kernel.Exec{}) }},
	{"linear.Linear.Apply", func(p *place) error {
		return p.linear(5, 3).Apply(linear.DenseMatrix(p.out(20), 4, 5), linear.DenseMatrix(p.in(12), 4, 3), linear.Options{})
	}},
	{"linear.Chain", func(p *place) error {
		return linear.Chain(linear.DenseMatrix(p.out(12), 4, 3), linear.DenseMatrix(p.in(12), 4, 3), p.linear(3, 3), p.linear(3, 3), linear.Options{})
	}},
	{"linear.Product", func(p *place) error {
		return linear.Product(linear.DenseMatrix(p.out(20), 4, 5), linear.DenseMatrix(p.in(12), 4, 3), linear.DenseMatrix(p.in(15), 5, 3), linear.ProductOptions{})
	}},
	{"linear.Backward", func(p *place) error {
		g := linear.Gradients{X: linear.DenseMatrix(p.out(12), 4, 3), W: linear.DenseMatrix(p.out(15), 5, 3), Bias: p.out(5)}
		return linear.Backward(g, linear.DenseMatrix(p.in(20), 4, 5), linear.DenseMatrix(p.in(12), 4, 3), linear.DenseMatrix(p.in(15), 5, 3), linear.ProductOptions{})
	}},
	{"linear.AddRows", func(p *place) error {
		return linear.AddRows(linear.DenseMatrix(p.out(15), 5, 3), linear.DenseMatrix(p.in(12), 4, 3), []int32{0, 4, 2, 4}, kernel.Exec{})
	}},
	{"linear.Linear.Project", func(p *place) error {
		return p.linear(5, 3).Project(p.output(2, 2, 3, 5), p.tensor(2, 2, 3, 3), linear.Options{})
	}},
	{"activation.SiLU", func(p *place) error { return activation.SiLU(p.out(9), p.in(9), kernel.Exec{}) }},
	{"activation.GELU", func(p *place) error { return activation.GELU(p.out(9), p.in(9), kernel.Exec{}) }},
	{"activation.GELUTanh", func(p *place) error { return activation.GELUTanh(p.out(9), p.in(9), kernel.Exec{}) }},
	{"activation.SwiGLU", func(p *place) error { return activation.SwiGLU(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.GeGLU", func(p *place) error { return activation.GeGLU(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.GeGLUTanh", func(p *place) error { return activation.GeGLUTanh(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.SiLUBackward", func(p *place) error { return activation.SiLUBackward(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.GELUBackward", func(p *place) error { return activation.GELUBackward(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.GELUTanhBackward", func(p *place) error { return activation.GELUTanhBackward(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.SwiGLUBackward", func(p *place) error {
		return activation.SwiGLUBackward(p.out(9), p.out(9), p.in(9), p.in(9), p.in(9), kernel.Exec{})
	}},
	{"activation.GeGLUBackward", func(p *place) error {
		return activation.GeGLUBackward(p.out(9), p.out(9), p.in(9), p.in(9), p.in(9), kernel.Exec{})
	}},
	{"activation.GeGLUTanhBackward", func(p *place) error {
		return activation.GeGLUTanhBackward(p.out(9), p.out(9), p.in(9), p.in(9), p.in(9), kernel.Exec{})
	}},
	{"activation.TanhBackward", func(p *place) error { return activation.TanhBackward(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.SigmoidBackward", func(p *place) error { return activation.SigmoidBackward(p.out(9), p.in(9), p.in(9), kernel.Exec{}) }},
	{"activation.GRU", func(p *place) error { return activation.GRU(p.out(6), p.out(18), p.in(18), p.in(18), 3, kernel.Exec{}) }},
	{"activation.GRUBackward", func(p *place) error {
		return activation.GRUBackward(p.out(6), p.out(18), p.out(18), p.in(18), p.in(18), p.in(6), 3, kernel.Exec{})
	}},
	{"loss.CrossEntropy", func(p *place) error {
		_, err := loss.CrossEntropy(p.out(12), p.in(12), 4, []int32{1, 0, 3}, kernel.Exec{})
		return err
	}},
	{"optimize.AdamW.Step", func(p *place) error {
		a := optimize.AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}
		return a.Step(p.out(9), p.in(9), p.out(9), p.out(9), 3, kernel.Exec{})
	}},
	{"optimize.ClipNorm", func(p *place) error {
		_, err := optimize.ClipNorm(1, [][]float32{p.out(9), p.out(9)}, kernel.Exec{})
		return err
	}},
	{"numeric.Exp2Slice", func(p *place) error { return numeric.Exp2Slice(p.out(9), p.in(9), kernel.Exec{}) }},
	{"numeric.TanhSlice", func(p *place) error { return numeric.TanhSlice(p.out(9), p.in(9), kernel.Exec{}) }},
	{"numeric.QuantizeInt4", func(p *place) error {
		return numeric.QuantizeInt4(make([]kernel.Int4x2, 6), p.out(3), p.in(12), 4, kernel.Exec{})
	}},
	{"numeric.QuantizeInt8", func(p *place) error {
		return numeric.QuantizeInt8(make([]int8, 12), p.out(3), p.in(12), 4, kernel.Exec{})
	}},
	{"rope.Rope.CosSin", func(p *place) error { return must(rope.New(rope.Config{Dims: 8})).CosSin(3, p.out(4), p.out(4)) }},
	{"kvcache.Batch.Store", func(p *place) error {
		keys, values := p.output(2, 2, 3, 4), p.output(2, 2, 3, 5)
		return p.store([]kernel.Tensor{keys}, []kernel.Tensor{values}, p.tensor(2, 2, 3, 4), p.tensor(2, 2, 3, 5))
	}},
	{"kvcache.Batch.Store to int8", func(p *place) error {
		scales := [...]kernel.Tensor{p.output(2, 2, 3, 1), p.output(2, 2, 3, 1)}
		keys, values := kernel.BHLD(make([]int8, 48), 2, 2, 3, 4).Scaled(&scales[0]), kernel.BHLD(make([]int8, 60), 2, 2, 3, 5).Scaled(&scales[1])
		return p.store([]kernel.Tensor{keys}, []kernel.Tensor{values}, p.tensor(2, 2, 3, 4), p.tensor(2, 2, 3, 5))
	}},
}

// store stores three tokens of two sequences, which take the two pages of a cache over this
// memory. That the memory of a cache is its own is not checked, see kvcache.NewWithMemory.
func (p *place) store(keys, values []kernel.Tensor, k, v kernel.Tensor) error {
	if slices.Contains(p.outputs, p.from) && slices.Contains(p.outputs, p.to) {
		return errNotChecked
	}
	c := must(kvcache.NewWithMemory(keys, values, 0))
	b := must(c.NewBatch(c.NewSequence(), c.NewSequence()))
	must(0, b.Extend(3))
	return b.Store(0, k, v)
}

var errNotChecked = errors.New("not checked")

// TestOverlap: an output that shares a single element with any other argument is an error,
// and nothing is written.
func TestOverlap(t *testing.T) {
	for _, writer := range writers {
		apart := place{memory: floats(36 * slotSize), from: -1}
		if err := writer.call(&apart); err != nil {
			t.Errorf("%s: %v", writer.name, err)
			continue
		}
		pristine := floats(len(apart.memory))
		n, checked := len(apart.lengths), 0
		for from := range n {
			for to := range n {
				if from == to || !slices.Contains(apart.outputs, from) && !slices.Contains(apart.outputs, to) {
					continue
				}
				p := place{memory: slices.Clone(pristine), from: from, to: to, toLengths: apart.lengths}
				err := writer.call(&p)
				if err == errNotChecked {
					continue
				}
				checked++
				what := fmt.Sprintf("%s: argument %d over the end of %d of %v floats", writer.name, from, to, apart.lengths)
				var bad *kernel.Error
				if !errors.As(err, &bad) {
					t.Errorf("%s: error %v, want one about the memory", what, err)
				} else if !slices.Equal(p.memory, pristine) {
					t.Errorf("%s: has written before the error %v", what, err)
				}
			}
		}
		if checked == 0 {
			t.Errorf("%s: no two arguments were made to overlap", writer.name)
		}
	}
}
