//go:build amd64 && !purego

package ukernel

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// archTiers lists the assembly tiers of amd64, best first.
func archTiers() []Tier {
	return []Tier{
		{
			Name:    "avx512",
			Lacks:   lacking(cpuid.AVX512F, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX2, cpuid.FMA3, cpuid.F16C),
			Kernels: withNarrowTile(avx512Kernels, avx2Kernels),
		},
		{
			Name:    "avx2",
			Lacks:   lacking(cpuid.AVX2, cpuid.FMA3, cpuid.F16C),
			Kernels: avx2Kernels,
		},
	}
}

// withNarrowTile returns k with the narrowest tile of another ISA before its own, so
// that 8 queries do not pay for 16 lanes. The other kernels remain those of k, and so does
// HeadValues, whose vectors hold columns.
func withNarrowTile(k, narrow Kernels) Kernels {
	tile := narrow.Tiles[0]
	lanes := *tile.LaneKernels
	lanes.HeadValues = k.Tiles[0].HeadValues
	tile.LaneKernels = &lanes
	k.Tiles = append([]TileKernels{tile}, k.Tiles...)
	return k
}

// lacking returns a function that names those of the features that this CPU or its
// operating system lacks.
func lacking(features ...cpuid.FeatureID) func() string {
	var missing []string
	for _, f := range features {
		if !cpuid.CPU.Supports(f) {
			missing = append(missing, f.String())
		}
	}
	reason := ""
	if missing != nil {
		reason = "the CPU lacks " + strings.Join(missing, ", ")
	}
	return func() string { return reason }
}
