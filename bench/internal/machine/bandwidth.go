package machine

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// A Reader measures the bandwidth of reading memory. For a fair comparison Data has the
// size of what the measured call reads, and lies in huge pages if that does.
type Reader struct {
	Data []float32
	read func(p []float32)
}

// NewReader returns a reader that uses the widest vectors that run here.
func NewReader(data []float32) *Reader {
	for _, tier := range kernel.Tiers() {
		if read := vectorReader(tier); read != nil {
			return &Reader{data, read}
		}
	}
	return &Reader{data, readScalar}
}

// Rate reads Data n times and returns the GB/s. Each thread reads its own share. The time
// does not include the start of the threads.
func (r *Reader) Rate(n, threads int) float64 {
	share := len(r.Data) / threads
	took := together(threads, func(thread int) {
		part := r.Data[thread*share:]
		if thread < threads-1 {
			part = part[:share]
		}
		for range n {
			r.read(part)
		}
	})
	return 4 * float64(n*len(r.Data)) / float64(took.Nanoseconds())
}

// readScalar is for builds without assembly.
func readScalar(p []float32) {
	var a, b, c, d uint32
	for ; len(p) >= 4; p = p[4:] {
		a, b = a^math.Float32bits(p[0]), b^math.Float32bits(p[1])
		c, d = c^math.Float32bits(p[2]), d^math.Float32bits(p[3])
	}
	sink.Store(a ^ b ^ c ^ d)
}
