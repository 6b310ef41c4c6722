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
			Tuning: Tuning{
				MainLanes:     mainAVX512(),
				SkinnyRows:    44,
				FullRows:      16,
				ThreadFMAs:    2 << 20,
				WeightSteps:   384,
				QuantizedRows: 8,
			},
		},
		{
			Name:    "avx2",
			Lacks:   lacking(cpuid.AVX2, cpuid.FMA3, cpuid.F16C),
			Kernels: avx2Kernels,
			Tuning: Tuning{
				MainLanes:     16,
				SkinnyRows:    12,
				FullRows:      8,
				ThreadFMAs:    2 << 20,
				WeightSteps:   128,
				QuantizedRows: 12,
			},
		},
	}
}

// withNarrowTile returns k with the narrowest tile of another ISA before its own, so
// that 8 queries do not pay for 16 lanes. The other kernels remain those of k.
func withNarrowTile(k, narrow Kernels) Kernels {
	k.Tiles = append(narrow.Tiles[:1:1], k.Tiles...)
	return k
}

// mainAVX512 is 32 lanes on Zen 5 and later. There S of a block then stays in L1, and
// a Gemm of 8×2 vectors was measured, in C, to beat one of 6×4 by 1-4%. Elsewhere it
// is 64, which needs the fewest loads: Emerald Rapids and Zen 4 prefer that. Compare
// them with BenchmarkWidth.
func mainAVX512() int {
	if cpuid.CPU.IsVendor(cpuid.AMD) && cpuid.CPU.Family >= 0x1A {
		return 32
	}
	return 64
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
