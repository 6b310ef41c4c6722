package machine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
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
	for _, tier := range Tiers() {
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
func (ps Probes) For(tier string) *Probe {
	for _, p := range ps {
		if p.Name == tier {
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
	p.Sample() // until the clock frequency is steady
}

// Sample returns the GFLOP/s of several runs on one core.
func (p *Probe) Sample() []float64 {
	rates := make([]float64, probeCalls)
	for i := range rates {
		start := time.Now()
		p.run(p.n)
		rates[i] = p.flops * float64(p.n) / float64(time.Since(start).Nanoseconds())
	}
	return rates
}

// Together returns the total GFLOP/s of threads that run at the same time. Other than
// Sample, it includes the time that other programs use.
func (p *Probe) Together(threads int) float64 {
	const calls = 10 * probeCalls
	var wg sync.WaitGroup
	start := time.Now()
	for range threads {
		wg.Go(func() {
			for range calls {
				p.run(p.n)
			}
		})
	}
	wg.Wait()
	return p.flops * float64(p.n) * float64(calls*threads) / float64(time.Since(start).Nanoseconds())
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
