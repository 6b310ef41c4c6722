// Program attention makes one call of the library.
package main

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

func main() {
	q, k, v, out := []float32{0, 900}, []float32{1, 0, 0, 1}, []float32{1, 2, 3, 4}, make([]float32, 2)
	view := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x)/2, 2) }
	err := kernel.Attention(view(out), view(q), view(k), view(v), nil)
	fmt.Println(out, err)
}
