package kernel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A badCall is good() with all outputs, broken in one place.
type badCall struct {
	out, q, k, v kernel.Tensor
	o            kernel.Options
}

func newBadCall() *badCall {
	c := new(badCall)
	c.out, c.q, c.k, c.v = good()
	view := func(d int) kernel.Tensor {
		return kernel.BHLD(testutil.Filled(2*4*3*d, contracttest.Canary), 2, 4, 3, d)
	}
	c.o = kernel.Options{Outputs: kernel.Outputs{LSE: view(1), Weights: view(7), Scores: view(7)}}
	return c
}

// listed sets lists of keys.
func (c *badCall) listed(shape [4]int, rows []int32) {
	c.o.KeyRows = kernel.KeyRows{Rows: rows, Shape: shape}
}

// optionErrors break one option each: arg is what the error must name, want what its
// message must say.
var optionErrors = []struct {
	name, arg, want string
	spoil           func(c *badCall)
}{
	{"scale beyond base 2", "Options.Scale", "2^127", func(c *badCall) { c.o.Scale = 3e38 }},
	{"softcap NaN", "Options.Softcap", "2^127", func(c *badCall) { c.o.Softcap = testutil.NaN }},
	{"softcap Inf", "Options.Softcap", "2^127", func(c *badCall) { c.o.Softcap = testutil.Inf }},
	{"softcap negative", "Options.Softcap", "2^-126", func(c *badCall) { c.o.Softcap = -2 }},
	{"softcap whose inverse is Inf", "Options.Softcap", "2^-126", func(c *badCall) { c.o.Softcap = 1e-39 }},
	{"softcap beyond base 2", "Options.Softcap", "2^127", func(c *badCall) { c.o.Softcap = 3e38 }},

	{"query starts too many", "Options.QueryStart", "one for each: 2", func(c *badCall) { c.o.QueryStart = []int{0, 1, 2} }},
	{"query start too low", "Options.QueryStart", "position -1073741824 of batch row 1", func(c *badCall) { c.o.QueryStart = []int{0, -1 << 30} }},
	{"query start too high", "Options.QueryStart", "to 1073741821", func(c *badCall) { c.o.QueryStart = []int{1<<30 - 2} }},
	{"query start minimal", "Options.QueryStart", "position", func(c *badCall) { c.o.QueryStart = []int{math.MinInt} }},
	{"key starts too many", "Options.KeyStart", "one for each: 2", func(c *badCall) { c.o.KeyStart = []int{0, 1, 2} }},
	{"key start negative", "Options.KeyStart", "0 to", func(c *badCall) { c.o.KeyStart = []int{-1} }},
	{"key start too high", "Options.KeyStart", "0 to 1073741817", func(c *badCall) { c.o.KeyStart = []int{0, 1<<30 - 6} }},

	{"slopes too few", "Options.ALiBi", "q's heads: 4", func(c *badCall) { c.o.ALiBi = make([]float32, 2) }},
	{"slopes none", "Options.ALiBi", "q's heads: 4", func(c *badCall) { c.o.ALiBi = []float32{} }},
	{"slope NaN", "Options.ALiBi", "finite", func(c *badCall) { c.o.ALiBi = []float32{1, testutil.NaN, 1, 1} }},
	{"slope Inf", "Options.ALiBi", "+Inf for head 3", func(c *badCall) { c.o.ALiBi = []float32{1, 1, 1, testutil.Inf} }},
	{"slope -Inf", "Options.ALiBi", "finite", func(c *badCall) { c.o.ALiBi = []float32{-testutil.Inf, 1, 1, 1} }},
	{"slope beyond base 2", "Options.ALiBi", "2^127", func(c *badCall) { c.o.ALiBi = []float32{3e38, 1, 1, 1} }},
	{"sinks too many", "Options.Sinks", "q's heads: 4", func(c *badCall) { c.o.Sinks = make([]float32, 5) }},
	{"sink NaN", "Options.Sinks", "NaN for head 0", func(c *badCall) { c.o.Sinks = []float32{testutil.NaN, 1, 1, 1} }},
	{"sink Inf", "Options.Sinks", "finite", func(c *badCall) { c.o.Sinks = []float32{1, 1, testutil.Inf, 1} }},
	{"sink beyond base 2", "Options.Sinks", "2^127", func(c *badCall) { c.o.Sinks = []float32{1, 1, 3e38, 1} }},

	{"rate 1", "Options.Dropout.Rate", "below 1", func(c *badCall) { c.o.Dropout.Rate = 1 }},
	{"rate negative", "Options.Dropout.Rate", "0 to", func(c *badCall) { c.o.Dropout.Rate = -1 }},
	{"rate NaN", "Options.Dropout.Rate", "NaN", func(c *badCall) { c.o.Dropout.Rate = testutil.NaN }},
	{"sequences too few", "Options.Dropout.Sequences", "one per batch row: 2", func(c *badCall) { c.o.Dropout.Sequences = make([]uint32, 1) }},
	{"sequences none", "Options.Dropout.Sequences", "0 numbers", func(c *badCall) { c.o.Dropout.Sequences = []uint32{} }},
	{"stage unknown", "Options.ScoreStage", "ScoresMasked", func(c *badCall) { c.o.ScoreStage = 3 }},

	{"bias batch", "Options.Bias", "2 batch rows", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 999), 3, 1, 1, 7) }},
	{"bias heads", "Options.Bias", "4 heads", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 999), 1, 2, 1, 7) }},
	{"bias queries", "Options.Bias", "3 queries", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 999), 1, 1, 4, 7) }},
	{"bias keys", "Options.Bias", "0 to 7 keys", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 999), 1, 1, 3, 8) }},
	{"bias keys negative", "Options.Bias", "0 to 7 keys", func(c *badCall) { c.o.Bias = kernel.Strided(make([]float32, 999), [4]int{1, 1, 3, -1}, [3]int{}) }},
	{"bias dimension 0", "Options.Bias", "or 1 of each", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 999), 0, 1, 3, 7) }},
	{"bias too short", "Options.Bias", "at least 168 elements", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]float32, 167), 2, 4, 3, 7) }},
	{"bias of f16 too short", "Options.Bias", "at least 168 elements", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]kernel.F16, 167), 2, 4, 3, 7) }},
	{"bias negative stride", "Options.Bias", "negative stride", func(c *badCall) {
		c.o.Bias = kernel.Strided(make([]float32, 999), [4]int{1, 1, 3, 7}, [3]int{0, 0, -7})
	}},
	{"bias overflows", "Options.Bias", "fits an int", func(c *badCall) {
		c.o.Bias = kernel.Strided(make([]float32, 999), [4]int{1, 1, 3, 7}, [3]int{0, 0, math.MaxInt})
	}},
	{"bias of int8", "Options.Bias", "float32, float16 or bfloat16", func(c *badCall) { c.o.Bias = kernel.BHLD(make([]int8, 21), 1, 1, 3, 7) }},
	{"bias with scales", "Options.Bias", "float32, float16 or bfloat16", func(c *badCall) {
		c.o.Bias = kernel.BHLD(make([]float32, 21), 1, 1, 3, 7).Scaled(&c.v)
	}},

	{"LSE shape", "Options.LSE", "[2 4 3 1]", func(c *badCall) { setDim(&c.o.LSE, 3, 3) }},
	{"LSE batch", "Options.LSE", "[2 4 3 1]", func(c *badCall) { setDim(&c.o.LSE, 0, 1) }},
	{"LSE too short", "Options.LSE", "at least 24", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.o.LSE)[:23]) }},
	{"LSE broadcast", "Options.LSE", "nest", func(c *badCall) { setStride(&c.o.LSE, 1, 0) }},
	{"LSE negative stride", "Options.LSE", "negative stride", func(c *badCall) { setStride(&c.o.LSE, 0, -12) }},
	{"LSE of f16", "Options.LSE", "float32", func(c *badCall) { c.o.LSE = kernel.BHLD(make([]kernel.F16, 24), 2, 4, 3, 1) }},
	{"weights shape", "Options.Weights", "[2 4 3 7]", func(c *badCall) { setDim(&c.o.Weights, 3, 5) }},
	{"weights too short", "Options.Weights", "at least 168", func(c *badCall) { setData(&c.o.Weights, nil) }},
	{"weights rows overlap", "Options.Weights", "nest", func(c *badCall) { setStride(&c.o.Weights, 2, 6) }},
	{"weights of bf16", "Options.Weights", "float32", func(c *badCall) { c.o.Weights = kernel.BHLD(make([]kernel.BF16, 168), 2, 4, 3, 7) }},
	{"scores shape", "Options.Scores", "[2 4 3 7]", func(c *badCall) { setDim(&c.o.Scores, 1, 2) }},
	{"scores too short", "Options.Scores", "at least 168", func(c *badCall) { setData(&c.o.Scores, contracttest.Floats(c.o.Scores)[1:]) }},

	{"out is the bias", "out", "overlaps Options.Bias", func(c *badCall) { c.o.Bias = kernel.BHLD(contracttest.Floats(c.out)[7:], 1, 1, 3, 7) }},
	{"out is the slopes", "out", "overlaps Options.ALiBi", func(c *badCall) { c.o.ALiBi = fill4(contracttest.Floats(c.out)[116:]) }},
	{"out is the sinks", "out", "overlaps Options.Sinks", func(c *badCall) { c.o.Sinks = fill4(contracttest.Floats(c.out)) }},
	{"LSE is q", "Options.LSE", "overlaps q", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.q)[:24]) }},
	{"LSE is k", "Options.LSE", "overlaps k", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.k)[144:]) }},
	{"LSE is v", "Options.LSE", "overlaps v", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.v)[100:]) }},
	{"LSE is the bias", "Options.LSE", "overlaps Options.Bias", func(c *badCall) { c.o.Bias = kernel.BHLD(contracttest.Floats(c.o.LSE), 1, 1, 3, 7) }},
	{"LSE is the sinks", "Options.LSE", "overlaps Options.Sinks", func(c *badCall) { c.o.Sinks = fill4(contracttest.Floats(c.o.LSE)[20:]) }},
	{"LSE is out", "Options.LSE", "another output", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.out)[96:]) }},
	{"weights are out", "Options.Weights", "another output", func(c *badCall) { setData(&c.out, contracttest.Floats(c.o.Weights)) }},
	{"weights are the LSE", "Options.Weights", "another output", func(c *badCall) { setData(&c.o.LSE, contracttest.Floats(c.o.Weights)[144:]) }},
	{"weights are q", "Options.Weights", "overlaps q", func(c *badCall) { setData(&c.q, contracttest.Floats(c.o.Weights)) }},
	{"scores are the weights", "Options.Scores", "another output", func(c *badCall) { c.o.Scores = c.o.Weights }},
	{"scores are the slopes", "Options.Scores", "overlaps Options.ALiBi", func(c *badCall) { c.o.ALiBi = fill4(contracttest.Floats(c.o.Scores)) }},

	{"lists of heads", "Options.KeyRows", "2 batch rows, 2 key heads and 3 queries", func(c *badCall) { c.listed([4]int{1, 4, 1, 7}, make([]int32, 28)) }},
	{"lists of queries", "Options.KeyRows", "or 1 of each", func(c *badCall) { c.listed([4]int{2, 2, 4, 7}, make([]int32, 999)) }},
	{"lists of a negative length", "Options.KeyRows", "lists of 0 to 1073741824 rows", func(c *badCall) { c.listed([4]int{1, 1, 1, -1}, nil) }},
	{"lists too short", "Options.KeyRows", "a slice of 42 rows", func(c *badCall) { c.listed([4]int{2, 1, 3, 7}, make([]int32, 41)) }},
	{"lists too long", "Options.KeyRows", "a slice of 7 rows", func(c *badCall) { c.listed([4]int{1, 1, 1, 7}, make([]int32, 8)) }},
	{"lists without a shape", "Options.KeyRows", "or 1 of each", func(c *badCall) { c.listed([4]int{}, []int32{}) }},
	{"list beyond k", "Options.KeyRows", "row 7 in a list of batch row 0, want less than 7", func(c *badCall) { c.listed([4]int{1, 1, 1, 7}, []int32{0, 1, 2, 6, 7, 1, 1}) }},
	{"second list beyond k", "Options.KeyRows", "row 9 in a list of batch row 1", func(c *badCall) { c.listed([4]int{2, 1, 1, 2}, []int32{0, 1, 6, 9}) }},
	{"list with a key after its end", "Options.KeyRows", "-1 for this and all that follow", func(c *badCall) { c.listed([4]int{1, 1, 1, 7}, []int32{3, -1, -1, 4, -1, -1, -1}) }},
	{"list with another negative row", "Options.KeyRows", "row -2 in a list", func(c *badCall) { c.listed([4]int{1, 1, 1, 7}, []int32{3, -2, -2, -2, -2, -2, -2}) }},
	{"list and key start too high", "Options.KeyStart", "0 to 1073741817", func(c *badCall) {
		c.listed([4]int{1, 1, 1, 7}, make([]int32, 7))
		c.o.KeyStart = []int{1<<30 - 6}
	}},
	{"list and a mask of other keys", "Options.Mask", "0 to 6 keys", func(c *badCall) {
		c.o.LSE, c.o.Weights, c.o.Scores = kernel.Tensor{}, kernel.Tensor{}, kernel.Tensor{}
		c.listed([4]int{1, 1, 1, 6}, make([]int32, 6))
		c.o.Mask = kernel.Visible(make([]bool, 7), [4]int{1, 1, 1, 7})
	}},
	{"list and weights of all keys", "Options.Weights", "[2 4 3 6]", func(c *badCall) { c.listed([4]int{1, 1, 1, 6}, make([]int32, 6)) }},

	{"parents of too few queries", "Options.Parents", "one for each query: 3, or for each of all batch rows: 6", func(c *badCall) { c.o.Parents = []int32{-1, 0} }},
	{"no parents", "Options.Parents", "0 parents", func(c *badCall) { c.o.Parents = []int32{} }},
	{"parent of itself", "Options.Parents", "parent 1 of query 1", func(c *badCall) { c.o.Parents = []int32{-1, 1, 0} }},
	{"parent negative", "Options.Parents", "-1 for none", func(c *badCall) { c.o.Parents = []int32{-1, -1, 0, -1, 0, -2} }},
	{"parents and lists", "Options.Parents", "nil with Options.KeyRows", func(c *badCall) {
		c.o.Parents = []int32{-1, 0, 1}
		c.listed([4]int{1, 1, 1, 7}, make([]int32, 7))
	}},
	{"tree before the keys", "Options.QueryStart", "3 of batch row 1, with Options.Parents", func(c *badCall) {
		c.o.Parents, c.o.QueryStart, c.o.KeyStart = []int32{-1, 0, 1}, []int{4, 3}, []int{4}
	}},
	{"tree after the keys", "Options.QueryStart", "the position of key 0 to 7", func(c *badCall) { c.o.Parents, c.o.QueryStart = []int32{-1, 0, 1}, []int{8} }},

	{"window negative", "Options.Mask", "-1 for no limit", func(c *badCall) { c.o.Mask = kernel.Window(-2, 0) }},
	{"window negative, in an intersection", "Options.Mask", "-1 for no limit", func(c *badCall) { c.o.Mask = kernel.Causal(0).And(kernel.Window(0, math.MinInt)) }},
	{"chunk of none", "Options.Mask", "at least 1", func(c *badCall) { c.o.Mask = kernel.Chunked(0) }},
	{"chunk negative, in a union", "Options.Mask", "positions, want at least 1", func(c *badCall) { c.o.Mask = kernel.Causal(0).Or(kernel.Chunked(math.MinInt)) }},
	{"union with bools", "Options.Mask", "a union of masks made of spans", func(c *badCall) { c.o.Mask = kernel.Causal(0).Or(kernel.Visible(make([]bool, 21), [4]int{1, 1, 3, 7})) }},
	{"union of a bitmap", "Options.Mask", "a union with a bool or block-sparse mask", func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 1), 3, 7).Or(kernel.Causal(0)) }},
	{"union of too many", "Options.Mask", "more than 6 masks made of spans, in unions of each with each", func(c *badCall) {
		two := kernel.Causal(1).And(kernel.Window(3, 3))
		c.o.Mask = two.Or(two)
	}},
	{"union with a length", "Options.Mask", "key length 8 of batch row 0", func(c *badCall) { c.o.Mask = kernel.Causal(0).Or(kernel.KeyLengths([]int{8, 3})) }},
	{"prefix nil", "Options.Mask", "no prefix", func(c *badCall) { c.o.Mask = kernel.PrefixLM(nil) }},
	{"prefixes too many", "Options.Mask", "one for each: 2", func(c *badCall) { c.o.Mask = kernel.PrefixLM([]int{1, 2, 3}) }},
	{"prefix negative", "Options.Mask", "prefix -1 of batch row 1", func(c *badCall) { c.o.Mask = kernel.PrefixLM([]int{1, -1}) }},
	{"prefix too long", "Options.Mask", "0 to 1073741824", func(c *badCall) { c.o.Mask = kernel.PrefixLM([]int{1<<30 + 1}) }},
	{"query lengths too few", "Options.Mask", "one per batch row: 2", func(c *badCall) { c.o.Mask = kernel.QueryLengths([]int{3}) }},
	{"query length too long", "Options.Mask", "query length 4 of batch row 0", func(c *badCall) { c.o.Mask = kernel.QueryLengths([]int{4, 3}) }},
	{"query length negative", "Options.Mask", "0 to 3", func(c *badCall) { c.o.Mask = kernel.QueryLengths([]int{3, -1}) }},
	{"segments of queries", "Options.Mask", "2 batch rows of 3: 6", func(c *badCall) { c.o.Mask = kernel.Segments(make([]int32, 7), make([]int32, 14)) }},
	{"segments of keys", "Options.Mask", "2 batch rows of 7: 14", func(c *badCall) { c.o.Mask = kernel.Segments(make([]int32, 6), make([]int32, 7)) }},
	{"segments that decrease", "Options.Mask", "batch row 1 that decrease", func(c *badCall) {
		c.o.Mask = kernel.Segments(make([]int32, 6), []int32{5, 5, 5, 6, 7, 7, 8, 1, 1, 1, 2, 2, 1, 2})
	}},
	{"block of no queries", "Options.Mask", "at least 1 of each", func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 7), 0, 1) }},
	{"block of negative keys", "Options.Mask", "at least 1 of each", func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 7), 3, math.MinInt) }},
	{"bitmap too short", "Options.Mask", "2 × 4 blocks: 8", func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 7), 2, 2) }},
	{"bitmap too long", "Options.Mask", "2 × 4 blocks: 8", func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 9), 2, 2) }},
	{"bitmap nil", "Options.Mask", "1 × 1 blocks: 1", func(c *badCall) { c.o.Mask = kernel.BlockSparse(nil, math.MaxInt, math.MaxInt) }},
	{"bools of batch", "Options.Mask", "2 batch rows", func(c *badCall) { c.o.Mask = kernel.Visible(make([]bool, 999), [4]int{3, 1, 1, 7}) }},
	{"last bools of queries", "Options.Mask", "3 queries", func(c *badCall) { c.o.Mask = kernel.VisibleLast(make([]bool, 999), [4]int{1, 1, 4, 4}) }},
	{"last bools too many", "Options.Mask", "0 to 7 keys", func(c *badCall) { c.o.Mask = kernel.VisibleLast(make([]bool, 999), [4]int{1, 1, 3, 8}) }},
	{"last bools too short", "Options.Mask", "at least 9", func(c *badCall) { c.o.Mask = kernel.VisibleLast(make([]bool, 8), [4]int{1, 1, 3, 3}) }},
	{"bools of heads", "Options.Mask", "4 heads", func(c *badCall) { c.o.Mask = kernel.Hidden(make([]bool, 999), [4]int{1, 2, 1, 7}) }},
	{"bools of queries", "Options.Mask", "3 queries", func(c *badCall) { c.o.Mask = kernel.Hidden(make([]bool, 999), [4]int{1, 1, 2, 7}) }},
	{"bools of keys", "Options.Mask", "0 to 7 keys", func(c *badCall) { c.o.Mask = kernel.Visible(make([]bool, 999), [4]int{1, 1, 3, 8}) }},
	{"bools negative", "Options.Mask", "or 1 of each", func(c *badCall) { c.o.Mask = kernel.Visible(make([]bool, 999), [4]int{-2, 1, 3, 7}) }},
	{"bools too short", "Options.Mask", "at least 168", func(c *badCall) { c.o.Mask = kernel.Visible(make([]bool, 167), [4]int{2, 4, 3, 7}) }},
	{"bools nil", "Options.Mask", "in 0 elements", func(c *badCall) { c.o.Mask = kernel.Hidden(nil, [4]int{1, 1, 1, 7}) }},
	{"bools negative stride", "Options.Mask", "negative stride", func(c *badCall) {
		c.o.Mask = kernel.VisibleStrided(make([]bool, 999), [4]int{1, 1, 3, 7}, [3]int{0, 0, -1})
	}},
	{"bools overflow", "Options.Mask", "fits an int", func(c *badCall) {
		c.o.Mask = kernel.HiddenStrided(make([]bool, 999), [4]int{2, 1, 3, 7}, [3]int{math.MaxInt, 0, 7})
	}},
	{"second bools too short", "Options.Mask", "at least 7", func(c *badCall) {
		c.o.Mask = kernel.Hidden(make([]bool, 7), [4]int{1, 1, 1, 7}).And(kernel.Visible(make([]bool, 6), [4]int{1, 1, 1, 7}))
	}},
	{"three bool masks", "Options.Mask", "more than 2 bool masks", func(c *badCall) {
		one := kernel.Hidden(make([]bool, 7), [4]int{1, 1, 1, 7})
		c.o.Mask = one.And(one).And(one)
	}},
	{"two bitmaps", "Options.Mask", "more than 1 block-sparse", func(c *badCall) {
		one := kernel.BlockSparse([]bool{true}, 3, 7)
		c.o.Mask = one.And(one)
	}},
	{"seven spans in two", "Options.Mask", "more than 6 masks made of spans", func(c *badCall) {
		two := kernel.Causal(0).And(kernel.Causal(1))
		four := two.And(two)
		c.o.Mask = four.And(four)
	}},
}

func fill4(s []float32) []float32 {
	s = s[:4]
	contracttest.Fill(s, 0.5)
	return s
}

// TestOptionErrors: every bad option is reported as what it is, and no output has
// been touched.
func TestOptionErrors(t *testing.T) {
	c := newBadCall()
	if err := kernel.Attention(c.out, c.q, c.k, c.v, &c.o); err != nil {
		t.Fatalf("nothing broken: %v", err)
	}
	for _, test := range optionErrors {
		t.Run(test.name, func(t *testing.T) {
			c := newBadCall()
			test.spoil(c)
			outputs := [][]float32{contracttest.Floats(c.out), contracttest.Floats(c.o.LSE), contracttest.Floats(c.o.Weights), contracttest.Floats(c.o.Scores)}
			var before [][]float32
			for _, s := range outputs {
				before = append(before, slices.Clone(s))
			}
			contracttest.CheckArgument(t, test.name, kernel.Attention(c.out, c.q, c.k, c.v, &c.o), test.arg, test.want)
			for x, s := range outputs {
				if !slices.Equal(s, before[x]) {
					t.Errorf("output %d was overwritten", x)
				}
			}
		})
	}
}

// TestGoodOptions are calls that look bad and are not.
func TestGoodOptions(t *testing.T) {
	for name, change := range map[string]func(c *badCall){
		"softcap least":        func(c *badCall) { c.o.Softcap = 0x1p-126 },
		"softcap most":         func(c *badCall) { c.o.Softcap = 0x1p127 },
		"no sink":              func(c *badCall) { c.o.Sinks = []float32{contracttest.NegInf, 0, 0, 0} },
		"starts empty":         func(c *badCall) { c.o.QueryStart, c.o.KeyStart = []int{}, []int{} },
		"queries before 0":     func(c *badCall) { c.o.QueryStart, c.o.Mask = []int{1 - 1<<30}, kernel.Causal(math.MaxInt) },
		"positions at the end": func(c *badCall) { c.o.QueryStart, c.o.KeyStart = []int{1<<30 - 3}, []int{1<<30 - 7, 0} },
		"huge blocks":          func(c *badCall) { c.o.Mask = kernel.BlockSparse([]bool{true}, math.MaxInt, math.MaxInt) },
		"bitmap of one key":    func(c *badCall) { c.o.Mask = kernel.BlockSparse(make([]bool, 21), 1, 1) },
		"window without end":   func(c *badCall) { c.o.Mask = kernel.Window(math.MaxInt, math.MaxInt).And(kernel.Window(-1, -1)) },
		"empty bools":          func(c *badCall) { c.o.Mask = kernel.Visible(nil, [4]int{1, 1, 1, 0}) },
		"empty bias":           func(c *badCall) { c.o.Bias = kernel.BHLD([]float32{}, 1, 1, 1, 0) },
		"unused strides": func(c *badCall) {
			c.o.Mask = kernel.VisibleStrided(make([]bool, 7), [4]int{1, 1, 1, 7}, [3]int{-1, math.MaxInt, math.MinInt})
		},
		"threads beyond all": func(c *badCall) { c.o.Threads = math.MaxInt },
		"bias is q":          func(c *badCall) { c.o.Bias = kernel.BHLD(contracttest.Floats(c.q), 1, 1, 3, 7) },
		"ids that jump": func(c *badCall) {
			c.o.Mask = kernel.Segments([]int32{math.MinInt32, 0, 0, math.MaxInt32, 1, 1}, make([]int32, 14))
		},
	} {
		c := newBadCall()
		change(c)
		if err := kernel.Attention(c.out, c.q, c.k, c.v, &c.o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, x := range contracttest.Floats(c.out) {
			if x == contracttest.Canary {
				t.Fatalf("%s: out was not written", name)
			}
		}
	}
}

// TestNotTaken: an option that a call does not take is an error which says why, and nothing is
// written.
func TestNotTaken(t *testing.T) {
	dout, q, k, v := good()
	lse := kernel.BHLD(make([]float32, 2*4*3), 2, 4, 3, 1)
	dq := kernel.BHLD(testutil.Filled(2*4*3*6, contracttest.Canary), 2, 4, 3, 6)
	p := contracttest.NewPartials(1, 2, 4, 3, 5)
	backward := func(s kernel.Scoring) error {
		return kernel.AttentionBackward(kernel.Gradients{Q: dq}, dout, q, k, v, lse, &kernel.BackwardOptions{Scoring: s})
	}
	partials := func(s kernel.Scoring) error {
		return kernel.AttentionPartials(p, q, k, v, &kernel.PartialOptions{Scoring: s})
	}
	additive := func(s kernel.Scoring) error {
		return kernel.Additive(dout, q, k, v, make([]float32, 6), &kernel.Options{Scoring: s})
	}
	for _, x := range []struct {
		call      func(s kernel.Scoring) error
		s         kernel.Scoring
		arg, want string
	}{
		{backward, kernel.Scoring{Score: func(*kernel.ScoreTile) {}}, "Options.Score", "a function, want nil: its derivative is not known"},
		{backward, kernel.Scoring{DynamicInt12: true}, "Options.DynamicInt12", "true, want false: rounded products have no gradients"},
		{partials, kernel.Scoring{Sinks: make([]float32, 4)}, "Options.Sinks", "numbers, want nil: MergePartials takes them"},
		{additive, kernel.Scoring{DynamicInt12: true}, "Options.DynamicInt12", "true, want false: additive scores are no products"},
	} {
		contracttest.CheckArgument(t, x.arg, x.call(x.s), x.arg, x.want)
	}
	for _, out := range []kernel.Tensor{dout, dq} {
		if contracttest.Floats(out)[0] != contracttest.Canary {
			t.Error("an output has changed")
		}
	}
	if p.Sum[0] != 0 {
		t.Error("the partials have changed")
	}
}
