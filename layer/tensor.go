package layer

import (
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
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

// checkMemory reports an output of a call, out or one of the options, that shares memory
// with one of the inputs, which have these names, with an option or with another output. A
// call of package kernel, or of linear, that gets a copy of an input, or not all outputs,
// cannot see that: so whoever makes such a call checks before.
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

// renameArgument returns err, about the argument to of a function, if it is about the argument from of
// any. It is for calls that pass their own argument on under another name.
func renameArgument(err error, from, function, to string) error {
	if bad, ok := err.(*kernel.Error); ok {
		return (*kernel.Error)(rename((*check.Failure)(bad), from, function+": "+to))
	}
	return err
}
