//go:build amd64 && !purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels' kernels for types that are widened in registers.
const NarrowStep = 1

// NarrowLeast is the least number of columns of kernels for 16 bits, and for values of int8.
const NarrowLeast = ukernel.SkinnyColumns

// archTiers lists the assembly tiers of amd64, best first. avx512 has avx2's tile of 8 lanes, so
// that 8 queries do not pay for 16. Without AVX512DQ its products would be those in Go.
func archTiers() []Tier {
	return []Tier{
		{
			Name:     "avx512",
			Lacks:    lacking("AVX512F", "AVX512DQ", "AVX512VL", "AVX2", "FMA3"),
			ISAs:     []string{"avx2", "avx512"},
			Widths:   []int{8, 16, 32, 48, 64},
			Variants: []string{"QK=S1L1", "QK=S1L2", "QK=S2L1", "PV=L1", "PV=L2", "Weight=P0", "Weight=P1", "Block=A0", "Block=A12"},
			tables:   new(tables),
		},
		{
			Name:     "avx2",
			Lacks:    lacking("AVX2", "FMA3"),
			ISAs:     []string{"avx2"},
			Widths:   []int{8, 16, 24},
			Variants: []string{"QK=S1L1", "PV=L1"},
			tables:   new(tables),
		},
	}
}
