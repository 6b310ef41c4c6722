package network

import (
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Dense is the feed-forward network down(activation(up(h))).
type Dense struct {
	Up, Down   tensors.Linear
	Activation activations.Function
}

func (f *Dense) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	if up, down := f.Up.Parts, f.Down.Parts; f.Activation.After == nil && len(up) == 1 && len(down) == 1 && (up[0].Format() == 0) == (down[0].Format() == 0) {
		return p.chain(up[0], down[0], y, h, rows, f.Activation.Fused)
	}
	inner := p.floats.take(rows * f.Up.N)
	if err := p.apply(&f.Up, inner, h, rows, len(h)/rows, f.Activation.Fused); err != nil {
		return err
	}
	if f.Activation.After != nil {
		if err := f.Activation.After(inner, p.Exec); err != nil {
			return err
		}
	}
	return p.apply(&f.Down, y, inner, rows, f.Up.N, 0)
}

// A Gated is the feed-forward network down(activation(gate(h))·up(h)).
type Gated struct {
	GateUp, Down tensors.Linear // gate and up side by side
	Activation   func(dst, gate, up []float32, exec kernel.Exec) error
}

func (f *Gated) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	wide := f.GateUp.N
	inner := p.floats.take(rows * wide)
	if err := p.apply(&f.GateUp, inner, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := spread(p, rows, wide, activated{f, inner}, activate); err != nil {
		return err
	}
	return p.apply(&f.Down, y, inner, rows, wide, 0)
}

// beyond returns an activation before which gates lose their mean and so many of their deviations,
// down to 0.
func beyond(deviations float32, act func(dst, gate, up []float32, exec kernel.Exec) error) func(dst, gate, up []float32, exec kernel.Exec) error {
	return func(dst, gate, up []float32, exec kernel.Exec) error {
		mean, spread := 0.0, 0.0
		for _, x := range gate {
			mean += float64(x)
		}
		mean /= float64(len(gate))
		for _, x := range gate {
			d := float64(x) - mean
			spread += float64(d * d)
		}
		least := float32(mean + float64(math.Sqrt(spread/float64(len(gate)))*float64(deviations)))
		for i, x := range gate {
			gate[i] = max(x-least, 0)
		}
		return act(dst, gate, up, exec)
	}
}

// An activated is gates and ups, side by side.
type activated struct {
	*Gated
	inner []float32
}

// activate applies the activation to some rows, in the place of the gate.
func activate(p *Pass, f activated, lo, hi int) error {
	wide := f.GateUp.N
	for row := lo; row < hi; row++ {
		gate, up := f.inner[row*wide:][:wide/2], f.inner[row*wide+wide/2:][:wide/2]
		if err := f.Activation(gate, gate, up, p.oneThread()); err != nil {
			return err
		}
	}
	return nil
}
