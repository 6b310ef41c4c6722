package main

import "slices"

// quantile returns the value that a fraction f of the samples does not exceed,
// interpolated between neighbours; 0 without samples.
func quantile(samples []float64, f float64) float64 {
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

func median(samples []float64) float64 { return quantile(samples, 0.5) }

// spread is the distance between the quartiles, relative to the median.
func spread(samples []float64) float64 {
	m := median(samples)
	if m == 0 {
		return 0
	}
	return (quantile(samples, 0.75) - quantile(samples, 0.25)) / m
}
