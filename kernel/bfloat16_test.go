package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// bfloat16Types are element types of calls with products in bfloat16.
var bfloat16Types = []contracttest.Types{
	{}, contracttest.Uniform(kernel.BFloat16), contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32),
	contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.Float16, kernel.Float32),
	contracttest.TypesOf(kernel.BFloat16, kernel.Float8E4M3, kernel.BFloat16, kernel.Float16), contracttest.TypesOf(kernel.Float16, kernel.Float32, kernel.Float8E5M2, kernel.BFloat16),
}

// scattered spreads magnitudes over the range of bfloat16, beyond the smallest that products take.
func scattered(tensors ...*kernel.Tensor) {
	for _, t := range tensors {
		contracttest.EachRow(t, func(_, _, j int, row []float32) {
			for d := range row {
				row[d] *= float32(math.Ldexp(1, (7*d+j)%140-120))
			}
		})
	}
}

// TestBFloat16 compares calls with products in bfloat16 with the contract: whole tiles and few
// rows, from a position on, with NaN, Inf and tiny numbers, on every tier and on several threads.
func TestBFloat16(t *testing.T) {
	contracttest.EmulateTiles(t)
	contracttest.ForceThreads(t)
	shapes := slices.Concat(quantizedShapes, quantizedTiles)
	for n, c := range shapes {
		for i, types := range bfloat16Types {
			if testutil.Thin() && (i != n%len(bfloat16Types) || n%5 > 2) || testutil.Race && n%5 > 0 {
				continue
			}
			c := c.With(types)
			c.Seed = uint64(n + len(shapes)*i)
			t.Run(fmt.Sprintf("%v/%v", c.Types, c), func(t *testing.T) {
				q, k, v := c.Inputs()
				switch (n + i) % 4 {
				case 1:
					scattered(&q, &k, &v)
				case 3:
					r := testutil.Rand(n)
					sprinkle(&r, &q, &k, &v)
				}
				q, k, v = c.Typed(q, k, v)
				opts := kernel.Options{Scoring: kernel.Scoring{BFloat16: true, Scale: c.Scale}}
				if n/2%2 == 1 { // of all types, in short tests too
					opts.KeyStart, opts.QueryStart = []int{47 * n}, []int{47 * n}
				}
				checkCall(t, c, q, k, v, opts)
			})
		}
	}
}

// TestBFloat16Shapes is TestContract and TestDecode with products in bfloat16, of some of the
// shapes.
func TestBFloat16Shapes(t *testing.T) {
	contracttest.EmulateTiles(t)
	contracttest.ForceThreads(t)
	step := 3
	if testutil.Race {
		step = 23
	} else if testutil.Thin() {
		step = 11
	}
	for i, c := range slices.Concat(cases(), decodeCases()) {
		if i%step == 0 {
			c = c.With(bfloat16Types[i%2])
			t.Run(c.String(), func(t *testing.T) {
				q, k, v := c.Typed(c.Inputs())
				checkCall(t, c, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true, Scale: c.Scale}})
			})
		}
	}
}

// TestBFloat16Short is TestShortCalls with products in bfloat16. Some tiles have rows of several
// heads; their columns are a segment or less, or more, and there is one key, or more than a pair.
func TestBFloat16Short(t *testing.T) {
	contracttest.ForceThreads(t)
	mixed := []contracttest.Case{
		{B: 2, H: 9, HKV: 9, Lq: 4, Lk: 4, D: 64, Dv: 64}, {B: 1, H: 5, HKV: 5, Lq: 1, Lk: 2, D: 16, Dv: 12},
		{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 3, D: 32, Dv: 64}, {B: 1, H: 33, HKV: 33, Lq: 1, Lk: 31, D: 48, Dv: 20},
	}
	for n, c := range slices.Concat(plainCases, mixed) {
		for layout := range contracttest.Layouts {
			c := c.With(bfloat16Types[1+(n+int(layout))%2])
			c.Seed, c.Layout = uint64(n), layout
			q, k, v := c.Inputs()
			switch (n + int(layout)) % 3 {
			case 1:
				scattered(&q, &k, &v)
			case 2:
				r := testutil.Rand(n)
				sprinkle(&r, &q, &k, &v)
			}
			q, k, v = c.Typed(q, k, v)
			t.Run(fmt.Sprintf("%v/%v", c.Types, c), func(t *testing.T) {
				checkCall(t, c, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true}})
			})
		}
	}
}

// TestBFloat16Starts: chains of values end at multiples of 32 positions, in calls of a few keys,
// too, whose rows of several heads are in one tile.
func TestBFloat16Starts(t *testing.T) {
	for _, keys := range []int{2, 3, 6, 20, 31} {
		for start := 33 - keys; start <= 33; start += 1 + keys/8 {
			c := contracttest.Case{B: 1, H: 2, HKV: 2, Lq: 1, Lk: keys, D: 64, Dv: 64, Seed: uint64(start),
				Types: contracttest.TypesOf(kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.Float32)}
			q, k, v := c.Typed(c.Inputs())
			at := []int{start}
			checkCall(t, c, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true, KeyStart: at, QueryStart: at}})
		}
	}
}

// TestBFloat16Hidden: values that are not finite, which no row of a later query tile sees, do not
// matter to it, although its segments of 32 keys begin with them.
func TestBFloat16Hidden(t *testing.T) {
	contracttest.EmulateTiles(t)
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 110, Lk: 110, D: 32, Dv: 32}
	q, k, v := c.Inputs()
	contracttest.EachRow(&v, func(_, _, j int, row []float32) {
		switch j {
		case 3, 97:
			row[j%c.Dv] = float32(math.Inf(1))
		case 40:
			row[j%c.Dv] = float32(math.NaN())
		}
	})
	for _, window := range []int{4, 40} {
		c.Mask = contracttest.Window(window, 0)
		checkCall(t, c, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true}})
	}
}

// TestBFloat16Behind: kernels read more columns than rows of such sizes have. Numbers of the next
// row, here of a hidden key that is not finite, do not matter.
func TestBFloat16Behind(t *testing.T) {
	for _, d := range []int{8, 24, 127, 250} {
		c := contracttest.Case{B: 1, H: 3, HKV: 1, Lq: 1, Lk: 131, D: d, Dv: d + 1, Mask: contracttest.KeyLengths([]int{130}), Types: bfloat16Types[1]}
		q, k, v := c.Inputs()
		for _, x := range []*kernel.Tensor{&k, &v} {
			contracttest.EachRow(x, func(_, _, j int, row []float32) {
				for i := range row {
					if j == 130 {
						row[i] = float32(math.NaN())
					}
				}
			})
		}
		q, k, v = c.Typed(q, k, v)
		checkCall(t, c, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true}})
	}
}

// TestBFloat16Options is TestOptions with products in bfloat16: masks, biases, softcaps, lists,
// trees and outputs.
func TestBFloat16Options(t *testing.T) {
	contracttest.EmulateTiles(t)
	eachOptionCase(func(n int, c *optionCase) {
		if testing.Short() && n%3 > 0 {
			return
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c.Types = bfloat16Types[n%len(bfloat16Types)]
			c.D, c.Dv = []int{c.D, 32, 64, 33}[n%4], []int{c.Dv, 16, 64}[n/2%3]
			o := c.options()
			o.BFloat16 = true
			c.compare(t, o)
		})
	})
}

// TestBFloat16Pages: keys and values in pages, some of them smaller than a segment of keys, have
// the bits of the contract.
func TestBFloat16Pages(t *testing.T) {
	contracttest.EmulateTiles(t)
	for n, c := range []contracttest.Case{
		{B: 2, H: 6, HKV: 2, Lq: 1, Lk: 300, D: 64, Dv: 128},
		{B: 2, H: 2, HKV: 1, Lq: 30, Lk: 77, D: 80, Dv: 64},
		{B: 2, H: 6, HKV: 2, Lq: 1, Lk: 300, D: 72, Dv: 41},
	} {
		for i, size := range []int{7, 25, 64} {
			for j, types := range bfloat16Types {
				if testing.Short() && (n+2*i+j)%4 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%v/size=%d/%v", c, size, types), func(t *testing.T) {
					q, _, _ := c.Inputs()
					each := (c.Lk + size - 1) / size
					pages := contracttest.Case{B: 2 * each, HKV: c.HKV, Lk: size, D: c.D, Dv: c.Dv, Seed: uint64(n), Types: types}
					_, k, v := pages.Typed(pages.Inputs())
					table := kernel.PageTable{Pages: make([][]int32, 2), Lengths: []int{c.Lk, c.Lk - 30}}
					for page := range int32(2 * each) { // each batch row takes every second page, the last first
						b := page % 2
						table.Pages[b] = append([]int32{page}, table.Pages[b]...)
					}
					opts := kernel.Options{Scoring: kernel.Scoring{BFloat16: true, KeyStart: []int{5 * i}, QueryStart: []int{5 * i}}}
					checkCall(t, c, q, k.Paged(&table), v.Paged(&table), opts)
				})
			}
		}
	}
}

// TestBFloat16Wide: a segment of wide values for some rows is more than a call takes of others.
func TestBFloat16Wide(t *testing.T) {
	types := contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32)
	for _, c := range []contracttest.Case{
		{B: 1, H: 44, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 2048, Seed: 1, Types: types},
		{B: 1, H: 24, HKV: 1, Lq: 1, Lk: 70, D: 64, Dv: 4096, Seed: 2, Types: types},
		{B: 1, H: 24, HKV: 1, Lq: 1, Lk: 70, D: 64, Dv: 4090, Seed: 3, Types: types},
	} {
		q, k, v := c.Typed(c.Inputs())
		scoring := kernel.Scoring{BFloat16: true}
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: contracttest.Generic()}, Scoring: scoring})
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			tuned, err := tier.Tuned("SkinnyRows=44")
			if err != nil {
				t.Fatal(err)
			}
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tuned}, Scoring: scoring})
			contracttest.Same(t, fmt.Sprintf("%d heads, %d columns", c.H, c.Dv), &got, &want)
		})
	}
}

// TestBFloat16Alone: a prompt with products in bfloat16 has the bits of the same one in pieces,
// token by token too, on any tiles and any number of threads. Short keys of a bfloat16 cache and
// their float32 are the same.
func TestBFloat16Alone(t *testing.T) {
	contracttest.EmulateTiles(t)
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 8, HKV: 2, Lq: 280, Lk: 280, D: 64, Dv: 48, Mask: contracttest.Causal(0), Seed: 5, Types: contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32)}
	if testing.Short() {
		c.H, c.HKV = 2, 1
	}
	q, k, v := c.Typed(c.Inputs())
	opts := func(e kernel.Exec, at int) *kernel.Options {
		return &kernel.Options{Exec: e, Scoring: kernel.Scoring{BFloat16: true, Mask: kernel.Causal(at)}}
	}
	want := c.Run(t, q, k, v, *opts(kernel.Exec{Tier: contracttest.Generic(), Threads: 1}, 0))
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for threads := 1; threads <= 5; threads += 2 {
			got := c.Run(t, q, k, v, *opts(kernel.Exec{Tier: tier, Threads: threads}, 0))
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
		for _, x := range tunings(contracttest.Tier(t, tier)) {
			tuned, err := tier.Tuned(x.String())
			if err != nil {
				t.Fatal(err)
			}
			got := c.Run(t, q, k, v, *opts(kernel.Exec{Tier: tuned}, 0))
			contracttest.Same(t, x.String(), &got, &want)
		}
		wide := c.Run(t, q, contracttest.Widened(k), contracttest.Widened(v), *opts(kernel.Exec{Tier: tier}, 0))
		contracttest.Same(t, "widened", &wide, &want)
		for _, chunk := range []int{1, 2, 7, 100} {
			got := c.Tensor(1, c.H, c.Lq, c.Dv, contracttest.Canary)
			for at := 0; at < c.Lq; at += chunk {
				n := min(chunk, c.Lq-at)
				if chunk < 7 && at/chunk%9 != 0 && testutil.Thin() {
					from, to := contracttest.Rows(want, at, at+n), contracttest.Rows(got, at, at+n)
					contracttest.EachRow(&from, func(b, h, i int, row []float32) { copy(contracttest.Row(&to, b, h, i), row) })
					continue
				}
				err := kernel.Attention(contracttest.Rows(got, at, at+n), contracttest.Rows(q, at, at+n), contracttest.Rows(k, 0, at+n), contracttest.Rows(v, 0, at+n), opts(kernel.Exec{Tier: tier}, at))
				if err != nil {
					t.Fatal(err)
				}
			}
			contracttest.Same(t, fmt.Sprintf("chunks of %d", chunk), &got, &want)
		}
	})
}

// TestBFloat16Partials: blocks, shards and states that are merged have the bits of one call.
func TestBFloat16Partials(t *testing.T) {
	contracttest.EmulateTiles(t)
	for n, c := range partialCases() {
		if testing.Short() && n%2 > 0 {
			continue
		}
		c.Lk += 300
		c.Types = bfloat16Types[n%len(bfloat16Types)]
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			q, k, v := c.Inputs()
			o := c.options()
			o.BFloat16 = true
			c.poison(q, k, v, &o)
			q, k, v = c.Typed(q, k, v)
			model := c.Model(q, k, v, &o)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o.Tier = tier
				want := c.Out()
				if err := kernel.Attention(want, q, k, v, &o); err != nil {
					t.Fatal(err)
				}
				blocks := contracttest.NewPartials(ints.CeilDiv(c.Lk, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
				if err := kernel.AttentionPartials(blocks, q, k, v, contracttest.PartialOptions(o)); err != nil {
					t.Fatal(err)
				}
				samePartials(t, model, blocks)
				parts := []kernel.Partials{handedOn(t, blocks, tier)}
				if !c.Mask.CountsKeys() && o.Score == nil {
					parts = append(parts, accumulated(t, c, q, k, v, o))
				}
				for _, p := range parts {
					out := c.Out()
					if err := kernel.MergePartials(out, []kernel.Partials{p}, kernel.MergeOptions{Exec: kernel.Exec{Tier: tier}}); err != nil {
						t.Fatal(err)
					}
					contracttest.Same(t, "merged", &out, &want)
				}
			})
		})
	}
}

// TestBFloat16Errors: keys and values must be floats, scores products, and there are no gradients.
// Nothing is written.
func TestBFloat16Errors(t *testing.T) {
	o := kernel.Scoring{BFloat16: true}
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 3, D: 4, Dv: 4}
	for _, types := range []contracttest.Types{contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Float16, kernel.Float32), contracttest.TypesOf(kernel.BFloat16, kernel.BFloat16, kernel.Int4, kernel.Float32)} {
		c := c.With(types)
		q, k, v := c.Typed(c.Inputs())
		out := c.Out()
		contracttest.CheckArgument(t, types.String(), kernel.Attention(out, q, k, v, &kernel.Options{Scoring: o}), "Options.BFloat16", "k and v of floats, or false: an integer times its scale is no bfloat16")
		if contracttest.Floats(out)[0] != contracttest.Canary {
			t.Error("out has changed")
		}
	}
	c = c.With(contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32))
	q, k, v := c.Typed(c.Inputs())
	both := o
	both.DynamicInt12 = true
	contracttest.CheckArgument(t, "both", kernel.Attention(c.Out(), q, k, v, &kernel.Options{Scoring: both}), "Options.BFloat16", "false")
}

// TestBFloat16Accuracy: against float64 on the numbers that are given, the error is as of numbers
// and weights with 8 bits of fraction, and half as large where only the weights are rounded. A mean
// that values have in common costs nothing: the divisor is the sum of the rounded weights.
func TestBFloat16Accuracy(t *testing.T) {
	c := contracttest.Case{B: 1, H: 4, HKV: 1, Lq: 16, Lk: 1024, D: 128, Dv: 128, Seed: 3}
	for _, mean := range []float32{0, 4} {
		q, k, v := c.Inputs()
		contracttest.EachRow(&v, func(_, _, _ int, row []float32) {
			for e := range row {
				row[e] += mean
			}
		})
		rounded := func(x kernel.Tensor) kernel.Tensor { return contracttest.Widened(contracttest.As(x, kernel.BFloat16)) }
		out := c.Run(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true}})
		_, all := oracleError(c, &out, q, k, v)
		q, k, v = rounded(q), rounded(k), rounded(v)
		out = c.Run(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{BFloat16: true}})
		_, weights := oracleError(c, &out, q, k, v)
		t.Logf("values with a mean of %v: error %.2g, %.2g of tensors of bfloat16", mean, all, weights)
		if !(weights < 0x1p-12 && weights > 0x1p-20) || mean == 0 && !(all < 0x1p-11) {
			t.Errorf("values with a mean of %v: the error is %.2g, and %.2g of tensors of bfloat16", mean, all, weights)
		}
	}
}
