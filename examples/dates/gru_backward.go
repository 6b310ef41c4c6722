package main

import (
	"github.com/attn-go/attn/linear"
)

// A gruTrace is a gru on several rows with all that its gradients need of each step.
type gruTrace struct {
	*recurrence
	rows, steps int
	x           []float32 // [steps, rows, inputs]: the inputs
	before      []float32 // [steps, rows, size]: the states before each step
	all         struct {  // what a step leaves in the recurrence, of all steps
		h, gates, candidates []float32
	}

	back             *linear.Linear // the transposed weights of the states
	weights          *gruParameters
	dInput, dHidden  []float32 // [steps, rows, 3·size]: the gradients of i and of h
	dState, previous []float32 // [rows, size]: that of the state after a step, and through h
}

// newTrace returns a trace whose first states are zeros. The inputs are still to be set.
func (t *training) newTrace(g gru, w *gruParameters, back *linear.Linear, rows, steps int) *gruTrace {
	n := steps * rows * w.size
	r := &gruTrace{
		rows: rows, steps: steps, weights: w, back: back,
		recurrence: &recurrence{gru: g, settings: t.settings, size: w.size, state: t.floats(rows * w.size), scratch: t.floats(2 * rows * w.size)},
		x:          t.floats(steps * rows * w.inputs), before: t.floats(n),
		dInput: t.floats(3 * n), dHidden: t.floats(3 * n),
		dState: t.floats(rows * w.size), previous: t.floats(rows * w.size),
	}
	r.all.h, r.all.gates, r.all.candidates = t.floats(3*n), t.floats(2*n), t.floats(n)
	return r
}

// of returns what belongs to a step in memory of all steps.
func (r *gruTrace) of(all []float32, step int) []float32 {
	n := len(all) / r.steps
	return all[step*n : (step+1)*n]
}

// forwardStep is recurrence.step that keeps what the gradients need.
func (r *gruTrace) forwardStep(step int, i []float32, active func(row int) bool) error {
	copy(r.of(r.before, step), r.state)
	r.h, r.gates, r.candidates = r.of(r.all.h, step), r.of(r.all.gates, step), r.of(r.all.candidates, step)
	return r.step(i, active)
}

// backwardStep takes dState from after a step to before it, and keeps the gradients of i and h:
//
//	dn = d·(1 - z)          da_n = dn·(1 - n²)
//	dz = d·(state - n)      da_z = dz·z·(1 - z)
//	dr = da_n·h_n           da_r = dr·r·(1 - r)
//	di = da_r, da_z, da_n   dh = da_r, da_z, da_n·r
//	d(state) = d·z + dh·W_h
//
// Rows that are not active keep their gradient.
func (r *gruTrace) backwardStep(step int, active func(row int) bool) error {
	n := r.size
	gates, candidates, before, h := r.of(r.all.gates, step), r.of(r.all.candidates, step), r.of(r.before, step), r.of(r.all.h, step)
	dInput, dHidden := r.of(r.dInput, step), r.of(r.dHidden, step)
	r.eachRow(func(row int) {
		d, di, dh := r.dState[row*n:][:n], dInput[row*3*n:][:3*n], dHidden[row*3*n:][:3*n]
		if active != nil && !active(row) {
			clear(di)
			clear(dh)
			return
		}
		g, c, s, hn := gates[row*2*n:][:2*n], candidates[row*n:][:n], before[row*n:][:n], h[row*3*n+2*n:][:n]
		for j, d0 := range d {
			reset, z, x := g[j], g[n+j], c[j]
			dn := float32(float32(d0*(1-z)) * float32((1-x)*(1+x)))
			dz := float32(float32(d0*(s[j]-x)) * float32((1-z)*z))
			dr := float32(float32(dn*hn[j]) * float32((1-reset)*reset))
			di[j], di[n+j], di[2*n+j] = dr, dz, dn
			dh[j], dh[n+j], dh[2*n+j] = dr, dz, float32(dn*reset)
			d[j] = d0 * z
		}
	})
	if err := r.apply(r.back, r.previous, dHidden); err != nil {
		return err
	}
	for i, x := range r.previous { // 0 in rows that are not active
		r.dState[i] += x
	}
	return nil
}

// finish adds the gradients of the weights to g, when all steps are done. If dx is not nil, it
// receives the gradient of the inputs.
func (r *gruTrace) finish(g *gruParameters, dx []float32) error {
	n, k, rows := 3*r.size, r.weights.inputs, r.steps*r.rows
	o := r.products()
	di, x := linear.DenseMatrix(r.dInput, rows, n), linear.DenseMatrix(r.x, rows, k)
	gradients := linear.Gradients{W: linear.DenseMatrix(g.input, n, k), Bias: g.biasIn}
	if dx != nil {
		gradients.X = linear.DenseMatrix(dx, rows, k)
	}
	if err := linear.Backward(gradients, di, x, linear.DenseMatrix(r.weights.input, n, k), o); err != nil {
		return err
	}
	gradients = linear.Gradients{W: linear.DenseMatrix(g.hidden, n, r.size), Bias: g.biasState}
	return linear.Backward(gradients, linear.DenseMatrix(r.dHidden, rows, n), linear.DenseMatrix(r.before, rows, r.size), linear.Matrix{}, o)
}
