package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// widenedRow returns row (b, h, l) of a tensor of any type by Row, Scales and the definition of
// the types.
func widenedRow(t kernel.Tensor, b, h, l int) (row []float32) {
	switch t.DType() {
	case kernel.Float32:
		return kernel.Row[float32](t, b, h, l)
	case kernel.Float16:
		for _, x := range kernel.Row[kernel.F16](t, b, h, l) {
			row = append(row, x.Float32())
		}
	case kernel.BFloat16:
		for _, x := range kernel.Row[kernel.BF16](t, b, h, l) {
			row = append(row, x.Float32())
		}
	case kernel.Float8E4M3:
		for _, x := range kernel.Row[kernel.F8E4M3](t, b, h, l) {
			row = append(row, x.Float32())
		}
	case kernel.Float8E5M2:
		for _, x := range kernel.Row[kernel.F8E5M2](t, b, h, l) {
			row = append(row, x.Float32())
		}
	case kernel.Int4:
		pairs, scales := kernel.Row[kernel.Int4x2](t, b, h, l), kernel.Row[float32](t.Scales(), b, h, l)
		for e, x := range pairs {
			scale := scales[e*len(scales)/len(pairs)]
			first, second := x.Numbers()
			row = append(row, float32(first)*scale, float32(second)*scale)
		}
	case kernel.Int8:
		elements, scales := kernel.Row[int8](t, b, h, l), kernel.Row[float32](t.Scales(), b, h, l)
		for e, x := range elements {
			row = append(row, float32(x)*scales[e*len(scales)/len(elements)])
		}
	}
	return row
}

// TestRow: every row of a tensor of any type and layout is where calls find it, in memory of D
// elements, and there are no others.
func TestRow(t *testing.T) {
	lengths := []int{5, 0, 11}
	for _, dtype := range contracttest.KeyTypes() {
		for name, layout := range map[string]func(x kernel.Tensor) kernel.Tensor{
			"gaps": func(x kernel.Tensor) kernel.Tensor { return contracttest.As(x, dtype) },
			"ragged": func(x kernel.Tensor) kernel.Tensor {
				return contracttest.Ragged(contracttest.As(x, dtype), lengths, 2)
			},
			"pages": func(x kernel.Tensor) kernel.Tensor {
				x, _, table := inPages(x, x, lengths, 4, "NHD", 7, 3)
				return contracttest.As(x, dtype).Paged(table)
			},
		} {
			t.Run(fmt.Sprintf("%v/%s", dtype, name), func(t *testing.T) {
				c := contracttest.Case{B: 3, H: 2, HKV: 2, Lq: 11, Lk: 11, D: 6, Dv: 6, Layout: contracttest.Gaps, Seed: 3}
				_, x, _ := c.Inputs()
				x = layout(x)
				if err := x.Check("x"); err != nil {
					t.Fatal(err)
				}
				if (x.DType() == kernel.Int8 || x.DType() == kernel.Int4) == x.Scales().IsZero() || x.IsPaged() != (name == "pages") {
					t.Errorf("scales: %v, in pages: %v", !x.Scales().IsZero(), x.IsPaged())
				}
				contracttest.EachRow(&x, func(b, h, l int, want []float32) {
					contracttest.SameRow(t, fmt.Sprint(b, h, l), widenedRow(x, b, h, l), want)
				})
				for b := -1; b <= 3; b++ {
					n := x.Length(b)
					if want := contracttest.View(&x); (b < 0 || b == 3) && n != 0 || b >= 0 && b < 3 && n != want.Length(b) {
						t.Errorf("batch row %d has %d rows", b, n)
					}
					for _, at := range [][2]int{{0, -1}, {0, n}, {-1, 0}, {2, 0}} {
						if row := widenedRow(x, b, at[0], at[1]); row != nil {
							t.Errorf("row (%d, %d, %d) is %v", b, at[0], at[1], row)
						}
					}
				}
			})
		}
	}
	x := kernel.BHLD(make([]kernel.F16, 12), 1, 1, 4, 3)
	if kernel.Row[kernel.BF16](x, 0, 0, 0) != nil || kernel.Row[float32](x, 0, 0, 0) != nil || kernel.Row[int8](x, 0, 0, 0) != nil {
		t.Error("rows of another type")
	}
	if row := kernel.Row[kernel.F16](x, 0, 0, 1); cap(row) != 3 {
		t.Errorf("room for %d elements in a row of 3", cap(row))
	}
}

// TestRowOfInvalid: a tensor that no call takes has no rows outside of its slice.
func TestRowOfInvalid(t *testing.T) {
	data := make([]float32, 24)
	pages := func(table *kernel.PageTable, lengths ...int) kernel.Tensor {
		x := kernel.BHLD(data, 4, 1, 2, 3).Paged(table)
		table.Lengths = append(table.Lengths[:0], lengths...)
		return x
	}
	table := func(pages ...int32) *kernel.PageTable {
		return &kernel.PageTable{Pages: [][]int32{pages}, Lengths: []int{8}}
	}
	for name, x := range map[string]kernel.Tensor{
		"zero":            {},
		"short":           kernel.BHLD(data[:2], 1, 1, 1, 3),
		"large stride":    kernel.Strided(data, [4]int{2, 2, 9, 3}, [3]int{math.MaxInt, math.MaxInt, math.MaxInt / 4}),
		"negative stride": kernel.Strided(data, [4]int{2, 2, 9, 3}, [3]int{-1, -1, -1}),
		"negative shape":  kernel.Strided(data, [4]int{-1, -1, -1, -1}, [3]int{1, 1, 1}),
		"page":            pages(table(9, -1, 3, 0), 8),
		"few pages":       pages(table(1), 8),
		"length":          pages(table(1), math.MaxInt),
		"no length":       pages(table(1)),
		"pages of pages":  kernel.BHLD(data, 4, 1, 2, 3).Paged(table(1)).Paged(table(1)),
		"no pages":        kernel.BHLD(data, 4, 1, 0, 3).Paged(table(1)),
		"nil table":       kernel.BHLD(data, 4, 1, 2, 3).Paged(nil),
		"starts":          kernel.BHLD(data, 1, 1, 8, 3).Ragged([]int{-3, math.MaxInt, math.MinInt, 7}),
		"no starts":       kernel.BHLD(data, 1, 1, 8, 3).Ragged(nil),
	} {
		for b := -1; b < 5; b++ {
			for l := -1; l < 9; l++ {
				if row := kernel.Row[float32](x, b, 0, l); row != nil && len(row) != 3 {
					t.Errorf("%s: row %d of %d is %v", name, l, b, row)
				}
			}
			if n := x.Length(b); n < 0 {
				t.Errorf("%s: %d rows", name, n)
			}
		}
	}
}

// TestChecks: a tensor can be checked before it is used, by itself, as an output and beside
// others.
func TestChecks(t *testing.T) {
	data, ints := make([]float32, 48), make([]int8, 48)
	scales := kernel.BHLD(data[40:], 1, 1, 8, 1)
	plain := kernel.BHLD(data, 1, 2, 4, 3)
	table := &kernel.PageTable{Pages: [][]int32{{1, 0}}, Lengths: []int{7}}
	for _, c := range []struct {
		name          string
		x             kernel.Tensor
		valid, output bool
	}{
		{"plain", plain, true, true},
		{"zero", kernel.Tensor{}, false, false},
		{"short", kernel.BHLD(data, 1, 4, 4, 4), false, false},
		{"ragged", kernel.Ragged(data, []int{1, 3, 3, 8}, 2, 3), true, true},
		{"bad starts", kernel.Ragged(data, []int{3, 1, 8}, 2, 3), false, false},
		{"broadcast", kernel.Strided(data, [4]int{1, 2, 4, 3}, [3]int{0, 0, 3}), true, false},
		{"paged", kernel.BHLD(data, 2, 2, 4, 3).Paged(table), true, false},
		{"int8", kernel.BHLD(ints, 1, 1, 8, 3).Scaled(&scales), true, false},
		{"no scales", kernel.BHLD(ints, 1, 1, 8, 3), false, false},
	} {
		for _, check := range []struct {
			f    func(arg string) error
			want bool
		}{{c.x.Check, c.valid}, {c.x.CheckOutput, c.output}} {
			err := check.f("the argument")
			if bad, ok := testutil.AsType[*kernel.Error](err); ok != !check.want || (err == nil) != check.want || ok && !strings.HasSuffix(bad.Where, "the argument") {
				t.Errorf("%s: error %v", c.name, err)
			}
		}
		if c.x.IsZero() != (c.name == "zero") {
			t.Errorf("%s: IsZero is %v", c.name, c.x.IsZero())
		}
	}
	other := kernel.BHLD(data[24:40], 1, 1, 4, 4)
	scaled := kernel.BHLD(ints, 1, 1, 8, 3).Scaled(&scales)
	end := kernel.BHLD(data[36:], 1, 1, 3, 4)
	for _, c := range []struct {
		x, y kernel.Tensor
		want bool
	}{{plain, plain, true}, {plain, other, false}, {scaled, plain, false}, {scaled, end, true}, {scaled, scaled, true}, {kernel.Tensor{}, plain, false}} {
		if c.x.Overlaps(c.y) != c.want || c.y.Overlaps(c.x) != c.want {
			t.Errorf("%v and %v: overlap is %v", c.x, c.y, !c.want)
		}
	}
}

// TestRowsAllocateNothing: rows are read and checked one by one in loops.
func TestRowsAllocateNothing(t *testing.T) {
	x := kernel.Ragged(make([]kernel.F16, 60), []int{0, 3, 5}, 2, 6)
	var rows [][]kernel.F16
	testutil.CheckNoMallocs(t, "rows", 100, func() {
		rows = slices.Grow(rows[:0], 8)
		for b := range 2 {
			for l := range x.Length(b) {
				rows = append(rows, kernel.Row[kernel.F16](x, b, 1, l))
			}
		}
		if len(rows) != 5 || x.Check("x") != nil {
			t.Error("not five rows")
		}
	})
}
