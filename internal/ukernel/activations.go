package ukernel

// Activations are the activations of feed-forward layers over slices. dst may be any of the
// others.
type Activations struct {
	// SiLU, GELU and GELUTanh compute dst[x] = f(src[x]), x < len(dst).
	SiLU, GELU, GELUTanh func(dst, src []float32)

	// SwiGLU, GeGLU and GeGLUTanh compute dst[x] = f(gate[x])·up[x], x < len(dst), with
	// the same functions in the same order. The product is rounded.
	SwiGLU, GeGLU, GeGLUTanh func(dst, gate, up []float32)

	// SiLUSlope, GELUSlope and GELUTanhSlope compute f[x] = f(src[x]) and slope[x], the derivative there,
	// x < len(f). Package fallback has the formulas. f or slope may be src.
	SiLUSlope, GELUSlope, GELUTanhSlope func(f, slope, src []float32)

	// GRU is the element-wise part of a step of a gated recurrent unit, and GRUBackward its
	// gradients. Package fallback has the formulas. gates, in, hidden, dIn and dHidden have
	// 3·len(state) elements; state and d are read and written.
	GRU         func(state, gates, in, hidden []float32)
	GRUBackward func(d, dIn, dHidden, gates, hidden, before []float32)
}
