package rope

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
)

// Config describes a Rope.
type Config struct {
	// Dims is the number of elements of a head that are rotated, from the first one on.
	// It is even and at most 65536: New takes about a microsecond for every
	// pair. The rest of a head does not change.
	Dims int

	// Base sets the frequencies: pair i rotates by Base^(-2i/Dims) radians from one
	// position to the next. It is from 1 to 2^64; 0 means 10000.
	Base float64

	// Frequencies, if not nil, holds the frequencies of the Dims/2 pairs, and Base is not
	// used. They are in radians per position, each 0 or of a magnitude from 2^-64 to 2^64.
	// This is for models that scale the frequencies pair by pair (NTK by parts, Llama 3,
	// YaRN).
	Frequencies []float64

	// Scaling divides all frequencies. That is the same as dividing the positions, which
	// is how the context of some models was extended ("position interpolation"). It is
	// from 2^-32 to 2^32; 0 means 1.
	Scaling float64

	// Pairing says which elements of a head make a pair.
	Pairing Pairing

	// Positions is the number of positions, from 0 on, whose cosines and sines New
	// computes and keeps in a table, 4·Dims bytes each. Those of other positions are
	// computed when they are used, which takes some 25 ns per pair. The bits are the same.
	Positions int
}

// Pairing says which elements of a head make a pair.
type Pairing uint8

const (
	// RotateHalf pairs element i with element i+Dims/2 (GPT-NeoX; Llama in the
	// checkpoints of Hugging Face).
	RotateHalf Pairing = iota
	// Interleaved pairs element 2i with element 2i+1 (GPT-J; Llama in Meta's checkpoints).
	Interleaved
)

// The largest Dims, and the most floats in a table: 8 GiB, less if an int has 32 bits.
const (
	maxDims  = 1 << 16
	maxTable = min(1<<31, math.MaxInt/8)
)

// check reports the first field that is out of range.
func (c *Config) check() *check.Failure {
	wrong := func(field, got, want string, args ...any) *check.Failure {
		return &check.Failure{Where: "Config." + field, Got: got, Want: fmt.Sprintf(want, args...)}
	}
	switch {
	case c.Dims < 2 || c.Dims > maxDims || c.Dims%2 != 0:
		return wrong("Dims", fmt.Sprint(c.Dims), "an even number from 2 to %d", maxDims)
	case c.Base != 0 && !(c.Base >= 1 && c.Base <= 1<<64):
		return wrong("Base", fmt.Sprint(c.Base), "a number from 1 to 2^64, or 0 for 10000")
	case c.Scaling != 0 && !(c.Scaling >= 1.0/(1<<32) && c.Scaling <= 1<<32):
		return wrong("Scaling", fmt.Sprint(c.Scaling), "a number from 2^-32 to 2^32, or 0 for 1")
	case c.Pairing > Interleaved:
		return wrong("Pairing", fmt.Sprint(uint8(c.Pairing)), "RotateHalf or Interleaved")
	case c.Positions < 0 || c.Positions > maxTable/c.Dims:
		return wrong("Positions", fmt.Sprint(c.Positions), "from 0 to %d for %d dims", maxTable/c.Dims, c.Dims)
	case c.Frequencies != nil && len(c.Frequencies) != c.Dims/2:
		return wrong("Frequencies", fmt.Sprintf("%d numbers", len(c.Frequencies)), "%d, one per pair", c.Dims/2)
	}
	if !hugepages.Fits(c.Positions*c.Dims, 4) {
		return check.TooLarge("Config.Positions", fmt.Sprintf("%d of %d numbers", c.Positions, c.Dims))
	}
	for i, f := range c.Frequencies {
		if m := math.Abs(f); f != 0 && !(m >= 1.0/(1<<64) && m <= 1<<64) {
			return wrong("Frequencies", fmt.Sprintf("%v for pair %d", f, i), "0 or a magnitude from 2^-64 to 2^64")
		}
	}
	return nil
}

// angles returns the frequencies of the pairs, in turns per position.
func (c *Config) angles() []angle {
	scaling := number(1)
	if c.Scaling != 0 {
		scaling = number(c.Scaling)
	}
	base := c.Base
	if base == 0 {
		base = 10000
	}
	step := number(0).Quo(logarithm(base), number(-float64(c.Dims)/2))
	ratio := exponential(step)                                          // of a pair's frequency to the one before
	turns := number(0).Quo(number(1), scaling.Mul(scaling, fullTurn())) // per radian
	frequency := number(1)
	angles := make([]angle, c.Dims/2)
	for i := range angles {
		if c.Frequencies != nil {
			frequency = number(c.Frequencies[i])
		}
		angles[i] = angleOf(number(0).Mul(frequency, turns))
		frequency = number(0).Mul(frequency, ratio)
	}
	return angles
}
