package kernel_test

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestTypeErrors: what does not fit is named, and nothing is written.
func TestTypeErrors(t *testing.T) {
	shared := make([]float32, 400)
	ints, halves, eights, pairs := make([]int8, 400), make([]kernel.F16, 400), make([]kernel.F8E4M3, 400), make([]kernel.Int4x2, 200)
	fit := func() kernel.Tensor { return kernel.BHLD(shared, 2, 2, 7, 1) }
	for _, test := range []struct {
		name, arg, want string
		call            func(out, q, k, v *kernel.Tensor, o *kernel.Options)
	}{
		{"q of int8", "q", "bfloat16", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 4, 3, 1)
			*q = kernel.BHLD(ints, 2, 4, 3, 6).Scaled(&s)
		}},
		{"out of int8", "out", "bfloat16", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 4, 3, 1)
			*out = kernel.BHLD(ints, 2, 4, 3, 5).Scaled(&s)
		}},
		{"q of float8", "q", "float32, float16 or bfloat16", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.BHLD(eights, 2, 4, 3, 6) }},
		{"out of float8", "out", "float32, float16 or bfloat16", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options) {
			*out = kernel.BHLD(make([]kernel.F8E5M2, 400), 2, 4, 3, 5)
		}},
		{"bias of float8", "Options.Bias", "float32, float16 or bfloat16", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Bias = kernel.BHLD(eights, 1, 1, 3, 7) }},
		{"scales for float8", "k", "float8_e4m3 [B H L D] = [2 2 7 6]", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*k = kernel.BHLD(eights, 2, 2, 7, 6).Scaled(&s)
		}},
		{"float8 too short", "v", "140 elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { *v = kernel.BHLD(eights[:139], 2, 2, 7, 5) }},
		{"bias of int8", "Options.Bias", "bfloat16", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Bias = kernel.BHLD(ints, 1, 1, 3, 7) }},
		{"LSE of float16", "Options.LSE", "float32", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.LSE = kernel.BHLD(halves, 2, 4, 3, 1) }},
		{"no scales", "k", "Tensor.Scaled", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(ints, 2, 2, 7, 6) }},
		{"scales for float16", "k", "int8 or int4, as it has scales", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*k = kernel.BHLD(halves, 2, 2, 7, 6).Scaled(&s)
		}},
		{"scales of float16", "the scales of k", "want float32", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(halves, 2, 2, 7, 1)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"scales too short", "the scales of v", "28 elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared[:27], 2, 2, 7, 1)
			*v = kernel.BHLD(ints, 2, 2, 7, 5).Scaled(&s)
		}},
		{"scales of another batch", "the scales of k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 3, 2, 7, 1)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"scales of other heads", "the scales of k", "2 heads", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 1, 7, 1)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"fewer scales than keys", "the scales of k", "length 7", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 2, 6, 1)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"groups do not divide", "the scales of k", "divides the head size 6", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 2, 7, 4)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"more groups than elements", "the scales of k", "divides", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 2, 7, 12)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"no groups", "the scales of k", "at least 1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 2, 7, 0)
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"zero Tensor of scales", "the scales of k", "at least 1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(new(kernel.Tensor))
		}},
		{"scales with a negative stride", "the scales of k", "negative stride", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.Strided(shared, [4]int{2, 2, 7, 1}, [3]int{14, 7, -1})
			*k = kernel.BHLD(ints, 2, 2, 7, 6).Scaled(&s)
		}},
		{"odd rows of int4", "v", "multiples of 2, as so many elements share a byte", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*v = kernel.Strided(pairs, [4]int{2, 2, 7, 5}, [3]int{84, 42, 6}).Scaled(&s)
		}},
		{"odd strides of int4", "k", "multiples of 2, as so many elements share a byte", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*k = kernel.Strided(pairs, [4]int{2, 2, 7, 6}, [3]int{98, 49, 7}).Scaled(&s)
		}},
		{"odd groups of int4", "the scales of k", "groups of a multiple of 2 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BHLD(shared, 2, 2, 7, 2)
			*k = kernel.BHLD(pairs, 2, 2, 7, 6).Scaled(&s)
		}},
		{"an output of int4", "out", "want float32, float16 or bfloat16", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options) { *out = kernel.BHLD(pairs, 2, 2, 7, 6) }},
		{"int4 without scales", "k", "scales with it", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(pairs, 2, 2, 7, 6) }},
		{"int4 too short", "k", "168 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*k = kernel.BHLD(pairs[:83], 2, 2, 7, 6).Scaled(&s)
		}},
		{"int8 too short", "k", "168 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*k = kernel.BHLD(ints[:167], 2, 2, 7, 6).Scaled(&s)
		}},
		{"float16 too short", "v", "float16", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { *v = kernel.BHLD(halves[:139], 2, 2, 7, 5) }},
		{"out is the scales", "out", "overlaps the scales of v", func(out, _, _, v *kernel.Tensor, _ *kernel.Options) {
			s := fit()
			*v = kernel.BHLD(ints, 2, 2, 7, 5).Scaled(&s)
			*out = kernel.BHLD(shared[27:], 2, 4, 3, 5)
		}},
		{"out is q in float16", "out", "overlaps q", func(out, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			*out, *q = kernel.BHLD(halves[143:], 2, 4, 3, 5), kernel.BHLD(halves, 2, 4, 3, 6)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, q, k, v := good()
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o)
			before := contracttest.AllBits(&out)
			err := kernel.Attention(out, q, k, v, &o)
			contracttest.CheckArgument(t, test.name, err, test.arg, test.want)
			if !slices.Equal(contracttest.AllBits(&out), before) {
				t.Error("out was overwritten")
			}
		})
	}
}

// TestPageErrors: what does not fit is named, and nothing is written.
func TestPageErrors(t *testing.T) {
	data, ints := make([]float32, 10*2*16*6), make([]int8, 10*2*16*6)
	pages := kernel.BHLD(data, 10, 2, 16, 6)
	table := func() kernel.PageTable {
		return kernel.PageTable{Pages: [][]int32{{9, 3}, {3, 0}}, Lengths: []int{17, 32}}
	}
	for _, test := range []struct {
		name, arg, want string
		call            func(out, q, k, v *kernel.Tensor, o *kernel.Options, table *kernel.PageTable)
	}{
		{"page too large", "the page table of k", "page 10, number 1 of batch row 0, want 0 to 9", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[0][1] = 10 }},
		{"page negative", "the page table of k", "page -1", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[1][0] = -1 }},
		{"table too short", "the page table of k", "1 pages for batch row 1, want at least 2", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages[1] = t.Pages[1][:1] }},
		{"length over the table", "the page table of k", "at least 3", func(_, _, k, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			t.Lengths[1] = 33
			*k, *v = pages.Paged(t), pages.Paged(t)
		}},
		{"length over the view", "the page table of k", "length 33 of batch row 1, want 0 to 32", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Lengths[1] = 33 }},
		{"length negative", "the page table of k", "length -1", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Lengths[0] = -1 }},
		{"no list", "the page table of k", "1 lists of pages for 2 lengths", func(_, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { t.Pages = t.Pages[:1] }},
		{"another batch", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*k = pages.Paged(&kernel.PageTable{Pages: [][]int32{{1}}, Lengths: []int{4}})
		}},
		{"no table", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) { *k = pages.Paged(nil) }},
		{"other lengths of v", "v", "length 16 of batch row 0, want 17", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*v = pages.Paged(&kernel.PageTable{Pages: t.Pages, Lengths: []int{16, 32}})
		}},
		{"plain v", "v", "length 32 of batch row 0, want 17", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*v = kernel.BHLD(data, 2, 2, 32, 6)
		}},
		{"slice too short", "k", "a slice of at least 1920", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data[:1919], 10, 2, 16, 6).Paged(t)
		}},
		{"page size 0", "k", "page size of at least 1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data, 10, 2, 0, 6).Paged(t)
		}},
		{"page size negative", "k", "negative dimension", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(data, 10, 2, -5, 6).Paged(t)
		}},
		{"pages negative", "v", "negative dimension", func(_, _, _, v *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*v = kernel.BHLD(data, -10, 2, 16, 6).Paged(t)
		}},
		{"no scales", "k", "Tensor.Scaled", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Paged(t)
		}},
		{"scales of few pages", "the scales of k", "batch 10", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			s := kernel.BHLD(data, 2, 2, 32, 1)
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Scaled(&s).Paged(t)
		}},
		{"paged scales", "the scales of k", "not paged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			s := pages.Paged(t)
			*k = kernel.BHLD(ints, 10, 2, 16, 6).Scaled(&s).Paged(t)
		}},
		{"paged q", "q", "not paged", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) { *q = pages.Paged(t) }},
		{"paged out", "out", "not paged", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options, t *kernel.PageTable) {
			*out = kernel.BHLD(make([]float32, 2*4*3*6), 2, 4, 3, 6).Paged(&kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{3, 3}})
		}},
		{"paged bias", "Options.Bias", "neither paged nor ragged", func(_, _, _, _ *kernel.Tensor, o *kernel.Options, t *kernel.PageTable) { o.Bias = pages.Paged(t) }},
		{"out in pages", "out", "overlaps k", func(out, _, _, _ *kernel.Tensor, _ *kernel.Options, _ *kernel.PageTable) {
			*out = kernel.BHLD(data[1700:], 2, 4, 3, 6)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := table()
			k, v := pages.Paged(&at), pages.Paged(&at)
			out, q, _, _ := good()
			out = kernel.BHLD(testutil.Filled(2*4*3*6, contracttest.Canary), 2, 4, 3, 6)
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o, &at)
			err := kernel.Attention(out, q, k, v, &o)
			contracttest.CheckArgument(t, test.name, err, test.arg, test.want)
			for i, x := range contracttest.Floats(out) {
				if x != contracttest.Canary && x != 0 {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
}

// TestRaggedErrors: ragged tensors that do not fit get an error, and out stays as it was.
func TestRaggedErrors(t *testing.T) {
	data := testutil.Filled(1000, 1)
	starts := func(n ...int) []int { return n }
	for _, x := range []struct {
		name, arg, want string
		call            func(out, q, k, v *kernel.Tensor, o *kernel.Options)
	}{
		{"no starts", "the starts of k", "none", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, nil, 2, 6) }},
		{"first negative", "the starts of k", "-1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(-1, 3, 7), 2, 6) }},
		{"descending", "the starts of v", "batch row 1 from 7 to 5", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { *v = kernel.Ragged(data, starts(0, 7, 5), 2, 5) }},
		{"wrong count", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(0, 3, 7, 9), 2, 6) }},
		{"slice too short", "k", "at least 132 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.Ragged(data[:131], starts(0, 4, 11), 2, 6)
		}},
		{"beyond the rows", "the starts of k", "the end 11", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 1, 10, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"changed later", "the starts of k", "the largest when the view was made", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) {
			s := starts(0, 4, 11)
			*k = kernel.Ragged(data, s, 2, 6)
			s[1] = 2
		}},
		{"of a batch", "k", "one batch row of all rows", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 2, 7, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"twice", "k", "neither paged nor ragged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = k.Ragged(starts(0, 4, 11)).Ragged(starts(0, 4, 11))
		}},
		{"negative rows", "k", "want", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 1, -7, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"other lengths of v", "v", "length 4 of batch row 0, want 7", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) {
			*k, *v = kernel.Ragged(data, starts(0, 7, 12), 2, 6), kernel.Ragged(data, starts(0, 4, 11), 2, 5)
		}},
		{"plain v", "v", "length 7 of batch row 1, want 5", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(0, 7, 12), 2, 6) }},
		{"plain out", "out", "length 3 of batch row 0, want 1", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.Ragged(data, starts(0, 1, 4), 4, 6) }},
		{"plain LSE", "Options.LSE", "length 3 of batch row 1, want 2", func(out, q, _, _ *kernel.Tensor, o *kernel.Options) {
			*q, *out = kernel.Ragged(data, starts(0, 3, 5), 4, 6), kernel.Ragged(contracttest.Floats(*out), starts(1, 4, 6), 4, 5)
			o.LSE = kernel.BHLD(testutil.Filled(24, contracttest.Canary), 2, 4, 3, 1)
		}},
		{"bias", "Options.Bias", "neither paged nor ragged", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			o.Bias = kernel.Ragged(data, starts(0, 3, 6), 4, 7)
		}},
		{"int8 q", "q", "float32", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BLHD(data, 1, 6, 4, 1)
			*q = kernel.Ragged(make([]int8, 200), starts(0, 3, 6), 4, 6).Scaled(&s)
		}},
		{"ragged scales", "the scales of k", "not ragged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.Ragged(data, starts(0, 7, 14), 2, 1)
			*k = kernel.Ragged(make([]int8, 200), starts(0, 7, 14), 2, 6).Scaled(&s)
		}},
		{"few scales", "the scales of k", "at least length 14", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BLHD(data, 1, 7, 2, 1)
			*k = kernel.Ragged(make([]int8, 200), starts(0, 7, 14), 2, 6).Scaled(&s)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			out, q, k, v := good()
			memory := contracttest.Floats(out)
			var o kernel.Options
			x.call(&out, &q, &k, &v, &o)
			err := kernel.Attention(out, q, k, v, &o)
			contracttest.CheckArgument(t, x.name, err, x.arg, x.want)
			for i, x := range memory {
				if x != contracttest.Canary {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
	contracttest.CheckArgument(t, "MergePartials", kernel.MergePartials(kernel.Ragged(data, starts(0, 3, 6), 4, 5), nil, kernel.MergeOptions{}), "out", "ragged")
}
