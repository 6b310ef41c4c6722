//go:build amd64 && !purego

package machine

import "github.com/attn-go/attn/asm"

// vectorProbe returns the FMA probe with a tier's vectors, nil if there is none.
func vectorProbe(tier string) *Probe {
	switch tier {
	case "avx512":
		return &Probe{Name: tier, run: asm.PeakAVX512, flops: vectorFMAs * 16 * 2}
	case "avx2":
		return &Probe{Name: tier, run: asm.PeakAVX2, flops: vectorFMAs * 8 * 2}
	}
	return nil
}

// vectorReader returns a function that reads with a tier's vectors, nil if there is none.
func vectorReader(tier string) func(p []float32) {
	switch tier {
	case "avx512":
		return asm.ReadAVX512
	case "avx2":
		return asm.ReadAVX2
	}
	return nil
}

// vectorTanh returns a tier's tanh of slices, nil if it has no vectors.
func vectorTanh(tier string) func(dst, src []float32) {
	switch tier {
	case "avx512":
		return asm.TanhAVX512
	case "avx2":
		return asm.TanhAVX2
	}
	return nil
}
