//go:build riscv64 && !purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels' kernels for types that are widened in registers.
const NarrowStep = ukernel.SkinnyGroup

// NarrowLeast is the least number of columns of kernels for 16 bits, and for values of int8.
const NarrowLeast = ukernel.SkinnyGroup

// archTiers lists the assembly tiers of riscv64, best first.
func archTiers() []Tier {
	return []Tier{{
		Name:   "rvv",
		Lacks:  lacking("V"),
		ISAs:   []string{"rvv"},
		Widths: rvvWidths(vectorLanes()),
		tables: new(tables),
	}}
}

// rvvWidths returns the widths of query tiles for registers of so many lanes: one, two and four
// registers. But a tile has at most 64 lanes, and the narrowest divides 16, so longer registers are
// used in part.
func rvvWidths(lanes int) []int {
	lanes = min(max(lanes, 4), 16)
	return []int{lanes, 2 * lanes, 4 * lanes}
}
