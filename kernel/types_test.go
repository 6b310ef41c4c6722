//go:build moving

package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A contracttest.Types says what the elements of a call's tensors are.
type contracttest.Types struct{ q, k, v, out kernel.DType }

func (c contracttest.Types) String() string { return fmt.Sprintf("%v,%v,%v→%v", c.q, c.k, c.v, c.out) }

// allTypes are all that a call may have.
func contracttest.AllTypes() (list []contracttest.Types) {
	floats, all := []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16}, []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8}
	for _, q := range floats {
		for _, k := range all {
			for _, v := range all {
				for _, out := range floats {
					list = append(list, contracttest.Types{q, k, v, out})
				}
			}
		}
	}
	return list
}

// typed converts a case's inputs to its types.
func (c contracttest.Case) typed(q, k, v kernel.Tensor) (tq, tk, tv kernel.Tensor) {
	return contracttest.As(q, c.Types.Q), contracttest.As(k, c.Types.K), contracttest.As(v, c.Types.V)
}

// as converts a float32 tensor with all of its memory, gaps included. Int8 is
// not the nearest number but one that keeps what is NaN or infinite.
func (t kernel.Tensor) as(dtype kernel.DType) kernel.Tensor {
	switch dtype {
	case kernel.Float16:
		data := make([]kernel.F16, len(contracttest.Floats(t)))
		for i, x := range contracttest.Floats(t) {
			data[i] = numeric.ToF16(x)
		}
		return kernel.Strided(data, t.shape, t.stride)
	case kernel.BFloat16:
		data := make([]kernel.BF16, len(contracttest.Floats(t)))
		for i, x := range contracttest.Floats(t) {
			data[i] = numeric.ToBF16(x)
		}
		return kernel.Strided(data, t.shape, t.stride)
	case kernel.Int8:
		return t.asInt8()
	}
	return t
}

// asInt8 gives every row as many scales as divide it, with a gap behind them.
func (t kernel.Tensor) asInt8() kernel.Tensor {
	b, h, l, d := t.Shape()[0], t.Shape()[1], t.Shape()[2], t.Shape()[3]
	groups := 1
	for _, n := range []int{2, 3, 4} {
		if d%n == 0 {
			groups = n
		}
	}
	data := make([]int8, len(contracttest.Floats(t)))
	for i := range data {
		data[i] = 0x55
	}
	rows := groups + 2
	scales := kernel.Strided(testutil.Filled(b*h*l*rows, testutil.NaN), [4]int{b, h, l, groups}, [3]int{h * l * rows, l * rows, rows})
	contracttest.EachRow(&t, func(b, h, l int, row []float32) {
		at, s := t.at(b, h, l), contracttest.Row(&scales, b, h, l)
		contracttest.Fill(s, 0x1.9p-6+0x1p-20*float32(at%1000))
		for e, x := range row {
			if scale := &s[e*groups/d]; x-x != 0 {
				*scale = x
			} else {
				data[at+e] = int8(min(max(math.RoundToEven(float64(x)*40), -128), 127))
			}
		}
	})
	return kernel.Strided(data, t.shape, t.stride).Scaled(&scales)
}

// widened is the same tensor in float32, by the definition.
func (t kernel.Tensor) widened() kernel.Tensor {
	if t.dtype == kernel.Float32 {
		return t
	}
	wide := kernel.Strided(testutil.Filled(t.len(), testutil.NaN), t.shape, t.stride)
	wide.paging = t.paging
	contracttest.EachRow(&wide, func(b, h, l int, row []float32) {
		at := t.index(b, h, l)
		page, l := t.locate(b, l)
		for e := range row {
			switch t.dtype {
			case kernel.Float16:
				row[e] = kernel.F16(t.u16()[at+e]).Float32()
			case kernel.BFloat16:
				row[e] = kernel.BF16(t.u16()[at+e]).Float32()
			case kernel.Int8:
				s := t.scales
				row[e] = float32(t.i8()[at+e]) * contracttest.Floats(s)[s.at(page, h, l)+e*s.Shape()[3]/t.Shape()[3]]
			}
		}
	})
	return wide
}

// bits returns the bits of the element at an index of the slice.
func (t *kernel.Tensor) bits(at int) uint32 {
	switch t.dtype {
	case kernel.Float32:
		return math.Float32bits(contracttest.Floats(t)[at])
	case kernel.Int8:
		return uint32(uint8(t.i8()[at]))
	}
	return uint32(t.u16()[at])
}

func (t *kernel.Tensor) allBits() []uint32 {
	all := make([]uint32, t.len())
	for i := range all {
		all[i] = t.bits(i)
	}
	return all
}

// TestTypes compares calls of all types with the contract, which is computed with
// the widened numbers and rounded in the end, and with the same call in float32.
func TestTypes(t *testing.T) {
	shapes := []contracttest.Case{
		{B: 1, H: 2, HKV: 1, Lq: 5, Lk: 300, D: 9, Dv: 7},
		{B: 2, H: 4, HKV: 2, Lq: 70, Lk: 37, D: 16, Dv: 40, Mask: kernel.Causal(-9), Layout: contracttest.Gaps},
		{B: 1, H: 3, HKV: 3, Lq: 1, Lk: 515, D: 8, Dv: 20, Layout: contracttest.TokenMajor},
		{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 530, D: 12, Dv: 3, Mask: kernel.Window(90, -1).And(kernel.Causal(400)), Layout: contracttest.Gaps},
		{B: 3, H: 1, HKV: 1, Lq: 17, Lk: 260, D: 1, Dv: 1, Mask: kernel.KeyLengths([]int{260, 0, 257})},
		{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 5, D: 60000, Dv: 2}, // rows in several calls
		{B: 1, H: 2, HKV: 2, Lq: 33, Lk: 40, D: 64, Dv: 128},
	}
	for n, types := range contracttest.AllTypes() {
		c := shapes[n%len(shapes)]
		c.Types, c.Seed = types, uint64(n)
		if testing.Short() && n%4 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%3 == 0 {
				r := testutil.Rand(n)
				r.sprinkle(&q, &k, &v)
			}
			q, k, v = c.Typed(q, k, v)
			want := c.Contract(q, k, v)
			plain := c
			plain.Types = contracttest.Types{}
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				wide := plain.Run(t, contracttest.Widened(q), contracttest.Widened(k), contracttest.Widened(v), kernel.Options{Exec: kernel.Exec{Tier: tier}}).as(types.Out)
				contracttest.Same(t, "float32, then rounded", &wide, &want)
				for _, threads := range []int{1, 3} {
					got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
					contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
				}
			})
		})
	}
}

// TestTypeErrors: what does not fit is named, and nothing is written.
func TestTypeErrors(t *testing.T) {
	shared := make([]float32, 400)
	ints, halves := make([]int8, 400), make([]kernel.F16, 400)
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
		{"bias of int8", "Options.Bias", "bfloat16", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Bias = kernel.BHLD(ints, 1, 1, 3, 7) }},
		{"LSE of float16", "Options.LSE", "float32", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.LSE = kernel.BHLD(halves, 2, 4, 3, 1) }},
		{"no scales", "k", "Tensor.Scaled", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(ints, 2, 2, 7, 6) }},
		{"scales for float16", "k", "int8, as it has scales", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
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
		out, q, k, v := good()
		var o kernel.Options
		test.call(&out, &q, &k, &v, &o)
		before := out.allBits()
		err := kernel.Attention(out, q, k, v, o)
		var arg *kernel.ArgumentError
		if !errors.As(err, &arg) || arg.Arg != test.arg || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an ArgumentError about %s that says %q", test.name, err, test.arg, test.want)
		}
		if !slices.Equal(out.allBits(), before) {
			t.Errorf("%s: out was overwritten", test.name)
		}
	}
}

// TestTypesTouch: tensors may lie side by side in one memory, whatever their types.
func TestTypesTouch(t *testing.T) {
	_, q, k, v := good()
	halves := make([]kernel.BF16, 264)
	if err := kernel.Attention(kernel.BHLD(halves[144:], 2, 4, 3, 5), kernel.BHLD(halves, 2, 4, 3, 6), k, v, kernel.Options{}); err != nil {
		t.Error(err)
	}
	shared := make([]float32, 148)
	scales := kernel.BHLD(shared, 2, 2, 7, 1)
	k = kernel.BHLD(make([]int8, 168), 2, 2, 7, 6).Scaled(&scales)
	if err := kernel.Attention(kernel.BHLD(shared[28:], 2, 4, 3, 5), q, k, v, kernel.Options{}); err != nil {
		t.Error(err)
	}
}

// TestTypesNoAllocations: a warm call allocates nothing, nor do the constructors
// but for scales that nobody keeps.
func TestTypesNoAllocations(t *testing.T) {
	if testutil.Race {
		t.Skip("the race detector allocates")
	}
	const h, l, d = 2, 300, 32
	halves, wide, ints := make([]kernel.F16, h*l*d), make([]kernel.BF16, h*l*d), make([]int8, h*l*d)
	out := make([]kernel.F16, h*l*d)
	scales := kernel.BHLD(make([]float32, h*l), 1, h, l, 1)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}}
		if n := warmAllocs(contracttest.Repeats(20), func() {
			err := kernel.Attention(kernel.BLHD(out, 1, l, h, d), kernel.BHLD(halves, 1, h, l, d), kernel.BHLD(ints, 1, h, l, d).Scaled(&scales), kernel.BHLD(wide, 1, h, l, d), o)
			if err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations per call", n)
		}
	})
}

// TestWideRows: rows that are there are not widened again, and rows that nobody
// asked for are not touched.
func TestWideRows(t *testing.T) {
	const d = 3
	x := kernel.BHLD(make([]kernel.BF16, 2*300*d), 1, 2, 300, d)
	for i := range x.u16() {
		x.u16()[i] = uint16(numeric.ToBF16(float32(i / d % 128)))
	}
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		var w wideRows
		w.fit(&x, false)
		for _, step := range []struct {
			h, lo, n int
			have     span
		}{
			{0, 0, 4, span{0, 4}}, {0, 4, 2, span{0, 6}}, {0, 2, 3, span{0, 6}}, {0, 5, 3, span{0, 8}},
			{0, 10, 2, span{10, 12}}, {0, 9, 1, span{9, 10}}, {0, 10, 255, span{9, 265}}, {0, 265, 35, span{265, 300}},
			{1, 265, 35, span{265, 300}}, {1, 299, 1, span{265, 300}}, {1, 0, 256, span{0, 256}},
		} {
			rows, stride, n := w.of(tier, &x, unit{0, step.h}, step.lo, step.n)
			if w.have != step.have || stride != d || n != step.n || len(rows) != n*d {
				t.Fatalf("%+v: have %v, %d elements at a distance of %d", step, w.have, len(rows), stride)
			}
			for i, got := range rows {
				if want := float32((step.h*300 + step.lo + i/d) % 128); got != want {
					t.Fatalf("%+v: element %d is %v, want %v", step, i, got, want)
				}
			}
		}
	})
}

// TestTypesBroadcast: strides of 0, for elements and scales, mean what they mean
// for float32.
func TestTypesBroadcast(t *testing.T) {
	const l, d = 20, 8
	r := testutil.Rand(3)
	floats := testutil.Filled(l*d, 0)
	r.Fill(floats)
	ints := make([]int8, l*d)
	for i := range ints {
		ints[i] = int8(r.Uint64())
	}
	one := kernel.Strided([]float32{0.03}, [4]int{2, 3, 100, 1}, [3]int{0, 0, 0}) // longer than the elements
	q := kernel.Strided(floats, [4]int{2, 3, 4, d}, [3]int{0, 0, d})
	k := kernel.Strided(ints, [4]int{2, 3, l, d}, [3]int{0, 0, d}).Scaled(&one)
	c := contracttest.Case{B: 2, H: 3, HKV: 3, Lq: 4, Lk: l, D: d, Dv: d}
	want := c.Contract(q, k, k)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		got := c.Run(t, q, k, k, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		contracttest.Same(t, "broadcast", &got, &want)
	})
}

// TestTypesNaN: a row of NaN is the type's own, whatever NaN came in, also where
// only hidden values are NaN or infinite and rows are done again.
func TestTypesNaN(t *testing.T) {
	for n, types := range contracttest.AllTypes() {
		if testing.Short() && n%3 != 0 {
			continue
		}
		c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 30, Lk: 290, D: 8, Dv: 12, Mask: kernel.Causal(260), Types: types, Seed: uint64(n), Layout: contracttest.Layout(n) % contracttest.Layouts}
		q, k, v := c.Inputs()
		for j := 280; j < c.Lk; j++ { // seen by the last rows alone
			contracttest.Fill(contracttest.Row(&v, 0, 0, j), []float32{testutil.NaN, testutil.Inf, math.Float32frombits(0xff800001)}[j%3])
		}
		q, k, v = c.Typed(q, k, v)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, types.String(), &got, &want)
			nan := map[kernel.DType]uint32{Float32: 0x7fc00000, Float16: 0x7e00, BFloat16: 0x7fc0}[types.Out]
			last := contracttest.Row(&got, 0, 0, c.Lq-1)
			if first := contracttest.Row(&got, 0, 0, 0); first[0] != first[0] || last[0] == last[0] {
				t.Fatalf("%v: rows start with %v and %v, want a number and NaN", types, first[0], last[0])
			}
			if x := got.bits(got.at(0, 0, c.Lq-1)); x != nan {
				t.Fatalf("%v: NaN is %#x, want %#x", types, x, nan)
			}
		})
	}
}
