package numeric

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// The sizes of blocks that Hadamard takes, powers of two. A block of the largest one takes
// less than 100 µs.
const (
	leastHadamard = 16
	mostHadamard  = 1 << 15
)

// Hadamard multiplies each block of n elements of x by the normalised Hadamard matrix,
// whose elements are ±1/√n: an orthogonal transform, and its own inverse up to rounding.
// The scalar product of two vectors stays, and no element is much larger than the others
// any more, so that [QuantizeInt4] and [QuantizeInt8] lose less: QuaRot,
// https://arxiv.org/abs/2404.00456.
//
// x has a multiple of n elements, and n is a power of two from 16 to 32768, such as the
// size of a head or a factor of it; else the error is a [*kernel.Error]. A block
// with an element that is no finite number is NaN or infinite all over. exec and the error
// of a tier are those of [Exp2Slice]. An error leaves x untouched.
func Hadamard(x []float32, n int, exec kernel.Exec) error {
	if n < leastHadamard || n > mostHadamard || n&(n-1) != 0 {
		return &kernel.Error{Where: "numeric.Hadamard: n", Got: fmt.Sprint(n), Want: fmt.Sprintf("a power of two from %d to %d", leastHadamard, mostHadamard)}
	}
	return hadamard.Run(&exec, &elementwise.Call{Size: n, Slices: [6][]float32{x}})
}

var hadamard = elementwise.Function{Name: "numeric.Hadamard", Args: []string{"x"}, Size: "n", Outputs: 1, ElementFMAs: sumFMAs, Do: func(c *elementwise.Call) {
	n := len(c.Slices[0]) / c.Rows
	c.Tier.Elementwise().Hadamard(c.Slices[0], n, float32(1/math.Sqrt(float64(n))))
}}
