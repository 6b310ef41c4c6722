package suite

import (
	"context"
	"time"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
)

// minRounds is how often each call is measured at least, and quickRounds in a quick run.
const minRounds, quickRounds = 5, 3

// How long a measurement takes, unless minRounds takes longer.
var (
	limitTime     = 200 * time.Millisecond // of measureWithLimit
	alternateTime = 400 * time.Millisecond // of alternate
)

// rounds returns how often each call is measured at least.
func (c *Config) rounds() int {
	if c.Quick {
		return quickRounds
	}
	return minRounds
}

// measureWithLimit makes calls and measures, before each of them, the limit that they are
// compared with. It returns the times of the calls, the median limit, and how much that spread.
func (c *Config) measureWithLimit(ctx context.Context, call func() error, limit func() float64) (t results.Timing, limits, spread float64, err error) {
	var times, all []float64
	for start := time.Now(); len(times) <= c.rounds() || time.Since(start) < c.time(limitTime); {
		if ctx.Err() != nil {
			return t, 0, 0, ctx.Err()
		}
		all = append(all, limit())
		before := time.Now()
		if err := call(); err != nil {
			return t, 0, 0, err
		}
		times = append(times, float64(time.Since(before).Nanoseconds()))
	}
	return results.NewTiming(times[1:]), stats.Median(all), stats.Spread(all), nil // without the first, a warm-up
}

// alternate makes the calls in turn. It returns their times, and the medians of their ratios to the
// first call right before.
func (c *Config) alternate(ctx context.Context, calls []func() error) (times []results.Timing, ratios []float64, err error) {
	all, relative := make([][]float64, len(calls)), make([][]float64, len(calls))
	for n, begin := 0, time.Now(); n <= c.rounds() || time.Since(begin) < c.time(alternateTime); n++ {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		for i, call := range calls {
			start := time.Now()
			if err := call(); err != nil {
				return nil, nil, err
			}
			if n > 0 { // the first round is a warm-up
				all[i] = append(all[i], float64(time.Since(start).Nanoseconds()))
				relative[i] = append(relative[i], all[i][n-1]/all[0][n-1])
			}
		}
	}
	for i := range calls {
		times, ratios = append(times, results.NewTiming(all[i])), append(ratios, stats.Median(relative[i]))
	}
	return times, ratios, nil
}
