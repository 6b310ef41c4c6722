package main

import (
	"github.com/attn-go/attn/examples/internal/activation"
	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A gru is a gated recurrent unit, as in PyTorch:
//
//	i = W_i·x + b_i
//	h = W_h·state + b_h
//	r = sigmoid(i_r + h_r)
//	z = sigmoid(i_z + h_z)
//	n = tanh(i_n + r·h_n)
//	next state = n + (state - n)·z
//
// i_r, i_z and i_n are the thirds of i, and h_r, h_z and h_n those of h.
type gru struct {
	input, hidden *linear.Linear // W_i with b_i, W_h with b_h
}

// loadGRU loads the weights of a gru. Their names in the file have the prefix and suffix.
func loadGRU(l *weights.Loader, prefix, suffix string, size, inputs int) gru {
	at := func(name string) string { return prefix + "." + name + suffix }
	return gru{
		input:  l.Linear(at("weight_ih"), at("bias_ih"), 3*size, inputs),
		hidden: l.Linear(at("weight_hh"), at("bias_hh"), 3*size, size),
	}
}

// A recurrence runs a gru on several rows, each with its own state.
type recurrence struct {
	gru
	settings
	size  int
	state []float32 // [rows, size]

	h              []float32 // [rows, 3·size]
	gates, scratch []float32 // [rows, 2·size]: r and z
	candidates     []float32 // [rows, size]: n
}

// newRecurrence returns a recurrence whose states are zeros.
func newRecurrence(g gru, rows int, s settings) *recurrence {
	outputs, size := g.hidden.Shape()
	floats := func(width int) []float32 { return make([]float32, rows*width) }
	return &recurrence{
		gru: g, settings: s, size: size, state: floats(size),
		h: floats(outputs), gates: floats(2 * size), scratch: floats(2 * size), candidates: floats(size),
	}
}

// step replaces each state by the next one. i is W_i·x + b_i, [rows, 3·size]. If active
// is not nil, rows that are not active keep their state.
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
	if err := numeric.TanhSlice(c.candidates, c.candidates); err != nil {
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

// eachRow calls f for each row.
func (c *recurrence) eachRow(f func(row int)) {
	for row := range len(c.state) / c.size {
		f(row)
	}
}
