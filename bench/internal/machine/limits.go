package machine

import (
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/klauspost/cpuid/v2"
)

// Limits are measurements of the FMA peaks and of the bandwidths of reading. They are taken again
// during a run, between the calls: a load that is there once would falsify what is measured once.
type Limits struct {
	probes  Probes
	threads []int
	memory  []float32
	peaks   map[PeakOf][]float64 // GFLOP/s
	reads   []readLimit
}

// PeakOf says whose peak: of the vectors of a probe, on a number of threads at once.
type PeakOf struct {
	Vectors string
	Threads int
}

// A readLimit is the bandwidth of a level on a number of threads.
type readLimit struct {
	results.Bandwidth
	rates []float64
}

// NewLimits returns limits without a measurement, for these numbers of threads at once. Each thread
// has the L1 and L2 of its own core; L3 and memory are shared.
func NewLimits(ps Probes, threads []int) *Limits {
	l2, l3 := CacheSizes()
	l1 := cpuid.CPU.Cache.L1D
	if l1 <= 0 {
		l1 = 32 << 10
	}
	l := &Limits{probes: ps, threads: threads, memory: numbers.Huge(MemoryBytes() / 4), peaks: map[PeakOf][]float64{}}
	for _, level := range []struct {
		name  string
		bytes int
		own   bool
	}{{"L1", l1 / 2, true}, {"L2", l2 / 2, true}, {"L3", l3 / 4, false}, {"memory", MemoryBytes(), false}} {
		for _, n := range threads {
			bytes := level.bytes
			if level.own {
				bytes = min(bytes*n, MemoryBytes())
			}
			l.reads = append(l.reads, readLimit{Bandwidth: results.Bandwidth{Level: level.name, Bytes: bytes, Threads: n}})
		}
	}
	return l
}

// Measure measures all limits once more.
func (l *Limits) Measure() {
	for _, p := range l.probes {
		for _, n := range l.threads {
			for range peakSamples {
				l.Add(PeakOf{p.Name, n}, p.Sample(n))
			}
		}
	}
	for i := range l.reads {
		r := &l.reads[i]
		r.rates = append(r.rates, readRates(l.memory[:r.Bytes/4], r.Threads)...)
	}
}

// Add adds measurements of a peak that were taken beside calls.
func (l *Limits) Add(of PeakOf, rates []float64) { l.peaks[of] = append(l.peaks[of], rates...) }

// Peaks returns the peaks of all vectors and numbers of threads.
func (l *Limits) Peaks() (all []results.Peak) {
	for _, p := range l.probes {
		for _, n := range l.threads {
			rates := l.peaks[PeakOf{p.Name, n}]
			all = append(all, results.Peak{Vectors: p.Name, Threads: n, GFLOPs: stats.Median(rates), Spread: stats.Spread(rates)})
		}
	}
	return all
}

// Bandwidths returns the bandwidths of all levels and numbers of threads.
func (l *Limits) Bandwidths() (all []results.Bandwidth) {
	for _, r := range l.reads {
		b := r.Bandwidth
		b.GBs, b.Spread = stats.Median(r.rates), stats.Spread(r.rates)
		all = append(all, b)
	}
	return all
}

// readRates returns rates of reading the data, of which each sample reads 64 MB or more. What is
// read before the first sample brings the data into the caches.
func readRates(data []float32, threads int) (rates []float64) {
	const samples, least = 7, 16 << 20
	r := NewReader(data)
	for range samples + 1 {
		rates = append(rates, r.Rate(max(1, least/len(data)), threads))
	}
	return rates[1:]
}
