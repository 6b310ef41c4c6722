package layer

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Parameters are the gradients of the parameters of a projection. A gradient that is nil is not
// computed.
type Parameters struct {
	Weight []float32 // [outputs, inputs], contiguous
	Bias   []float32 // [outputs]
}

// wanted tells whether a gradient is to be computed.
func (p *Parameters) wanted() bool { return p.Weight != nil || p.Bias != nil }

// parameterNames are the names of the gradients of a projection, of the projection and of its
// weights.
type parameterNames struct{ name, weight, bias, layer, weights string }

// check reports gradients that do not fit the layer.
func (p *Parameters) check(names *parameterNames, l *linear.Linear) *check.Failure {
	if l == nil {
		if p.wanted() {
			return &check.Failure{Where: names.name, Got: "memory for gradients", Want: "none, as there is no " + names.layer}
		}
		return nil
	}
	outputs, inputs := l.Shape()
	return cmp.Or(
		check.LengthOrNil(names.weight, p.Weight, outputs*inputs, "the weights [outputs, inputs] of the layer"),
		check.LengthOrNil(names.bias, p.Bias, outputs, "one for each output of the layer"),
	)
}

// weightsOf returns the weights w of the layer, [outputs, inputs].
func weightsOf(l *linear.Linear, w []float32) linear.Matrix {
	if l == nil {
		return linear.Matrix{}
	}
	outputs, inputs := l.Shape()
	return linear.DenseMatrix(w, outputs, inputs)
}

// checkWeight reports weights, called arg, that are not the layer's.
func checkWeight(arg string, w []float32, l *linear.Linear) *check.Failure {
	outputs, inputs := l.Shape()
	return check.Length(arg, len(w), outputs*inputs, "the weights [outputs, inputs] of the layer")
}

// backward computes the gradients of a projection with these weights from dy, the gradient of its
// outputs. dx, unless it is nil, gets the gradient of the inputs, or is added to. The caller has
// checked everything.
func (p *Parameters) backward(dx *linear.Matrix, dy, x, weight linear.Matrix, l *linear.Linear, accumulateX, accumulate bool, exec kernel.Exec) error {
	if dx != nil {
		if err := linear.Backward(linear.Gradients{X: *dx}, dy, linear.Matrix{}, weight, linear.ProductOptions{Exec: exec, Accumulate: accumulateX}); err != nil {
			return err
		}
	}
	g := linear.Gradients{Bias: p.Bias}
	if p.Weight != nil {
		outputs, inputs := l.Shape()
		g.W = linear.DenseMatrix(p.Weight, outputs, inputs)
	}
	return linear.Backward(g, dy, x, linear.Matrix{}, linear.ProductOptions{Exec: exec, Accumulate: accumulate})
}

// checkGradient reports a gradient that is set and does not fit the argument that it belongs to,
// which is plain.
func checkGradient(arg string, g *kernel.Tensor, likeArg string, like *kernel.Tensor) *check.Failure {
	return viewOf(g).CheckGradient(arg, viewOf(like), likeArg)
}

// A footprint lists the memory of a call: its outputs, and then its inputs.
type footprint struct {
	names      [maxArguments]string
	memory     [maxArguments]view.Memory
	n, outputs int
}

// maxArguments is the most memory that a call has: MultiHead.Backward.
const maxArguments = 32

func (f *footprint) add(name string, m view.Memory) {
	f.names[f.n], f.memory[f.n] = name, m
	f.n++
}

func (f *footprint) output(name string, m view.Memory) {
	f.add(name, m)
	f.outputs = f.n
}

// input lists a tensor with its scales.
func (f *footprint) input(name string, t *kernel.Tensor) {
	f.add(name, viewOf(t).Memory())
	if s := viewOf(t).Scales(); s != nil {
		f.add("the scales of "+name, s.Memory())
	}
}

// outputParameters lists gradients of a projection.
func (f *footprint) outputParameters(names *parameterNames, p *Parameters) {
	f.output(names.weight, view.MemoryOf(p.Weight))
	f.output(names.bias, view.MemoryOf(p.Bias))
}

// inputScoring lists the options that a call reads.
func (f *footprint) inputScoring(s *kernel.Scoring) {
	for _, x := range scoringOf(s).Inputs() {
		f.add(x.Arg, x.Memory)
	}
}

// check reports an output that shares memory with anything else.
func (f *footprint) check() *check.Failure {
	return view.CheckApart(f.outputs, f.names[:f.n], f.memory[:f.n]...)
}

// dense returns a contiguous copy of x, [B, H, L, D].
func (s *scratch) dense(x *kernel.Tensor) kernel.Tensor {
	y := s.denseLike(x, x.Shape()[3])
	eachRow(x.Shape(), func(b, h, l int) { copy(row(&y, b, h, l), row(x, b, h, l)) })
	return y
}

// denseLike returns a contiguous tensor of any numbers with the rows of x and d columns.
func (s *scratch) denseLike(x *kernel.Tensor, d int) kernel.Tensor {
	shape := x.Shape()
	return kernel.BHLD(s.takeFloats(product(shape[0], shape[1], shape[2], d)), shape[0], shape[1], shape[2], d)
}

// gradientLike is denseLike for a gradient of the kernel, which is added to if the call
// accumulates.
func (s *scratch) gradientLike(x *kernel.Tensor, d int, accumulate bool) kernel.Tensor {
	y := s.denseLike(x, d)
	if accumulate {
		clear(viewOf(&y).F32())
	}
	return y
}

// denseMatrix returns the rows of a contiguous tensor, numbered as in [B, H, L].
func denseMatrix(x *kernel.Tensor) linear.Matrix {
	shape := x.Shape()
	return linear.DenseMatrix(viewOf(x).F32(), shape[0]*shape[1]*shape[2], shape[3])
}

// put copies the rows of src to dst, or adds them.
func put(dst, src *kernel.Tensor, accumulate bool) {
	eachRow(src.Shape(), func(b, h, l int) { putRow(row(dst, b, h, l), row(src, b, h, l), accumulate) })
}

func putRow(dst, src []float32, accumulate bool) {
	if !accumulate {
		copy(dst, src)
		return
	}
	for i, x := range src {
		if dst[i] += x; dst[i] != dst[i] {
			dst[i] = scalar.NaN
		}
	}
}
