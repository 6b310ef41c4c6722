package network

import (
	"slices"

	"github.com/attn-go/attn/models/internal/tensors"
)

// A Both is attention and a layer with a state, which read the same states and whose outputs are
// added.
type Both struct {
	*Attention
	Beside *Recurrent
}

func (f *Both) layers() []tensors.Linear {
	return slices.Concat(f.Attention.layers(), f.Beside.layers())
}
func (f *Both) carries(after int) (taps, state int) { return f.Beside.carries(after) }

func (f *Both) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows := len(p.Tokens)
	if p.only {
		rows = len(p.Wanted)
	}
	beside := p.floats.take(len(y))
	if err := f.Beside.mix(p, layer, beside, h); err != nil {
		return err
	}
	if err := f.Attention.mix(p, layer, y, h); err != nil {
		return err
	}
	n := rows * (len(h) / len(p.Tokens))
	add(y[:n], beside[:n], 0)
	return nil
}
