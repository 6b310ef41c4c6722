package fallback

import "github.com/attn-go/attn/internal/scalar"

// The activations of feed-forward layers over slices. dst may be any of the others.

// silu computes dst = scalar.SiLU(src) for len(dst) elements.
func silu(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = scalar.SiLU(x)
	}
}

// gelu computes dst = scalar.GELU(src) for len(dst) elements.
func gelu(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = scalar.GELU(x)
	}
}

// geluTanh computes dst = scalar.GELUTanh(src) for len(dst) elements.
func geluTanh(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = scalar.GELUTanh(x)
	}
}

// The gated forms round twice: the activation, and its product with up.

// swiGLU computes dst = scalar.SiLU(gate)·up for len(dst) elements.
func swiGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(scalar.SiLU(x) * up[i])
	}
}

// geGLU computes dst = scalar.GELU(gate)·up for len(dst) elements.
func geGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(scalar.GELU(x) * up[i])
	}
}

// geGLUTanh computes dst = scalar.GELUTanh(gate)·up for len(dst) elements.
func geGLUTanh(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(scalar.GELUTanh(x) * up[i])
	}
}
