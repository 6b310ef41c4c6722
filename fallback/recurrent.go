package fallback

import "github.com/attn-go/attn/internal/scalar"

// The element-wise part of a gated recurrent unit. gates, in and hidden hold three parts of
// len(state) elements each: of the reset gate r, the update gate z and the candidate c.

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
