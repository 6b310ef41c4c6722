package kernel_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// Keys and values of two sequences in pages of the program's own memory, laid out as in
// FlashInfer and vLLM: [pages, page size, heads, D]. The first sequence has the pages 2
// and 0, of which it fills one and a half, the second one has page 3. Queries of zeros
// weigh all keys alike, so that the results are means of the values.
func ExampleTensor_Paged() {
	const pages, size, heads, d = 4, 2, 1, 1
	k := make([]float32, pages*size*heads*d)
	v := []float32{0, 1, 20, 21, 30, 31, 40, 41}
	table := kernel.PageTable{Pages: [][]int32{{2, 0}, {3}}, Lengths: []int{3, 2}}

	out := make([]float32, 2)
	err := kernel.Attention(
		kernel.BHLD(out, 2, 1, 1, d),
		kernel.BHLD(make([]float32, 2), 2, 1, 1, d),
		kernel.BLHD(k, pages, size, heads, d).Paged(&table),
		kernel.BLHD(v, pages, size, heads, d).Paged(&table),
		kernel.Options{})
	fmt.Println(out, err)

	// Output: [20.333334 40.5] <nil>
}
