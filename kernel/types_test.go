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

// A callTypes says what the elements of a call's tensors are.
type callTypes struct{ q, k, v, out kernel.DType }

func (c callTypes) String() string { return fmt.Sprintf("%v,%v,%v→%v", c.q, c.k, c.v, c.out) }

// allTypes are all that a call may have.
func allTypes() (list []callTypes) {
	floats, all := []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16}, []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8}
	for _, q := range floats {
		for _, k := range all {
			for _, v := range all {
				for _, out := range floats {
					list = append(list, callTypes{q, k, v, out})
				}
			}
		}
	}
	return list
}

// typed converts a case's inputs to its types.
func (c attnCase) typed(q, k, v kernel.Tensor) (tq, tk, tv kernel.Tensor) {
	return q.as(c.types.q), k.as(c.types.k), v.as(c.types.v)
}

// as converts a float32 tensor with all of its memory, gaps included. Int8 is
// not the nearest number but one that keeps what is NaN or infinite.
func (t kernel.Tensor) as(dtype kernel.DType) kernel.Tensor {
	switch dtype {
	case kernel.Float16:
		data := make([]kernel.F16, len(t.f32))
		for i, x := range t.f32 {
			data[i] = numeric.ToF16(x)
		}
		return kernel.Strided(data, t.shape, t.stride)
	case kernel.BFloat16:
		data := make([]kernel.BF16, len(t.f32))
		for i, x := range t.f32 {
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
	b, h, l, d := t.shape[0], t.shape[1], t.shape[2], t.shape[3]
	groups := 1
	for _, n := range []int{2, 3, 4} {
		if d%n == 0 {
			groups = n
		}
	}
	data := make([]int8, len(t.f32))
	for i := range data {
		data[i] = 0x55
	}
	rows := groups + 2
	scales := kernel.Strided(filled(b*h*l*rows, nan32), [4]int{b, h, l, groups}, [3]int{h * l * rows, l * rows, rows})
	eachRow(&t, func(b, h, l int, row []float32) {
		at, s := t.at(b, h, l), rowOf(&scales, b, h, l)
		fill(s, 0x1.9p-6+0x1p-20*float32(at%1000))
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
	wide := kernel.Strided(filled(t.len(), nan32), t.shape, t.stride)
	wide.paging = t.paging
	eachRow(&wide, func(b, h, l int, row []float32) {
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
				row[e] = float32(t.i8()[at+e]) * s.f32[s.at(page, h, l)+e*s.shape[3]/t.shape[3]]
			}
		}
	})
	return wide
}

// bits returns the bits of the element at an index of the slice.
func (t *kernel.Tensor) bits(at int) uint32 {
	switch t.dtype {
	case kernel.Float32:
		return math.Float32bits(t.f32[at])
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
	shapes := []attnCase{
		{b: 1, h: 2, hkv: 1, lq: 5, lk: 300, d: 9, dv: 7},
		{b: 2, h: 4, hkv: 2, lq: 70, lk: 37, d: 16, dv: 40, mask: kernel.Causal(-9), layout: gaps},
		{b: 1, h: 3, hkv: 3, lq: 1, lk: 515, d: 8, dv: 20, layout: tokenMajor},
		{b: 1, h: 2, hkv: 1, lq: 130, lk: 530, d: 12, dv: 3, mask: kernel.Window(90, -1).And(kernel.Causal(400)), layout: gaps},
		{b: 3, h: 1, hkv: 1, lq: 17, lk: 260, d: 1, dv: 1, mask: kernel.KeyLengths([]int{260, 0, 257})},
		{b: 1, h: 1, hkv: 1, lq: 1, lk: 5, d: 60000, dv: 2}, // rows in several calls
		{b: 1, h: 2, hkv: 2, lq: 33, lk: 40, d: 64, dv: 128},
	}
	for n, types := range allTypes() {
		c := shapes[n%len(shapes)]
		c.types, c.seed = types, uint64(n)
		if testing.Short() && n%4 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.inputs()
			if n%3 == 0 {
				r := rng(n)
				r.sprinkle(&q, &k, &v)
			}
			q, k, v = c.typed(q, k, v)
			want := c.contract(q, k, v)
			plain := c
			plain.types = callTypes{}
			eachTier(t, func(t *testing.T, tier *tier) {
				wide := plain.run(t, q.widened(), k.widened(), v.widened(), kernel.Options{Exec: kernel.Exec{Tier: tier.name}}).as(types.out)
				same(t, "float32, then rounded", &wide, &want)
				for _, threads := range []int{1, 3} {
					got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
					same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
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
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const h, l, d = 2, 300, 32
	halves, wide, ints := make([]kernel.F16, h*l*d), make([]kernel.BF16, h*l*d), make([]int8, h*l*d)
	out := make([]kernel.F16, h*l*d)
	scales := kernel.BHLD(make([]float32, h*l), 1, h, l, 1)
	eachTier(t, func(t *testing.T, tier *tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 2}}
		if n := warmAllocs(repeats(20), func() {
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
	eachTier(t, func(t *testing.T, tier *tier) {
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
	r := rng(3)
	floats := filled(l*d, 0)
	r.fill(floats)
	ints := make([]int8, l*d)
	for i := range ints {
		ints[i] = int8(r.next())
	}
	one := kernel.Strided([]float32{0.03}, [4]int{2, 3, 100, 1}, [3]int{0, 0, 0}) // longer than the elements
	q := kernel.Strided(floats, [4]int{2, 3, 4, d}, [3]int{0, 0, d})
	k := kernel.Strided(ints, [4]int{2, 3, l, d}, [3]int{0, 0, d}).Scaled(&one)
	c := attnCase{b: 2, h: 3, hkv: 3, lq: 4, lk: l, d: d, dv: d}
	want := c.contract(q, k, k)
	eachTier(t, func(t *testing.T, tier *tier) {
		got := c.run(t, q, k, k, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		same(t, "broadcast", &got, &want)
	})
}

// TestTypesNaN: a row of NaN is the type's own, whatever NaN came in, also where
// only hidden values are NaN or infinite and rows are done again.
func TestTypesNaN(t *testing.T) {
	for n, types := range allTypes() {
		if testing.Short() && n%3 != 0 {
			continue
		}
		c := attnCase{b: 1, h: 2, hkv: 1, lq: 30, lk: 290, d: 8, dv: 12, mask: kernel.Causal(260), types: types, seed: uint64(n), layout: layout(n) % layouts}
		q, k, v := c.inputs()
		for j := 280; j < c.lk; j++ { // seen by the last rows alone
			fill(rowOf(&v, 0, 0, j), []float32{nan32, inf32, math.Float32frombits(0xff800001)}[j%3])
		}
		q, k, v = c.typed(q, k, v)
		want := c.contract(q, k, v)
		eachTier(t, func(t *testing.T, tier *tier) {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
			same(t, types.String(), &got, &want)
			nan := map[kernel.DType]uint32{Float32: 0x7fc00000, Float16: 0x7e00, BFloat16: 0x7fc0}[types.out]
			last := rowOf(&got, 0, 0, c.lq-1)
			if first := rowOf(&got, 0, 0, 0); first[0] != first[0] || last[0] == last[0] {
				t.Fatalf("%v: rows start with %v and %v, want a number and NaN", types, first[0], last[0])
			}
			if x := got.bits(got.at(0, 0, c.lq-1)); x != nan {
				t.Fatalf("%v: NaN is %#x, want %#x", types, x, nan)
			}
		})
	}
}
