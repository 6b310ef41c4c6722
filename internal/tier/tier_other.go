//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels' kernels for types that are widened in registers.
// There are none here.
const NarrowStep = ukernel.SkinnyGroup

// NarrowValues is the least number of columns of values in float16, bfloat16 or int8.
const NarrowValues = ukernel.SkinnyGroup

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
