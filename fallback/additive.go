package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// additive is SkinnyKernels.Additive.
func additive(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, _ []float32) {
	for j := range m {
		key := window(k, j*ldk, len(weights))
		for i := range n {
			s[j*ld+i] = score(window(q, i*ldq, len(weights)), key, weights)
		}
	}
}

func score(q, k, weights []float32) float32 {
	var acc [contract.AdditiveChains]float32
	for x, w := range weights {
		sum := &acc[x%contract.AdditiveChains]
		*sum = scalar.FMA(w, scalar.Tanh(q[x]+k[x]), *sum)
	}
	return scalar.SumOfHalves(acc[:])
}

// additiveBackward is Elementwise.AdditiveBackward.
func additiveBackward(dk []float32, ldd int, q, k []float32, ldk, n int, x, dq, dw []float32) {
	dq, dw = window(dq, 0, len(q)), window(dw, 0, len(q))
	for j := range n {
		grads, key, x := window(dk, j*ldd, len(q)), window(k, j*ldk, len(q)), x[j]
		for e, y := range q {
			t := scalar.Tanh(y + key[e])
			u := float32((1 - t) * (1 + t))
			dw[e], dq[e] = scalar.FMA(x, t, dw[e]), scalar.FMA(x, u, dq[e])
			grads[e] += float32(x * u)
		}
	}
}

// addWeighted is Elementwise.AddWeighted.
func addWeighted(dst []float32, ldd int, src []float32, lds, n int, weights []float32) {
	for j := range n {
		to, from := window(dst, j*ldd, len(weights)), window(src, j*lds, len(weights))
		for e, w := range weights {
			to[e] = scalar.Canonical(to[e] + float32(from[e]*w))
		}
	}
}

// rotate is Elementwise.Rotate.
func rotate(first, second []float32, ld, n int, cos, sin []float32) {
	sin = sin[:len(cos)]
	for j := range n {
		xs, ys := window(first, j*ld, len(cos)), window(second, j*ld, len(cos))
		for e, c := range cos {
			x, y, s := xs[e], ys[e], sin[e]
			xs[e] = scalar.Canonical(float32(x*c) - float32(y*s))
			ys[e] = scalar.Canonical(float32(y*c) + float32(x*s))
		}
	}
}
