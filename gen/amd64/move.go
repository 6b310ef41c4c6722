package amd64

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A mover emits loads and stores of vectors, whole or under a mask, so that one body serves both.
type mover struct {
	load  func(m operand.Mem, v reg.VecVirtual)
	store func(v reg.VecVirtual, m operand.Mem)
}

// wholeVectors moves all elements.
func (g *gen) wholeVectors() mover {
	return mover{
		load:  func(m operand.Mem, v reg.VecVirtual) { g.VMOVUPS(m, v) },
		store: func(v reg.VecVirtual, m operand.Mem) { g.VMOVUPS(v, m) },
	}
}
