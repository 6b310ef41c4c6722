package fallback

import "github.com/attn-go/attn/internal/scalar"

// hadamard is Elementwise.Hadamard.
func hadamard(x []float32, n int, scale float32) {
	for ; len(x) > 0; x = x[n:] {
		block := x[:n]
		for i := range block {
			block[i] = float32(block[i] * scale)
		}
		for h := 1; h < n; h *= 2 {
			for i := range n {
				if i&h == 0 {
					a, b := block[i], block[i+h]
					block[i], block[i+h] = a+b, a-b
				}
			}
		}
		for i, y := range block {
			block[i] = scalar.Canonical(y)
		}
	}
}
