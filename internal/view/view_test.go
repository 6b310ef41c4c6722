package view

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/check"
)

// numbered returns n numbers, each its own index.
func numbered(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i)
	}
	return s
}

// tokenMajor returns a view of a contiguous [B, L, H, D].
func tokenMajor(data []float32, b, l, h, d int) Tensor {
	return Floats(data, [4]int{b, h, l, d}, [3]int{l * h * d, d, h * d})
}

// TestRow: rows are found in every layout, in pages and in ragged batches.
func TestRow(t *testing.T) {
	data := numbered(2 * 3 * 4 * 5)
	x := tokenMajor(data, 2, 3, 4, 5)
	if got, want := x.Row(1, 2, 0), []float32{70, 71, 72, 73, 74}; !slices.Equal(got, want) {
		t.Errorf("Row(1, 2, 0) is %v, want %v", got, want)
	}
	table := PageTable{Pages: [][]int32{{1, 0}}, Lengths: []int{4}}
	paged := Floats(data, [4]int{2, 1, 3, 5}, [3]int{15, 15, 5}).Paged(&table)
	if got := paged.Row(0, 0, 3)[0]; got != 0 {
		t.Errorf("row 3, the first of page 0, starts with %v, want 0", got)
	}
	if got := paged.Row(0, 0, 0)[0]; got != 15 {
		t.Errorf("row 0, the first of page 1, starts with %v, want 15", got)
	}
	ragged := tokenMajor(data, 1, 6, 4, 5).Ragged([]int{1, 1, 3, 6})
	if got, want := ragged.Row(2, 1, 2), []float32{105, 106, 107, 108, 109}; !slices.Equal(got, want) {
		t.Errorf("row 2 of head 1 of ragged batch row 2 is %v, want %v", got, want)
	}
	if n := ragged.Length(0); n != 0 {
		t.Errorf("the empty batch row has length %d", n)
	}
}

// TestRun: rows of a paged tensor lie at equal distances up to the end of a page.
func TestRun(t *testing.T) {
	plain := tokenMajor(numbered(60), 1, 12, 1, 5)
	paged := Floats(numbered(60), [4]int{4, 1, 3, 5}, [3]int{15, 15, 5}).Paged(&PageTable{Pages: [][]int32{{3, 1, 0, 2}}, Lengths: []int{12}})
	for _, c := range []struct {
		x            *Tensor
		l, n, length int
	}{{&plain, 2, 9, 9}, {&paged, 0, 9, 3}, {&paged, 1, 9, 2}, {&paged, 2, 1, 1}, {&paged, 3, 2, 2}, {&paged, 11, 1, 1}} {
		if got := c.x.Run(c.l, c.n); got != c.length {
			t.Errorf("%d of %d rows from %d on lie at equal distances, want %d", got, c.n, c.l, c.length)
		}
	}
}

// TestCheckOutput: a slice that is too short, elements that share an address and ragged
// batches are reported as argument x.
func TestCheckOutput(t *testing.T) {
	data := numbered(8)
	x := tokenMajor(data[:4], 1, 2, 1, 2)
	for _, f := range []*check.Failure{x.Check("x"), x.CheckPlain("x"), x.CheckOutput("x")} {
		if f != nil {
			t.Error(f)
		}
	}
	short := tokenMajor(data[:3], 1, 2, 1, 2)
	same := Floats(data, [4]int{1, 1, 2, 2}, [3]int{0, 0, 1})
	ragged := tokenMajor(data, 1, 4, 1, 2).Ragged([]int{0, 1, 4})
	for name, f := range map[string]*check.Failure{
		"short": short.Check("x"), "short output": short.CheckOutput("x"), "same addresses": same.CheckOutput("x"),
		"ragged": ragged.CheckPlain("x"), "ragged output": ragged.CheckOutput("x"),
	} {
		if f == nil || f.Where != "x" {
			t.Errorf("%s: got %v, want a failure of x", name, f)
		}
	}
	if f := ragged.Check("x"); f != nil {
		t.Errorf("a ragged tensor: %v", f)
	}
}

// TestOverlaps: memory reaches from the first element of a tensor to its last, scales
// included, and not to the end of the slice.
func TestOverlaps(t *testing.T) {
	data := numbered(20)
	x, y := tokenMajor(data[:4], 1, 2, 1, 2), tokenMajor(data[4:], 1, 2, 1, 2)
	touching := tokenMajor(data, 1, 2, 1, 2) // has the same first element as x, and a longer slice
	meeting := tokenMajor(data[3:], 1, 2, 1, 2)
	ints := Other(Int8, make([]int8, 4), [4]int{1, 1, 2, 2}, [3]int{4, 4, 2}).Scaled(&x)
	for _, c := range []struct {
		name string
		x, y *Tensor
		want bool
	}{{"neighbours", &x, &y, false}, {"longer slice", &touching, &y, false}, {"one element", &x, &meeting, true}, {"scales", &touching, &ints, true}, {"not the scales", &y, &ints, false}} {
		if got := c.x.Memory().OverlapsTensor(c.y); got != c.want {
			t.Errorf("%s: overlap is %v", c.name, got)
		}
	}
}

// TestHeads cuts rows into heads.
func TestHeads(t *testing.T) {
	data := numbered(2 * 3 * 8)
	x := tokenMajor(data, 2, 3, 1, 8).Heads(4)
	if got, want := x.grid, tokenMajor(data, 2, 3, 4, 2).grid; got != want {
		t.Errorf("4 heads are %v, want %v", got, want)
	}
	for _, n := range []int{-1, 0, 3} {
		bad := tokenMajor(data, 2, 3, 1, 8).Heads(n)
		if bad.Check("x") == nil {
			t.Errorf("%d heads of 8 numbers are valid", n)
		}
	}
	if x = x.Heads(2); x.Check("x") == nil {
		t.Error("heads of heads are valid")
	}
}
