package kernel

import (
	"fmt"
	"math"
	"math/big"
)

// Rope turns the numbers of queries and keys, pair by pair, by angles that grow with
// their positions (Su et al.: "RoFormer: Enhanced Transformer with Rotary Position
// Embedding"). It is immutable: any number of goroutines may use it at once.
//
// Pair i turns by the angle position·frequency(i):
//
//	y0 = x0·cos - x1·sin
//	y1 = x1·cos + x0·sin
//
// with each product rounded and then the sum, as three operations on float32 are.
// A NaN that arises is the NaN 0x7FC00000. The cosine and the sine are those of the
// exact product of position and frequency, rounded to float32: the frequency, in
// turns per position, is rounded to a multiple of 2^-128 and multiplied in integers;
// what is left after the nearest quarter of a turn is cut to 53 bits, times 2π in
// float64, and enters Taylor's series (up to the terms x^17 and x^16, coefficients
// rounded to float64, Horner's rule in x²). So the results are the same bits on every
// CPU, and for positions up to ±2^31 they are the floats nearest to the true cosines and
// sines but for one in some 10^8, which is the one beside.
type Rope struct {
	turns []turn // by which the pairs turn from one position to the next
	pairs RopePairs
	table []float32 // [positions][cosines, sines of all pairs]
}

// RopeConfig describes a Rope.
type RopeConfig struct {
	// Dims is how many numbers of a head are turned, the first ones; it is even. A
	// head may have more: those are left alone.
	Dims int

	// Base sets the frequencies: pair i turns by Base^(-2i/Dims) radians from one
	// position to the next. It is from 1 to 2^64; 0 means 10000.
	Base float64

	// Frequencies, if not nil, holds the pairs' frequencies in radians per position
	// instead, Dims/2 of them, each 0 or of a magnitude from 2^-64 to 2^64: for
	// models that scale them pair by pair (NTK by parts, Llama 3, YaRN).
	Frequencies []float64

	// Stretch divides all frequencies, or in other words the positions, for models
	// whose context was made longer that way ("position interpolation"). It is
	// from 2^-32 to 2^32; 0 means 1.
	Stretch float64

	// Pairs says which numbers of a head make a pair.
	Pairs RopePairs

	// Positions is the number of positions, from 0 on, whose cosines and sines are
	// computed once and kept, 4·Dims bytes each. All others are computed when they are
	// used, which costs some 25 ns a pair and position; the bits are the same.
	Positions int
}

// RopePairs says which numbers of a head make a pair.
type RopePairs uint8

const (
	// Halves pairs number i with number i+Dims/2 (GPT-NeoX, Llama as in
	// Hugging Face's checkpoints).
	Halves RopePairs = iota
	// Neighbours pairs number 2i with number 2i+1 (GPT-J, Meta's Llama).
	Neighbours
)

// NewRope prepares a Rope. An unsuitable field of the configuration gets an
// [*ArgumentError].
func NewRope(c RopeConfig) (*Rope, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	r := &Rope{pairs: c.Pairs, turns: c.turns()}
	r.table = make([]float32, c.Positions*c.Dims)
	for p := range c.Positions {
		r.compute(p, r.table[p*c.Dims:(p+1)*c.Dims])
	}
	return r, nil
}

// The most dims, and the most floats of a table: 8 GiB, less where an int has 32 bits.
const (
	maxDims  = 1 << 20
	maxTable = min(1<<31, math.MaxInt/8)
)

func (c *RopeConfig) check() error {
	switch {
	case c.Dims < 2 || c.Dims > maxDims || c.Dims%2 != 0:
		return &ArgumentError{"RopeConfig.Dims", fmt.Sprint(c.Dims), fmt.Sprintf("an even number from 2 to %d", maxDims)}
	case c.Base != 0 && !(c.Base >= 1 && c.Base <= 1<<64):
		return &ArgumentError{"RopeConfig.Base", fmt.Sprint(c.Base), "a number from 1 to 2^64, or 0 for 10000"}
	case c.Stretch != 0 && !(c.Stretch >= 1.0/(1<<32) && c.Stretch <= 1<<32):
		return &ArgumentError{"RopeConfig.Stretch", fmt.Sprint(c.Stretch), "a number from 2^-32 to 2^32, or 0 for 1"}
	case c.Pairs > Neighbours:
		return &ArgumentError{"RopeConfig.Pairs", fmt.Sprint(uint8(c.Pairs)), "Halves or Neighbours"}
	case c.Positions < 0 || c.Positions > maxTable/c.Dims:
		return &ArgumentError{"RopeConfig.Positions", fmt.Sprint(c.Positions), fmt.Sprintf("from 0 to %d for %d dims", maxTable/c.Dims, c.Dims)}
	case c.Frequencies != nil && len(c.Frequencies) != c.Dims/2:
		return &ArgumentError{"RopeConfig.Frequencies", fmt.Sprintf("%d numbers", len(c.Frequencies)), fmt.Sprintf("%d, one per pair", c.Dims/2)}
	}
	for i, f := range c.Frequencies {
		if m := math.Abs(f); f != 0 && !(m >= 1.0/(1<<64) && m <= 1<<64) {
			return &ArgumentError{"RopeConfig.Frequencies", fmt.Sprintf("%v for pair %d", f, i), "0 or a magnitude from 2^-64 to 2^64"}
		}
	}
	return nil
}

// turns returns the frequencies in turns.
func (c *RopeConfig) turns() []turn {
	stretch := number(1)
	if c.Stretch != 0 {
		stretch = number(c.Stretch)
	}
	base := c.Base
	if base == 0 {
		base = 10000
	}
	step := number(0).Quo(logarithm(base), number(-float64(c.Dims)/2))
	ratio := exponential(step) // of a pair's frequency to the one before
	frequency := number(1)
	turns := make([]turn, c.Dims/2)
	for i := range turns {
		if c.Frequencies != nil {
			frequency = number(c.Frequencies[i])
		}
		turns[i] = turnOf(number(0).Quo(frequency, stretch))
		frequency = new(big.Float).Mul(frequency, ratio)
	}
	return turns
}

// Dims returns how many numbers of a head are turned.
func (r *Rope) Dims() int { return 2 * len(r.turns) }

// CosSin writes the cosines and sines of a position's angles, one per pair: Dims()/2 each.
func (r *Rope) CosSin(position int, cos, sin []float32) error {
	for _, s := range []struct {
		name string
		len  int
	}{{"cos", len(cos)}, {"sin", len(sin)}} {
		if s.len != len(r.turns) {
			return &ArgumentError{s.name, fmt.Sprintf("%d elements", s.len), fmt.Sprintf("%d, one per pair", len(r.turns))}
		}
	}
	for i := range r.turns {
		cos[i], sin[i] = r.turns[i].times(position).cosSin()
	}
	return nil
}

// compute writes the row of the table for a position.
func (r *Rope) compute(position int, row []float32) {
	cos, sin := row[:len(r.turns)], row[len(r.turns):]
	for i := range r.turns {
		cos[i], sin[i] = r.turns[i].times(position).cosSin()
	}
}

// Apply turns x, a float32 tensor [B, H, L, D] with D ≥ Dims(), in place: head by head, each row by its
// position, of which all heads of a token share one. positions holds either L, the same
// for all batch rows, or B·L, row by row. Any int is a position; turning back by p is
// turning by -p, but for rounding.
//
// The call allocates nothing once warm. Calls that share no row may run at once.
// Bad input gets an [*ArgumentError], and x stays untouched.
func (r *Rope) Apply(x Tensor, positions []int) error {
	if err := r.check(&x, positions); err != nil {
		return err
	}
	s := ropeScratches.get()
	defer ropeScratches.put(s)
	if len(s.row) < r.Dims() {
		s.row = make([]float32, r.Dims())
	}
	for b := range x.shape[0] {
		for l := range x.shape[2] {
			i := l
			if len(positions) > x.shape[2] {
				i += b * x.shape[2]
			}
			row := r.row(positions[i], s.row)
			for h := range x.shape[1] {
				at := x.at(b, h, l)
				r.turn(x.f32[at:at+r.Dims()], row)
			}
		}
	}
	return nil
}

// ropeScratch holds the row of a position that is not in the table.
type ropeScratch struct{ row []float32 }

var ropeScratches = freeList[ropeScratch]{make: func() *ropeScratch { return new(ropeScratch) }}

// row returns the cosines and sines of a position, from the table or computed into
// scratch.
func (r *Rope) row(position int, scratch []float32) []float32 {
	n := r.Dims()
	if position >= 0 && position < len(r.table)/n {
		return r.table[position*n : (position+1)*n]
	}
	r.compute(position, scratch[:n])
	return scratch[:n]
}

// turn turns the pairs of a head.
func (r *Rope) turn(head, row []float32) {
	cos, sin := row[:len(row)/2], row[len(row)/2:]
	sin = sin[:len(cos)]
	if r.pairs == Neighbours {
		for i, c := range cos {
			pair := head[2*i : 2*i+2 : 2*i+2]
			pair[0], pair[1] = turned(pair[0], pair[1], c, sin[i])
		}
		return
	}
	first, second := head[:len(cos)], head[len(cos):]
	second = second[:len(cos)]
	for i, c := range cos {
		first[i], second[i] = turned(first[i], second[i], c, sin[i])
	}
}

// turned returns the pair x0, x1 turned.
func turned(x0, x1, cos, sin float32) (y0, y1 float32) {
	y0 = float32(x0*cos) - float32(x1*sin)
	y1 = float32(x1*cos) + float32(x0*sin)
	if y0 != y0 {
		y0 = canonicalNaN
	}
	if y1 != y1 {
		y1 = canonicalNaN
	}
	return y0, y1
}

// check reports the first argument of Apply that does not fit.
func (r *Rope) check(x *Tensor, positions []int) error {
	if err := x.check("x"); err != nil {
		return err
	}
	if x.dtype != Float32 {
		return &ArgumentError{"x", x.describe(), "float32"}
	}
	if x.shape[3] < r.Dims() {
		return &ArgumentError{"x", x.describe(), fmt.Sprintf("a head size of at least %d, the rope's Dims", r.Dims())}
	}
	if err := x.checkDistinct("x"); err != nil {
		return err
	}
	if n := len(positions); n != x.shape[2] && n != x.shape[0]*x.shape[2] {
		return &ArgumentError{"positions", fmt.Sprintf("%d", n), fmt.Sprintf("%d, one per row, or %d, one per row of every batch row", x.shape[2], x.shape[0]*x.shape[2])}
	}
	return nil
}
