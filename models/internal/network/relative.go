package network

import (
	"sync/atomic"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
)

// A Relative is a bias of scores that depends on the distance of a query and a key, as
// MPNet has it for all layers.
type Relative struct {
	Heads int
	Table []float32 // [arch.Buckets, Heads]

	kept atomic.Pointer[square]
}

// A square is a bias, [Heads, n, n].
type square struct {
	n    int
	bias []float32
}

// bucketStarts are the distances at which buckets begin: 0 to 7, and then 8·2^(k/2),
// rounded up, which is where 8 + 8·log(n/8)/log(128/8) reaches an integer (Raffel et al.,
// "T5", section 2.1).
var bucketStarts = [arch.Buckets / 2]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}

// bucket returns the bucket of a key at position j for a query at position i.
func bucket(i, j int) int {
	n, first := i-j, 0
	if n < 0 {
		n, first = -n, arch.Buckets/2
	}
	b := len(bucketStarts) - 1
	for bucketStarts[b] > n {
		b--
	}
	return first + b
}

// view returns the bias for texts of n tokens or fewer. The bias of the longest text so far is
// kept.
func (r *Relative) view(n int) kernel.Tensor {
	s := r.kept.Load()
	if s == nil || s.n < n {
		s = &square{n, make([]float32, r.Heads*n*n)}
		for i := range n {
			for j := range n {
				for h, x := range r.Table[bucket(i, j)*r.Heads:][:r.Heads] {
					s.bias[(h*n+i)*n+j] = x
				}
			}
		}
		r.kept.Store(s)
	}
	return kernel.Strided(s.bias, [4]int{1, r.Heads, n, n}, [3]int{r.Heads * s.n * s.n, s.n * s.n, s.n})
}
