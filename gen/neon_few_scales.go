package main

import "github.com/attn-go/attn/gen/a64"

// neonKeyScales are those of int8 keys, side by side as the keys in the lanes; those of
// the next group of columns lie lsc further on. Other types have none.
type neonKeyScales struct {
	*neon
	first, at a64.GP // of the tile, and of the columns at hand
	left      a64.GP // columns of the group
}

// back goes back, and forward goes on, by a number of keys.
func (s *neonKeyScales) back(keys a64.GP) {
	if s != nil {
		s.Op("ADD", keys.Shl(2), s.first, s.first)
	}
}

func (s *neonKeyScales) forward() {
	if s != nil {
		s.advance(4*fewKeys, s.first)
	}
}

// start goes to the first columns.
func (s *neonKeyScales) start() {
	if s != nil {
		s.Op("MOVD", s.first, s.at)
		s.Load(s.Param("group"), s.left)
	}
}

// load loads those of a vector of keys.
func (s *neonKeyScales) load(to a64.Vec, v int) {
	if s != nil {
		s.neon.load(a64.At(s.at, v*neonBytes), to)
	}
}

// next goes on by a step. The name is that of a label.
func (s *neonKeyScales) next(name string) {
	if s == nil {
		return
	}
	s.Op("SUBS", neonBytes, s.left, s.left)
	s.Jump("BNE", name)
	s.Load(s.Param("lsc"), s.left)
	s.Op("ADD", s.left.Shl(2), s.at, s.at)
	s.Load(s.Param("group"), s.left)
	s.Label(name)
}

// neonValueScales are those of int8 values, ld bytes from row to row, where each is
// that of a group of columns. Other types have none.
type neonValueScales struct {
	*neon
	turn, strip, step a64.GP // of the turn, of the columns at hand, of the key
	ld                a64.GP
	left              a64.GP // columns of the group
}

// startTurn goes to those of a turn's first columns, nextStrip to those of the next strip,
// nextTurn by 16 keys.
func (s *neonValueScales) startTurn() {
	if s != nil {
		s.Op("MOVD", s.turn, s.strip)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *neonValueScales) nextStrip(strip neonFewStrip) {
	if s != nil {
		s.Op("SUBS", strip.columns, s.left, s.left)
		s.Jump("BNE", strip.name)
		s.advance(4, s.strip)
		s.Load(s.Param("group"), s.left)
	}
}

func (s *neonValueScales) nextTurn() {
	if s != nil {
		s.Op("ADD", s.ld.Shl(4), s.turn, s.turn)
	}
}

// startGroup goes to that of the first key, load loads a key's into all lanes and goes on.
func (s *neonValueScales) startGroup() {
	if s != nil {
		s.Op("MOVD", s.strip, s.step)
	}
}

func (s *neonValueScales) load(to a64.Vec) {
	if s != nil {
		s.Op("VLD1R", a64.At(s.step, 0), []a64.Arr{to.S4()})
		s.Op("ADD", s.ld, s.step, s.step)
	}
}
