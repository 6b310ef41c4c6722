package main

import (
	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
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
	before []float32 // [all, size]: the states before each step
	all    struct {  // what a step leaves in the recurrence, of all steps
		h, gates []float32
	}

	back             *linear.Linear // the transposed weights of the states
	dHidden          []float32      // [all, 3·size]: the gradients of h
	dState, previous []float32      // [rows, size]: that of the states after a step, and a part of it
}

// newTrace returns a trace of steps with so many rows each. The states are zeros.
func (t *training) newTrace(g gru, back *linear.Linear, rows []int) *gruTrace {
	_, size := g.hidden.Shape()
	r := &gruTrace{recurrence: &recurrence{gru: g, settings: t.settings, size: size}, back: back, first: []int{0}}
	most := 0
	for step, n := range rows {
		r.first = append(r.first, r.first[step]+n)
		most = max(most, n)
	}
	n := r.first[len(rows)] * size
	r.states, r.dState, r.previous = t.memory.Zeros(most*size), t.memory.Zeros(most*size), t.memory.Floats(most*size)
	r.before, r.dHidden = t.memory.Floats(n), t.memory.Floats(3*n)
	r.all.h, r.all.gates = t.memory.Floats(3*n), t.memory.Floats(3*n)
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
	r.h, r.gates = r.of(r.all.h, step), r.of(r.all.gates, step)
	return r.step(i, nil)
}

// backwardStep takes dState from after a step to before it. It writes the gradients of i, and keeps
// those of h.
func (r *gruTrace) backwardStep(step int, dInput []float32) error {
	n, dHidden := r.rows(step)*r.size, r.of(r.dHidden, step)
	err := activation.GRUBackward(r.dState[:n], dInput, dHidden, r.of(r.all.gates, step), r.of(r.all.h, step), r.of(r.before, step), r.size, kernel.Exec{})
	if err != nil {
		return err
	}
	previous := r.previous[:n]
	if err := r.apply(r.back, previous, dHidden); err != nil {
		return err
	}
	return numeric.AddSlice(r.dState[:n], r.dState[:n], previous, kernel.Exec{})
}

// finish adds to the gradients of the weights of the states, when all steps are done.
func (r *gruTrace) finish(g *gruParameters) error {
	n, rows := 3*r.size, r.first[len(r.first)-1]
	return linear.Backward(linear.Gradients{W: linear.DenseMatrix(g.hidden, n, r.size), Bias: g.biasState},
		linear.DenseMatrix(r.dHidden, rows, n), linear.DenseMatrix(r.before, rows, r.size), linear.Matrix{}, r.sums())
}
