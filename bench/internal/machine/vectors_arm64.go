//go:build arm64 && !purego

package machine

import "github.com/attn-go/attn/asm"

// vectorProbe returns the FMA probe with a tier's vectors, nil if there is none.
func vectorProbe(tier string) *Probe {
	if tier == "neon" {
		return &Probe{Name: tier, run: asm.PeakNEON, flops: vectorFMAs * 4 * 2}
	}
	return nil
}

// vectorReader returns a function that reads with a tier's vectors, nil if there is none.
func vectorReader(tier string) func(p []float32) {
	if tier == "neon" {
		return asm.ReadNEON
	}
	return nil
}

// vectorTanh returns a tier's tanh of slices, nil if it has no vectors.
func vectorTanh(tier string) func(dst, src []float32) {
	if tier == "neon" {
		return asm.TanhNEON
	}
	return nil
}
