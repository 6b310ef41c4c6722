package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/kernel"
)

// probe measures the FMA peak: run executes independent fused multiply-adds
// and nothing else.
type probe struct {
	name  string      // what runs: the tier whose vectors it uses, or "scalar Go"
	run   func(n int) // n iterations
	flops float64     // of one iteration
	n     int         // iterations that take about probeTime
}

const (
	probeTime  = 50 * time.Microsecond
	probeCalls = 20 // per sample: about a millisecond
)

// vectorFMAs is the number of vector FMAs in one iteration of a probe in assembly.
const vectorFMAs = 24

// probes holds the probes that run here, widest vectors first.
type probes []*probe

// newProbes prepares a probe for each tier that runs here and has one.
func newProbes() probes {
	var ps probes
	for _, t := range kernel.Tiers() {
		if p := vectorProbe(t.Name); t.Runs && p != nil {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		ps = probes{scalarProbe()}
	}
	for _, p := range ps {
		p.calibrate()
	}
	return ps
}

// of returns the probe for a tier: the one with its vectors or, for a tier
// without vectors, the widest.
func (ps probes) of(tier string) *probe {
	for _, p := range ps {
		if p.name == tier {
			return p
		}
	}
	return ps[0]
}

// calibrate finds n.
func (p *probe) calibrate() {
	for p.n = 64; ; p.n *= 2 {
		start := time.Now()
		p.run(p.n)
		if time.Since(start) >= probeTime/2 {
			break
		}
	}
	p.sample() // the clock settles
}

// sample returns the GFLOP/s of some calls.
func (p *probe) sample() []float64 {
	rates := make([]float64, probeCalls)
	for i := range rates {
		start := time.Now()
		p.run(p.n)
		rates[i] = p.flops * float64(p.n) / float64(time.Since(start).Nanoseconds())
	}
	return rates
}

// together returns the GFLOP/s of threads that run at once, all in all. Unlike
// sample it counts the time that other programs take.
func (p *probe) together(threads int) float64 {
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

// scalarProbe serves builds without assembly. Whether the compiler fuses its
// multiply-adds depends on the architecture.
func scalarProbe() *probe {
	return &probe{name: "scalar Go", run: scalarFMA, flops: 8 * 2}
}

// sink keeps the compiler from dropping the probe's work.
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
