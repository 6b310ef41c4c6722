//go:build !(mips || mips64 || ppc64 || s390x)

package docs_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// Bytes of files are little-endian: kernel.FromBytes refuses them on the machines that are left
// out here.

// Half floats as a program has them: as integers, or as bytes of a file.
func Example_halfFloats() {
	cacheK, cacheV := make([]uint16, 4), []uint16{0x3c00, 0x4000, 0x4200, 0x4600} // 1, 2, 3, 6
	weights := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}                            // 1 and 2 as float32, little-endian
	q, out := make([]float32, 1), make([]float32, 1)

	k := kernel.BHLD(kernel.FromBits[kernel.F16](cacheK), 1, 1, 4, 1)
	v := kernel.BHLD(kernel.FromBits[kernel.F16](cacheV), 1, 1, 4, 1)
	err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), kernel.BHLD(q, 1, 1, 1, 1), k, v, nil)
	fmt.Println(out, err)

	w, err := kernel.FromBytes[float32](weights) // BF16, F16, int8 too
	fmt.Println(w, err)

	// Output:
	// [3] <nil>
	// [1 2] <nil>
}
