package embedding

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Float16 returns vectors of float16 of the same lengths, rounded to even: half of the memory. For
// unit vectors of n numbers a scalar product is off by some 2^-11/√n.
func Float16(vectors [][]float32) [][]kernel.F16 {
	out := make([][]kernel.F16, len(vectors))
	for i, v := range vectors {
		out[i] = make([]kernel.F16, len(v))
		for j, x := range v {
			out[i][j] = numeric.ToF16(x)
		}
	}
	return out
}

// Int8 returns vectors of int8 of the same lengths and the scale of each, a quarter of the memory:
// number j of vector i is out[i][j]·scales[i], rounded as [numeric.QuantizeInt8] does. A number
// that is not finite is a [*kernel.Error] that names the vector.
func Int8(vectors [][]float32) (out [][]int8, scales []float32, err error) {
	out, scales = make([][]int8, len(vectors)), make([]float32, len(vectors))
	for i, v := range vectors {
		out[i] = make([]int8, len(v))
		if len(v) == 0 {
			continue
		}
		if err := numeric.QuantizeInt8(out[i], scales[i:i+1], v, len(v), kernel.Exec{}); err != nil {
			return nil, nil, fmt.Errorf("vector %d: %w", i, err)
		}
	}
	return out, scales, nil
}
