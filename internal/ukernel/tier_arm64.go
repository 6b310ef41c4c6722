//go:build arm64 && !purego

package ukernel

// archTiers lists the assembly tiers of arm64, best first. NEON is part of ARMv8.0,
// and Go's own runtime uses it without a check. cpuid is not asked either: it detects
// NEON only on Linux, macOS and FreeBSD, so that the tier would never run elsewhere,
// as on Windows.
func archTiers() []Tier {
	return []Tier{{
		Name:    "neon",
		Lacks:   func() string { return "" },
		Kernels: neonKernels,
		Tuning: Tuning{
			MainLanes:     12,
			SkinnyRows:    8,
			ThreadFMAs:    1 << 19,
			WeightSteps:   128,
			QuantizedRows: 1,
			WidenRows:     2, // llvm-mca: FCVTL halves the speed on Neoverse N1, V1 and V2
		},
	}}
}
