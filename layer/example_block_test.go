package layer_test

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
)

// The blocks of "Attention Is All You Need" (Vaswani et al.), with few and small
// numbers. PyTorch's nn.TransformerEncoderLayer and nn.TransformerDecoderLayer give the
// same results with these weights.

const (
	width  = 4 // numbers of a token
	heads  = 2
	hidden = 8 // units between the layers of feedForward
)

// An encoder is one block of an encoder: self-attention, then a feed-forward network.
type encoder struct {
	self     *layer.MultiHead
	up, down *linear.Linear
}

func (e *encoder) run(x []float32, tokens int, mask kernel.Mask) error {
	view := kernel.BLHD(x, 1, tokens, 1, width)
	if err := attend(x, e.self, view, view, mask); err != nil {
		return err
	}
	return feedForward(x, e.up, e.down)
}

// A decoder is one block of a decoder: self-attention without looking ahead,
// cross-attention to the output of the encoder, then a feed-forward network.
type decoder struct {
	self, cross *layer.MultiHead
	up, down    *linear.Linear
}

func (d *decoder) run(x []float32, tokens int, memory kernel.Tensor, padding kernel.Mask) error {
	view := kernel.BLHD(x, 1, tokens, 1, width)
	if err := attend(x, d.self, view, view, kernel.Causal(0)); err != nil {
		return err
	}
	if err := attend(x, d.cross, view, memory, padding); err != nil {
		return err
	}
	return feedForward(x, d.up, d.down)
}

// attend sets x = norm(x + m(x, memory)). query is a view of x.
func attend(x []float32, m *layer.MultiHead, query, memory kernel.Tensor, mask kernel.Mask) error {
	y := make([]float32, len(x))
	if err := m.Attend(kernel.BLHD(y, 1, len(x)/width, 1, width), query, memory, memory, &kernel.Options{Scoring: kernel.Scoring{Mask: mask}}); err != nil {
		return err
	}
	addNormalised(x, y)
	return nil
}

// feedForward sets x = norm(x + down(ReLU(up(x)))).
func feedForward(x []float32, up, down *linear.Linear) error {
	tokens := len(x) / width
	h, y := make([]float32, tokens*hidden), make([]float32, len(x))
	if err := up.Apply(linear.DenseMatrix(h, tokens, hidden), linear.DenseMatrix(x, tokens, width), linear.Options{}); err != nil {
		return err
	}
	for i := range h {
		h[i] = max(h[i], 0)
	}
	if err := down.Apply(linear.DenseMatrix(y, tokens, width), linear.DenseMatrix(h, tokens, hidden), linear.Options{}); err != nil {
		return err
	}
	addNormalised(x, y)
	return nil
}

// addNormalised sets x = norm(x + y), in which every token has mean 0 and variance 1.
func addNormalised(x, y []float32) {
	for ; len(x) > 0; x, y = x[width:], y[width:] {
		mean, variance := 0.0, 0.0
		for i := range width {
			x[i] += y[i]
			mean += float64(x[i]) / width
		}
		for _, e := range x[:width] {
			variance += (float64(e) - mean) * (float64(e) - mean) / width
		}
		for i := range width {
			x[i] = float32((float64(x[i]) - mean) / math.Sqrt(variance+1e-5))
		}
	}
}

// numbers returns n weights that another program can easily make too.
func numbers(n, seed int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32((seed+i*37)%19-9) / 16
	}
	return s
}

// attention returns a module made of weights in PyTorch's layout.
func attention(seed int) *layer.MultiHead {
	m, err := layer.FromTorch(width, heads, layer.TorchWeights{
		InProjWeight: numbers(3*width*width, seed), InProjBias: numbers(3*width, seed+1),
		OutProjWeight: numbers(width*width, seed+2), OutProjBias: numbers(width, seed+3),
	}, kernel.Exec{})
	if err != nil {
		panic(err)
	}
	return m
}

// newLinear returns a linear layer.
func newLinear(outputs, inputs, seed int) *linear.Linear {
	l, err := linear.New(linear.DenseMatrix(numbers(outputs*inputs, seed), outputs, inputs), numbers(outputs, seed+1), kernel.Exec{})
	if err != nil {
		panic(err)
	}
	return l
}

// show prints one token per line.
func show(x []float32) {
	for ; len(x) > 0; x = x[width:] {
		fmt.Printf("%.4f\n", x[:width])
	}
}

// A block of an encoder transforms three tokens, the last of which is padding.
func ExampleMultiHead_encoder() {
	const tokens = 3
	e := encoder{attention(1), newLinear(hidden, width, 5), newLinear(width, hidden, 7)}
	x := numbers(tokens*width, 4)
	err := e.run(x, tokens, layer.PaddingMask([]int{0, 0, 1}, 1))
	fmt.Println(err)
	show(x[:2*width])

	// Output:
	// <nil>
	// [-0.9558 1.6349 -0.0371 -0.6420]
	// [-1.6026 1.1278 0.0842 0.3906]
}

// A block of a decoder transforms two tokens, which attend to three tokens of an
// encoder. The first token's result does not depend on the second.
func ExampleMultiHead_decoder() {
	const tokens = 2
	d := decoder{attention(1), attention(9), newLinear(hidden, width, 5), newLinear(width, hidden, 7)}
	memory := kernel.BLHD(numbers(3*width, 4), 1, 3, 1, width)
	x := numbers(tokens*width, 6)
	err := d.run(x, tokens, memory, layer.PaddingMask([]int{0, 0, 1}, 1))
	fmt.Println(err)
	show(x)

	// Output:
	// <nil>
	// [-0.8010 1.5013 0.3053 -1.0056]
	// [-1.1844 0.5653 -0.7118 1.3308]
}
