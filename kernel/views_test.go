//go:build moving

package kernel_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

func TestRow(t *testing.T) {
	data := make([]float32, 2*3*4*5)
	for i := range data {
		data[i] = float32(i)
	}
	x := kernel.BLHD(data, 2, 3, 4, 5)
	if got, want := x.Row(1, 2, 0), []float32{70, 71, 72, 73, 74}; !slices.Equal(got, want) {
		t.Errorf("Row(1, 2, 0) is %v, want %v", got, want)
	}
	half := kernel.BHLD(make([]kernel.F16, 1), 1, 1, 1, 1)
	if half.Row(0, 0, 0) != nil {
		t.Error("a row of float16 is one of float32")
	}
	table := kernel.PageTable{Pages: [][]int32{{1, 0}}, Lengths: []int{4}}
	paged := kernel.Strided(data, [4]int{2, 1, 3, 5}, [3]int{15, 15, 5}).Paged(&table)
	if got := paged.Row(0, 0, 3)[0]; got != 0 {
		t.Errorf("row 3, the first of page 0, starts with %v, want 0", got)
	}
}

func TestCheckOutput(t *testing.T) {
	data := make([]float32, 8)
	x, y := kernel.BHLD(data[:4], 1, 1, 2, 2), kernel.BHLD(data[4:], 1, 1, 2, 2)
	if err := errors.Join(x.Check("x"), x.CheckOutput("x", &y)); err != nil {
		t.Error(err)
	}
	short := kernel.BHLD(data[:3], 1, 1, 2, 2)
	overlapping := kernel.BHLD(data[3:], 1, 1, 2, 2)
	same := kernel.Strided(data, [4]int{1, 1, 2, 2}, [3]int{0, 0, 1})
	for _, err := range []error{short.Check("x"), short.CheckOutput("x"), same.CheckOutput("x"), overlapping.CheckOutput("x", &y, &x)} {
		var bad *kernel.ArgumentError
		if !errors.As(err, &bad) || bad.Arg != "x" {
			t.Errorf("got %v, want an error about x", err)
		}
	}
}

func TestHeads(t *testing.T) {
	data := make([]float32, 2*3*8)
	for i := range data {
		data[i] = float32(i)
	}
	x := kernel.BLHD(data, 2, 3, 1, 8).Heads(4)
	if got, want := x.grid, kernel.BLHD(data, 2, 3, 4, 2).grid; got != want {
		t.Errorf("4 heads are %v, want %v", got, want)
	}
	for _, n := range []int{-1, 0, 3} {
		bad := kernel.BLHD(data, 2, 3, 1, 8).Heads(n)
		if bad.Check("x") == nil {
			t.Errorf("%d heads of 8 numbers are valid", n)
		}
	}
	if x = x.Heads(2); x.Check("x") == nil {
		t.Error("heads of heads are valid")
	}
}
