package ukernel

// Elementwise are functions over slices, or rows of them, element by element. dst may be any of the
// sources of a function that has a dst.
type Elementwise struct {
	// Exp2 and Tanh compute dst[x] = f(src[x]), x < len(dst).
	Exp2, Tanh func(dst, src []float32)

	// Add is dst = x + y for len(dst) elements. dst may be x or y.
	Add func(dst, x, y []float32)

	// AddRows adds n ≥ 1 rows of src to dst: dst[e] = dst[e] + src[i·lds+e], i ascending, for
	// len(dst) elements.
	AddRows func(dst, src []float32, lds, n int)

	// Hadamard transforms each of the blocks of n elements that x consists of; n is a power
	// of two, 16 or more. It multiplies all elements by scale. Then for h = 1, 2, 4, ...,
	// n/2, and for each i whose bit h is not set, it replaces x[i] and x[i+h] by x[i] +
	// x[i+h] and x[i] - x[i+h]. A NaN becomes 0x7FC00000.
	Hadamard func(x []float32, n int, scale float32)

	// AdamW is a step of the optimizer, for e < len(w), any number. Each operation is rounded:
	//
	//	m[e] = m[e] + gain1·(g[e] - m[e])
	//	v[e] = beta2·v[e] + (gain2·g[e])·g[e]
	//	w[e] = w[e]·keep - rate·(m[e]/(sqrt(v[e])/root + epsilon))
	AdamW func(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32)

	// AdditiveBackward adds what n keys contribute to the gradients of the additive scores of a
	// query, given those of the scores x, for e < len(q), any number, and j < n ascending:
	//
	//	t = tanh(q[e] + k[j·ldk+e]), u = (1 - t)·(1 + t)
	//	dw[e]       = fma(x[j], t, dw[e])
	//	dq[e]       = fma(x[j], u, dq[e])
	//	dk[j·ldd+e] = dk[j·ldd+e] + x[j]·u
	AdditiveBackward func(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32)

	// AddWeighted adds weighted rows, for j < n and e < len(weights), any number. The product is
	// rounded, and a NaN becomes 0x7FC00000:
	//
	//	dst[j·ldd+e] = dst[j·ldd+e] + src[j·lds+e]·weights[e]
	AddWeighted func(dst []float32, ldd int, src []float32, lds, n int, weights []float32)

	// Rotate rotates the pairs x = first[j·ld+e], y = second[j·ld+e] of n rows, for e <
	// len(cos), any number. Each operation is rounded, and a NaN becomes 0x7FC00000.
	// first and second share no elements.
	//
	//	first[j·ld+e]  = x·cos[e] - y·sin[e]
	//	second[j·ld+e] = y·cos[e] + x·sin[e]
	Rotate func(first, second []float32, ld, n int, cos, sin []float32)
}
