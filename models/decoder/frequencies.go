package decoder

import (
	"math"

	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/rope"
)

// A scaling says how a model was made to read longer texts than it was first trained with: what
// its frequencies are divided by, pair by pair.
type scaling struct {
	factor   float64
	original float64 // tokens that the model was first trained with

	yarn       bool    // YaRN (Peng et al., 2023)
	fast, slow float64 // turns within original tokens: beyond fast a frequency stays, below slow it is divided by factor
	round      bool    // the limits between them are whole pairs

	llama3    bool    // that of Llama 3.1
	low, high float64 // turns, as slow and fast

	factors     []float64 // of every pair, if the file has them
	short, long []float64 // LongRoPE (Ding et al., 2024): with contexts up to original, and beyond

	magnitude float64 // multiplies cosines and sines
}

// rotation returns the rotation of the model with a context: of layers with a window that have
// other frequencies if local, and otherwise of all others.
func (n *network) rotation(context int, local bool) (*rope.Rope, error) {
	c := &n.config
	r := rope.Config{
		Dims: c.RopeDims, Base: c.RopeBase, Scaling: c.RopeScaling, Pairing: n.pairing,
		Positions: min(c.Context, 1<<14, ropeTable/(4*c.RopeDims)),
	}
	if local {
		r.Base, r.Scaling = c.localBase, 1
	} else if factors := c.scaling.of(c, context); factors != nil && c.RopeDims <= mostRopeDims {
		r.Frequencies = frequencies(c.RopeBase, c.RopeDims, factors)
	}
	return rope.New(r)
}

// mostRopeDims is the limit of rope.New, before which no frequencies are worth the time.
const mostRopeDims = 1 << 16

// of returns what the frequencies are divided by, nil for nothing.
func (s *scaling) of(c *Config, context int) []float64 {
	switch {
	case s.yarn:
		return s.ofYarn(c)
	case s.llama3:
		return s.ofLlama3(c)
	case s.long != nil && float64(context) > s.original:
		return s.long
	case s.short != nil:
		return s.short
	}
	return s.factors
}

// ofYarn mixes 1 and factor. The share of factor grows with the number of the pair, from the one
// that turns fast times within original tokens to the one that turns slow times.
func (s *scaling) ofYarn(c *Config) []float64 {
	at := func(turns float64) float64 {
		return float64(float64(c.RopeDims)*logarithm(float64(s.original/float64(turns*2*math.Pi)))) / float64(2*logarithm(c.RopeBase))
	}
	low, high := at(s.fast), at(s.slow)
	if s.round {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(c.RopeDims-1))
	if low == high {
		high += 0.001
	}
	factors := make([]float64, c.RopeDims/2)
	for i := range factors {
		share := min(max(float64(float64(i)-low)/float64(high-low), 0), 1)
		factors[i] = 1 / float64(float64(share/s.factor)+float64(1-share))
	}
	return factors
}

// ofLlama3 mixes 1 and factor by how often a pair turns within original tokens.
func (s *scaling) ofLlama3(c *Config) []float64 {
	ones := make([]float64, c.RopeDims/2)
	for i := range ones {
		ones[i] = 1
	}
	factors := make([]float64, len(ones))
	for i, f := range frequencies(c.RopeBase, c.RopeDims, ones) {
		turns := float64(s.original*f) / (2 * math.Pi)
		share := min(max(float64(turns-s.low)/float64(s.high-s.low), 0), 1)
		factors[i] = 1 / float64(share+float64((1-share)/s.factor))
	}
	return factors
}

// yarnMagnitude returns what YaRN multiplies cosines and sines by.
func yarnMagnitude(factor, scale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 1 + float64(float64(0.1*scale)*logarithm(factor))
}

// longMagnitude returns what LongRoPE multiplies cosines and sines by.
func longMagnitude(factor, original float64) float64 {
	if factor <= 1 {
		return 1
	}
	return math.Sqrt(1 + logarithm(factor)/logarithm(original))
}

// logarithm returns ln x for x from 2^-1000 to 2^1000. math.Log does not have the same bits
// everywhere; this is the series of the inverse hyperbolic tangent, by sums and products alone.
func logarithm(x float64) float64 {
	fraction, exponent := math.Frexp(x) // from 1/2 to 1
	t := (fraction - 1) / (fraction + 1)
	square, power, sum := float64(t*t), t, 0.0
	for n := 1; n < 60; n += 2 {
		sum += power / float64(n)
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(exponent)*math.Ln2)
}

// frequencies returns base^(-2i/dims)/factors[i] for all pairs i. math.Pow does not have the
// same bits everywhere, so this is computed in multiple precision and rounded.
func frequencies(base float64, dims int, factors []float64) []float64 {
	n := dims / 2
	step := powers.Root(base, n)
	f, power := make([]float64, n), powers.Number(1)
	for i := range f {
		x, _ := powers.Number(0).Quo(powers.Number(1), power).Float64()
		f[i] = x / factors[i]
		power.Mul(power, step)
	}
	return f
}
