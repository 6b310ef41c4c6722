//go:build amd64 && !purego

package main

import "github.com/attn-go/attn/asm"

// vectorProbe returns the probe with a tier's vectors, nil if there is none.
func vectorProbe(tier string) *probe {
	switch tier {
	case "avx512":
		return &probe{name: tier, run: asm.PeakAVX512, flops: vectorFMAs * 16 * 2}
	case "avx2":
		return &probe{name: tier, run: asm.PeakAVX2, flops: vectorFMAs * 8 * 2}
	}
	return nil
}

// vectorReader returns the read probe with a tier's vectors, nil if there is none.
func vectorReader(tier string) func(p []float32) {
	switch tier {
	case "avx512":
		return asm.ReadAVX512
	case "avx2":
		return asm.ReadAVX2
	}
	return nil
}

// vectorTanh returns the tanh over slices of a tier with vectors, nil if there is none.
func vectorTanh(tier string) func(dst, src []float32) {
	switch tier {
	case "avx512":
		return asm.TanhAVX512
	case "avx2":
		return asm.TanhAVX2
	}
	return nil
}
