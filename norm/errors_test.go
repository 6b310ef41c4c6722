package norm_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// TestErrors: what does not fit is named, and no output is touched.
func TestErrors(t *testing.T) {
	memory := testutil.Filled(1000, 7)
	tensor := func(at int) kernel.Tensor { return kernel.BHLD(memory[at:at+48], 1, 2, 3, 8) }
	good := func() (out, x kernel.Tensor, weight, bias []float32, eps float32, o norm.Options) {
		return tensor(0), tensor(100), memory[600:608], memory[700:708], 1e-5, norm.Options{Residual: tensor(200), Sum: tensor(300)}
	}
	for _, c := range []struct {
		arg, want string
		spoil     func(out, x *kernel.Tensor, weight, bias *[]float32, eps *float32, o *norm.Options)
	}{
		{"x", "float32", func(_, x *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*x = kernel.BHLD(make([]kernel.F16, 48), 1, 2, 3, 8)
		}},
		{"x", "at least 48", func(_, x *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*x = kernel.BHLD(memory[100:147], 1, 2, 3, 8)
		}},
		{"out", "shape [1 2 3 8], that of x", func(out, _ *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*out = kernel.BHLD(memory[:48], 1, 3, 2, 8)
		}},
		{"out", "strides that nest", func(out, _ *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*out = kernel.Strided(memory[:48], [4]int{1, 2, 3, 8}, [3]int{0, 0, 8})
		}},
		{"out", "memory of its own, or the same rows", func(out, _ *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*out = tensor(101)
		}},
		{"out", "memory that overlaps weight, want memory of its own", func(out, _ *kernel.Tensor, _, _ *[]float32, _ *float32, _ *norm.Options) {
			*out = tensor(560)
		}},
		{"out", "1 as x has it", func(out, x *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) {
			*x = x.Ragged([]int{0, 1, 3})
			o.Residual, o.Sum = kernel.Tensor{}, kernel.Tensor{}
			*out = out.Ragged([]int{0, 2, 3})
		}},
		{"weight", "8, one for each element", func(_, _ *kernel.Tensor, weight, _ *[]float32, _ *float32, _ *norm.Options) {
			*weight = memory[600:607]
		}},
		{"bias", "8, one for each element", func(_, _ *kernel.Tensor, _, bias *[]float32, _ *float32, _ *norm.Options) { *bias = []float32{} }},
		{"eps", "0 or more", func(_, _ *kernel.Tensor, _, _ *[]float32, eps *float32, _ *norm.Options) { *eps = -1 }},
		{"eps", "finite", func(_, _ *kernel.Tensor, _, _ *[]float32, eps *float32, _ *norm.Options) { *eps = testutil.NaN }},
		{"eps", "finite", func(_, _ *kernel.Tensor, _, _ *[]float32, eps *float32, _ *norm.Options) { *eps = float32(math.Inf(1)) }},
		{"Options.Residual", "shape [1 2 3 8], that of x", func(_, _ *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) {
			o.Residual = kernel.BHLD(memory[200:240], 1, 1, 5, 8)
		}},
		{"Options.Sum", "no tensor", func(_, _ *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) { o.Residual = kernel.Tensor{} }},
		{"Options.Sum", "memory that overlaps out", func(_, _ *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) { o.Sum = tensor(0) }},
		{"Options.Sum", "memory that overlaps out", func(out, x *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) { *out, o.Sum = *x, *x }},
		{"Options.Sum", "the same rows", func(_, _ *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) { o.Sum = tensor(201) }},
		{"Options.Threads", "at least 1", func(_, _ *kernel.Tensor, _, _ *[]float32, _ *float32, o *norm.Options) { o.Threads = -1 }},
	} {
		out, x, weight, bias, eps, o := good()
		c.spoil(&out, &x, &weight, &bias, &eps, &o)
		contracttest.CheckArgument(t, c.want, norm.LayerNorm(out, x, weight, bias, eps, o), c.arg, c.want)
		if c.arg != "bias" {
			contracttest.CheckArgument(t, c.want, norm.RMSNorm(out, x, weight, eps, o), c.arg, c.want)
		}
	}
	for i, y := range memory {
		if y != 7 {
			t.Fatalf("element %d was changed", i)
		}
	}
}

// TestEmpty: nothing is done without rows, however many there are in the other dimensions.
func TestEmpty(t *testing.T) {
	for _, shape := range [][4]int{{0, 1 << 30, 5, 8}, {1 << 30, 2, 0, 8}} {
		x := kernel.Strided([]float32{}, shape, [3]int{0, 0, 0})
		if err := norm.RMSNorm(x, x, nil, 0, norm.Options{}); err != nil {
			t.Errorf("%v: %v", shape, err)
		}
	}
}
