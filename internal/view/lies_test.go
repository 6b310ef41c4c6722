package view

import "testing"

// TestLiesAs: tensors lie alike only with the same type, rows, strides and memory, scales included.
func TestLiesAs(t *testing.T) {
	shape := [4]int{2, 1, 4, 8}
	wide := shape
	wide[3] = 2
	scalesOf := func(strides [3]int) *Tensor { s := Floats(make([]float32, 64), wide, strides); return &s }
	of := func(n int, strides [3]int, scales *Tensor, table *PageTable) Tensor {
		x := FromBytes(Int8, make([]byte, n), shape, strides).Scaled(scales)
		return x.Paged(table)
	}
	a, b := &PageTable{Pages: [][]int32{{0, 1}}, Lengths: []int{7}}, &PageTable{Pages: [][]int32{{1, 0}}, Lengths: []int{7}}
	near, far := scalesOf([3]int{8, 8, 2}), scalesOf([3]int{16, 16, 4})
	x := of(64, Contiguous(shape), near, a)
	for name, y := range map[string]Tensor{"tables": of(64, Contiguous(shape), near, b), "strides": of(64, [3]int{8, 8, 16}, near, a), "scales": of(64, Contiguous(shape), far, a), "lengths": of(65, Contiguous(shape), near, a)} {
		if x.LiesAs(&y) || y.LiesAs(&x) {
			t.Errorf("other %s: they lie alike", name)
		}
	}
	if y := of(64, Contiguous(shape), scalesOf([3]int{8, 8, 2}), a); !x.LiesAs(&y) {
		t.Error("the same places in other memory: they do not lie alike")
	}
}
