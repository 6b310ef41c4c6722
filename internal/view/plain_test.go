package view

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// heap keeps what must have one address.
var heap []float32

// TestPlainMemory: what PlainMemory and IsOrdered accept passes the checks and has the same memory,
// for random shapes and strides. They accept contiguous tensors.
func TestPlainMemory(t *testing.T) {
	random, data := rand.New(rand.NewPCG(1, 2)), numbered(40)
	heap = data // addresses on a stack change when it grows
	accepted, ordered := 0, 0
	for range 100_000 {
		var shape [4]int
		var strides [3]int
		for i := range shape {
			shape[i] = random.IntN(4)
		}
		for i := range strides {
			strides[i] = random.IntN(13) - 1
		}
		x := Floats(data[:random.IntN(41)], shape, strides)
		m, ok := x.PlainMemory()
		if !ok {
			continue
		}
		accepted++
		if f := x.Check("x"); f != nil || m != x.Memory() {
			t.Fatalf("accepted with memory %v, want %v: %v", m, x.Memory(), f)
		}
		if x.IsOrdered() {
			ordered++
			if f := x.CheckDistinct("x"); f != nil {
				t.Fatal(f)
			}
		}
	}
	if ordered == 0 || ordered == accepted {
		t.Errorf("%d of %d tensors are in order", ordered, accepted)
	}
	for _, x := range []Tensor{tokenMajor(data, 2, 3, 2, 3), Floats(data, [4]int{2, 2, 3, 3}, Contiguous([4]int{2, 2, 3, 3}))} {
		if _, ok := x.PlainMemory(); !ok || !x.IsOrdered() {
			t.Errorf("%s is not accepted", x.Describe())
		}
	}
}

// TestPlainMemoryRefuses: sizes that overflow, and tensors that are not plain.
func TestPlainMemoryRefuses(t *testing.T) {
	data, root := numbered(60), 1<<(bits.UintSize/2-1)
	scales := tokenMajor(data, 1, 2, 1, 1)
	for name, x := range map[string]Tensor{
		"zero":     {},
		"stride":   Floats(data, [4]int{1, 1, 2, 4}, [3]int{4, 4, math.MaxInt}),
		"size":     Floats(data, [4]int{1, math.MaxInt, 2, 4}, [3]int{8, 0, 4}),
		"overflow": Floats(data, [4]int{root, root, 2, 4}, [3]int{4 * root, 4 * root, 4}),
		"ragged":   tokenMajor(data, 1, 4, 1, 2).Ragged([]int{0, 1, 4}),
		"paged":    Floats(data, [4]int{4, 1, 3, 5}, [3]int{15, 15, 5}).Paged(&PageTable{Pages: [][]int32{{3}}, Lengths: []int{3}}),
		"scaled":   tokenMajor(data, 1, 2, 1, 2).Scaled(&scales),
		"halves":   Other(Float16, make([]uint16, 4), [4]int{1, 1, 2, 2}, [3]int{4, 4, 2}),
	} {
		if _, ok := x.PlainMemory(); ok {
			t.Errorf("%s: accepted", name)
		}
	}
}
