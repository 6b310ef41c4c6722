//go:build arm64 && !purego

package main

import "github.com/attn-go/attn/asm"

// vectorProbe returns the probe with a tier's vectors, nil if there is none.
func vectorProbe(tier string) *probe {
	if tier == "neon" {
		return &probe{name: tier, run: asm.PeakNEON, flops: vectorFMAs * 4 * 2}
	}
	return nil
}

// vectorReader returns the read probe with a tier's vectors, nil if there is none.
func vectorReader(tier string) func(p []float32) {
	if tier == "neon" {
		return asm.ReadNEON
	}
	return nil
}

// vectorTanh returns the tanh over slices of a tier with vectors, nil if there is none.
func vectorTanh(tier string) func(dst, src []float32) {
	if tier == "neon" {
		return asm.TanhNEON
	}
	return nil
}
