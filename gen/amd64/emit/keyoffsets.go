package emit

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// KeyOffsets are the rows of a tile of keys that lie anywhere, in the parameter k by offsets in the
// parameter off. The offsets of the first rows stay in registers. There are too few registers for
// the other rows: a load comes before each use of one.
type KeyOffsets struct {
	*Gen
	From reg.GPVirtual // what offsets count from, at the current step
	Off  reg.GPVirtual // where the offsets of the tile lie
	held [heldOffsets]reg.GPVirtual
}

// heldOffsets are the offsets that stay in registers.
const heldOffsets = 6

// NewKeyOffsets goes to the first row.
func (g *Gen) NewKeyOffsets() *KeyOffsets {
	o := &KeyOffsets{Gen: g, From: g.Slice("k"), Off: g.Slice("off")}
	for i := range o.held {
		o.held[i] = g.GP64()
	}
	return o
}

// Hold begins a tile.
func (o *KeyOffsets) Hold() {
	for i, at := range o.held {
		o.MOVQ(At(o.Off, 8*i), at)
	}
}

// Row returns the address of row i of the tile at the current step.
func (o *KeyOffsets) Row(i int) operand.Mem {
	if i < len(o.held) {
		return Indexed(o.From, o.held[i], 1)
	}
	at := o.GP64()
	o.MOVQ(At(o.Off, 8*i), at)
	return Indexed(o.From, at, 1)
}
