package linear_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

func TestNewErrors(t *testing.T) {
	data := testutil.Filled(100, testutil.Canary)
	for _, c := range []struct {
		what      string
		w         linear.Matrix
		bias      []float32
		arg, want string
	}{
		{"short", linear.DenseMatrix(data, 10, 11), nil, "w", "110 elements"},
		{"nil", linear.DenseMatrix[float32](nil, 1, 1), nil, "w", "1 elements"},
		{"short f16", linear.DenseMatrix(make([]kernel.F16, 5), 2, 3), nil, "w", "float16"},
		{"negative", linear.DenseMatrix(data, -1, 3), nil, "w", "negative dimension"},
		{"negative stride", linear.StridedMatrix(data, 2, 3, -3, 1), nil, "w", "negative stride"},
		{"overflow", linear.DenseMatrix(data, math.MaxInt, math.MaxInt), nil, "w", "fits an int"},
		{"too many outputs", linear.StridedMatrix(data, math.MaxInt/2, 3, 0, 0), nil, "w", "at most"},
		{"too many inputs", linear.StridedMatrix(data, 3, math.MaxInt/2, 0, 0), nil, "w", "at most"},
		{"short bias", linear.DenseMatrix(data, 4, 4), data[:3], "bias", "4, one per output"},
		{"empty bias", linear.DenseMatrix(data, 4, 4), []float32{}, "bias", "nil"},
	} {
		_, err := linear.New(c.w, c.bias, kernel.Exec{})
		contracttest.CheckArgument(t, c.what, err, c.arg, c.want)
	}
}

func TestApplyErrors(t *testing.T) {
	l := mustNew(t, linear.DenseMatrix(make([]float32, 20), 4, 5), nil)
	data, other := testutil.Filled(100, testutil.Canary), make([]float32, 100)
	out, x := linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5)
	for _, c := range []struct {
		what      string
		out, x    linear.Matrix
		threads   int
		arg, want string
	}{
		{"x short", out, linear.DenseMatrix(other[:14], 3, 5), 0, "x", "15 elements"},
		{"x narrow", out, linear.DenseMatrix(other, 3, 4), 0, "x", "5 columns"},
		{"x f16", out, linear.DenseMatrix(make([]kernel.F16, 15), 3, 5), 0, "x", "float32"},
		{"x negative", out, linear.DenseMatrix(other, -3, 5), 0, "x", "negative dimension"},
		{"out short", linear.DenseMatrix(data[:11], 3, 4), x, 0, "out", "12 elements"},
		{"out f16", linear.DenseMatrix(make([]kernel.F16, 12), 3, 4), x, 0, "out", "float32"},
		{"out has other rows", linear.DenseMatrix(data, 4, 4), x, 0, "out", "[3 4]"},
		{"out has other columns", linear.DenseMatrix(data, 3, 5), x, 0, "out", "[3 4]"},
		{"out in columns", linear.DenseMatrix(data, 4, 3).T(), x, 0, "out", "contiguous rows"},
		{"out broadcast", linear.StridedMatrix(data, 3, 4, 0, 1), x, 0, "out", "overlap"},
		{"out rows overlap", linear.StridedMatrix(data, 3, 4, 3, 1), x, 0, "out", "overlap"},
		{"out is x", out, linear.DenseMatrix(data, 3, 5), 0, "out", "overlaps x"},
		{"out meets x", linear.DenseMatrix(data[14:], 3, 4), linear.DenseMatrix(data, 3, 5), 0, "out", "overlaps x"},
		{"threads", out, x, -1, "Options.Threads", "at least 1"},
	} {
		contracttest.CheckArgument(t, c.what, l.Apply(c.out, c.x, options(kernel.Tier{}, c.threads)), c.arg, c.want)
	}
	contracttest.CheckArgument(t, "int8", l.Apply(out, x, linear.Options{DynamicInt8: true}), "Options.DynamicInt8", "quantized weights")
	for _, y := range data {
		if y != testutil.Canary {
			t.Fatal("out was written to")
		}
	}
}

// Calls at the edge of what is valid.
func TestApplyAccepts(t *testing.T) {
	data, other := make([]float32, 100), make([]float32, 100)
	weights := linear.DenseMatrix(make([]float32, 20), 4, 5)
	out, x := linear.DenseMatrix(data, 3, 4), linear.DenseMatrix(other, 3, 5)
	for _, c := range []struct {
		what    string
		w       linear.Matrix
		bias    []float32
		out, x  linear.Matrix
		threads int
	}{
		{"no rows", weights, nil, linear.DenseMatrix[float32](nil, 0, 4), linear.DenseMatrix[float32](nil, 0, 5), 0},
		{"no inputs", linear.DenseMatrix[float32](nil, 4, 0), data[:4], out, linear.DenseMatrix[float32](nil, 3, 0), 0},
		{"no outputs", linear.DenseMatrix[float32](nil, 0, 5), nil, linear.DenseMatrix[float32](nil, 3, 0), x, 0},
		{"no outputs, an empty bias", linear.DenseMatrix[float32](nil, 0, 5), []float32{}, linear.DenseMatrix[float32](nil, 3, 0), x, 0},
		{"unused strides", weights, nil, linear.StridedMatrix(data, 1, 4, -7, 1), linear.StridedMatrix(other, 1, 5, math.MinInt, 1), 0},
		{"x broadcast", weights, nil, out, linear.StridedMatrix(other, 3, 5, 0, 1), 0},
		{"out touches x", weights, nil, linear.DenseMatrix(data[15:], 3, 4), linear.DenseMatrix(data, 3, 5), 0},
		{"one column", linear.DenseMatrix(other, 1, 5), nil, linear.StridedMatrix(data, 3, 1, 2, -9), x, 0},
		{"many threads", weights, nil, out, x, 1000},
		{"w broadcast", linear.StridedMatrix(other, 4, 5, 0, 0), nil, out, x, 0},
	} {
		if err := mustNew(t, c.w, c.bias).Apply(c.out, c.x, options(kernel.Tier{}, c.threads)); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// What a Matrix and a Linear say of themselves.
func TestAccessors(t *testing.T) {
	m := linear.StridedMatrix(make([]kernel.BF16, 20), 2, 3, 8, 2)
	for _, c := range []struct {
		m        linear.Matrix
		ints     [4]int
		dtype    kernel.DType
		describe string
	}{
		{m, [4]int{2, 3, 8, 2}, kernel.BFloat16, "bfloat16 [2 3] with strides [8 2]"},
		{m.T(), [4]int{3, 2, 2, 8}, kernel.BFloat16, "bfloat16 [3 2] with strides [2 8]"},
		{linear.DenseMatrix(make([]kernel.F16, 6), 2, 3), [4]int{2, 3, 3, 1}, kernel.Float16, "float16 [2 3] with strides [3 1]"},
		{linear.Matrix{}, [4]int{}, kernel.Float32, "float32 [0 0] with strides [0 0]"},
	} {
		var got [4]int
		got[0], got[1] = c.m.Shape()
		got[2], got[3] = c.m.Strides()
		if got != c.ints || c.m.DType() != c.dtype || c.m.String() != c.describe {
			t.Errorf("%v: shape and strides %v, %v; want %s", c.m, got, c.m.DType(), c.describe)
		}
	}
	for dtype, w := range map[kernel.DType]linear.Matrix{
		kernel.Float32:  linear.DenseMatrix(make([]float32, 6), 2, 3),
		kernel.Float16:  linear.DenseMatrix(make([]kernel.F16, 6), 2, 3),
		kernel.BFloat16: linear.DenseMatrix(make([]kernel.BF16, 6), 2, 3),
	} {
		l := mustNew(t, w, nil)
		if n, k := l.Shape(); n != 2 || k != 3 || l.DType() != dtype {
			t.Errorf("a layer of %v: %v [%d %d]", w, l.DType(), n, k)
		}
	}
}
