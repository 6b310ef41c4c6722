package main

import (
	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/bench/examples/internal/weights"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
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

	h     []float32 // [rows, 3·size]: W_h·state + b_h
	gates []float32 // [rows, 3·size]: r, z and n
}

// newRecurrence returns a recurrence whose states are zeros.
func newRecurrence(g gru, rows int, s settings) *recurrence {
	outputs, size := g.hidden.Shape()
	floats := func(width int) []float32 { return make([]float32, rows*width) }
	return &recurrence{gru: g, settings: s, size: size, state: floats(size), h: floats(outputs), gates: floats(outputs)}
}

// step replaces each state by the next one. i is W_i·x + b_i, [rows, 3·size]. If active
// is not nil, rows that are not active keep their state.
func (c *recurrence) step(i []float32, active func(row int) bool) error {
	if err := c.apply(c.hidden, c.h, c.state); err != nil {
		return err
	}
	if active == nil {
		return activation.GRU(c.state, c.gates, i, c.h, c.size, kernel.Exec{})
	}
	n := 3 * c.size
	for row := range len(c.state) / c.size {
		if !active(row) {
			continue
		}
		if err := activation.GRU(c.row(row), c.gates[row*n:][:n], i[row*n:][:n], c.h[row*n:][:n], c.size, kernel.Exec{}); err != nil {
			return err
		}
	}
	return nil
}

// row returns the state of a row.
func (c *recurrence) row(row int) []float32 { return c.state[row*c.size:][:c.size] }
