package main

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/kernel"
)

// reader measures the bandwidth of reading: so much memory as the work beside it reads,
// in huge pages like that, by as many threads.
type reader struct {
	data []float32
	read func(p []float32)
}

// widestRead reads with the widest vectors that run here.
func widestRead() func(p []float32) {
	for _, t := range kernel.Tiers() {
		if read := vectorReader(t.Name); t.Runs && read != nil {
			return read
		}
	}
	return readScalar
}

// newReader prepares to read some bytes.
func newReader(bytes int) *reader {
	r := &reader{read: widestRead()}
	r.data = hugepages.Make[float32](bytes / 4)
	for i := range r.data {
		r.data[i] = float32(i)
	}
	return r
}

// sample returns the GB/s of reading all once, each thread its share.
func (r *reader) sample(threads int) float64 { return r.passes(1, threads) }

// passes returns the GB/s of reading all so many times, each thread its share, once all
// threads are awake.
func (r *reader) passes(n, threads int) float64 {
	share := len(r.data) / threads
	part := func(p []float32) {
		for range n {
			r.read(p)
		}
	}
	var awake, begun atomic.Int64
	var wg sync.WaitGroup
	for i := range threads - 1 {
		wg.Go(func() {
			awake.Add(1)
			for begun.Load() == 0 {
				runtime.Gosched()
			}
			part(r.data[i*share : (i+1)*share])
		})
	}
	for int(awake.Load()) < threads-1 {
		runtime.Gosched()
	}
	start := time.Now()
	begun.Add(1)
	part(r.data[(threads-1)*share:])
	wg.Wait()
	return 4 * float64(n*len(r.data)) / float64(time.Since(start).Nanoseconds())
}

// readScalar serves builds without assembly.
func readScalar(p []float32) {
	var a, b, c, d uint32
	for ; len(p) >= 4; p = p[4:] {
		a, b = a^math.Float32bits(p[0]), b^math.Float32bits(p[1])
		c, d = c^math.Float32bits(p[2]), d^math.Float32bits(p[3])
	}
	sink.Store(a ^ b ^ c ^ d)
}
