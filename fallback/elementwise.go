package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// adamW is Elementwise.AdamW. A new m, v or w that is subnormal is +0.
func adamW(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for e, g := range g {
		mean := m[e] + float32(gain1*(g-m[e]))
		square := float32(beta2*v[e]) + float32(float32(gain2*g)*g)
		mean, square = scalar.Flush(mean, scalar.LeastNormal), scalar.Flush(square, scalar.LeastNormal)
		m[e], v[e] = mean, square
		d := float32(math.Sqrt(float64(square)))/root + epsilon
		w[e] = scalar.Flush(float32(w[e]*keep)-float32(rate*(mean/d)), scalar.LeastNormal)
	}
}

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

// mul is Elementwise.Mul.
func mul(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, x := range x {
		dst[i] = x * y[i]
	}
}

// scale is Elementwise.Scale.
func scale(dst, src []float32, first, second float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = float32(x*first) * second
	}
}

// rotatePairs is Elementwise.RotatePairs.
func rotatePairs(x []float32, ld, n int, cos, sin []float32) {
	sin = sin[:len(cos)]
	for j := range n {
		row := window(x, j*ld, len(cos))
		for e := 0; e < len(row); e += 2 {
			a, b := row[e], row[e+1]
			row[e] = scalar.Canonical(float32(a*cos[e]) + float32(b*sin[e]))
			row[e+1] = scalar.Canonical(float32(b*cos[e+1]) + float32(a*sin[e+1]))
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
