//go:build arm64 && !purego

package tier

import (
	"slices"

	"github.com/attn-go/attn/internal/ukernel"
)

// NarrowStep divides the columns of SkinnyKernels' kernels for types that are widened in registers.
const NarrowStep = ukernel.SkinnyGroup

// NarrowLeast is the least number of columns of kernels for 16 bits, and for values of int8.
const NarrowLeast = ukernel.SkinnyGroup

// archTiers lists the assembly tiers of arm64, best first. NEON is part of ARMv8.0, and Go's own
// runtime uses it without a check. cpuid is not asked either: it detects NEON only on Linux, macOS
// and FreeBSD, so that the tier would never run elsewhere, as on Windows.
func archTiers() []Tier {
	return []Tier{{
		Name:   "neon",
		Lacks:  lackingIfOff("ASIMD"),
		ISAs:   []string{"neon"},
		Widths: []int{4, 8, 12},
		tables: new(tables),
	}}
}

// lackingIfOff is lacking for a feature that every CPU has.
func lackingIfOff(feature string) func() string {
	if slices.Contains(Off, feature) {
		return lacking(feature)
	}
	return lacking()
}
