package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// quantizedShapes are calls of few rows and of many, on one block and several, with groups, masks
// that begin and end within segments of keys, and sizes for the kernels for integers and for
// others.
var quantizedShapes = []contracttest.Case{
	{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 128},
	{B: 2, H: 3, HKV: 3, Lq: 1, Lk: 261, D: 16, Dv: 16, Layout: contracttest.TokenMajor},
	{B: 1, H: 10, HKV: 2, Lq: 2, Lk: 528, D: 48, Dv: 32, Mask: contracttest.Causal(526), Layout: contracttest.Gaps},
	{B: 1, H: 9, HKV: 1, Lq: 1, Lk: 97, D: 128, Dv: 80},
	{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 24, Dv: 36},
	{B: 1, H: 2, HKV: 2, Lq: 70, Lk: 290, D: 128, Dv: 64, Mask: contracttest.Causal(220)},
	{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 530, D: 12, Dv: 4, Mask: contracttest.Window(90, -1).And(contracttest.Causal(400)), Layout: contracttest.Gaps},
	{B: 3, H: 2, HKV: 1, Lq: 17, Lk: 260, D: 192, Dv: 96, Mask: contracttest.KeyLengths([]int{260, 0, 257})},
	{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 3, D: 128, Dv: 128},
	{B: 1, H: 7, HKV: 1, Lq: 1, Lk: 40, D: 160, Dv: 16},
	{B: 1, H: 3, HKV: 1, Lq: 1, Lk: 290, D: 256, Dv: 192},
}

// TestZeroScale: a Scale of -0 is 0, for tiles and for few rows, with products of floats and of
// integers.
func TestZeroScale(t *testing.T) {
	zero := float32(math.Copysign(0, -1))
	for n, c := range []contracttest.Case{
		{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 32},
		{B: 1, H: 2, HKV: 1, Lq: 40, Lk: 90, D: 12, Dv: 4, Mask: contracttest.Causal(50)},
		{B: 1, H: 2, HKV: 2, Lq: 3, Lk: 7, D: 4, Dv: 4},
	} {
		c.Scale = zero
		for _, types := range []contracttest.Types{{}, contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)} {
			c = c.With(types)
			q, k, v := c.Typed(c.Inputs())
			opts := kernel.Options{Scoring: kernel.Scoring{Scale: zero, DynamicInt12: types.K == kernel.Int8}}
			want := c.Output(c.Dv)
			m := c.Model(q, k, v, &opts)
			contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o := opts
				o.Tier, o.Weights = tier, c.Output(c.Lk)
				got := c.Run(t, q, k, v, o)
				contracttest.Same(t, fmt.Sprintf("case %d, %v", n, types), &got, &want)
				contracttest.EachRow(&o.Weights, func(_, _, i int, w []float32) {
					for j, x := range w {
						if x != w[0] && x != 0 || n != 1 && x == 0 {
							t.Fatalf("case %d, %v: the weight of key %d is %v, that of key 0 %v", n, types, j, x, w[0])
						}
					}
				})
			})
		}
	}
	x := kernel.BHLD([]float32{1, 2}, 1, 1, 2, 1)
	out, p := kernel.BHLD(make([]float32, 2), 1, 1, 2, 1), kernel.BHLD(make([]float32, 4), 1, 1, 2, 2)
	o := kernel.Options{Scoring: kernel.Scoring{Scale: zero}, Outputs: kernel.Outputs{Weights: p, LSE: kernel.BHLD(make([]float32, 2), 1, 1, 2, 1)}}
	check := func(what string, err error, got, want []float32) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", what, got, err, want)
		}
	}
	err := kernel.Additive(out, x, x, x, []float32{3}, &o)
	check("Additive", err, contracttest.Floats(p), []float32{.5, .5, .5, .5})
	dq := kernel.BHLD([]float32{7, 7}, 1, 1, 2, 1)
	err = kernel.AdditiveBackward(kernel.AdditiveGradients{Q: dq}, x, x, x, x, p, []float32{3}, kernel.AdditiveBackwardOptions{Scale: zero})
	check("AdditiveBackward", err, contracttest.Floats(dq), []float32{0, 0})
	o.Weights = kernel.Tensor{}
	if err := kernel.Attention(out, x, x, x, &o); err != nil {
		t.Fatal(err)
	}
	dv := kernel.BHLD([]float32{7, 7}, 1, 1, 2, 1)
	err = kernel.AttentionBackward(kernel.Gradients{Q: dq, V: dv}, x, x, x, x, o.LSE, contracttest.BackwardOptions(o))
	check("AttentionBackward, dq", err, contracttest.Floats(dq), []float32{0, 0})
	check("AttentionBackward, dv", err, contracttest.Floats(dv), []float32{1.5, 1.5})
}

// TestLargeValues compares calls with the contract whose outputs are infinite or NaN, as values are
// large, for tiles and for few rows. The last key has a large value, a NaN or an infinity; masks
// hide it in two cases of three. Integers have a large scale there instead.
func TestLargeValues(t *testing.T) {
	for n, c := range []contracttest.Case{
		{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 32, Mask: contracttest.KeyLengths([]int{299})},
		{B: 1, H: 2, HKV: 1, Lq: 40, Lk: 90, D: 16, Dv: 16, Mask: contracttest.Causal(50)},
		{B: 1, H: 2, HKV: 2, Lq: 3, Lk: 7, D: 16, Dv: 16},
	} {
		for _, types := range []contracttest.Types{{}, contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32), contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)} {
			for x := range 6 {
				by, poison := []float32{1, 0x1p126}[x%2], []float32{math.MaxFloat32, testutil.NaN, testutil.Inf}[x/2]
				c := c.With(types)
				q, k, v := c.Inputs()
				contracttest.EachRow(&v, func(_, _, j int, row []float32) {
					for e := range row {
						if (e+j)%3 > 0 {
							row[e] *= by
						}
					}
					if j == c.Lk-1 {
						row[2] = poison
					}
				})
				q, k, v = c.Typed(q, k, v)
				integers := types.V == kernel.Int8
				if scales := v.Scales(); integers && x%2 == 1 {
					contracttest.EachRow(&scales, func(_, _, j int, row []float32) {
						if j == c.Lk-1 {
							row[0] = 3e38
						}
					})
				}
				for _, s := range []kernel.Scoring{{}, {BFloat16: !integers, DynamicInt12: integers}} {
					o := c.Options(kernel.Options{Scoring: s})
					want := c.Output(c.Dv)
					m := c.Model(q, k, v, &o)
					contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
					contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
						o.Tier = tier
						got := c.Run(t, q, k, v, o)
						contracttest.Same(t, fmt.Sprintf("case %d, %v, values of %g and %g", n, types, by, poison), &got, &want)
					})
				}
			}
		}
	}
}

// TestQuantized compares quantized calls with the contract: with one scale for a row and several,
// in pages, from a position on, with NaN and Inf, on every tier and on several threads. Short tests
// have both types of keys and of values with each shape, but not all four pairs.
func TestQuantized(t *testing.T) {
	contracttest.EmulateHalves(t)
	contracttest.ForceThreads(t)
	integers := []kernel.DType{kernel.Int8, kernel.Int4}
	for n := range 4 * len(quantizedShapes) {
		c := quantizedShapes[n%len(quantizedShapes)]
		variant := n / len(quantizedShapes)
		if testutil.Thin() && (variant/2+variant%2+n%len(quantizedShapes))%2 != 0 || testutil.Race && n%5 > 1 {
			continue
		}
		c = c.With(contracttest.TypesOf(kernel.DType(n%3), integers[variant/2], integers[variant%2], kernel.Float32))
		c.Seed = uint64(n)
		t.Run(fmt.Sprintf("%v/%v", c.Types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%4 == 3 {
				r := testutil.Rand(n)
				sprinkle(&r, &q, &k, &v)
			}
			q, k, v = c.Typed(q, k, v)
			opts := kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true, Scale: c.Scale}}
			if n%3 == 1 {
				opts.KeyStart, opts.QueryStart = []int{47 * n}, []int{47 * n}
			}
			checkCall(t, c, q, k, v, opts)
		})
	}
}

// A cache says which integers keys and values are, and how many columns share a scale: 0 means all,
// as where the number does not divide them.
type cache struct {
	dtype kernel.DType
	group int
}

func (c cache) String() string {
	if c.group == 0 {
		return c.dtype.String()
	}
	return fmt.Sprintf("%vof%d", c.dtype, c.group)
}

// of returns a tensor whose rows lie side by side as such integers.
func (c cache) of(x kernel.Tensor) (y kernel.Tensor) {
	shape, data := x.Shape(), contracttest.Floats(x)
	group := c.group
	if group == 0 || shape[3]%group != 0 {
		group = shape[3]
	}
	scales := make([]float32, len(data)/group)
	var err error
	if c.dtype == kernel.Int4 {
		codes := make([]kernel.Int4x2, len(data)/2)
		err = numeric.QuantizeInt4(codes, scales, data, group, kernel.Exec{})
		y = kernel.BHLD(codes, shape[0], shape[1], shape[2], shape[3])
	} else {
		codes := make([]int8, len(data))
		err = numeric.QuantizeInt8(codes, scales, data, group, kernel.Exec{})
		y = kernel.BHLD(codes, shape[0], shape[1], shape[2], shape[3])
	}
	if err != nil {
		panic(err) // the numbers are finite
	}
	s := kernel.BHLD(scales, shape[0], shape[1], shape[2], shape[3]/group)
	return y.Scaled(&s)
}

// quantizedCaches are those with sizes for kernels for integers.
var quantizedCaches = []cache{{kernel.Int8, 0}, {kernel.Int8, 64}, {kernel.Int8, 16}, {kernel.Int8, 96}, {kernel.Int4, 32}, {kernel.Int4, 0}}

// oddSizes are sizes for which kernels of integers read columns after a row's last one.
var oddSizes = []contracttest.Case{
	{B: 1, H: 5, HKV: 1, Lq: 1, Lk: 270, D: 199, Dv: 41},
	{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 65, D: 7, Dv: 271, Mask: contracttest.KeyLengths([]int{65, 30})},
	{B: 1, H: 2, HKV: 1, Lq: 40, Lk: 300, D: 15, Dv: 33, Mask: contracttest.Causal(260)},
	{B: 1, H: 2, HKV: 2, Lq: 70, Lk: 90, D: 133, Dv: 1},
}

// TestQuantizedCaches is TestQuantized with caches that kernels for integers take.
func TestQuantizedCaches(t *testing.T) {
	contracttest.EmulateHalves(t)
	contracttest.ForceThreads(t)
	for n, c := range slices.Concat(quantizedShapes, quantizedTiles, oddSizes) {
		c.Seed, c.Layout = uint64(n), contracttest.Case{}.Layout // the layout of caches
		caches := quantizedCaches
		if (c.D|c.Dv)%2 != 0 {
			caches = quantizedCaches[:4] // of int8
		}
		for i, cache := range caches {
			if testutil.Thin() && (i != n%len(caches) || n%5 > 2) {
				continue
			}
			t.Run(fmt.Sprintf("%v/%v", c, cache), func(t *testing.T) {
				q, k, v := c.Inputs()
				if n%2 == 0 { // sums of many columns round
					for _, x := range []*kernel.Tensor{&q, &k} {
						contracttest.EachRow(x, func(_, _, _ int, row []float32) {
							for d, x := range row {
								row[d] = 1 + x/32
							}
						})
					}
				}
				k, v = cache.of(k), cache.of(v)
				for i, x := range []kernel.Tensor{k.Scales(), v.Scales()} {
					if scales := contracttest.Floats(x); n%4 == 3 {
						scales[len(scales)/2], scales[len(scales)-1-i] = testutil.NaN, float32(math.Inf(1))
					}
				}
				opts := kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true, Scale: c.Scale}}
				if n%3 == 1 {
					opts.KeyStart, opts.QueryStart = []int{47 * n}, []int{47 * n}
				}
				checkCall(t, c, q, k, v, opts)
			})
		}
	}
}

// TestQuantizedPages is TestQuantized with such caches in pages, some of them smaller than a
// segment of keys.
func TestQuantizedPages(t *testing.T) {
	contracttest.EmulateHalves(t)
	for n, c := range []contracttest.Case{
		{B: 2, H: 6, HKV: 2, Lq: 1, Lk: 300, D: 64, Dv: 128},
		{B: 2, H: 2, HKV: 1, Lq: 30, Lk: 77, D: 256, Dv: 64},
		{B: 2, H: 6, HKV: 2, Lq: 1, Lk: 300, D: 72, Dv: 41},
		{B: 2, H: 2, HKV: 1, Lq: 30, Lk: 200, D: 133, Dv: 72},
	} {
		for i, size := range []int{7, 64, 40, 96} {
			for j, cache := range quantizedCaches {
				if testing.Short() && (n+i+j)%2 > 0 {
					continue
				}
				if odd := c.D%16 != 0; odd != (i > 1) || odd && cache != quantizedCaches[0] {
					continue // rows that end within a group of columns have one scale, and pages of 40 and of 96 rows
				}
				t.Run(fmt.Sprintf("%v/size=%d/%v", c, size, cache), func(t *testing.T) {
					q, _, _ := c.Inputs()
					each := (c.Lk + size - 1) / size
					_, k, v := contracttest.Case{B: 2 * each, HKV: c.HKV, Lk: size, D: c.D, Dv: c.Dv, Seed: uint64(n)}.Inputs()
					table := kernel.PageTable{Pages: make([][]int32, 2), Lengths: []int{c.Lk, c.Lk - 30}}
					for page := range int32(2 * each) { // each batch row takes every second page, the last first
						b := page % 2
						table.Pages[b] = append([]int32{page}, table.Pages[b]...)
					}
					opts := kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true, KeyStart: []int{5 * i}, QueryStart: []int{5 * i}}}
					checkCall(t, c, q, cache.of(k).Paged(&table), cache.of(v).Paged(&table), opts)
				})
			}
		}
	}
}

// checkCall compares a call with the contract, on every tier and with someThreads.
func checkCall(t *testing.T, c contracttest.Case, q, k, v kernel.Tensor, opts kernel.Options) {
	want := c.Output(c.Dv)
	m := c.Model(q, k, v, &opts)
	contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
	want = contracttest.As(want, c.Types.Out)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range someThreads(c) {
			o := opts
			o.Tier, o.Threads = tier, threads
			got := c.Run(t, q, k, v, o)
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
	})
}

// TestQuantizedOptions is TestOptions with integers, most of them in groups of columns that kernels
// for integers take.
func TestQuantizedOptions(t *testing.T) {
	contracttest.EmulateHalves(t)
	eachOptionCase(func(n int, c *optionCase) {
		if testing.Short() && n%3 > 0 {
			return
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			integers := []kernel.DType{kernel.Int8, kernel.Int4}
			c.D, c.Dv = []int{128, 48, 64}[n%3], []int{16, 64, 24}[n/2%3]
			c.Types.K, c.Types.V = integers[n%2], integers[n/2%2]
			o := c.options()
			o.DynamicInt12 = true
			c.compare(t, o)
		})
	})
}

// TestQuantizedHiddenBlock: a row that sees no key of a block is computed again, because of a scale
// there that is NaN, without the scale. The first call after ReleaseMemory has a list of visible
// keys that was never filled.
func TestQuantizedHiddenBlock(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 2, Lk: 300, D: 32, Dv: 32}
	shape := [4]int{1, 1, c.Lq, c.Lk}
	c.Mask = contracttest.Visible(bools(shape, func(_, _, i, j int) bool { return i == 1 || j >= 256 }), shape)
	q, k, v := c.Inputs()
	k, v = int8Rows(k), int8Rows(v)
	contracttest.Floats(v.Scales())[3] = testutil.NaN
	want := c.Output(c.Dv)
	m := c.Model(q, k, v, &kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true}})
	contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		kernel.ReleaseMemory()
		got := c.Run(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true}, Exec: kernel.Exec{Tier: tier, Threads: 1}})
		contracttest.Same(t, "out", &got, &want)
	})
}

// quantizedTiles are calls of many rows: one tile and several, on blocks that begin with an odd
// key, with all remainders of keys.
var quantizedTiles = []contracttest.Case{
	{B: 1, H: 1, HKV: 1, Lq: 40, Lk: 37, D: 16, Dv: 48},
	{B: 1, H: 2, HKV: 2, Lq: 33, Lk: 258, D: 64, Dv: 32, Mask: contracttest.Window(101, -1).And(contracttest.Causal(225))},
	{B: 2, H: 4, HKV: 2, Lq: 19, Lk: 300, D: 128, Dv: 128, Mask: contracttest.KeyLengths([]int{299, 33})},
	{B: 1, H: 1, HKV: 1, Lq: 13, Lk: 2, D: 32, Dv: 16},
	{B: 1, H: 1, HKV: 1, Lq: 25, Lk: 520, D: 48, Dv: 16, Mask: contracttest.Causal(495)},
	{B: 1, H: 1, HKV: 1, Lq: 17, Lk: 90, D: 256, Dv: 256},
	{B: 1, H: 1, HKV: 1, Lq: 40, Lk: 300, D: 192, Dv: 160, Mask: contracttest.Causal(260)},
}

// TestQuantizedRagged: in a batch, a sequence of one query has the bits of a call of its own,
// beside a sequence of many.
func TestQuantizedRagged(t *testing.T) {
	const heads, keys, d = 4, 70, 64
	starts := []int{0, 20, 21}
	r := testutil.Rand(1)
	data := make([]float32, starts[2]*heads*d)
	r.Fill(data)
	codes, scales := make([]int8, 2*keys*d), make([]float32, 2*keys)
	for i := range codes {
		codes[i] = int8(r.Uint64())
	}
	r.Fill(scales)
	kv := func(b, n int) kernel.Tensor {
		s := kernel.BHLD(scales[b*keys:(b+n)*keys], n, 1, keys, 1)
		return kernel.BHLD(codes[b*keys*d:(b+n)*keys*d], n, 1, keys, d).Scaled(&s)
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{DynamicInt12: true}}
		got, want := make([]float32, len(data)), make([]float32, len(data))
		if err := kernel.Attention(kernel.Ragged(got, starts, heads, d), kernel.Ragged(data, starts, heads, d), kv(0, 2), kv(0, 2), &o); err != nil {
			t.Fatal(err)
		}
		for b, n := range []int{20, 1} {
			part := func(x []float32) kernel.Tensor { return kernel.BLHD(x[starts[b]*heads*d:][:n*heads*d], 1, n, heads, d) }
			if err := kernel.Attention(part(want), part(data), kv(b, 1), kv(b, 1), &o); err != nil {
				t.Fatal(err)
			}
		}
		testutil.CheckBits(t, "out", got, want)
	})
}

// TestQuantizedErrors: keys and values must be integers, scores products, and there are no
// gradients.
func TestQuantizedErrors(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 3, D: 4, Dv: 4}
	for _, types := range []contracttest.Types{contracttest.Uniform(kernel.Float32), contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Float16, kernel.Float32), contracttest.TypesOf(kernel.Float32, kernel.Float32, kernel.Int4, kernel.Float32)} {
		c := c.With(types)
		q, k, v := c.Typed(c.Inputs())
		contracttest.CheckArgument(t, types.String(), kernel.Attention(c.Out(), q, k, v, &kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true}}), "Options.DynamicInt12", "k and v of int8 or int4")
	}
	c = c.With(contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32))
	q, k, v := c.Typed(c.Inputs())
	contracttest.CheckArgument(t, "additive", kernel.Additive(c.Out(), q, k, v, make([]float32, c.D), &kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true}}), "Options.DynamicInt12", "false")
}

// TestQuantizedAccuracy compares errors against float64, as shares of the root mean square of the
// outputs: quantized calls beside the same call in other types, and beside queries and weights of 8
// bits, as SageAttention has them (Zhang et al., arXiv:2410.02367: int8 queries with a scale, here
// one for each row, and int8 weights in units of 1/127 of the largest). Keys with a mean in common
// lose by their own rounding.
func TestQuantizedAccuracy(t *testing.T) {
	c := contracttest.Case{B: 1, H: 4, HKV: 1, Lq: 16, Lk: 1024, D: 128, Dv: 128, Seed: 3}
	for _, mean := range []float32{4, 0} {
		if testing.Short() && mean == 0 {
			continue // the easier ones
		}
		q, k, v := c.Inputs()
		contracttest.EachRow(&k, func(_, _, _ int, row []float32) {
			for d := range row {
				row[d] += mean
			}
		})
		size := outputSize(c, q, k, v)
		relative := func(q8, k8, v8 kernel.Tensor, quantized bool) float64 {
			out := c.Run(t, q8, k8, v8, kernel.Options{Scoring: kernel.Scoring{DynamicInt12: quantized}})
			_, rms := oracleError(c, &out, q, k, v)
			return rms / size
		}
		half := func(x kernel.Tensor) kernel.Tensor { return contracttest.As(x, kernel.BFloat16) }
		bytes := c.Output(c.Dv)
		eightBits(c, &bytes, q, k, v)
		_, rms := oracleError(c, &bytes, q, k, v)
		float32s, bf16, int8s, all, sage := relative(q, k, v, false), relative(half(q), half(k), half(v), false), relative(q, int8Rows(k), int8Rows(v), false), relative(q, int8Rows(k), int8Rows(v), true), rms/size
		t.Logf("keys with a mean of %v: error in float32 %.1e, bfloat16 %.1e, int8 keys and values %.2e, quantized %.2e, with queries and weights of 8 bits %.2e", mean, float32s, bf16, int8s, all, sage)
		if !(all <= 1.05*int8s && all < sage) {
			t.Errorf("keys with a mean of %v: the error of quantized calls is %v, want at most 1.05 times the %v of int8 keys and values, and less than the %v of 8 bits throughout", mean, all, int8s, sage)
		}
	}
}

// int8Rows returns a tensor whose rows lie side by side as int8 with a scale for each row.
func int8Rows(x kernel.Tensor) kernel.Tensor { return cache{kernel.Int8, 0}.of(x) }

// outputSize returns the root mean square of the outputs of a call.
func outputSize(c contracttest.Case, q, k, v kernel.Tensor) float64 {
	zero := c.Output(c.Dv)
	contracttest.EachRow(&zero, func(_, _, _ int, row []float32) { clear(row) })
	_, rms := oracleError(c, &zero, q, k, v)
	return rms
}

// eightBits sets out to attention with integers of 8 bits throughout, each row of q, k and v with a
// scale.
func eightBits(c contracttest.Case, out *kernel.Tensor, q, k, v kernel.Tensor) {
	narrow := func(x kernel.Tensor) kernel.Tensor { return contracttest.Widened(int8Rows(x)) }
	q, k, v = narrow(q), narrow(k), narrow(v)
	contracttest.EachRow(out, func(b, h, i int, row []float32) {
		s, top, l := make([]float64, c.Lk), math.Inf(-1), 0.0
		for j := range s {
			for d, x := range contracttest.Row(&q, b, h, i) {
				s[j] += float64(x) * float64(contracttest.Row(&k, b, h/(c.H/c.HKV), j)[d]) / math.Sqrt(float64(c.D))
			}
			top = max(top, s[j])
		}
		o := make([]float64, c.Dv)
		for j := range s {
			p := math.Exp(s[j] - top)
			l += p
			p = math.RoundToEven(p*127) / 127
			for e, x := range contracttest.Row(&v, b, h/(c.H/c.HKV), j) {
				o[e] += p * float64(x)
			}
		}
		for e := range row {
			row[e] = float32(o[e] / l)
		}
	})
}
