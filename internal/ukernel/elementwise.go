package ukernel

// Elementwise are functions over slices, element by element. dst may be any of the sources.
type Elementwise struct {
	// Exp2 and Tanh compute dst[x] = f(src[x]), x < len(dst).
	Exp2, Tanh func(dst, src []float32)

	// Add is dst = x + y for len(dst) elements. dst may be x or y.
	Add func(dst, x, y []float32)

	// AddRows adds n ≥ 1 rows of src to dst: dst[e] = dst[e] + src[i·lds+e], i ascending, for
	// len(dst) elements.
	AddRows func(dst, src []float32, lds, n int)

	// AdamW is a step of the optimizer, for e < len(w), any number. Each operation is rounded:
	//
	//	m[e] = m[e] + gain1·(g[e] - m[e])
	//	v[e] = beta2·v[e] + (gain2·g[e])·g[e]
	//	w[e] = w[e]·keep - rate·(m[e]/(sqrt(v[e])/root + epsilon))
	AdamW func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32)
}
