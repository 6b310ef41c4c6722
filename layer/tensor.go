package layer

import (
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// viewOf returns t as the type that it is defined as.
func viewOf(t *kernel.Tensor) *view.Tensor { return (*view.Tensor)(t) }

// scoringOf returns s as the internal packages have it, see package scoring.
func scoringOf(s *kernel.Scoring) *scoring.Scoring { return (*scoring.Scoring)(unsafe.Pointer(s)) }

// row returns the elements of row (b, h, l) of a float32 tensor.
func row(t *kernel.Tensor, b, h, l int) []float32 { return viewOf(t).Row(b, h, l) }

// isEmpty tells whether a tensor of this shape has no row. Its other dimensions may then be
// any numbers, as no memory limits them.
func isEmpty(shape [4]int) bool { return min(shape[0], shape[1], shape[2]) == 0 }

// eachRow calls f for every row of a tensor of this shape.
func eachRow(shape [4]int, f func(b, h, l int)) {
	if isEmpty(shape) {
		return
	}
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range shape[2] {
				f(b, h, l)
			}
		}
	}
}

// splitHeads returns the view of [B, 1, L, n·D] as [B, n, L, D].
func splitHeads(t *kernel.Tensor, n int) kernel.Tensor { return kernel.Tensor(viewOf(t).Heads(n)) }

// checkTensor reports a tensor that is not valid by itself, or that is ragged or paged.
func checkTensor(arg string, t *kernel.Tensor) *check.Failure {
	v := viewOf(t)
	if v.IsRagged() || v.IsPaged() {
		return tensorFailure(arg, t, "a tensor that is neither ragged nor paged")
	}
	return v.Check(arg)
}

// checkMemory reports an output of a call, out or an option, that shares memory with an input,
// which have these names, with an option or with another output. A call of package kernel, or of
// linear, that gets a copy of an input, or not all outputs, cannot see that: so whoever makes such
// a call checks before.
func checkMemory(out *kernel.Tensor, opts *kernel.Options, names []string, inputs ...*kernel.Tensor) *check.Failure {
	var f footprint
	f.output("out", viewOf(out).Memory())
	f.output("Options.LSE", viewOf(&opts.LSE).Memory())
	f.output("Options.Weights", viewOf(&opts.Weights).Memory())
	f.output("Options.Scores", viewOf(&opts.Scores).Memory())
	for i, x := range inputs {
		f.input(names[i], x)
	}
	f.inputScoring(&opts.Scoring)
	return f.check()
}

// tensorFailure reports a tensor that is not what is wanted.
func tensorFailure(arg string, t *kernel.Tensor, want string) *check.Failure {
	return &check.Failure{Where: arg, Got: viewOf(t).Describe(), Want: want}
}

// memoryFailure reports a tensor that is too large for the memory of the call.
func memoryFailure(arg string, t *kernel.Tensor, want string) *check.Failure {
	return &check.Failure{Where: arg, Got: viewOf(t).Describe(), Want: want, Kind: check.ErrMemory}
}

// rename returns f, about to if it is about the argument from.
func rename(f *check.Failure, from, to string) *check.Failure {
	if f == nil || (*kernel.Error)(f).Arg() != from {
		return f
	}
	return &check.Failure{Where: to, Got: f.Got, Want: f.Want, Kind: f.Kind}
}

// renameArgument returns err, about the argument to of a function, if it is about the argument from
// of any. It is for calls that pass their own argument on under another name.
func renameArgument(err error, from, function, to string) error {
	if bad, ok := err.(*kernel.Error); ok {
		return (*kernel.Error)(rename((*check.Failure)(bad), from, function+": "+to))
	}
	return err
}

// checkProjection reports a tensor, argument arg, that the layer called name cannot
// project. It returns the number of floats of the projection.
func checkProjection(arg string, x *kernel.Tensor, name string, l *linear.Linear) (int, *check.Failure) {
	if bad := viewOf(x).CheckFloats(arg); bad != nil {
		return 0, bad
	}
	outputs, inputs := l.Shape()
	if outputs == 0 {
		return 0, &check.Failure{Where: name, Got: "no outputs", Want: "at least 1"}
	}
	shape := x.Shape()
	if shape[3] != inputs {
		return 0, tensorFailure(arg, x, fmt.Sprintf("D = %d, the number of inputs of %s", inputs, name))
	}
	batch, rows := viewOf(x).AllRows()
	return product(batch, shape[1], rows, outputs), nil
}

// projectionMemoryFailure reports a tensor whose projection does not fit memory.
func projectionMemoryFailure(arg string, x *kernel.Tensor) *check.Failure {
	return memoryFailure(arg, x, "fewer rows: memory for their projections")
}

// project returns l(x) for the rows of x, which checkProjection has accepted: ragged if x is.
// Heads and tokens of the result lie in the same order as in x, so that a view [B, L, H, D]
// is projected in one piece.
func (s *scratch) project(x *kernel.Tensor, l *linear.Linear, exec kernel.Exec) (kernel.Tensor, error) {
	outputs, _ := l.Shape()
	heads, strides := x.Shape()[1], x.Strides()
	y := s.takeLike(x, heads, outputs, strides[1] < strides[2])
	return y, l.Project(y, *x, linear.Options{Exec: exec})
}

// takeLike takes memory for a tensor with the batch rows of x, and returns it as BHLD or BLHD.
func (s *scratch) takeLike(x *kernel.Tensor, heads, d int, tokenMajor bool) kernel.Tensor {
	batch, rows := viewOf(x).AllRows()
	data := s.takeFloats(batch * heads * rows * d)
	y := kernel.BHLD(data, batch, heads, rows, d)
	if tokenMajor {
		y = kernel.BLHD(data, batch, rows, heads, d)
	}
	return kernel.Tensor(view.Tensor(y).RaggedAs(viewOf(x)))
}
