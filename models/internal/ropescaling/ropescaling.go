// Package ropescaling has the ways in which models scale the frequencies of their rotations, to
// read longer texts.
package ropescaling

import (
	"math"

	"github.com/attn-go/attn/models/internal/powers"
)

// A Scaling says how a model was made to read longer texts than it was first trained with: what
// its frequencies are divided by, pair by pair.
type Scaling struct {
	Factor   float64
	Original float64 // tokens that the model was first trained with

	YaRN       bool    // Peng et al., 2023
	Fast, Slow float64 // turns within Original tokens: beyond Fast a frequency stays, below Slow it is divided by Factor
	Round      bool    // the limits between them are whole pairs

	Llama3    bool    // Llama 3.1's scaling
	Low, High float64 // turns, as Slow and Fast

	Factors     []float64 // of every pair, if the file has them
	Short, Long []float64 // LongRoPE (Ding et al., 2024): with contexts up to Original, and beyond

	Magnitude float64 // multiplies cosines and sines
}

// Of returns what the frequencies of the pairs of dims elements are divided by with a context, nil
// for nothing. Without a scaling [Frequencies] with this base has them.
func (s *Scaling) Of(base float64, dims, context int) []float64 {
	switch {
	case s.YaRN:
		return s.ofYaRN(base, dims)
	case s.Llama3:
		return s.ofLlama3(base, dims)
	case s.Long != nil && float64(context) > s.Original:
		return s.Long
	case s.Short != nil:
		return s.Short
	}
	return s.Factors
}

// ofYaRN mixes 1 and Factor. The share of Factor grows with the number of the pair, from the one
// that turns Fast times within Original tokens to the one that turns Slow times.
func (s *Scaling) ofYaRN(base float64, dims int) []float64 {
	at := func(turns float64) float64 {
		return float64(float64(dims)*powers.Log(float64(s.Original/float64(turns*2*math.Pi)))) / float64(2*powers.Log(base))
	}
	low, high := at(s.Fast), at(s.Slow)
	if s.Round {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dims-1))
	if low == high {
		high += 0.001
	}
	factors := make([]float64, dims/2)
	for i := range factors {
		share := min(max(float64(float64(i)-low)/float64(high-low), 0), 1)
		factors[i] = 1 / float64(float64(share/s.Factor)+float64(1-share))
	}
	return factors
}

// ofLlama3 mixes 1 and Factor by how often a pair turns within Original tokens.
func (s *Scaling) ofLlama3(base float64, dims int) []float64 {
	ones := make([]float64, dims/2)
	for i := range ones {
		ones[i] = 1
	}
	factors := make([]float64, len(ones))
	for i, f := range Frequencies(base, dims, ones) {
		turns := float64(s.Original*f) / (2 * math.Pi)
		share := min(max(float64(turns-s.Low)/float64(s.High-s.Low), 0), 1)
		factors[i] = 1 / float64(share+float64((1-share)/s.Factor))
	}
	return factors
}

// YaRNMagnitude returns what YaRN multiplies cosines and sines by.
func YaRNMagnitude(factor, scale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 1 + float64(float64(0.1*scale)*powers.Log(factor))
}

// LongMagnitude returns what LongRoPE multiplies cosines and sines by.
func LongMagnitude(factor, original float64) float64 {
	if factor <= 1 {
		return 1
	}
	return math.Sqrt(1 + powers.Log(factor)/powers.Log(original))
}

// Frequencies returns base^(-2i/dims)/factors[i] for all pairs i. math.Pow does not have the
// same bits everywhere, so this is computed in multiple precision and rounded.
func Frequencies(base float64, dims int, factors []float64) []float64 {
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
