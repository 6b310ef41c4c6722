package testutil

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"testing"
	"unsafe"
)

// A Placement says where in its region of memory a slice lies.
type Placement int

const (
	Inside  Placement = iota // at an odd place, with canaries on both sides
	AtStart                  // at the start
	AtEnd                    // up to the end
)

func (p Placement) String() string {
	return [...]string{"inside", "at the start of a region", "at the end of a region"}[p]
}

// An Arena holds the slices of one call, each in a region of its own and between
// canaries. If the regions lie between guard pages, slices at their ends make any
// access beside them a fault.
type Arena struct {
	Place Placement
	Slots []Slot // the slices taken since Reset

	regions [][]byte
	turn    int
}

// A Slot is a slice in an arena.
type Slot struct {
	Name   string
	Data   []byte    // the content,
	Floats []float32 // also as floats, if they are some
	wide   []float64 // or as these
	Exact  bool      // Diff tells their NaNs apart by their bits

	ld            int    // distance of the rows
	before, after []byte // canaries
}

const (
	marginSize = 256

	// Margin is the byte that canaries around slices consist of. As a float32, four of
	// them are a large finite number.
	Margin = 0x5a

	// Canary is for the gaps between rows.
	Canary = 12345.5
)

var margin = bytes.Repeat([]byte{Margin}, marginSize)

// NewArena returns an arena of count regions of ordinary memory.
func NewArena(p Placement, count, size int) *Arena {
	a := &Arena{Place: p}
	for range count {
		a.regions = append(a.regions, make([]byte, size))
	}
	return a
}

// NewGuardedArena returns an arena whose regions lie between guard pages.
func NewGuardedArena(t testing.TB, p Placement, count, size int) *Arena {
	a := &Arena{Place: p}
	for range count {
		a.regions = append(a.regions, GuardedRegion(t, size))
	}
	return a
}

// Reset empties the arena for call number turn, which the slices' alignment depends on.
func (a *Arena) Reset(turn int) { a.Slots, a.turn = a.Slots[:0], turn }

// Take returns a slice of size bytes for elements of elem bytes each.
func (a *Arena) Take(name string, size, elem int) *Slot {
	n := len(a.Slots)
	region, at := a.regions[n], 0
	switch a.Place {
	case Inside:
		at = marginSize + elem*((5*a.turn+3*n)%17)
	case AtEnd:
		at = len(region) - size
	}
	end := at + size
	s := Slot{
		Name:   name,
		Data:   region[at:end:end],
		before: region[max(0, at-marginSize):at],
		after:  region[end:min(len(region), end+marginSize)],
	}
	copy(s.before, margin)
	copy(s.after, margin)
	a.Slots = append(a.Slots, s)
	return &a.Slots[n]
}

// Slice returns n elements. Their content is whatever was there before.
func Slice[T any](a *Arena, name string, n int) []T { return Rows[T](a, name, 1, n, n) }

// Rows returns rows of w elements at a distance of ld, up to the last element. Their
// content is whatever was there before.
func Rows[T any](a *Arena, name string, rows, w, ld int) []T {
	var x T
	size := int(unsafe.Sizeof(x))
	return Typed[T](a.Take(name, size*extent(rows, w, ld), size).Data)
}

func extent(rows, w, ld int) int {
	if rows == 0 || w == 0 {
		return 0
	}
	return (rows-1)*ld + w
}

// Matrix is Rows of float32, every element of which, in the gaps too, is gap.
func (a *Arena) Matrix(name string, rows, w, ld int, gap float32) []float32 {
	s := a.Take(name, 4*extent(rows, w, ld), 4)
	s.Floats, s.ld = Typed[float32](s.Data), ld
	for i := range s.Floats {
		s.Floats[i] = gap
	}
	return s.Floats
}

// Doubles returns n float64.
func (a *Arena) Doubles(name string, n int) []float64 {
	s := a.Take(name, 8*n, 8)
	s.wide = Typed[float64](s.Data)
	return s.wide
}

// Vector returns n elements x.
func (a *Arena) Vector(name string, n int, x float32) []float32 {
	return a.Matrix(name, min(n, 1), n, n, x)
}

// Typed returns the elements that lie in data, nil if there are none.
func Typed[T any](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	var x T
	n := len(data) / int(unsafe.Sizeof(x))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// Diff returns how the slices differ from want's, which another call took in the same order, or
// which canary beside them was overwritten.
func (a *Arena) Diff(want *Arena) error {
	for i := range a.Slots {
		s := &a.Slots[i]
		if err := s.diff(&want.Slots[i]); err != nil {
			return fmt.Errorf("%s%w", s.Name, err)
		}
	}
	return a.Margins()
}

// Margins returns which canary beside the slices was overwritten.
func (a *Arena) Margins() error {
	for i := range a.Slots {
		s := &a.Slots[i]
		if !bytes.Equal(s.before, margin[:len(s.before)]) {
			return fmt.Errorf("%s: the memory before it was written to", s.Name)
		}
		if !bytes.Equal(s.after, margin[:len(s.after)]) {
			return fmt.Errorf("%s: the memory after it was written to", s.Name)
		}
	}
	return nil
}

var seed = maphash.MakeSeed()

// Hash returns a hash of the content of all slices. It is an other one in each process.
func (a *Arena) Hash() (h uint64) {
	for i := range a.Slots {
		h = h*0x9e3779b97f4a7c15 + maphash.Bytes(seed, a.Slots[i].Data)
	}
	return h
}

func (s *Slot) diff(want *Slot) error {
	if bytes.Equal(s.Data, want.Data) {
		return nil
	}
	for i, x := range s.Floats {
		if y := want.Floats[i]; !SameBits(x, y) || s.Exact && math.Float32bits(x) != math.Float32bits(y) {
			return fmt.Errorf("[%d] (row %d, lane %d) is %v (%08x), want %v (%08x)", i, i/s.ld, i%s.ld,
				x, math.Float32bits(x), y, math.Float32bits(y))
		}
	}
	for i, x := range s.wide {
		if y := want.wide[i]; math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y) {
			return fmt.Errorf("[%d] is %v (%016x), want %v (%016x)", i, x, math.Float64bits(x), y, math.Float64bits(y))
		}
	}
	if s.Floats == nil && s.wide == nil {
		return fmt.Errorf(" is % x, want % x", s.Data, want.Data)
	}
	return nil
}

// Beside is element number i of s, which may lie outside of s.
func Beside(s []float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), 4*i))
}
