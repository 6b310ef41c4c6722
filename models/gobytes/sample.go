package gobytes

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
