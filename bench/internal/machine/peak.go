package machine

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/kernel"
)

// A Probe measures the FMA peak. It runs independent fused multiply-adds and nothing else.
type Probe struct {
	Name  string      // the tier whose vectors it uses, or "scalar Go"
	run   func(n int) // runs n iterations
	flops float64     // of one iteration
	n     int         // iterations that take about probeTime
}

const (
	probeTime  = 50 * time.Microsecond
	probeCalls = 20 // per sample, which takes about a millisecond
)

// vectorFMAs is the number of vector FMAs in one iteration of a probe in assembly.
const vectorFMAs = 24

// Probes are the probes that run here, those with the widest vectors first.
type Probes []*Probe

// NewProbes prepares a probe for each tier that runs here and has vectors, or else a
// scalar one.
func NewProbes() Probes {
	var ps Probes
	for _, tier := range kernel.Tiers() {
		if p := vectorProbe(tier); p != nil {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		ps = Probes{scalarProbe()}
	}
	for _, p := range ps {
		p.calibrate()
	}
	return ps
}

// For returns the probe that uses the vectors of a tier. For a tier without vectors it
// returns the probe with the widest ones.
func (ps Probes) For(tier kernel.Tier) *Probe {
	for _, p := range ps {
		if p.Name == tier.String() {
			return p
		}
	}
	return ps[0]
}

// calibrate finds n.
func (p *Probe) calibrate() {
	for p.n = 64; ; p.n *= 2 {
		start := time.Now()
		p.run(p.n)
		if time.Since(start) >= probeTime/2 {
			break
		}
	}
	p.Sample(1) // until the clock frequency is steady
}

// Sample returns rates in GFLOP/s of so many threads at once, each of about a millisecond or
// less. What several threads reach together is often less than that times one: hardware threads
// share a core, and clock frequency and other programs' load depend on how many run.
func (p *Probe) Sample(threads int) []float64 {
	if threads > 1 {
		return []float64{p.parallel(threads), p.parallel(threads), p.parallel(threads)}
	}
	rates := make([]float64, probeCalls)
	for i := range rates {
		start := time.Now()
		p.run(p.n)
		rates[i] = p.flops * float64(p.n) / float64(time.Since(start).Nanoseconds())
	}
	return rates
}

// parallel returns the total rate of threads that begin at the same time, without the time to
// start them.
func (p *Probe) parallel(threads int) float64 {
	took := together(threads, func(int) {
		for range probeCalls {
			p.run(p.n)
		}
	})
	return p.flops * float64(p.n) * float64(probeCalls*threads) / float64(took.Nanoseconds())
}

// peakSamples is how often Limits measures a peak.
const peakSamples = 9

// together runs f on so many threads, which begin at the same time, and returns how long they
// take.
func together(threads int, f func(thread int)) time.Duration {
	var ready, begun atomic.Int64
	var wg sync.WaitGroup
	for i := range threads - 1 {
		wg.Go(func() {
			ready.Add(1)
			for begun.Load() == 0 {
				runtime.Gosched()
			}
			f(i)
		})
	}
	for int(ready.Load()) < threads-1 {
		runtime.Gosched()
	}
	start := time.Now()
	begun.Add(1)
	f(threads - 1)
	wg.Wait()
	return time.Since(start)
}

// scalarProbe is for builds without assembly. Whether the compiler fuses its multiply-adds
// depends on the architecture.
func scalarProbe() *Probe {
	return &Probe{Name: "scalar Go", run: scalarFMA, flops: 8 * 2}
}

// sink uses the results, so that the compiler cannot drop the work that makes them.
var sink atomic.Uint32

// scalarFMA runs n rounds of eight independent multiply-adds.
func scalarFMA(n int) {
	var a, b, c, d, e, f, g, h float32
	x, y := float32(0.5), float32(n)
	for range n {
		a, b, c, d = a*x+y, b*x+y, c*x+y, d*x+y
		e, f, g, h = e*x+y, f*x+y, g*x+y, h*x+y
	}
	sink.Store(math.Float32bits(a + b + c + d + e + f + g + h))
}
