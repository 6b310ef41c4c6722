//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels' kernels for types that are widened in registers.
// There are none here.
const NarrowStep = ukernel.SkinnyGroup

// NarrowLeast is the least number of columns of kernels for 16 bits, and for values of int8.
const NarrowLeast = ukernel.SkinnyGroup

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
