package main

import (
	"github.com/attn-go/attn/examples/internal/activation"
	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/kernel"
)

// A gru is a gated recurrent unit with PyTorch's gates: the next state is
//
//	r  = sigmoid(i_r + h_r)        i = W_i·x + b_i
//	z  = sigmoid(i_z + h_z)        h = W_h·state + b_h
//	n  = tanh(i_n + r·h_n)
//	n + (state - n)·z
type gru struct {
	input, hidden *kernel.Linear // W_i, W_h: the rows of r, then of z, then of n
}

func loadGRU(l *weights.Loader, prefix, suffix string, size, inputs int) gru {
	at := func(name string) string { return prefix + "." + name + suffix }
	return gru{
		input:  l.Linear(at("weight_ih"), at("bias_ih"), 3*size, inputs),
		hidden: l.Linear(at("weight_hh"), at("bias_hh"), 3*size, size),
	}
}

// A recurrence is a gru at work on some rows, each with a state of its own.
type recurrence struct {
	gru
	settings
	size  int
	state []float32 // [rows, size]

	h, gates, scratch []float32 // [rows, 3·size]
	candidates        []float32 // [rows, size]
}

// newRecurrence returns a recurrence with states of zeros.
func newRecurrence(g gru, rows int, s settings) *recurrence {
	outputs, size := g.hidden.Shape()
	floats := func(width int) []float32 { return make([]float32, rows*width) }
	return &recurrence{
		gru: g, settings: s, size: size, state: floats(size),
		h: floats(outputs), gates: floats(2 * size), scratch: floats(2 * size), candidates: floats(size),
	}
}

// step moves the states on. i has W_i·x + b_i, [rows, 3·size]; rows that are not
// active, if active is not nil, keep their state.
func (c *recurrence) step(i []float32, active func(row int) bool) error {
	if err := c.apply(c.hidden, c.h, c.state); err != nil {
		return err
	}
	n := c.size
	c.eachRow(func(row int) {
		gates, i, h := c.gates[row*2*n:][:2*n], i[row*3*n:], c.h[row*3*n:]
		for j := range gates {
			gates[j] = i[j] + h[j]
		}
	})
	if err := activation.Sigmoid(c.gates, c.scratch); err != nil {
		return err
	}
	c.eachRow(func(row int) {
		candidates, r, i, h := c.candidates[row*n:][:n], c.gates[row*2*n:], i[row*3*n+2*n:], c.h[row*3*n+2*n:]
		for j := range candidates {
			candidates[j] = i[j] + float32(r[j]*h[j])
		}
	})
	if err := kernel.TanhSlice(c.candidates, c.candidates); err != nil {
		return err
	}
	c.eachRow(func(row int) {
		if active != nil && !active(row) {
			return
		}
		state, candidates, z := c.row(row), c.candidates[row*n:][:n], c.gates[row*2*n+n:]
		for j, x := range candidates {
			state[j] = x + float32((state[j]-x)*z[j])
		}
	})
	return nil
}

// row returns the state of a row.
func (c *recurrence) row(row int) []float32 { return c.state[row*c.size:][:c.size] }

func (c *recurrence) eachRow(f func(row int)) {
	for row := range len(c.state) / c.size {
		f(row)
	}
}
