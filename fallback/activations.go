package fallback

// The activations of feed-forward layers over slices. dst may be any of the others.

// SiLUSlice computes dst = SiLU(src) for len(dst) elements.
func SiLUSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = SiLU(x)
	}
}

// GELUSlice computes dst = GELU(src) for len(dst) elements.
func GELUSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = GELU(x)
	}
}

// GELUTanhSlice computes dst = GELUTanh(src) for len(dst) elements.
func GELUTanhSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = GELUTanh(x)
	}
}

// The gated forms round twice: the activation, and its product with up.

// SwiGLU computes dst = SiLU(gate)·up for len(dst) elements.
func SwiGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(SiLU(x) * up[i])
	}
}

// GeGLU computes dst = GELU(gate)·up for len(dst) elements.
func GeGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(GELU(x) * up[i])
	}
}

// GeGLUTanh computes dst = GELUTanh(gate)·up for len(dst) elements.
func GeGLUTanh(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(GELUTanh(x) * up[i])
	}
}
