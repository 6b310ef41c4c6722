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

	// Magnitude multiplies cosines and sines, and so what is rotated: the attention factor of
	// YaRN and LongRoPE. It is from 2^-16 to 2^16; 0 means 1.
	Magnitude float64

	// Pairing says which elements of a head make a pair.
	Pairing Pairing

	// Sections, if not nil, gives a token several positions, one for each of 1 to 8 sections, such
	// as time, height and width (M-RoPE: Wang et al., "Qwen2-VL"). Sections[i] is the number of
	// pairs that rotate by position i of the token; the numbers add up to Dims/2. Pairs of a
	// section are neighbours, and the first section comes first. A token with one position in all
	// sections is rotated as without them.
	Sections []int

	// InterleavedSections deals the pairs out: pair i is in section i mod len(Sections), or in the
	// first one if that section has its pairs already (Qwen3-VL). Only the first section can have
	// more than every len(Sections)-th pair.
	InterleavedSections bool

	// Positions is the number of positions, from 0 on, whose cosines and sines New computes and
	// keeps in a table, 4·Dims bytes each. The cosines and sines of other positions are computed
	// when they are used, which takes some 25 ns per pair. The bits are the same.
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

// maxSections is the most Sections.
const maxSections = 8

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
	case c.Magnitude != 0 && !(c.Magnitude >= 1.0/(1<<16) && c.Magnitude <= 1<<16):
		return wrong("Magnitude", fmt.Sprint(c.Magnitude), "a number from 2^-16 to 2^16, or 0 for 1")
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
	return c.checkSections()
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

// checkSections reports Sections that are no partition of the pairs.
func (c *Config) checkSections() *check.Failure {
	n := len(c.Sections)
	wrong := func(got, want string, args ...any) *check.Failure {
		return &check.Failure{Where: "Config.Sections", Got: got, Want: fmt.Sprintf(want, args...)}
	}
	if c.Sections == nil && c.InterleavedSections {
		return &check.Failure{Where: "Config.InterleavedSections", Got: "true without Sections", Want: "false, or Sections"}
	}
	if c.Sections != nil && (n < 1 || n > maxSections) {
		return wrong(fmt.Sprintf("%d sections", n), "1 to %d, or nil", maxSections)
	}
	left := c.Dims / 2
	for i, pairs := range c.Sections {
		// The last pair of section i is i + n·(pairs-1), if they are dealt out.
		if c.InterleavedSections && i > 0 && pairs > (c.Dims/2-i+n-1)/n {
			return wrong(fmt.Sprint(c.Sections), "at most %d pairs in section %d, every %d-th from %d on", max(0, (c.Dims/2-i+n-1)/n), i, n, i)
		}
		if pairs < 0 || pairs > left {
			left = -1
			break
		}
		left -= pairs
	}
	if c.Sections != nil && left != 0 {
		return wrong(fmt.Sprint(c.Sections), "numbers from 0 on whose sum is %d, the pairs", c.Dims/2)
	}
	return nil
}

// sections returns the section of each pair, or nil if all are in the first one.
func (c *Config) sections() []uint8 {
	if len(c.Sections) < 2 {
		return nil
	}
	of := make([]uint8, c.Dims/2)
	first := 0
	for i, pairs := range c.Sections {
		at, step := first, 1
		if c.InterleavedSections {
			at, step = i, len(c.Sections)
		}
		first += pairs
		if i == 0 {
			continue // the first one has the pairs that no other one has
		}
		for range pairs {
			of[at] = uint8(i)
			at += step
		}
	}
	return of
}

// mixed writes the cosines and sines of a token to row. The pairs of section i take the token's
// position there, positions[i·each].
func (r *Rope) mixed(positions []int, each int, row []float32) []float32 {
	cos, sin := row[:len(row)/2], row[len(row)/2:]
	var known [maxSections][]float32 // the rows in the table
	for i := range r.streams {
		known[i] = r.fromTable(positions[i*each])
	}
	for i, section := range r.sections {
		if row := known[section]; row != nil {
			cos[i], sin[i] = row[i], row[len(cos)+i]
		} else {
			cos[i], sin[i] = r.pair(i, positions[int(section)*each])
		}
	}
	return row
}
