package network

import (
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/rope"
)

// Rotations returns the rotations of the network's ropes, for texts of up to so many tokens, with
// tables for positions.
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
		if r.Growth != 0 {
			x.growth = newGrowth(r.Growth, r.Scaling.Original, context)
		}
		all = append(all, x)
	}
	return all, nil
}

// ropeTable is the most bytes of the table of cosines and sines. Positions that it has no room for
// are computed when they are used.
const ropeTable = 1 << 25

// A growth is what queries are multiplied by: 1 + rate·ln(1 + ⌊position/every⌋), in float64 and
// rounded.
type growth struct {
	rate  float64
	every int
	first []float32 // for the first multiples of every
}

// mostGrowths is the most numbers that are kept. Others are computed when they are used.
const mostGrowths = 1 << 12

func newGrowth(rate, every float64, context int) *growth {
	g := &growth{rate: rate, every: int(every)}
	for i := range min(context/g.every+1, mostGrowths) {
		g.first = append(g.first, g.of(i))
	}
	return g
}

func (g *growth) of(multiple int) float32 {
	return float32(1 + float64(g.rate*powers.Log(float64(1+multiple))))
}

func (g *growth) at(position int) float32 {
	i := position / g.every
	if i < len(g.first) {
		return g.first[i]
	}
	return g.of(i)
}
