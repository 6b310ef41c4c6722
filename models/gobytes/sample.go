package gobytes

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Greedy returns the token with the largest logit, which is the most probable one. If
// several have the largest logit, it returns the first of them.
func Greedy(logits []float32) byte {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return byte(best)
}

// A Sampler draws random tokens by their probabilities. With the same seed and the same
// logits it draws the same tokens on every CPU.
type Sampler struct {
	temperature float32
	random      *rand.Rand
	p           [256]float32
}

// NewSampler returns a sampler. With temperature 1 the probabilities are those of the
// model. The lower the temperature, the more it prefers probable tokens.
func NewSampler(temperature float32, seed uint64) (*Sampler, error) {
	if !(temperature > 0 && temperature <= 1e6) {
		return nil, fmt.Errorf("the temperature is %v, want more than 0 and at most 1e6", temperature)
	}
	return &Sampler{temperature: temperature, random: rand.New(rand.NewPCG(seed, 0))}, nil
}

// Next draws the next token.
func (s *Sampler) Next(logits []float32) (byte, error) {
	top := logits[Greedy(logits)]
	p := s.p[:len(logits)]
	for i, x := range logits {
		p[i] = float32((x - top) / s.temperature * math.Log2E)
	}
	if err := numeric.Exp2Slice(p, p, kernel.Exec{}); err != nil {
		return 0, err
	}
	total := float32(0)
	for _, x := range p {
		total += x
	}
	// 24 random bits are exactly a float32 from 0 to below 1.
	at := float32(float32(s.random.Uint32()>>8) * 0x1p-24 * total)
	for i, x := range p {
		if at -= x; at < 0 {
			return byte(i), nil
		}
	}
	return Greedy(logits), nil // reached only by rounding errors
}
