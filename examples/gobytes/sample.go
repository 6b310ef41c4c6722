package gobytes

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
)

// Greedy returns the token with the largest logit, the first of equals.
func Greedy(logits []float32) byte {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return byte(best)
}

// A Sampler draws tokens by their probabilities. With the same seed it draws the
// same from the same logits, on every CPU.
type Sampler struct {
	temperature float32
	random      *rand.Rand
	p           [256]float32
}

// NewSampler returns a sampler for a temperature above 0: 1 draws as the model
// predicts, less sticks to what is likely.
func NewSampler(temperature float32, seed uint64) (*Sampler, error) {
	if !(temperature > 0 && temperature <= 1e6) {
		return nil, errors.New("temperature: want more than 0, at most 1e6")
	}
	return &Sampler{temperature: temperature, random: rand.New(rand.NewPCG(seed, 0))}, nil
}

// Next draws a token.
func (s *Sampler) Next(logits []float32) (byte, error) {
	top := logits[Greedy(logits)]
	p := s.p[:len(logits)]
	for i, x := range logits {
		p[i] = float32((x - top) / s.temperature * math.Log2E)
	}
	if err := kernel.Exp2Slice(p, p); err != nil {
		return 0, err
	}
	total := float32(0)
	for _, x := range p {
		total += x
	}
	// 24 random bits are a float32 below 1, exactly.
	at := float32(float32(s.random.Uint32()>>8) * 0x1p-24 * total)
	for i, x := range p {
		if at -= x; at < 0 {
			return byte(i), nil
		}
	}
	return Greedy(logits), nil // rounding left a rest
}
