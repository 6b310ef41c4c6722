// Package stats summarises samples by their quantiles.
package stats

import "slices"

// Quantile returns the value below which a fraction f of the samples lie. Between two
// samples it interpolates. Without samples it is 0.
func Quantile(samples []float64, f float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	at := f * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// Median returns the median of the samples.
func Median(samples []float64) float64 { return Quantile(samples, 0.5) }

// Spread returns the interquartile range, relative to the median.
func Spread(samples []float64) float64 {
	m := Median(samples)
	if m == 0 {
		return 0
	}
	return (Quantile(samples, 0.75) - Quantile(samples, 0.25)) / m
}
