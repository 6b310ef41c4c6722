package kernel_test

import (
	"fmt"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Two heads of three tokens with two numbers each: the tokens of a head follow each other.
func ExampleBHLD() {
	data := []float32{
		0, 1, 10, 11, 20, 21, // head 0
		100, 101, 110, 111, 120, 121, // head 1
	}
	const batch, heads, tokens, d = 1, 2, 3, 2
	t := kernel.BHLD(data, batch, heads, tokens, d)
	fmt.Println(t)
	fmt.Println(kernel.Row[float32](t, 0, 1, 2)) // head 1, token 2

	// Output:
	// float32 [B H L D] = [1 2 3 2] with strides [12 6 2]
	// [120 121]
}

// The same tokens as a projection writes them: the heads of a token follow each other. The order of
// dimensions in all that follows is B, H, L, D again.
func ExampleBLHD() {
	data := []float32{
		0, 1, 100, 101, // token 0
		10, 11, 110, 111, // token 1
		20, 21, 120, 121, // token 2
	}
	const batch, tokens, heads, d = 1, 3, 2, 2
	t := kernel.BLHD(data, batch, tokens, heads, d)
	fmt.Println(t)
	fmt.Println(kernel.Row[float32](t, 0, 1, 2)) // head 1, token 2

	// Output:
	// float32 [B H L D] = [1 2 3 2] with strides [12 2 4]
	// [120 121]
}

// A row is a part of the slice that the tensor is a view of: to write to it is to write there. A
// row that does not exist is nil.
func ExampleRow() {
	data := make([]float32, 6)
	t := kernel.BHLD(data, 1, 1, 3, 2)
	copy(kernel.Row[float32](t, 0, 0, 1), []float32{7, 8})
	fmt.Println(data, kernel.Row[float32](t, 0, 0, 3) == nil)

	// Output: [0 0 7 8 0 0] true
}

// Memory for the keys of a long sequence, in huge pages where the system has them.
func ExampleAlloc() {
	const heads, length, d = 8, 4096, 64
	keys, err := kernel.Alloc[kernel.F16](heads * length * d)
	if err != nil {
		fmt.Println(err) // more than there is
		return
	}
	fmt.Println(kernel.BHLD(keys, 1, heads, length, d))

	// Output: float16 [B H L D] = [1 8 4096 64] with strides [2097152 262144 64]
}

// A program that keeps half floats as integers need not convert them.
func ExampleFromBits() {
	bits := []uint16{0x3c00, 0xc000, 0x3800}
	x := kernel.FromBits[kernel.F16](bits)
	fmt.Println(x[0].Float32(), x[1].Float32(), x[2].Float32())

	bits[0] = 0x4000 // x is the same memory
	fmt.Println(x[0].Float32())

	// Output:
	// 1 -2 0.5
	// 2
}

// The bytes of a file that is mapped are numbers without a copy, here of one byte each. On
// little-endian machines that holds for wider types, too.
func ExampleFromBytes() {
	file := []byte{0x38, 0xc0, 0x00}
	x, err := kernel.FromBytes[kernel.F8E4M3](file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x[0].Float32(), x[1].Float32(), x[2].Float32())

	// Output: 1 -2 0
}

// A function of the program that takes tensors checks them before it begins, as functions of this
// module do.
func ExampleTensor_Check() {
	fmt.Println(kernel.BHLD(make([]float32, 6), 1, 1, 3, 2).Check("x"))
	fmt.Println(kernel.BHLD(make([]float32, 5), 1, 1, 3, 2).Check("x"))

	// Output:
	// <nil>
	// x: [B H L D] = [1 1 3 2] with strides [6 6 2] in 5 elements, want a slice of at least 6 elements
}

// The second half of a cache is appended to while the first half is read: they share no memory.
func ExampleTensor_Overlaps() {
	data := make([]float32, 8)
	old, fresh, all := kernel.BHLD(data, 1, 1, 2, 2), kernel.BHLD(data[4:], 1, 1, 2, 2), kernel.BHLD(data, 1, 1, 4, 2)
	fmt.Println(old.Overlaps(fresh), old.Overlaps(all))

	// Output: false true
}

// Two sequences of 1 and 3 tokens, one after the other, with two heads whose tokens lie apart. The
// function Ragged makes such a view of tokens whose heads lie side by side.
func ExampleTensor_Ragged() {
	const heads, tokens, d = 2, 4, 1
	data := []float32{0, 1, 2, 3, 10, 11, 12, 13}
	t := kernel.BHLD(data, 1, heads, tokens, d).Ragged([]int{0, 1, 4})
	fmt.Println(t.Shape(), t.Length(0), t.Length(1))
	fmt.Println(kernel.Row[float32](t, 1, 1, 2)) // sequence 1, head 1, token 2

	// Output:
	// [2 2 3 1] 1 3
	// [13]
}

// The scales of keys of int8 that lie in pages are found as the keys are: page 1 comes first.
func ExampleTensor_Scales() {
	const pages, size, d = 2, 2, 2
	keys := []int8{1, 2, 3, 4, 5, 6, 7, 8}
	scale := []float32{0.5, 0.25, 2, 4}
	scales := kernel.BHLD(scale, pages, 1, size, 1)
	t := kernel.BHLD(keys, pages, 1, size, d).Scaled(&scales).Paged(&kernel.PageTable{Pages: [][]int32{{1, 0}}, Lengths: []int{3}})
	for l := range t.Length(0) {
		fmt.Println(kernel.Row[int8](t, 0, 0, l), kernel.Row[float32](t.Scales(), 0, 0, l))
	}

	// Output:
	// [5 6] [2]
	// [7 8] [4]
	// [1 2] [0.5]
}

// Numbers of 4 bits lie two in a byte.
func ExampleInt4x2() {
	dst, scales := make([]kernel.Int4x2, 1), make([]float32, 1)
	err := numeric.QuantizeInt4(dst, scales, []float32{-4, 1}, 2, kernel.Exec{})
	first, second := dst[0].Numbers()
	fmt.Println(first, second, scales, err)

	// Output: -8 2 [0.5] <nil>
}

// A mask of [B, 1, Lq, Lk] whose rows lie in a wider one, as made for the longest text.
func ExampleVisibleStrided() {
	const most = 4
	mask := []bool{
		true, false, false, false,
		true, true, false, false,
	}
	out := make([]float32, 2)
	err := kernel.Attention(column(out...), column(0, 0), column(0, 0), column(1, 3), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.VisibleStrided(mask, [4]int{1, 1, 2, 2}, [3]int{0, 0, most}),
	}})
	fmt.Println(out, err)

	// Output: [1 2] <nil>
}

// One row of padding, in which true is padding, for both texts of a batch: its stride is 0.
func ExampleHiddenStrided() {
	const batch, keys = 2, 3
	padding := []bool{false, false, true}
	x := kernel.BHLD(make([]float32, batch*keys), batch, 1, keys, 1)
	q := kernel.BHLD(make([]float32, batch), batch, 1, 1, 1)
	v := kernel.BHLD([]float32{1, 3, 100, 2, 4, 100}, batch, 1, keys, 1)
	out := make([]float32, batch)
	err := kernel.Attention(kernel.BHLD(out, batch, 1, 1, 1), q, x, v, &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.HiddenStrided(padding, [4]int{batch, 1, 1, keys}, [3]int{0, 0, 0}),
	}})
	fmt.Println(out, err)

	// Output: [2 3] <nil>
}

// A program that shares its cores with others does not want workers to spin.
func ExampleSetSpin() {
	before := kernel.SetSpin(0)
	fmt.Println(kernel.SetSpin(before))

	// Output: 0s
}

// A step of a model makes calls of which not all use several threads: the workers wait for those
// that do.
func ExampleKeepSpinning() {
	out := make([]float32, 2)
	for range 3 { // layers
		kernel.KeepSpinning(time.Millisecond)
		if err := kernel.Attention(column(out...), column(0, 0), column(0, 0), column(1, 3), nil); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(out)

	// Output: [2 2]
}

// A loop of the program takes the threads of the calls before and after it.
func ExampleExec_Split() {
	x := []float32{1, 2, 3, 4}
	err := kernel.Exec{Threads: 2}.Split(len(x), len(x), func(lo, hi int) {
		for i, y := range x[lo:hi] {
			x[lo+i] = 2 * y
		}
	})
	fmt.Println(x, err)

	// Output: [2 4 6 8] <nil>
}

// After the largest call of a program its scratch memory is of no more use. Calls go on as before.
func ExampleReleaseMemory() {
	out := make([]float32, 2)
	call := func() error {
		return kernel.Attention(column(out...), column(0, 0), column(0, 0), column(1, 3), nil)
	}
	fmt.Println(call())
	kernel.ReleaseMemory()
	fmt.Println(call(), out)

	// Output:
	// <nil>
	// <nil> [2 2]
}
