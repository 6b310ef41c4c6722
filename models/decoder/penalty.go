package decoder

// mostPenalty is the largest magnitude of penalties that are taken off logits.
const mostPenalty = 100

// penalizes tells whether there are penalties.
func (s *Sampler) penalizes() bool {
	return s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1 || s.FrequencyPenalty != 0 || s.PresencePenalty != 0
}

// penalize changes the logits of the tokens of the window, of each once, see Sampler.
func (c *chooser) penalize(logits []float32, tokens []int32) {
	if c.PenaltyWindow > 0 {
		tokens = tokens[max(0, len(tokens)-c.PenaltyWindow):]
	}
	c.counts = resized(c.counts, len(logits))
	for _, id := range tokens {
		c.counts[id]++
	}
	for _, id := range tokens {
		if n := c.counts[id]; n > 0 {
			logits[id] = c.penalized(logits[id], n)
			c.counts[id] = 0
		}
	}
}

// penalized returns the logit of a token that occurs n times.
func (s *Sampler) penalized(x float32, n int32) float32 {
	if repetition := float32(s.RepetitionPenalty); repetition != 0 {
		if x > 0 {
			x /= repetition
		} else {
			x = float32(x * repetition)
		}
	}
	return x - (float32(float32(n)*float32(s.FrequencyPenalty)) + float32(s.PresencePenalty))
}
