package fallback

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// unary returns a function of each number of a slice, given the function of one.
func unary(f func(x float32) float32) func(dst, src []float32) {
	return func(dst, src []float32) {
		for i, x := range window(src, 0, len(dst)) {
			dst[i] = f(x)
		}
	}
}

// gated returns a function of each number of gate, times up, rounded.
func gated(f func(x float32) float32) func(dst, gate, up []float32) {
	return func(dst, gate, up []float32) {
		up = window(up, 0, len(dst))
		for i, x := range window(gate, 0, len(dst)) {
			dst[i] = float32(f(x) * up[i])
		}
	}
}

// backward returns the gradient of a function, given it and its slope for x and y = of(x). Each
// operation is rounded.
func backward(of func(x float32) float32, slope func(x, y float32) float32) func(f, dx, dy, x []float32) {
	return func(f, dx, dy, x []float32) {
		dx, dy = window(dx, 0, len(f)), window(dy, 0, len(f))
		for i, x := range window(x, 0, len(f)) {
			y := of(x)
			k := slope(x, y)
			switch {
			case x < -scalar.Steep:
				k = 0
			case x > scalar.Steep:
				k = 1
			}
			f[i], dx[i] = y, float32(dy[i]*k)
		}
	}
}

// ratio returns f(x)/x, and 1/2 for 0.
func ratio(y, x float32) float32 {
	if x == 0 {
		return 0.5
	}
	return y / x
}

// siluSlope is s·(1 + x·(1-s)), s = SiLU(x)/x, with x·(1-s) = -SiLU(-x).
func siluSlope(x, y float32) float32 { return float32(ratio(y, x) * (1 - scalar.SiLU(-x))) }

// geluSlope is Φ(x) + x·φ(x), with Φ(x) = GELU(x)/x and φ(x) = 2^(-x²·log2(e)/2)/sqrt(2π).
func geluSlope(x, y float32) float32 {
	power := scalar.Exp2(float32(float32(x*x) * (-math.Log2E / 2)))
	return ratio(y, x) + float32(x*float32(power*scalar.InvRootTwoPi))
}

// geluTanhSlope is s·(1 + x·(1-s)·u), s = GELUTanh(x)/x and u twice the slope of the argument of
// tanh, with x·(1-s) = -GELUTanh(-x).
func geluTanhSlope(x, y float32) float32 {
	u := scalar.TanhSlope0 + float32(float32(x*x)*scalar.TanhSlope1)
	return float32(ratio(y, x) * (1 - float32(scalar.GELUTanh(-x)*u)))
}

// The element-wise part of a gated recurrent unit. gates, in and hidden hold three parts of
// len(state) elements each: of the reset gate r, the update gate z and the candidate c.

func tanhBackward(dx, dy, y []float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	for i, y := range y {
		dx[i] = dy[i] * float32((1-y)*(1+y))
	}
}

func sigmoidBackward(dx, dy, y []float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	for i, y := range y {
		dx[i] = dy[i] * float32((1-y)*y)
	}
}

// gru replaces a state by the next one, and writes the gates:
//
//	r     = sigmoid(in_r + hidden_r)
//	z     = sigmoid(in_z + hidden_z)
//	c     = tanh(in_c + r·hidden_c)
//	state = c + (state - c)·z
func gru(state, gates, in, hidden []float32) {
	n := len(state)
	gates, in, hidden = window(gates, 0, 3*n), window(in, 0, 3*n), window(hidden, 0, 3*n)
	for i, s := range state {
		r, z := scalar.Sigmoid(in[i]+hidden[i]), scalar.Sigmoid(in[n+i]+hidden[n+i])
		c := scalar.Tanh(in[2*n+i] + float32(r*hidden[2*n+i]))
		gates[i], gates[n+i], gates[2*n+i] = r, z, c
		state[i] = c + float32((s-c)*z)
	}
}

// gruBackward takes a gradient d from the next state to the state before, as far as it does not go
// through hidden, and writes the gradients of in and hidden:
//
//	dc   = (d·(1 - z))·((1 - c)·(1 + c))
//	dz   = (d·(before - c))·((1 - z)·z)
//	dr   = (dc·hidden_c)·((1 - r)·r)
//	dIn  = dr, dz, dc      dHidden = dr, dz, dc·r
//	d    = d·z
func gruBackward(d, dIn, dHidden, gates, hidden, before []float32) {
	n := len(d)
	dIn, dHidden, gates, hidden, before = window(dIn, 0, 3*n), window(dHidden, 0, 3*n), window(gates, 0, 3*n), window(hidden, 0, 3*n), window(before, 0, n)
	for i, d0 := range d {
		r, z, c := gates[i], gates[n+i], gates[2*n+i]
		dc := float32(float32(d0*(1-z)) * float32((1-c)*(1+c)))
		dz := float32(float32(d0*(before[i]-c)) * float32((1-z)*z))
		dr := float32(float32(dc*hidden[2*n+i]) * float32((1-r)*r))
		dIn[i], dIn[n+i], dIn[2*n+i] = dr, dz, dc
		dHidden[i], dHidden[n+i], dHidden[2*n+i] = dr, dz, float32(dc*r)
		d[i] = d0 * z
	}
}
