package skinny

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// keyScales are the scales of int8 keys, side by side as the keys in the lanes. The next group of
// columns has its scales lsc further on. For other types the pointer is nil, and the methods do
// nothing.
type keyScales struct {
	*neon
	first, at a64.GP // of the tile, and of the current columns
	left      a64.GP // columns left in the group
}

// back goes back by a number of keys, forward goes on by 16.
func (s *keyScales) back(keys a64.GP) {
	if s != nil {
		s.Op("ADD", keys.Shl(2), s.first, s.first)
	}
}

func (s *keyScales) forward() {
	if s != nil {
		s.Advance(4*spec.SkinnyKeys, s.first)
	}
}

// start goes to the scales of the first columns.
func (s *keyScales) start() {
	if s != nil {
		s.Op("MOVD", s.first, s.at)
		s.Load(s.Param("group"), s.left)
	}
}

// load loads the scales of a vector of keys.
func (s *keyScales) load(to a64.Vec, v int) {
	if s != nil {
		s.neon.LoadFrom(a64.At(s.at, v*emit.VecBytes), to)
	}
}

// next goes on by a step. name is the name of a label.
func (s *keyScales) next(name string) {
	if s == nil {
		return
	}
	s.Op("SUBS", emit.VecBytes, s.left, s.left)
	s.Jump("BNE", name)
	s.Load(s.Param("lsc"), s.left)
	s.Op("ADD", s.left.Shl(2), s.at, s.at)
	s.Load(s.Param("group"), s.left)
	s.Label(name)
}

// valueScales are the scales of int8 values, in rows ld bytes apart, one for each group of
// columns. For other types the pointer is nil, and the methods do nothing.
type valueScales struct {
	*neon
	pass, block, step a64.GP // of the pass, of the current columns, of the key
	ld                a64.GP
	left              a64.GP // columns left in the group
}

// startPass goes to the scales of a pass's first columns, nextBlock to the next block's, nextPass
// goes on by 16 keys.
func (s *valueScales) startPass() {
	if s != nil {
		s.Op("MOVD", s.pass, s.block)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *valueScales) nextBlock(b columnBlock) {
	if s != nil {
		s.Op("SUBS", b.columns, s.left, s.left)
		s.Jump("BNE", b.name)
		s.Advance(4, s.block)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *valueScales) nextPass() {
	if s != nil {
		s.Op("ADD", s.ld.Shl(4), s.pass, s.pass)
	}
}

// startGroup goes to the scale of the first key. load loads the scale of a key into all
// lanes and goes on.
func (s *valueScales) startGroup() {
	if s != nil {
		s.Op("MOVD", s.block, s.step)
	}
}

func (s *valueScales) load(to a64.Vec) {
	if s != nil {
		s.Op("VLD1R", a64.At(s.step, 0), []a64.Arr{to.S4()})
		s.Op("ADD", s.ld, s.step, s.step)
	}
}
