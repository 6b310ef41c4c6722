package ukernel

// Elementwise are functions over slices, or rows of them, element by element. dst may be any of the
// sources of a function that has a dst.
type Elementwise struct {
	// Exp2 and Tanh compute dst[x] = f(src[x]), x < len(dst).
	Exp2, Tanh func(dst, src []float32)

	// Add is dst = x + y for len(dst) elements. dst may be x or y.
	Add func(dst, x, y []float32)

	// Mul is dst = x·y for len(dst) elements.
	Mul func(dst, x, y []float32)

	// Scale is dst = (src·first)·second for len(dst) elements, both products rounded.
	Scale func(dst, src []float32, first, second float32)

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

	// AdditiveBackward adds what n keys contribute to the gradients of a query's additive scores,
	// given the gradients x of the scores, for e < len(q), any number, and j < n ascending:
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

	// Rotate rotates the pairs x = first[j·ld+e], y = second[j·ld+e] of n rows, for
	// e < len(cos), any number. Each operation is rounded, and a NaN becomes 0x7FC00000.
	// first and second share no elements.
	//
	//	first[j·ld+e]  = x·cos[e] - y·sin[e]
	//	second[j·ld+e] = y·cos[e] + x·sin[e]
	Rotate func(first, second []float32, ld, n int, cos, sin []float32)

	// RotatePairs rotates pairs of neighbours of n rows, for e < len(cos), an even number. Each
	// operation is rounded, and a NaN becomes 0x7FC00000:
	//
	//	x[j·ld+e] = x[j·ld+e]·cos[e] + x[j·ld+e^1]·sin[e]
	RotatePairs func(x []float32, ld, n int, cos, sin []float32)
}

// Activations are the activations of feed-forward layers over slices. dst may be any of the
// others.
type Activations struct {
	// SiLU, GELU and GELUTanh compute dst[x] = f(src[x]), x < len(dst).
	SiLU, GELU, GELUTanh func(dst, src []float32)

	// SwiGLU, GeGLU and GeGLUTanh compute dst[x] = f(gate[x])·up[x], x < len(dst), with
	// the same functions in the same order. The product is rounded.
	SwiGLU, GeGLU, GeGLUTanh func(dst, gate, up []float32)

	// SiLUBackward, GELUBackward and GELUTanhBackward compute f(x[i]) and its gradient, dy[i] times
	// the slope, i < len(f). The product is rounded. Package fallback has the formulas. f or dx may
	// be dy or x.
	SiLUBackward, GELUBackward, GELUTanhBackward func(f, dx, dy, x []float32)

	// TanhBackward and SigmoidBackward compute the gradients of tanh and of the logistic function
	// from their results, for x < len(dx), each operation rounded:
	//
	//	TanhBackward     dx[x] = dy[x]·((1-y[x])·(1+y[x]))
	//	SigmoidBackward  dx[x] = dy[x]·((1-y[x])·y[x])
	TanhBackward, SigmoidBackward func(dx, dy, y []float32)

	// GRU is the element-wise part of a step of a gated recurrent unit, and GRUBackward its
	// gradients. Package fallback has the formulas. gates, in, hidden, dIn and dHidden have
	// 3·len(state) elements; state and d are read and written.
	GRU         func(state, gates, in, hidden []float32)
	GRUBackward func(d, dIn, dHidden, gates, hidden, before []float32)
}

// Norms normalise n rows of len(weight) ≥ 1 elements each, from src[i·lds:] to dst[i·ldd:], which
// may be the same rows. size is float32(len(weight)), or float32(d). Every NaN becomes 0x7fc00000.
// A sum over a row has 64 chains: element e belongs to chain e mod 64, a chain starts from +0 and
// takes its elements in ascending order, and then acc[r] += acc[r+32] for r < 32, acc[r] +=
// acc[r+16] for r < 16, and so on.
type Norms struct {
	// RMSNorm divides by the root of the mean square:
	//
	//	inv = 1/sqrt(sum(x²)/size + eps), the sum by acc = fma(x, x, acc)
	//	y = (x·inv)·weight
	RMSNorm func(dst []float32, ldd int, src []float32, lds, n int, weight []float32, size, eps float32)

	// LayerNorm makes the mean 0 and the variance 1:
	//
	//	mean = sum(x)/size, the sum by acc = acc + x
	//	rest = sum(x-mean)/size, the sum by acc = acc + (x-mean)
	//	z = (x-mean)-rest
	//	inv = 1/sqrt(sum(z²)/size + eps), the sum by acc = fma(z, z, acc)
	//	y = fma(z·inv, weight, bias)
	LayerNorm func(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32)

	// Means are the means of n rows of d ≥ 1 elements, each less a number:
	//
	//	means[i] = sum(x[i·ld+e]-centers[i])/size, the sum by acc = acc + (x-center)
	Means func(means, x []float32, ld, n, d int, centers []float32, size float32)
}

// Gradients are the micro-kernels of the backward pass of attention that work on the lanes of a
// query tile, as LaneKernels do.
type Gradients struct {
	// BackwardWeights turns n rows of scores into weights that are not yet
	// normalised, in place, and adds them up, and their products with their gradients dp:
	//
	//	p         = weight(min(s - lse[lane], 0)); +0, by select, where s is -Inf
	//	sum[lane] = sum of p, j ascending, from +0
	//	dot[lane] = fma chain over j ascending, from +0: acc = fma(p, dp, acc)
	//
	// Where p is ±0, dp counts as +0, by select.
	BackwardWeights func(s, dp []float32, ld, n int, lse, sum, dot []float32)

	// BackwardScores normalises n rows of weights, and turns their gradients into gradients of the
	// scores, both in place:
	//
	//	p  = p·inv[lane]
	//	ds = p·(dp - mean[lane])
	//
	// Where the weight was ±0 both are +0, by select.
	BackwardScores func(p, dp []float32, ld, n int, inv, mean []float32)

	// BackwardSoftcap multiplies n rows of gradients, lanes wide, by the derivative of the
	// softcap, given the scores after it:
	//
	//	ds = ds·fma(-u, u, 1), u = s·inv; +0, by select, where ds is ±0
	BackwardSoftcap func(ds, s []float32, ld, n, lanes int, inv float32)
}
