// Package linear computes linear layers, out = x·Wᵀ + b:
//
//	layer, err := linear.New(linear.DenseMatrix(w, n, k), bias, kernel.Exec{}) // once
//	rows, outputs := linear.DenseMatrix(x, m, k), linear.DenseMatrix(out, m, n)
//	err = layer.Apply(outputs, rows, linear.Options{})
//
// [New] packs the weights of a layer. [FromBlocks] packs quantized weights in the formats of GGUF
// files, and [FromAffine] weights of GPTQ, AWQ and ONNX. [Linear.WriteTo] writes the packed layer,
// and [FromPacked] uses it in place, such as in a mapped file. [Linear.Apply] multiplies the rows
// of a [Matrix] by the weights, [Linear.Project] the rows of a [kernel.Tensor], and [Chain] applies
// two layers at once. [Linear.Rows] looks up rows of the weights.
//
// For training, [Backward] computes the gradients of a layer, [AddRows] the gradient of a look-up,
// and [Product] multiplies two matrices that change from call to call.
//
// As in package kernel, a result has the same bits on every CPU, with any number of threads, and
// whatever other rows are in the call.
package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Linear is a linear layer, out = x·Wᵀ + b. It is immutable: any number of goroutines
// may use it at once.
type Linear struct {
	n, k   int // outputs, inputs
	dtype  view.DType
	format Format               // of quantized weights, else 0
	packed ukernel.PackedFormat // of their panels
	f32    []float32            // packed panels of Float32
	u16    []uint16             // or of another type
	pairs  []uint32             // or of RoundBFloat16
	blocks []byte               // or of quantized weights
	bias   []float32            // for all lanes of the panels; without a bias -0, which changes nothing
	rounds bool                 // products are in bfloat16: the weights are pairs
	mapped bool                 // they lie in memory of the program, see FromPacked
}

// New packs the weights w, [N, K] for N outputs and K inputs, and the bias, N numbers or nil for
// none. Both are copied. Weights that lie as [K, N] are passed as their [Matrix.T]. exec says how
// the call, not the layer, computes; the zero Exec is the default.
//
// Weights whose magnitude is below 2^-126 are taken for +0: on some CPUs a product with such a
// number takes 100 times as long as others. Other weights keep their values, and all keep their
// type. Weights of 16 bits are widened, exactly, when they are used. A call with many rows takes as
// long as with float32. A call with few rows, which mostly waits for the weights, takes half as
// long. On Linux packed weights lie in huge pages, if the system has them: a large layer in some of
// its own, and smaller ones in some that they share, from 4 MiB of them on. One of these that is
// used keeps up to 10 MiB.
//
// Bad input is a [*kernel.Error], and so are more than 2^28 elements if several of them share
// memory. If the packed weights do not fit memory or the memory limit of the program (GOMEMLIMIT),
// the error has the kind [kernel.ErrMemory].
func New(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error) {
	t, err := elementwise.Begin("linear.New", &exec, checkNew(&w, bias))
	if err != nil {
		return nil, err
	}
	if view.Races {
		w.announce(view.Read)
	}
	l := &Linear{n: w.rows, k: w.cols, dtype: w.dtype}
	if w.dtype == view.Float32 {
		l.f32 = pack(l, &w, w.f32, t, &exec, t.Weights().Pack, tier.Reference().Weights().Pack, func(panel []float32) { rows.FlushAll(t, panel) })
	} else {
		flush := rows.FlushBF16
		if w.dtype == view.Float16 {
			flush = rows.FlushF16
		}
		l.u16 = pack(l, &w, w.u16, t, &exec, t.Convert().PackHalves, tier.Reference().Convert().PackHalves, flush)
	}
	l.bias = l.paddedBias(bias)
	return l, nil
}

// paddedBias returns the bias for all lanes.
func (l *Linear) paddedBias(bias []float32) []float32 {
	n := l.lanes()
	if len(bias) == 0 {
		return rows.NegativeZeros(n)
	}
	b := make([]float32, n)
	copy(b[copy(b, bias):], rows.NegativeZeros(n))
	return b
}

// checkNew reports the first argument of New that does not fit.
func checkNew(w *Matrix, bias []float32) *check.Failure {
	return cmp.Or(w.check("w"), checkBias(bias, w.rows), checkWeights("w", w, w.dtype.Size()))
}

// checkWeights reports a matrix that does not fit memory once it is packed, with at most so many
// bytes a weight.
func checkWeights(arg string, w *Matrix, size int) *check.Failure {
	// A row or column that stands for many, or rows without inputs, take no memory. Only this
	// limit finds a wrong number of them before the packed weights exhaust memory.
	if n := ints.MulSat(w.rows, max(w.cols, 1)); n > max(mostShared, w.len()) {
		return w.failure(arg, "at most %d elements that take no memory of their own", mostShared)
	}
	lanes := ints.AddSat(w.rows, ukernel.PanelStep-1)
	if !hugepages.Fits(ints.AddSat(ints.MulSat(ints.MulSat(lanes, w.cols), size), ints.MulSat(lanes, 4)), 1) {
		return check.TooLarge(arg, w.failure(arg, "").Got)
	}
	return nil
}

// checkBias reports a bias that does not fit n outputs.
func checkBias(bias []float32, n int) *check.Failure {
	return check.LengthOrNil("bias", bias, n, "one per output")
}

// mostShared is the most elements of weights of which several share memory.
const mostShared = 1 << 28

// Shape returns the numbers of outputs and of inputs.
func (l *Linear) Shape() (n, k int) { return l.n, l.k }

// DType returns the type of the weights. It is Float32 for quantized ones, see [Linear.Format].
func (l *Linear) DType() kernel.DType { return kernel.DType(l.dtype) }

// Apply computes out = x·Wᵀ + b for the rows of x:
//
//	x   [M, K]  float32, with any strides
//	out [M, N]  float32, overwritten; its rows are contiguous, and no element of x lies
//	            between its first and its last element
//
// Any M ≥ 0 is valid. Every output is a sum of chains of fused multiply-adds, one for each
// segment of 128 inputs:
//
//	a[i] = fma chain over k = 128i..min(128i+127, K-1), ascending, from +0: acc = fma(x[m][k], w[n][k], acc)
//	y    = a[0] + a[1] + ..., from left to right
//	out[m][n] = y + b[n], or y without a bias; the NaN 0x7FC00000 if that is a NaN
//
// and then Options.Activation of that. A layer of [RoundBFloat16] has y of products in bfloat16.
// With Options.DynamicInt8 it is a sum of integers for each block of 32 inputs and a chain over the
// blocks, for which package contract has the text. So its bits depend only on row m of x, row n of
// w and b[n]: not on the tier, the number of threads or the other rows.
//
// In the steady state, where calls repeat, a call allocates nothing, see
// [kernel.ReleaseMemory]. It may be made from many goroutines at once.
// An error is a [*kernel.Error], and leaves out
// untouched.
func (l *Linear) Apply(out, x Matrix, opts Options) error {
	t, err := elementwise.Begin("linear.Linear.Apply", &opts.Exec, checkApply(&out, &x, l, l, &opts))
	if err != nil {
		return err
	}
	if out.rows > 0 && out.cols > 0 {
		if view.Races {
			x.announce(view.Read)
			out.announce(view.Write)
			l.announce()
		}
		l.apply(t, &out, &x, &opts)
	}
	return nil
}

// apply is Apply of arguments that have been checked. Of a [Chain], out or x may be rows of
// bfloat16, as tiles read them.
func (l *Linear) apply(t *tier.Tier, out, x *Matrix, opts *Options) {
	j := jobs.Get()
	j.linear, j.out, j.x, j.int8 = l, *out, *x, opts.DynamicInt8
	j.run(t, opts)
	j.linear, j.out, j.x, j.int8 = nil, Matrix{}, Matrix{}, false // the caller's memory
	jobs.Put(j)
}

// announce tells the race detector that all weights are read, if the program can change them.
func (l *Linear) announce() {
	if l.mapped {
		view.Announce(view.Read, l.bias)
		view.Announce(view.Read, l.f32)
		view.Announce(view.Read, l.u16)
		view.Announce(view.Read, l.pairs)
		view.Announce(view.Read, l.blocks)
	}
}

// checkApply reports the first argument of Apply that does not fit, or of a Chain of two layers.
func checkApply(out, x *Matrix, first, last *Linear, opts *Options) *check.Failure {
	names := [...]string{"x", "out"}
	for i, m := range [...]*Matrix{x, out} {
		if f := m.checkFloats(names[i]); f != nil {
			return f
		}
	}
	switch {
	case x.cols != first.k:
		return x.failure("x", "%d columns, the inputs of the layer", first.k)
	case out.rows != x.rows || out.cols != last.n:
		return out.failure("out", "[%d %d], x's rows and the outputs of the layer", x.rows, last.n)
	}
	if f := out.checkOutput("out"); f != nil {
		return f
	}
	if out.memory().Overlaps(x.memory()) {
		return view.Overlap("out", "x")
	}
	for _, l := range [...]*Linear{first, last} {
		if opts.DynamicInt8 && l.format == 0 {
			return &check.Failure{Where: "Options.DynamicInt8", Got: fmt.Sprintf("a layer of %v weights", l.dtype), Want: "a layer of quantized weights"}
		}
	}
	return cmp.Or(opts.Activation.check(), check.Threads("Options.Threads", opts.Threads))
}

// Project applies the layer to every row of a tensor, in as few calls of [Linear.Apply] as the
// strides allow. Bits and errors are as for Apply.
//
//	x   [B, H, L, K]  float32, not paged
//	out [B, H, L, N]  float32, not paged, overwritten; ragged if x is, with the same
//	                  lengths; no element of x lies between its first and its last element
//
// The tokens [B, L, K] of a model are kernel.BLHD(x, b, l, 1, k). If N = heads·D, the
// outputs are kernel.BLHD(out, b, l, 1, n) here and kernel.BLHD(out, b, l, heads, d) for
// attention.
func (l *Linear) Project(out, x kernel.Tensor, opts Options) error {
	if f := l.checkProject((*view.Tensor)(&out), (*view.Tensor)(&x)); f != nil {
		return (*kernel.Error)(f.In("linear.Linear.Project"))
	}
	to, from := (*view.Tensor)(&out).Joined(), (*view.Tensor)(&x).Joined()
	outer, middle, rows := rowsOfBoth(&to, &from)
	for i := range outer.n {
		for j := range middle.n {
			in, res := from.F32(), to.F32()
			if rows.n > 0 {
				in, res = in[i*outer.x+j*middle.x:], res[i*outer.out+j*middle.out:]
			}
			err := l.Apply(StridedMatrix(res, rows.n, l.n, rows.out, 1), StridedMatrix(in, rows.n, l.k, rows.x, 1), opts)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A rowDim is a dimension along which two tensors have rows: the number of rows and
// their distances in both.
type rowDim struct{ n, out, x int }

// rowsOfBoth returns three dimensions that reach all rows of two tensors with the same
// rows. The last one has as many rows as lie at equal distances in both.
func rowsOfBoth(out, x *view.Tensor) (outer, middle, rows rowDim) {
	var dims [3]rowDim
	for i := range dims {
		dims[i] = rowDim{x.Dim(i), out.Stride(i), x.Stride(i)}
		switch dims[i].n {
		case 0:
			return rowDim{n: 1}, rowDim{n: 1}, rowDim{}
		case 1: // the strides do not matter
			dims[i] = rowDim{n: 1}
		}
	}
	slices.SortFunc(dims[:], func(a, b rowDim) int { // single ones first, then by distance
		return cmp.Or(cmp.Compare(min(a.n, 2), min(b.n, 2)), cmp.Compare(b.out, a.out))
	})
	outer, middle, rows = dims[0], dims[1], dims[2]
	for middle.n > 1 && middle.x == rows.n*rows.x && middle.out == rows.n*rows.out {
		rows.n *= middle.n
		outer, middle = rowDim{n: 1}, outer
	}
	return outer, middle, rows
}

// checkProject reports the first argument of Project that does not fit.
func (l *Linear) checkProject(out, x *view.Tensor) *check.Failure {
	if f := x.CheckFloats("x"); f != nil {
		return f
	}
	if x.Dim(3) != l.k {
		return &check.Failure{Where: "x", Got: x.Describe(), Want: fmt.Sprintf("rows of %d, the inputs of the layer", l.k)}
	}
	if f := cmp.Or(out.CheckLike("out", x, "x", l.n), out.CheckDistinct("out")); f != nil {
		return f
	}
	if out.Memory().OverlapsTensor(x) {
		return view.Overlap("out", "x")
	}
	return nil
}

// Options are the settings of one call of a Linear.
type Options struct {
	kernel.Exec // changes no bit of the result

	// DynamicInt8 quantizes the rows of x to 8 bits, in blocks of 32 inputs whose scales it
	// computes in the call (dynamic quantization), so that products with quantized
	// weights are sums of integers. That takes less time, about half with weights of 4 bits, and
	// changes the result: each input has an error of up to a 254th of the largest magnitude in its
	// block. The result has the same bits on every CPU, too, see [Linear.Apply]. The layer must
	// have quantized weights, see [FromBlocks] and [QuantizeInt8]; others are a [*kernel.Error].
	DynamicInt8 bool

	// Activation is applied to the outputs while they are in cache. The result has the bits
	// that the function of package activation gives for the outputs of a call without it. The
	// bits of a NaN are not specified.
	Activation Activation
}

// An Activation is a function of package activation.
type Activation int

// The activations. The zero value is none.
const (
	NoActivation Activation = iota
	SiLU
	GELU     // with the error function
	GELUTanh // with tanh
)

// String returns the activation's name.
func (a Activation) String() string {
	if a < NoActivation || a > GELUTanh {
		return fmt.Sprintf("Activation(%d)", int(a))
	}
	return [...]string{"NoActivation", "SiLU", "GELU", "GELUTanh"}[a]
}

func (a Activation) check() *check.Failure {
	if a < NoActivation || a > GELUTanh {
		return &check.Failure{Where: "Options.Activation", Got: a.String(), Want: "NoActivation, SiLU, GELU or GELUTanh"}
	}
	return nil
}

// kernel returns the function over slices, nil for NoActivation.
func (a Activation) kernel(t *tier.Tier) func(dst, src []float32) {
	switch a {
	case SiLU:
		return t.Activations().SiLU
	case GELU:
		return t.Activations().GELU
	case GELUTanh:
		return t.Activations().GELUTanh
	}
	return nil
}
