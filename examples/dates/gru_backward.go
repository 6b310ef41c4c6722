package main

import (
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A gruTrace is a gru on several rows with all that its gradients need of each step. A step works
// on the first rows only, as many as it has. What belongs to the steps lies one after the other:
// memory of all steps has a row for every row of every step, [all, ...].
type gruTrace struct {
	*recurrence
	first  []int     // the number of rows before each step, and of all
	states []float32 // [rows, size]: the current ones; those of the recurrence are the first of them
	x      []float32 // [all, inputs]: the inputs
	before []float32 // [all, size]: the states before each step
	all    struct {  // what a step leaves in the recurrence, of all steps
		h, gates, candidates []float32
	}

	back             *linear.Linear // the transposed weights of the states
	weights          *gruParameters
	dInput, dHidden  []float32 // [all, 3·size]: the gradients of i and of h
	dState, previous []float32 // [rows, size]: that of the states after a step, and a part of it
}

// newTrace returns a trace of steps with so many rows each. The states are zeros, the inputs are
// still to be set.
func (t *training) newTrace(g gru, w *gruParameters, back *linear.Linear, rows []int) *gruTrace {
	r := &gruTrace{recurrence: &recurrence{gru: g, settings: t.settings, size: w.size}, weights: w, back: back, first: []int{0}}
	most := 0
	for step, n := range rows {
		r.first = append(r.first, r.first[step]+n)
		most = max(most, n)
	}
	n := r.first[len(rows)] * w.size
	r.scratch, r.states, r.dState, r.previous = t.memory.Floats(2*most*w.size), t.memory.Zeros(most*w.size), t.memory.Zeros(most*w.size), t.memory.Floats(most*w.size)
	r.x, r.before = t.memory.Floats(r.first[len(rows)]*w.inputs), t.memory.Floats(n)
	r.dInput, r.dHidden = t.memory.Floats(3*n), t.memory.Floats(3*n)
	r.all.h, r.all.gates, r.all.candidates = t.memory.Floats(3*n), t.memory.Floats(2*n), t.memory.Floats(n)
	return r
}

// rows returns the number of rows of a step.
func (r *gruTrace) rows(step int) int { return r.first[step+1] - r.first[step] }

// of returns what belongs to a step in memory of all steps.
func (r *gruTrace) of(all []float32, step int) []float32 {
	width := len(all) / r.first[len(r.first)-1]
	return all[r.first[step]*width : r.first[step+1]*width]
}

// forwardStep is recurrence.step that keeps what the gradients need.
func (r *gruTrace) forwardStep(step int, i []float32) error {
	r.state = r.states[:r.rows(step)*r.size]
	copy(r.of(r.before, step), r.state)
	r.h, r.gates, r.candidates = r.of(r.all.h, step), r.of(r.all.gates, step), r.of(r.all.candidates, step)
	return r.step(i, nil)
}

// backwardStep takes dState from after a step to before it, and keeps the gradients of i and h:
//
//	dn = d·(1 - z)          da_n = dn·(1 - n²)
//	dz = d·(state - n)      da_z = dz·z·(1 - z)
//	dr = da_n·h_n           da_r = dr·r·(1 - r)
//	di = da_r, da_z, da_n   dh = da_r, da_z, da_n·r
//	d(state) = d·z + dh·W_h
func (r *gruTrace) backwardStep(step int) error {
	n := r.size
	gates, candidates, before, h := r.of(r.all.gates, step), r.of(r.all.candidates, step), r.of(r.before, step), r.of(r.all.h, step)
	dInput, dHidden := r.of(r.dInput, step), r.of(r.dHidden, step)
	for row := range r.rows(step) {
		d, di, dh := r.dState[row*n:][:n], dInput[row*3*n:][:3*n], dHidden[row*3*n:][:3*n]
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
	}
	previous := r.previous[:r.rows(step)*n]
	if err := r.apply(r.back, previous, dHidden); err != nil {
		return err
	}
	return numeric.AddSlice(r.dState[:len(previous)], r.dState[:len(previous)], previous)
}

// finish adds the gradients of the weights to g, when all steps are done. If dx is not nil, it
// receives the gradient of the inputs.
func (r *gruTrace) finish(g *gruParameters, dx []float32) error {
	n, k, rows := 3*r.size, r.weights.inputs, r.first[len(r.first)-1]
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
