package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// keyScales are those of int8 keys, side by side as the keys in the lanes; those of
// the next group of columns lie lsc further on. Other types have none.
type keyScales struct {
	*neon
	first, at a64.GP // of the tile, and of the columns at hand
	left      a64.GP // columns of the group
}

// back goes back, and forward goes on, by a number of keys.
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

// start goes to the first columns.
func (s *keyScales) start() {
	if s != nil {
		s.Op("MOVD", s.first, s.at)
		s.Load(s.Param("group"), s.left)
	}
}

// load loads those of a vector of keys.
func (s *keyScales) load(to a64.Vec, v int) {
	if s != nil {
		s.neon.load(a64.At(s.at, v*vecBytes), to)
	}
}

// next goes on by a step. The name is that of a label.
func (s *keyScales) next(name string) {
	if s == nil {
		return
	}
	s.Op("SUBS", vecBytes, s.left, s.left)
	s.Jump("BNE", name)
	s.Load(s.Param("lsc"), s.left)
	s.Op("ADD", s.left.Shl(2), s.at, s.at)
	s.Load(s.Param("group"), s.left)
	s.Label(name)
}

// valueScales are those of int8 values, ld bytes from row to row, where each is
// that of a group of columns. Other types have none.
type valueScales struct {
	*neon
	turn, strip, step a64.GP // of the turn, of the columns at hand, of the key
	ld                a64.GP
	left              a64.GP // columns of the group
}

// startTurn goes to those of a turn's first columns, nextStrip to those of the next strip,
// nextTurn by 16 keys.
func (s *valueScales) startTurn() {
	if s != nil {
		s.Op("MOVD", s.turn, s.strip)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *valueScales) nextStrip(strip columnBlock) {
	if s != nil {
		s.Op("SUBS", strip.columns, s.left, s.left)
		s.Jump("BNE", strip.name)
		s.Advance(4, s.strip)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *valueScales) nextTurn() {
	if s != nil {
		s.Op("ADD", s.ld.Shl(4), s.turn, s.turn)
	}
}

// startGroup goes to that of the first key, load loads a key's into all lanes and goes on.
func (s *valueScales) startGroup() {
	if s != nil {
		s.Op("MOVD", s.strip, s.step)
	}
}

func (s *valueScales) load(to a64.Vec) {
	if s != nil {
		s.Op("VLD1R", a64.At(s.step, 0), []a64.Arr{to.S4()})
		s.Op("ADD", s.ld, s.step, s.step)
	}
}
