package network

import (
	"math"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// Inputs make numbers of each token for each layer, which layers take beside the states, as Gemma 4
// has them: the rows of a table, times the root of how many a layer takes, and
// norm(project(x)/√width) are added, and divided by √2. Without a table they are that norm.
type Inputs struct {
	Table   Table          // or nil
	Known   int            // ids from it on have the row of id 0; 0: all have their own
	Project tensors.Linear // of the first states x, to the numbers for all layers
	Norm    *Norm          // of those for a layer
}

// compute sets the inputs of the pass, of so many rows of states, and of tokens as Embedding.Words
// has them.
func (in *Inputs) compute(p *Pass, ids []int32, x []float32, rows int) error {
	n, width := in.Project.N, len(x)/rows
	p.inputs = p.floats.take(rows * n)
	if err := p.apply(&in.Project, p.inputs, x, rows, width, 0); err != nil {
		return err
	}
	scale(p.inputs, float32(1/math.Sqrt(float64(width))))
	if err := in.Norm.apply(p.Exec, p.inputs, p.inputs, nil, false); err != nil || in.Table == nil {
		return err
	}
	defer p.release(p.mark())
	table := p.floats.take(rows * n)
	if err := in.Table.Rows(table, in.known(ids), p.Exec); err != nil {
		return err
	}
	scale(table, float32(math.Sqrt(float64(len(in.Norm.Weight)))))
	add(p.inputs, table, 0)
	scale(p.inputs, float32(1/math.Sqrt2))
	return nil
}

// known returns ids that the table has.
func (in *Inputs) known(ids []int32) []int32 {
	return arch.Replaced(ids, func(id int32) bool { return in.Known > 0 && int(id) >= in.Known }, 0)
}

// An Injection is down(activation(gate(h))·input), with the inputs of a layer.
type Injection struct {
	Gate, Down tensors.Linear
	Activation activations.Function
	Layer      int
}

func (f *Injection) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	n, all := f.Gate.N, len(p.inputs)/len(p.Tokens)
	inner := p.floats.take(rows * n)
	if err := p.apply(&f.Gate, inner, h, rows, len(h)/rows, f.Activation.Fused); err != nil {
		return err
	}
	if f.Activation.After != nil {
		if err := f.Activation.After(inner, p.Exec); err != nil {
			return err
		}
	}
	for row := range rows {
		token := row
		if p.only {
			token = p.Wanted[row]
		}
		for i, z := range p.inputs[token*all+f.Layer*n:][:n] {
			inner[row*n+i] *= z
		}
	}
	return p.apply(&f.Down, y, inner, rows, n, 0)
}

func (f *Injection) layers() []tensors.Linear { return []tensors.Linear{f.Gate, f.Down} }
