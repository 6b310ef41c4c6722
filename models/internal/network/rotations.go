package network

import (
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/rope"
)

// Rotations returns those of the ropes of the network, for texts of up to so many tokens,
// with tables for positions.
func (n *Network) Rotations(context, positions int) (all []Rotation, err error) {
	for _, r := range n.Ropes {
		c := rope.Config{Dims: r.Dims, Base: r.Base, Scaling: r.Divide, Pairing: rope.RotateHalf, Positions: min(positions, 1<<14, ropeTable/(4*r.Dims))}
		if r.Interleaved {
			c.Pairing = rope.Interleaved
		}
		if factors := r.Scaling.Of(r.Base, r.Dims, context); factors != nil {
			c.Frequencies = ropescaling.Frequencies(r.Base, r.Dims, factors)
		}
		x := Rotation{Dims: r.Dims}
		if x.Rope, err = rope.New(c); err != nil {
			return nil, err
		}
		if m := r.Scaling.Magnitude; m != 0 && m != 1 {
			x.Square = float32(m * m)
		}
		all = append(all, x)
	}
	return all, nil
}

// ropeTable is the most bytes of the table of cosines and sines. Those of positions that
// it has no room for are computed when they are used.
const ropeTable = 1 << 25
