package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// TestNumbersOfTypes: a DType has the number that the engine has for it, and there are no others.
func TestNumbersOfTypes(t *testing.T) {
	for got, want := range map[kernel.DType]ukernel.Element{
		kernel.Float32: ukernel.Float32, kernel.Float16: ukernel.Float16, kernel.BFloat16: ukernel.BFloat16,
		kernel.Int8: ukernel.Int8, kernel.Int4: ukernel.Int4,
		kernel.Float8E4M3: ukernel.Float8E4M3, kernel.Float8E5M2: ukernel.Float8E5M2,
	} {
		if ukernel.Element(got) != want || got.String() != want.String() {
			t.Errorf("%s is %d, want %d", got, got, want)
		}
	}
	if last := kernel.DType(ukernel.Elements); last.String() != "unknown" || kernel.Int4 != last-1 {
		t.Errorf("%s has the number %d, Int4 %d", last, last, kernel.Int4)
	}
}

// TestTypes compares calls of all types with the contract, which is computed with
// the widened numbers and rounded in the end, and with the same call in float32.
func TestTypes(t *testing.T) {
	contracttest.ForceThreads(t)
	shapes := []contracttest.Case{
		{B: 1, H: 2, HKV: 1, Lq: 5, Lk: 300, D: 9, Dv: 7},
		{B: 2, H: 4, HKV: 2, Lq: 70, Lk: 37, D: 16, Dv: 40, Mask: contracttest.Causal(-9), Layout: contracttest.Gaps},
		{B: 1, H: 3, HKV: 3, Lq: 1, Lk: 515, D: 8, Dv: 20, Layout: contracttest.TokenMajor},
		{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 530, D: 12, Dv: 3, Mask: contracttest.Window(90, -1).And(contracttest.Causal(400)), Layout: contracttest.Gaps},
		{B: 3, H: 1, HKV: 1, Lq: 17, Lk: 260, D: 1, Dv: 1, Mask: contracttest.KeyLengths([]int{260, 0, 257})},
		{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 5, D: 60000, Dv: 2}, // rows in several calls
		{B: 1, H: 2, HKV: 2, Lq: 33, Lk: 40, D: 64, Dv: 128},
	}
	for n, types := range contracttest.AllTypes() {
		c := shapes[n%len(shapes)].With(types)
		c.Seed = uint64(n)
		if !testutil.Every(n, 11, 11) {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%3 == 0 {
				r := testutil.Rand(n)
				sprinkle(&r, &q, &k, &v)
			}
			q, k, v = c.Typed(q, k, v)
			want := c.Contract(q, k, v)
			plain := c
			plain.Types = contracttest.Types{}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				float32s := plain.Run(t, contracttest.Widened(q), contracttest.Widened(k), contracttest.Widened(v), kernel.Options{Exec: kernel.Exec{Tier: tier}})
				wide := contracttest.As(float32s, types.Out)
				contracttest.Same(t, "float32, then rounded", &wide, &want)
				for _, threads := range []int{1, 3} {
					got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
					contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
				}
			})
		})
	}
}

// TestDecodeNarrow compares few rows on keys and values of narrow types with the contract, where
// they are widened in registers and where they cannot be: sizes that 16 does not divide, scales for
// any number of columns, side by side or not, one for all keys, and pages that do not hold 16 keys.
// Each pair of types of keys and values has each type of queries, with one type of outputs. Short
// tests, and those under the race detector, have every second of these, and a third of the scales
// and page sizes for each.
func TestDecodeNarrow(t *testing.T) {
	contracttest.ForceThreads(t)
	shapes := []contracttest.Case{
		{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 128},
		{B: 2, H: 3, HKV: 3, Lq: 1, Lk: 261, D: 16, Dv: 16, Layout: contracttest.TokenMajor},
		{B: 1, H: 10, HKV: 2, Lq: 2, Lk: 528, D: 48, Dv: 32, Mask: contracttest.Causal(526), Layout: contracttest.Gaps},
		{B: 1, H: 9, HKV: 1, Lq: 1, Lk: 97, D: 128, Dv: 80},
		{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 24, Dv: 32},
		{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 32, Dv: 24},
		{B: 1, H: 6, HKV: 2, Lq: 2, Lk: 331, D: 90, Dv: 102},
	}
	for n, types := range contracttest.AllTypes() {
		perK := 3 * len(contracttest.KeyTypes())
		vType, kType, qType := n/3, n/perK, n/perK/len(contracttest.KeyTypes()) // the order of AllTypes
		c := shapes[(vType+kType+2*qType)%len(shapes)]
		c.Types, c.Seed = types, uint64(n)
		if types.K == kernel.Float32 && types.V == kernel.Float32 || (n+vType+kType+qType)%3 != 0 || testutil.Thin() && (vType+kType+qType)%4 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%v/%v", types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%3 == 0 {
				r := testutil.Rand(n)
				sprinkle(&r, &q, &k, &v)
			}
			for form := range scaleForms {
				if form >= 3 && !hasScales(types) {
					break // all page sizes were there
				}
				if testutil.Thin() && form%3 != n/20%3 {
					continue
				}
				tq, tk, tv := c.Typed(q, k, v)
				tk, tv = scaledAs(tk, form), scaledAs(tv, form)
				want := c.Contract(tq, tk, tv)
				size := []int{8, 16, 40}[form%3]
				lengths := make([]int, c.B)
				for b := range lengths {
					lengths[b] = c.Lk
				}
				pk, pv, table := inPages(contracttest.Widened(tk), contracttest.Widened(tv), lengths, size, pageLayouts[n%2], 3, 5)
				pk, pv = contracttest.As(pk, types.K).Paged(table), contracttest.As(pv, types.V).Paged(table)
				pages := want
				if hasScales(types) { // the pages have other scales
					pages = c.Contract(tq, pk, pv)
				}
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					for _, threads := range someThreads(c) {
						got := c.Run(t, tq, tk, tv, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
						contracttest.Same(t, fmt.Sprintf("scales %d, threads=%d", form, threads), &got, &want)
					}
					got := c.Run(t, tq, pk, pv, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
					contracttest.Same(t, fmt.Sprintf("pages of %d", size), &got, &pages)
				})
			}
		})
	}
}

// hasScales tells whether keys or values have scales.
func hasScales(t contracttest.Types) bool {
	return t.K == kernel.Int8 || t.V == kernel.Int8 || t.K == kernel.Int4 || t.V == kernel.Int4
}

// scaleForms is how many ways scaledAs knows.
const scaleForms = 6

// scaledAs gives an Int8 or Int4 tensor other scales: one for a row, side by side or not; one
// for 8, 16 or 32 columns where they divide a row; one for all rows of a head.
func scaledAs(t kernel.Tensor, form int) kernel.Tensor {
	if t.DType() != kernel.Int8 && t.DType() != kernel.Int4 {
		return t
	}
	b, h, l, groups, row := t.Shape()[0], t.Shape()[1], t.Shape()[2], 1, 1
	switch form {
	case 1:
		row = 3
	case 2, 3, 4:
		if n := 4 << (form - 1); t.Shape()[3]%n == 0 {
			groups, row = t.Shape()[3]/n, t.Shape()[3]/n
		}
	case 5:
		row = 0
	}
	data := make([]float32, b*h*l*max(row, 1))
	r := testutil.Rand(form)
	for i := range data {
		data[i] = testutil.Mantissas.Next(&r) / 1024
	}
	s := kernel.Strided(data, [4]int{b, h, l, groups}, [3]int{h * l * row, l * row, row})
	return t.Scaled(&s)
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
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		got := c.Run(t, q, k, k, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		contracttest.Same(t, "broadcast", &got, &want)
	})
}

// TestTypesNaN: a row of NaN is the type's own, whatever NaN came in, also where
// only hidden values are NaN or infinite and rows are computed again.
func TestTypesNaN(t *testing.T) {
	for n, types := range contracttest.AllTypes() {
		if !testutil.Every(n, 11, 23) {
			continue
		}
		c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 30, Lk: 290, D: 8, Dv: 12, Mask: contracttest.Causal(260), Types: types, Seed: uint64(n), Layout: contracttest.Layout(n) % contracttest.Layouts}
		q, k, v := c.Inputs()
		for j := 280; j < c.Lk; j++ { // seen by the last rows alone
			contracttest.Fill(contracttest.Row(&v, 0, 0, j), []float32{testutil.NaN, testutil.Inf, math.Float32frombits(0xff800001)}[j%3])
		}
		q, k, v = c.Typed(q, k, v)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			contracttest.Same(t, types.String(), &got, &want)
			nan := map[kernel.DType]uint32{kernel.Float32: 0x7fc00000, kernel.Float16: 0x7e00, kernel.BFloat16: 0x7fc0}[types.Out]
			last := contracttest.Row(&got, 0, 0, c.Lq-1)
			if first := contracttest.Row(&got, 0, 0, 0); first[0] != first[0] || last[0] == last[0] {
				t.Fatalf("%v: rows start with %v and %v, want a number and NaN", types, first[0], last[0])
			}
			if x := contracttest.Bits(&got, contracttest.View(&got).At(0, 0, c.Lq-1)); x != nan {
				t.Fatalf("%v: NaN is %#x, want %#x", types, x, nan)
			}
		})
	}
}

// TestTypesTouch: tensors may lie side by side in one memory, whatever their types.
func TestTypesTouch(t *testing.T) {
	_, q, k, v := good()
	halves := make([]kernel.BF16, 264)
	if err := kernel.Attention(kernel.BHLD(halves[144:], 2, 4, 3, 5), kernel.BHLD(halves, 2, 4, 3, 6), k, v, nil); err != nil {
		t.Error(err)
	}
	shared := make([]float32, 148)
	scales := kernel.BHLD(shared, 2, 2, 7, 1)
	k = kernel.BHLD(make([]int8, 168), 2, 2, 7, 6).Scaled(&scales)
	if err := kernel.Attention(kernel.BHLD(shared[28:], 2, 4, 3, 5), q, k, v, nil); err != nil {
		t.Error(err)
	}
}
