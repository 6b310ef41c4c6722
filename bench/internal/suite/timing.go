package suite

import (
	"context"
	"runtime"
	"time"
)

// minRounds is how often each call is measured at least, and quickRounds in a quick run.
const minRounds, quickRounds = 5, 3

// defaultTime is how long a measurement takes, unless minRounds takes longer or it has a time of
// its own.
var defaultTime = 250 * time.Millisecond

// rounds returns how often each call is measured at least.
func (c *Config) rounds() int {
	if c.Quick {
		return quickRounds
	}
	return minRounds
}

// time returns how long to measure what takes d in a whole run.
func (c *Config) time(d time.Duration) time.Duration {
	switch {
	case c.Time > 0:
		return c.Time
	case c.Quick:
		return d / 5
	}
	return d
}

// measure makes calls and measures limits in turn, for about d, as the speed of a shared machine
// varies. It returns all rates of each limit, and the times of each call in nanoseconds, of which
// each is the average of as many calls as take sampleTime. The first round is a warm-up. Inputs
// have been made before: the collection that this may have begun ends first, as writing a pointer
// while one runs costs a call of a microsecond as long again.
func (c *Config) measure(ctx context.Context, d time.Duration, limits []func() []float64, calls ...func() error) (rates, times [][]float64, err error) {
	runtime.GC()
	rates, times = make([][]float64, len(limits)), make([][]float64, len(calls))
	n := make([]int, len(calls)) // how many of each make a sample
	for round, start := 0, time.Now(); round <= c.rounds() || time.Since(start) < c.time(d); round++ {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		for i, limit := range limits {
			if all := limit(); round > 0 {
				rates[i] = append(rates[i], all...)
			}
		}
		for i, call := range calls {
			ns, err := repeat(call, n[i])
			if err != nil {
				return nil, nil, err
			}
			if round == 0 {
				n[i] = max(1, int(float64(sampleTime)/max(ns, 1)))
				continue
			}
			times[i] = append(times[i], ns)
		}
	}
	return rates, times, nil
}

const (
	sampleTime = time.Millisecond      // the least time of a sample
	longCall   = 10 * time.Millisecond // calls that take more need no warm-up to know their time
)

// repeat returns the average time of n calls, or an estimate if n is 0. If they are short, a first
// one, which is not counted, wakes the threads: when a model computes, calls follow each other.
func repeat(call func() error, n int) (ns float64, err error) {
	start := time.Now()
	if n != 1 {
		if err := call(); err != nil {
			return 0, err
		}
		if n == 0 && time.Since(start) > longCall {
			return float64(time.Since(start).Nanoseconds()), nil
		}
		start = time.Now()
	}
	for range max(n, 1) {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(max(n, 1)), nil
}
