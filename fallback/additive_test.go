package fallback

import (
	"testing"

	"github.com/attn-go/attn/contract"
)

func TestAdditive(t *testing.T) {
	// Two queries and two keys of 32 numbers with gaps. Where a weight is not 0 the sums
	// are large, so that their tanh is ±1, or 0.
	const size, ldq, ldk, ld = 32, 33, 35, 3
	weights := make([]float32, size)
	weights[0], weights[16], weights[8], weights[5] = 1, 0x1p-24, 0x1p-24, 3 // 1 + 2^-24 is 1
	q, k := make([]float32, 2*ldq), make([]float32, 2*ldk)
	q[0], q[8], q[16] = 100, 100, 100
	k[ldk+5] = -50
	q[ldq+5], k[5] = 20, 30
	s := []float32{canary, canary, canary, canary, canary}
	additive(s, ld, q, ldq, k, ldk, 2, 2, weights, nil)
	equal(t, "s", s, []float32{1 + 3, 3, canary, 1 - 3, -3})

	// Halves are added first: the small ones meet before they meet the large one.
	weights = make([]float32, contract.AdditiveChains)
	weights[0], weights[1], weights[9] = 1, 0x1p-24, 0x1p-24
	for x := range weights {
		q[x] = 100
	}
	additive(s, ld, q, ldq, make([]float32, contract.AdditiveChains), 0, 1, 1, weights, nil)
	equal(t, "s", s[:1], []float32{1 + 0x1p-23})

	additive(s, ld, nil, 0, nil, 0, 2, 2, nil, nil)
	equal(t, "s without weights", s, []float32{0, 0, canary, 0, 0})
}
