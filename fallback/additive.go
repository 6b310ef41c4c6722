package fallback

// AdditiveChains is the number of chains in which an additive score is summed up: enough
// for the widest vector of any tier, with the hidden units in the lanes.
const AdditiveChains = 16

// Additive computes the additive scores of n rows of q and m rows of k, of as many numbers
// as there are weights, which is a multiple of AdditiveChains:
//
//	acc[x mod 16] = fma(weights[x], tanh(q[i·ldq+x] + k[j·ldk+x]), acc[x mod 16]), x ascending
//
// from +0. Then their halves are added, acc[r] + acc[r+8], and so on down to one number,
// s[j·ld+i].
func Additive(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, _ []float32) {
	for j := range m {
		key := window(k, j*ldk, len(weights))
		for i := range n {
			s[j*ld+i] = additive(window(q, i*ldq, len(weights)), key, weights)
		}
	}
}

func additive(q, k, weights []float32) float32 {
	var acc [AdditiveChains]float32
	for x, w := range weights {
		sum := &acc[x%AdditiveChains]
		*sum = FMA(w, Tanh(q[x]+k[x]), *sum)
	}
	for half := AdditiveChains / 2; half > 0; half /= 2 {
		for r := range half {
			acc[r] += acc[r+half]
		}
	}
	return acc[0]
}
