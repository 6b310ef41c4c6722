package fallback

import "github.com/attn-go/attn/internal/scalar"

// exp2 computes dst = 2^src for len(dst) elements.
func exp2(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = scalar.Exp2(x)
	}
}

// tanh computes dst = tanh(src) for len(dst) elements.
func tanh(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = scalar.Tanh(x)
	}
}
